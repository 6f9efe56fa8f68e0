"""The ``fit`` command: every row and seed of a table its own process. Imports no torch by itself."""

import subprocess
import sys

from lit_video.commands.arguments import parse_request
from lit_video.errors import UserError
from lit_video.tables.rendering import render
from lit_video.tables.summary import summary
from lit_video.training.request import Request
from lit_video.utils.processes import end_with_starter
from lit_video.utils.stop_signals import stop_signals


def fit(argv: list[str]) -> int:
    """Run one row in this process, or several rows and seeds in a process each."""
    if {"-h", "--help"} & set(argv) or any(arg.endswith(".help") or arg.startswith("--print_config") for arg in argv):
        from lit_video.training.cli import show

        return show(["fit", *_without(argv, {"--row", "--recipe", "--seeds", "--runs"})])
    end_with_starter()
    with stop_signals("fit") as stops:
        request = parse_request(argv)
        if request.single:
            from lit_video.training.run import run_row

            return run_row(request, request.rows[0], request.seeds[0], stops)
    return run_table(request, argv)


def run_table(request: Request, argv: list[str]) -> int:
    """Check all rows, run those that are not finished, print the table; 1 if a row failed."""
    from lit_video.training.run import check_rows

    to_do = check_rows(request)
    failed = []
    base = [sys.executable, "-m", "lit_video", "fit", *_without(argv, {"--row", "--seeds", "--seed_everything"})]
    for seed in request.seeds:
        for row in request.rows:
            name = f"{request.table.name} {row.name} seed {seed}"
            if (row, seed) not in to_do:
                print(f"{name}: finished, skipped", flush=True)
                continue
            print(f"{name}: starting", flush=True)
            if _wait([*base, "--row", row.name, "--seeds", str(seed)]):
                failed.append(name)
    print(render(summary(request.table, request.runs, request.seeds, pairs=False), "text"))
    print(f"runs: {request.runs / request.table.name / request.table.scale}")
    for name in failed:
        print(f"{name}: FAILED, see its messages above; the same command again resumes it", file=sys.stderr)
    return 1 if failed else 0


def _wait(command: list[str]) -> int:
    """Run a row's process; Ctrl-C reaches it too, and ends the table once it has stopped."""
    process = subprocess.Popen(command)
    try:
        return process.wait()
    except KeyboardInterrupt:
        process.wait()
        raise UserError("interrupted; the same command again goes on from here") from None


def _without(argv: list[str], names: set[str]) -> list[str]:
    """The arguments without these flags, whether given as ``--x=1`` or as ``--x 1``."""
    kept, skip = [], False
    for arg in argv:
        if skip or arg.split("=")[0] in names:
            skip = not skip and "=" not in arg
            continue
        kept.append(arg)
    return kept
