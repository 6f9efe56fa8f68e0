"""docs/performance.md, from the measurements in benchmarks/results/{cpu,gpu}; what is missing says "not run".

    python -m benchmarks.performance [--check] [--results DIR] [-o FILE]

`--check` writes nothing, and exits with 1 if the page is not up to date.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable
from pathlib import Path

from benchmarks import data, long, mixing, model
from benchmarks.harness import Result, Table, ran
from lit_video.errors import UserError
from lit_video.utils.files import write_atomically

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "performance.md"
NOT_RUN = "not run"

INTRODUCTION = """\
# Performance

For whoever asks how fast and how large the models are.

Written by `python -m benchmarks.performance` from [stored measurements](../benchmarks/results), each with the command
that made it, at its commit; no measurement is typed in. Ratios ("x") are medians over rounds in which all models take
turns, so that they hold where times depend on the machine. "Of peak" is the share of the rate of large matrix products
in the same rounds. Nothing here was trained: accuracies are in [results](results/xvit.md), plans for many GPUs in
[scaling.md](scaling.md).
"""
GPU = """\
## On a GPU

`benchmarks/gpu.sh STAGE` measures a stage in at most 8 minutes, `benchmarks/gpu.sh needs` says what a machine without a
network needs for it. Aimed at, for X-ViT-B/16 of 8 x 224 in bfloat16: training reaches half of the peak; mixing reaches
99 % of the throughput of spatial-only in training and inference, with at most 2 % more memory; T+S trains twice as fast
as transformers' T+S; a step is 2.5 times as fast as in float32."""
Tables = Callable[[Result], Iterable[Table]]
# heading, patterns of files in gpu/ and cpu/, what shows them
SECTIONS: tuple[tuple[str, tuple[str, ...], Tables], ...] = (
    ("Models", ("model*", "compile"), model.tables),
    ("The mixing layer", ("mixing",), mixing.tables),
    ("Long clips", ("long",), long.tables),
    ("Reading videos", ("data*",), data.tables),
)


def page(results: Path) -> str:
    """The page's text."""
    measured = any((results / "gpu").glob("*.json"))
    parts = [
        INTRODUCTION,
        GPU,
        "" if measured else "No GPU has been measured yet.",
        parity(results / "gpu/parity.json"),
    ]
    for heading, patterns, tables in SECTIONS:
        files = [file for each in patterns for file in results.glob(f"[cg]pu/{each}.json")]
        stored = [read(file) for file in sorted(files, key=lambda file: (file.parent.name == "cpu", file.name))]
        parts += [f"## {heading}", *([shown(tables, result) for result in stored if result] or [NOT_RUN])]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def shown(tables: Tables, result: Result) -> str:
    """The tables of a measurement, and how it was made."""
    made = f"`{result['command']}`, commit {result['commit']}"
    return "\n\n".join([*(table.markdown() for table in tables(result)), made])


def read(path: Path) -> Result | None:
    """A stored measurement; ``None`` where it was not made.

    Raises:
        UserError: the file is damaged, or was made on a CPU and lies among those of a GPU.
    """
    try:
        content: Result = json.loads(path.read_text(encoding="utf-8"))
        result = {key: content[key] for key in ("command", "commit", "device", "rows")} | content
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path}: damaged, or no measurement of ours ({error}); measure again") from error
    if path.parent.name == "gpu" and "threads" in result["device"]:
        raise UserError(f"{path}: made on {result['device']}, no GPU; move it elsewhere")
    return result


def parity(path: Path) -> str:
    """Logits beside those of the released code, in float32 and bfloat16, in a sentence."""
    result = read(path)
    if result is None:
        return f"Parity with the released code: {NOT_RUN}."
    within = sum(row["within"] for row in result["rows"])
    worst = [max(row[key] for row in result["rows"]) for key in ("fp32_relative", "bf16_relative")]
    said = f"{within} of {len(result['rows'])} within {result['tolerance']}; largest {worst[0]:.0e}, {worst[1]:.1%}"
    return f"Parity with the released code: {said}; {result['device']}, commit {result['commit']}."


def main(argv: list[str] | None = None) -> int:
    """Write or check the page; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("-o", "--output", type=Path, default=PAGE)
    arguments = parser.parse_args(argv)
    text = page(arguments.results)
    if arguments.check:
        same = arguments.output.exists() and arguments.output.read_text(encoding="utf-8") == text
        print(f"{arguments.output}: {'up to date' if same else 'out of date; run python -m benchmarks.performance'}")
        return int(not same)
    write_atomically(arguments.output, text)
    print(f"wrote {arguments.output}")
    return 0


if __name__ == "__main__":
    ran(main)
