"""docs/performance.md, from the measurements in benchmarks/results/{cpu,gpu}; what is missing says "not run".

    python -m benchmarks.performance [--check] [--results DIR] [-o FILE]

`--check` writes nothing, and exits with 1 if the page is not up to date.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable
from pathlib import Path

from benchmarks import data, long, many_videos, mixing, model, predict, stream
from benchmarks.harness import Result, Table, ran
from lit_video.errors import UserError
from lit_video.utils.files import read_text, write_atomically
from lit_video.utils.text import markdown_lines

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "performance.md"
NOT_RUN = "not run"

INTRODUCTION = """\
# Performance

Written by `python -m benchmarks.performance` from [stored measurements](../benchmarks/results), each with the command
that made it, at its commit; no number below is typed in. Ratios ("x") are medians over rounds in which all models take
turns, so that they hold where times depend on the machine. "Of peak" is the share of the rate of large matrix products
in the same rounds. Nothing here was trained: accuracies are in [REPRODUCE.md](../REPRODUCE.md), plans for many GPUs in
[scaling.md](scaling.md).
"""
GPU = """\
## On a GPU

`benchmarks/gpu.sh STAGE` measures a stage in at most 8 minutes, `benchmarks/gpu.sh needs` says what a machine without a
network needs for it."""
# files of benchmarks/results/gpu, by what they show
STAGES = {
    "parity": "logits of the released code, in float32 and bfloat16",
    "steps_bf16-mixed": "steps in which the host waits for no GPU, bfloat16",
    "steps_32-true": "the same in float32",
    "model_bf16": "models in bfloat16",
    "model_fp32": "models in float32",
    "mixing": "mixing beside spatial-only attention",
    "compile": "networks compiled",
    "long": "long clips",
    "predict": "latency and throughput of inference",
}
Tables = Callable[[Result], Iterable[Table]]
# heading, patterns of files in gpu/ and cpu/, what shows them
SECTIONS: tuple[tuple[str, tuple[str, ...], Tables], ...] = (
    ("Models", ("model*", "compile"), model.tables),
    ("The mixing layer", ("mixing",), mixing.tables),
    ("Long clips", ("long",), long.tables),
    ("Inference", ("predict",), predict.tables),
    ("Streams", ("stream",), stream.tables),
    ("Reading videos", ("data*",), data.tables),
    ("Many videos", ("many_videos",), many_videos.tables),
)


def page(results: Path) -> str:
    """The page's text."""
    gpu = {name: on_gpu(results / "gpu" / f"{name}.json") for name in STAGES}
    parts = [INTRODUCTION, GPU, goals(gpu), stages(gpu)]
    for heading, patterns, tables in SECTIONS:
        files = [file for each in patterns for file in results.glob(f"[cg]pu/{each}.json")]
        stored = [read(file) for file in sorted(files, key=lambda file: (file.parent.name == "cpu", file.name))]
        parts += [f"## {heading}", *(shown(tables, result) for result in stored if result)]
        parts += [] if any(stored) else [NOT_RUN]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def shown(tables: Tables, result: Result) -> str:
    """The tables of a measurement, and how it was made."""
    made = f"`{result['command']}`, commit {result['commit']}"
    return "\n\n".join([*(table.markdown() for table in tables(result)), made])


def read(path: Path) -> Result | None:
    """A stored measurement; ``None`` where it was not made.

    Raises:
        UserError: the file is damaged.
    """
    try:
        content: Result = json.loads(read_text(path))
        return {key: content[key] for key in ("command", "commit", "device", "rows")} | content
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path}: damaged, or no measurement of ours ({error}); measure again") from error


def on_gpu(path: Path) -> Result | None:
    """A measurement on a GPU.

    Raises:
        UserError: it was made on a CPU.
    """
    result = read(path)
    if result and "threads" in result["device"]:
        raise UserError(f"{path}: made on {result['device']}, no GPU; move it elsewhere")
    return result


def goals(gpu: dict[str, Result | None]) -> str:
    """What is aimed at on a GPU, and what was measured."""
    bf16, fp32, compiled = (rows_of(gpu[name]) for name in ("model_bf16", "model_fp32", "compile"))
    ours, single, spatial = bf16.get("X-ViT", {}), fp32.get("X-ViT", {}), bf16.get("spatial-only", {})
    table = [
        ("training X-ViT-B/16, 8 x 224, bfloat16, of the peak", ">= 0.5", ours.get("train_of_peak")),
        ("the same, compiled", ">= 0.5", compiled.get("X-ViT, compiled", {}).get("train_of_peak")),
        ("T+S over transformers' T+S, training", ">= 2", bf16.get("T+S", {}).get("train_ratio")),
        ("X-ViT's step in bfloat16 over float32", ">= 2.5", over(ours, single, "train_clips_per_second")),
        ("mixing over spatial-only, training", ">= 0.99", ours.get("train_ratio")),
        ("mixing over spatial-only, inference", ">= 0.99", ours.get("forward_ratio")),
        ("memory of mixing over spatial-only", "<= 1.02", over(ours, spatial, "train_memory")),
        ("share of a step that waits for data, prepared video, 16 cores", "< 0.02", None),
    ]
    body = [[what, goal, NOT_RUN if value is None else f"{value:.3g}"] for what, goal, value in table]
    return markdown_lines(["what", "goal", "measured"], body)


def over(ours: Result, theirs: Result, key: str) -> float | None:
    """A ratio, where both were measured on one kind of device."""
    same = ours.get("device") == theirs.get("device")
    return ours[key] / theirs[key] if same and ours.get(key) and theirs.get(key) else None


def rows_of(result: Result | None) -> dict[str, Result]:
    """Rows of a measurement of models, by name."""
    return {row["name"]: row | {"device": result["device"]} for row in result["rows"]} if result else {}


def stages(gpu: dict[str, Result | None]) -> str:
    """What ran, where, and what it found."""
    body = [[name, what, outcome(name, gpu[name])] for name, what in STAGES.items()]
    return markdown_lines(["file", "what", "result"], body, numbers=False)


def outcome(name: str, result: Result | None) -> str:
    """One stage in a few words."""
    if result is None:
        return NOT_RUN
    where = f"{result['device']}, commit {result['commit']}"
    if name == "parity":
        within = sum(row["within"] for row in result["rows"])
        worst = [max(row[key] for row in result["rows"]) for key in ("fp32_relative", "bf16_relative")]
        said = f"{within} of {len(result['rows'])} within {result['tolerance']}; largest {worst[0]:.0e}, {worst[1]:.1%}"
        return f"{said}; not compared: {', '.join(result['missing']) or 'none'}; {where}"
    if name.startswith("steps"):
        fails = "; ".join(f"{row}: {reason}" for row, reason in result["fails"].items())
        return f"{len(result['rows']) - len(result['fails'])} of {len(result['rows'])} families; {fails or where}"
    return where


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
