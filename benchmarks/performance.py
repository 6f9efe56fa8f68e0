"""Write docs/performance.md from the measurements in benchmarks/results/{cpu,gpu}; missing ones read "not run".

    python -m benchmarks.performance [--check] [--results DIR] [-o FILE]

`--check` writes nothing, and exits with 1 if the page is not up to date.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path

from benchmarks import data, exports, first_minutes, gradient_noise, long, mixing, model, step
from benchmarks.harness import FORWARD, TRAIN, Result, Row, Table, ran
from benchmarks.roundings import roundings_apart
from lit_video.errors import UserError
from lit_video.settings.effects import picked
from lit_video.utils.files import write_atomically
from lit_video.utils.text import markdown_lines

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "performance.md"
NOT_RUN = "not run"

INTRODUCTION = """\
# Performance

For anyone who asks how fast and how large the models are.

Written by `python -m benchmarks.performance` from [stored measurements](../benchmarks/results), each with its command
and commit; no number is typed in. Ratios ("x") are medians over rounds in which all models take turns, so that they
depend less on the machine than times do. "Of peak" is the share of the rate of large matrix products in the same
rounds. Nothing here was trained: accuracies are in [results](results/xvit.md), plans for many GPUs in
[scaling.md](scaling.md).
"""
GPU = """\
## On a GPU

`benchmarks/gpu.sh STAGE` measures a stage in at most 8 minutes; `benchmarks/gpu.sh needs` lists what to bring to a
machine without a network. Aims were set before any GPU was measured, for ViT-B/16 and clips of 8 x 224 in bfloat16.
Files with commit 5d1d8999f86a+changes were measured at 4da75942 (compile: at fe55455c); git on the lent machine named
its own base."""
SPEED = {mode: f"{mode}_clips_per_second" for mode in (FORWARD, TRAIN)}
Tables = Callable[[Result], Iterable[Table]]
# heading, patterns of files in gpu/ and cpu/, function that returns their tables
SECTIONS: tuple[tuple[str, tuple[str, ...], Tables], ...] = (
    ("Commands as typed", ("first_minutes",), first_minutes.tables),
    ("Models", ("model*", "compile"), model.tables),
    ("The mixing layer", ("mixing",), mixing.tables),
    ("Long clips", ("long",), long.tables),
    ("Reading videos", ("data*",), data.tables),
    ("A training step of small models", ("step*",), step.tables),
    ("Noise of the gradient for direction", ("gradient_noise",), gradient_noise.tables),
    ("Exports", ("exports*",), exports.tables),
)

ONE_SETTING = {"size": "B", "image_size": 224, "frames": 8}  # all aims are for this setting
# figure, aim, key of a row and its form, model, model to compare with (or empty)
AIMS = (
    ("X-ViT trains at this share of the peak", "50 %", "train_of_peak", "{:.0f} %", "X-ViT", ""),
    ("X-ViT trains at this share of spatial-only's speed", "99 %", SPEED[TRAIN], "{:.1f} %", "X-ViT", "spatial-only"),
    ("the same for inference", "99 %", SPEED[FORWARD], "{:.1f} %", "X-ViT", "spatial-only"),
    ("memory of its training step over spatial-only's", "102 %", "train_memory", "{:.1f} %", "X-ViT", "spatial-only"),
    ("X-ViT trains faster than in float32", "2.5 x", SPEED[TRAIN], "{:.1f} x", "X-ViT", "X-ViT, fp32"),
    ("T+S trains faster than transformers' T+S", "2 x", SPEED[TRAIN], "{:.2f} x", "T+S", "HF T+S"),
)


def page(results: Path) -> str:
    """Return the page's text."""
    measured = any((results / "gpu").glob("*.json"))
    parts = [
        INTRODUCTION,
        GPU,
        aims(results / "gpu") if measured else "No GPU has been measured yet.",
        parity(results / "gpu/parity.json"),
    ]
    for heading, patterns, tables in SECTIONS:
        files = [file for each in patterns for file in results.glob(f"[cg]pu/{each}.json")]
        script = tables.__module__.rpartition(".")[2]
        stored = [read(file, script) for file in sorted(files, key=lambda file: (file.parent.name == "cpu", file.name))]
        parts += [f"## {heading}", *([shown(tables, result) for result in stored if result] or [NOT_RUN])]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def shown(tables: Tables, result: Result) -> str:
    """Return the tables of a measurement, its command and its commit."""
    made = f"`{result['command']}`, commit {result['commit']}"
    return "\n\n".join([*(table.markdown() for table in tables(result)), made])


