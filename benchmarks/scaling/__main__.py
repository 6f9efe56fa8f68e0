"""Plan training past one machine: docs/scaling.md, from measurements that are stored.

    python benchmarks/scaling measure counts|clips|processes|device    # one JSON each in benchmarks/results/scaling
    python benchmarks/scaling write [--check]                           # docs/scaling.md and its pictures
    python benchmarks/scaling write -o PLAN.md --gpu A100 --network 12.5 --price 2     # with your own assumptions

`counts` needs a minute, `clips` and `processes` (two cores that do nothing else) two each. `device` is for a GPU: where
its JSON is there, the plan says "measured" and not "estimate".
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from inputs import GPUS, Assumptions, read_inputs
from page import page

from lit_video.errors import UserError
from lit_video.utils.files import write_atomically

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "scaling.md"


def main(argv: list[str]) -> int:
    """Run a command; returns the exit status."""
    arguments = _arguments(argv)
    if arguments.command == "measure":
        return _measure(arguments)
    return _write(arguments)


def _measure(arguments: argparse.Namespace) -> int:
    from lit_video.utils.environment import provenance

    out = arguments.output or RESULTS / "scaling" / f"{arguments.what}.json"
    command = f"python benchmarks/scaling measure {arguments.what}"
    device = arguments.device if arguments.what == "device" else "cpu"
    result = provenance(command, device) | _measured(arguments)
    write_atomically(out, json.dumps(result, indent=2) + "\n")
    print(f"wrote {out}")
    return 0


def _measured(arguments: argparse.Namespace) -> dict[str, Any]:
    if arguments.what == "counts":
        from counts import count_models, count_paper

        return {"models": count_models(), "paper": count_paper()}
    if arguments.what == "clips":
        from clips import time_clips

        return time_clips(arguments.videos)
    if arguments.what == "processes":
        from processes import measure

        return measure()
    from device import measure as measure_device

    return measure_device(arguments.device, arguments.small)


def _write(arguments: argparse.Namespace) -> int:
    own = {name: getattr(arguments, name) for name in Assumptions.__dataclass_fields__ if name != "gpu"}
    assumptions = Assumptions(gpu=GPUS[arguments.gpu], **own)
    inputs = read_inputs(arguments.results, assumptions)
    pictures = arguments.output.with_suffix("")
    text = page(inputs, assumptions, pictures.name)
    if arguments.check:
        same = arguments.output.exists() and arguments.output.read_text(encoding="utf-8") == text
        print(f"{arguments.output}: {'up to date' if same else 'out of date; run python benchmarks/scaling write'}")
        return 0 if same else 1
    from charts import draw

    draw(inputs, assumptions, pictures)
    write_atomically(arguments.output, text)
    print(f"wrote {arguments.output}, {pictures}_*.svg")
    return 0


def _arguments(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("scaling", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    measure = commands.add_parser("measure", help="store a measurement")
    measure.add_argument("what", choices=["counts", "clips", "processes", "device"])
    measure.add_argument("-o", "--output", type=Path, help="default: benchmarks/results/scaling/X.json")
    measure.add_argument("--videos", type=Path, default=Path("/tmp/scaling_videos"), help="where clips makes videos")
    measure.add_argument("--device", default="cuda", choices=["cuda", "cpu"], help="of device")
    measure.add_argument("--small", action="store_true", help="of device: one model, once")
    write = commands.add_parser("write", help="write the plan")
    write.add_argument("-o", "--output", type=Path, default=PAGE)
    write.add_argument("--check", action="store_true", help="write nothing; exit with 1 if it is not up to date")
    write.add_argument("--results", type=Path, default=RESULTS)
    write.add_argument("--gpu", choices=list(GPUS), default="H200")
    for name, field in Assumptions.__dataclass_fields__.items():
        if name != "gpu":
            text = f"{field.metadata['help']} (default: {field.default})"
            kind = int if field.type == "int" else float
            write.add_argument(f"--{name.replace('_', '-')}", type=kind, default=field.default, help=text)
    return parser.parse_args(argv)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except UserError as error:
        sys.exit(f"error: {error}")
