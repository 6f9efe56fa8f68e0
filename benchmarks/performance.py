"""docs/performance.md, from the measurements that are stored under benchmarks/results; what is missing says "not run".

    python benchmarks/performance.py [--check] [--results DIR] [-o FILE]

`--check` writes nothing, and exits with 1 if the page is not up to date.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lit_video.benchmark import kernel_timing, long_timing, predict_timing, stream_timing
from lit_video.benchmark.data_report import cores_for
from lit_video.benchmark.model_report import HEADER, cells, title
from lit_video.errors import UserError
from lit_video.utils.files import read_text, write_atomically
from lit_video.utils.text_tables import markdown_lines

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "performance.md"
NOT_RUN = "not run"
Result = dict[str, Any]

INTRODUCTION = """\
# Performance

Written by `python benchmarks/performance.py` from [stored measurements](../benchmarks/results), each with the command
that made it; no number below is typed in. Ratios ("x") are medians over rounds in which all models take turns, so that
they hold where times depend on the machine. "Of peak" is the share of the rate of large matrix products in the same
rounds. Nothing here was trained: accuracies are in [REPRODUCE.md](../REPRODUCE.md), plans for many GPUs in
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
    "kernels": "attention kernels of every scheme",
    "compile_block": "blocks compiled",
    "compile_full": "networks compiled",
    "long": "long clips",
    "predict": "latency and throughput of inference",
    "scaling_bf16": "X-ViT against frames",
}
FORMAT_HEADER = [
    "videos",
    "kept as",
    "decode, ms",
    "and view, collate, ms",
    "cores, 1,000 clips/s",
    "bytes",
    "PSNR, dB",
]
# shown as their commands print them: heading, folder (and stage on a GPU), what prints
PRINTED = (
    ("Attention kernels", "kernels", kernel_timing.render),
    ("Long clips", "long", long_timing.render),
    ("Inference", "predict", predict_timing.render),
    ("Streams", "stream", stream_timing.render),
)


def page(results: Path) -> str:
    """The page's text."""
    gpu = {name: on_gpu(results / "gpu" / f"{name}.json") for name in STAGES}
    parts = [INTRODUCTION, "\n\n".join([GPU, goals(gpu), stages(gpu)])]
    shown = [gpu[name] for name in STAGES if name.startswith(("model", "compile", "scaling"))]
    shown += [read(path) for path in sorted((results / "model").glob("*.json"))]
    parts.append("\n\n".join(["## Models", *(models(result) for result in shown if result)]))
    mixing = [mixing_layer(result) for result in (gpu["mixing"], read(results / "mixing.json")) if result]
    parts.append("\n\n".join(["## The mixing layer", *mixing]))
    for heading, name, render in PRINTED:
        stored = [gpu.get(name), *(read(path) for path in sorted((results / name).glob("*.json")))]
        tables = [f"```\n{render(result)}\n```\n\n{facts(result)}" for result in stored if result]
        parts.append("\n\n".join([f"## {heading}", *(tables or [NOT_RUN])]))
    data = [result for path in sorted((results / "data").glob("*.json")) if (result := read(path))]
    parts.append("\n\n".join(["## Reading videos", *(part for result in data for part in readers(result))]))
    starts = [many_videos(result) for path in sorted((results / "start").glob("*.json")) if (result := read(path))]
    parts.append("\n\n".join(["## Many videos", *(starts or [NOT_RUN])]))
    return "\n\n".join(part.strip() for part in parts) + "\n"


def read(path: Path) -> Result | None:
    """A stored measurement; ``None`` where it was not made.

    Raises:
        UserError: the file is damaged.
    """
    try:
        content: Result = json.loads(read_text(path))
        return {key: content[key] for key in ("command", "commit", "device")} | content
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


def facts(result: Result) -> str:
    """How a measurement was made."""
    return f"`{result['command']}`, commit {result['commit']}"