def read(path: Path, script: str, **settings: object) -> Result | None:
    """Return a stored measurement of a script; ``None`` if it was not made.

    Raises:
        UserError: the file is damaged, was made by another script, with other settings, or on a CPU although it lies
            in ``gpu/``.
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
    if not re.search(rf" benchmarks?[. ]{script}\b", result["command"]):
        raise UserError(f"{path}: made by {result['command']}, not by benchmarks.{script}; move it elsewhere")
    for key, value in settings.items():
        if result.get(key) != value:
            raise UserError(f"{path}: its {key} is {result.get(key)}, expected {value}; measure again, or rename it")
    return result


def aims(folder: Path) -> str:
    """Return a table of the aims and the figures of a GPU, without and with ``--compile``."""
    half = read(folder / "model_bf16.json", "model", dtype="bf16", **ONE_SETTING)
    shared = ONE_SETTING | picked(half or {}, ("device", "batch"))
    full = read(folder / "model_fp32.json", "model", dtype="fp32", **shared)
    compiled = read(folder / "compile.json", "model", dtype="bf16", **shared)
    eager = named(half) | {f"{name}, fp32": row for name, row in named(full).items()}
    # our models have compiled twins, those of transformers do not
    twins = {name.removesuffix(", compiled"): row for name, row in named(compiled).items()}
    body = []
    for figure, aim, key, form, name, other in AIMS:
        reached = [_over(rows, key, form, name, other) for rows in (eager, twins)]
        body.append([figure, aim, *reached])
    return markdown_lines(["figure", "aim", "reached", "compiled"], body)


def _over(rows: dict[str, Row], key: str, form: str, name: str, other: str) -> str:
    """Return a row's figure, divided by that of ``other`` if named; "not run" if a row is missing."""
    if not all(key in rows.get(each, {}) for each in (name, other) if each):
        return NOT_RUN
    value = rows[name][key] / (rows[other][key] if other else 1)
    return form.format(100 * value if form.endswith("%") else value)


def named(result: Result | None) -> dict[str, Row]:
    """Return the rows of a measurement by name, empty if it was not made."""
    return {row["name"]: row for row in result["rows"]} if result else {}


# code whose logits the cases of benchmarks/parity.py are compared with, by the beginning of their names
CODE = {
    "xvit": "X-ViT's authors",
    "fb": "TimeSformer's authors",
    "scenic": "ViViT's authors",
    "hf": "transformers (TimeSformer, ViViT)",
}
COMPARED = """\
Tests of this repository compare logits, on a CPU, with those that the authors' own code computed with random weights
([tests/vectors](../tests/vectors)): X-ViT's mixing, TA and averaging; TimeSformer's S, ST and T+S; ViViT's models 1 to
4. L+G and T+W+H were never released, nor X-ViT's summary token and wider windows, nor TimeSformer's other orders of
space and time: they are tested against their formulas, written a second time."""


def parity(path: Path) -> str:
    """Say how far logits differ from those of other code, in float32 and bfloat16, and which code each scheme's is."""
    result = read(path, "parity")
    if result is None:
        return f"Parity: {NOT_RUN}.\n\n{COMPARED}"
    others = [words for start, words in CODE.items() if any(row["name"].startswith(start) for row in result["rows"])]
    within = sum(row["within"] for row in result["rows"])
    worst = [max(row[key] for row in result["rows"]) for key in ("fp32_relative", "bf16_relative")]
    most = [f"{share:g}" for share in result["tolerance"].values()]
    said = f"{within} of {len(result['rows'])} cases within {' and '.join(most)} of the largest logit in float32 and "
    said += f"bfloat16; at most {worst[0]:.0e} and {worst[1]:.2g}"
    measured = f"Parity with the code of {', of '.join(others)}: {said}; {result['device']}, commit {result['commit']}."
    return f"{measured}\n\n{COMPARED}"


def main(argv: list[str] | None = None) -> int:
    """Write or check the page; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("-o", "--output", type=Path, default=PAGE)
    arguments = parser.parse_args(argv)
    text = page(arguments.results)
    if arguments.check:
        old = arguments.output.read_text(encoding="utf-8") if arguments.output.exists() else ""
        same = roundings_apart(old, text) is not None
        print(f"{arguments.output}: {'up to date' if same else 'out of date; run python -m benchmarks.performance'}")
        return int(not same)
    write_atomically(arguments.output, text)
    print(f"wrote {arguments.output}")
    return 0


if __name__ == "__main__":
    ran(main)
