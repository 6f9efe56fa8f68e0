"""The ``doctor`` command: what works on this machine, what does not, and what to do. Imports no torch."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path

from lit_video.commands.parser import Parser
from lit_video.diagnosis.data_sets import check_data
from lit_video.diagnosis.decoders import check_decoders
from lit_video.diagnosis.devices import check_gpus, check_processor
from lit_video.diagnosis.finding import Check, Finding, run_checks
from lit_video.diagnosis.limits import check_limits
from lit_video.diagnosis.services import check_slurm, check_wandb
from lit_video.diagnosis.software import check_software
from lit_video.diagnosis.storage import check_runs, check_shared_memory, check_temporary

SECONDS = 100.0  # for all checks, which run side by side; importing PyTorch from a network disk takes longest


def doctor(argv: list[str]) -> int:
    """Look at the machine; 1 if there is a problem."""
    parser = Parser("doctor", "Look at this machine: what works for runs, what does not, and what to do.")
    parser.add_argument("--data", nargs="+", type=Path, default=[], metavar="DIR", help="folders with data sets")
    parser.add_argument("--runs", type=Path, default=Path("runs"), metavar="DIR", help="where runs live")
    parser.add_argument("--json", action="store_true", help="print as JSON, for scripts")
    arguments = parser.parse_args(argv)
    found = run_checks(checks(arguments.runs, arguments.data), SECONDS)
    levels = _print_json(found) if arguments.json else _print_lines(found)
    return int("problem" in levels)


def checks(runs: Path, data: list[Path]) -> Mapping[str, Check]:
    """All checks by name, in the order of the report."""
    return {
        "software": check_software,
        "gpu": check_gpus,
        "cores": check_processor,
        "decoders": check_decoders,
        "wandb": check_wandb,
        "slurm": check_slurm,
        "runs": partial(check_runs, runs),
        "TMPDIR": check_temporary,
        "/dev/shm": check_shared_memory,
        "data": partial(check_data, data),
        "limits": check_limits,
    }


def _print_lines(found: Iterator[Finding]) -> list[str]:
    levels: list[str] = []
    for each in found:
        levels.append(each.level)
        print(f"{each.level:<8} {each.name:<12} {each.text}", flush=True)
        if each.advice:
            print(f"{'':<21} -> {each.advice}", flush=True)
    problems, warnings = levels.count("problem"), levels.count("warning")
    print(f"{problems} problem{'' if problems == 1 else 's'}, {warnings} warning{'' if warnings == 1 else 's'}")
    return levels


def _print_json(found: Iterator[Finding]) -> list[str]:
    findings = list(found)
    print(json.dumps([asdict(each) for each in findings], indent=2))
    return [each.level for each in findings]