def goals(gpu: dict[str, Result | None]) -> str:
    """What is aimed at on a GPU, and what was measured."""
    bf16, fp32, compiled = (rows_of(gpu[name]) for name in ("model_bf16", "model_fp32", "compile_block"))
    ours, single = bf16.get("X-ViT", {}), fp32.get("X-ViT", {})
    spatial = bf16.get("spatial-only", {})
    table = [
        ("training X-ViT-B/16, 8 x 224, bfloat16, of the peak", ">= 0.5", ours.get("train_share_of_matmul")),
        ("the same, blocks compiled", ">= 0.5", compiled.get("X-ViT, block", {}).get("train_share_of_matmul")),
        ("T+S over transformers' T+S, training", ">= 2", bf16.get("T+S", {}).get("train_throughput_ratio")),
        ("X-ViT's step in bfloat16 over float32", ">= 2.5", over(ours, single, "train_clips_per_second")),
        ("mixing over spatial-only, training", ">= 0.99", ours.get("train_throughput_ratio")),
        ("mixing over spatial-only, inference", ">= 0.99", ours.get("forward_throughput_ratio")),
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
    """Rows of a benchmark of models, by name."""
    return {row["model"]: row | {"device": result["device"]} for row in result["rows"]} if result else {}


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


def models(result: Result) -> str:
    """A benchmark of models."""
    result.setdefault("rounds", result["repeats"])  # the number of rounds, before it was kept while they went on
    rows = [with_training_share(row) for row in result["rows"] if "left_out" not in row]
    notes = [f"- {row['model']}: {row['note']}" for row in rows if "note" in row]
    notes += [f"- {row['model']}: left out: {row['left_out']}" for row in result["rows"] if "left_out" in row]
    table = markdown_lines(HEADER, [cells(row) for row in rows])
    parts = [f"**{title(result)}**", table, *(["\n".join(notes)] if notes else [])]
    if fit := [f"{key} {value:.4f}" for key, value in result.get("fit", {}).items()]:
        parts.append(f"Squared correlation with the frames, 1 for a line: {', '.join(fit)}.")
    return "\n\n".join([*parts, facts(result)])


def with_training_share(row: Result) -> Result:
    """A row in which the share of the peak in training may be missing, as in those stored early."""
    rate = row["macs_per_second"] / row["share_of_matmul"]
    return {"train_share_of_matmul": 3 * row["macs"] * row["train_clips_per_second"] / rate} | row


def mixing_layer(result: Result) -> str:
    """One layer of mixing beside one of spatial attention."""
    rows = {(row["layer"], row["mode"]): row for row in result["rows"]}
    layers, modes = (list(dict.fromkeys(names)) for names in zip(*rows, strict=True))
    header = ["layer", *(f"{mode}, {unit}" for mode in modes for unit in ("ms", "x"))]
    body = [[name, *(str(rows[name, mode][unit]) for mode in modes for unit in ("ms", "ratio"))] for name in layers]
    clips = f"8 x 224, batch {result.get('batch', 1)}, {result.get('dtype', 'fp32')}, {result['device']}"
    about = f"**ViT-B/16, {clips}, medians of {result['rounds']}; x: time over that of spatial attention**"
    return "\n\n".join([about, markdown_lines(header, body), facts(result)])


def readers(result: Result) -> Iterator[str]:
    """CPU time per clip of every library, and of every format in which videos can be kept."""
    libraries = list(dict.fromkeys(row["library"] for row in result["rows"]))
    rows: dict[str, dict[str, Result]] = {}
    for row in result["rows"]:
        rows.setdefault(f"{row['videos']}, {row['sampling']}", {})[row["library"]] = row
    body = [[name, *(_ms_and_ratio(row.get(library)) for library in libraries)] for name, row in rows.items()]
    yield f"**CPU ms per clip, decoding and transforms (x: how much faster than PyTorchVideo), {result['device']}**"
    yield markdown_lines(["videos, clips", *libraries], body)
    if formats := result.get("formats"):
        yield "Clips of 8 frames, 8 apart, of videos that are kept in other formats; PSNR against the source."
        yield markdown_lines(FORMAT_HEADER, [_format(row) for row in formats])
    yield facts(result)


def _format(row: Result) -> list[str]:
    times = [f"{1e3 * row[key]:.1f}" for key in ("decode_seconds", "clip_seconds")]
    loss = "" if row["psnr"] is None else f"{row['psnr']:.1f}"
    cores = f"{cores_for(1000, row['clip_seconds']):.1f}"
    return [row["videos"], row["format"], *times, cores, f"{row['size_ratio']:.2f} x", loss]


def many_videos(result: Result) -> str:
    """Checking a large data set, and starting on it beside few videos."""
    checks = [
        [name, f"{row['seconds']:.1f}", f"{row['most_rss_mb']:.0f}"]
        for name, row in result.items()
        if name.startswith("check")
    ]
    starts = []
    for kind in ("folder", "csv"):
        few = result[f"start of 10 from {kind}"]["after_mb"]["pss_with_workers"]
        for name in (kind, f"{kind} with a manifest"):
            row = result[f"start of {name}"]
            more = row["after_mb"]["pss_with_workers"] - few
            starts.append([name, f"{row['start']:.2f}", f"{more:.0f}"])
    return "\n\n".join([
        f"**{result['videos']:,} videos of {result['classes']} classes, {result['cores']} cores, {result['device']}**",
        "Start: from the data set's constructor to the first batch, without imports; memory of all processes together.",
        markdown_lines(["start", "seconds", "MB more than with 10 videos"], starts),
        markdown_lines(["`data check`", "seconds", "most memory of a process, MB"], checks),
        facts(result),
    ])  # fmt: skip


def _ms_and_ratio(row: Result | None) -> str:
    return f"{1e3 * row['transform_seconds']:.1f} ({row['transform_ratio']:.2f} x)" if row else ""


def main(argv: list[str]) -> int:
    """Write or check the page; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("-o", "--output", type=Path, default=PAGE)
    arguments = parser.parse_args(argv)
    text = page(arguments.results)
    if arguments.check:
        same = arguments.output.exists() and arguments.output.read_text(encoding="utf-8") == text
        print(f"{arguments.output}: {'up to date' if same else 'out of date; run python benchmarks/performance.py'}")
        return int(not same)
    write_atomically(arguments.output, text)
    print(f"wrote {arguments.output}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except UserError as error:
        sys.exit(f"error: {error}")
