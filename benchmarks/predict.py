"""Latency of one clip and throughput of a model: eager, compiled, exported (pt2, AOTInductor), ONNX Runtime, bf16.

python -m benchmarks.predict
python -m benchmarks.predict --model T+S --size S --ways "compiled;bf16" -o predict.json
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from math import isfinite
from pathlib import Path
from statistics import quantiles
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.harness import Actions, Measurement, Result, Row, Table, add_size, left_out, number, parser, ran
from benchmarks.models import schemes
from lit_video.inference.export import TOLERANCE, largest, onnx_program, pt2_program
from lit_video.network.vit import SIZES
from lit_video.training.throughput import Times, seconds

Program = Callable[[Tensor], Tensor]
EAGER, BF16 = "eager", "bf16"


@dataclass(frozen=True)
class Inputs:
    """What is run: a network in eval mode, a batch of clips, and a folder for programs."""

    network: nn.Module
    clip: Tensor
    folder: Path


def _compiled(given: Inputs) -> Program:
    return torch.compile(copy.deepcopy(given.network), dynamic=False)


def _low(program: Program) -> Program:
    def autocast(clip: Tensor) -> Tensor:
        with torch.autocast(clip.device.type, torch.bfloat16):
            return program(clip)

    return autocast


def _pt2(given: Inputs) -> Program:
    return pt2_program(given.network, given.clip, given.folder / "model.pt2", _any_batch())


def _aot_inductor(given: Inputs) -> Program:
    exported = torch.export.export(given.network, (given.clip,), dynamic_shapes=(_any_batch(),))
    path = str(given.folder / "compiled.pt2")
    torch._inductor.aoti_compile_and_package(exported, package_path=path)
    return torch._inductor.aoti_load_package(path)


def _onnx_runtime(given: Inputs) -> Program:
    import onnxruntime  # noqa: F401
    import onnxscript  # noqa: F401

    if given.clip.is_cuda:
        raise ValueError("measured on a CPU only")
    return onnx_program(given.network, given.clip, given.folder / "model.onnx", _any_batch())


def _any_batch() -> dict[int, Any]:
    return {0: torch.export.Dim("batch")}


WAYS: dict[str, Callable[[Inputs], Program]] = {
    EAGER: lambda given: given.network,
    "compiled": _compiled,
    "pt2": _pt2,
    "pt2, AOTInductor": _aot_inductor,
    "ONNX Runtime": _onnx_runtime,
    BF16: lambda given: _low(given.network),
    f"compiled, {BF16}": lambda given: _low(_compiled(given)),
}


def start(given: Inputs, row: Row) -> Actions:
    """Make a program ready and run it once on a batch and on one clip; one that computes something else is refused."""
    clips, made, outputs = (given.clip, given.clip[:1].clone()), list[Program](), list[Tensor]()

    def ready() -> None:
        made.append(WAYS[row["name"]](given))
        outputs.extend(made[0](clip).float() for clip in clips)

    row["start_seconds"] = seconds(ready, given.clip.device)
    pairs = [(output, given.network(clip)) for output, clip in zip(outputs, clips, strict=True)]
    row["logits_difference"] = largest([float((a - b).abs().max() / b.abs().max()) for a, b in pairs])
    if not isfinite(row["logits_difference"]) or (BF16 not in row["name"] and row["logits_difference"] > TOLERANCE):
        raise ValueError(f"its logits differ by {row['logits_difference']:.1e} of the largest")
    return {mode: partial(made[0], clip) for mode, clip in zip(("batch", "one"), clips, strict=True)}


def percentiles(row: Row, times: Times) -> Row:
    """10th and 90th percentile of the latency."""
    own = times[f"{row['name']}, one"]
    low, *_, high = quantiles(own, n=10, method="inclusive") if len(own) > 1 else own * 2
    return {"one_seconds_10": low, "one_seconds_90": high}


def tables(result: Result) -> Iterator[Table]:
    """The result as a table."""
    header = ["way", "latency ms", "10 %", "90 %", "x eager", "clips/s", "x eager", "start s", "logits diff."]
    title = (
        f"{result['model']}, ViT-{result['size']}/16, {result['frames']} x {result['image_size']} x "
        f"{result['image_size']}, {result['device']}, {result['rounds']} rounds"
    )
    notes = [
        f"latency: of one clip, median and percentiles; clips/s: in batches of {result['batch']}",
        "x eager: how many times as fast, median of the rounds",
        "start: to make ready and run for the first time; bf16: by autocast",
    ]
    rows = [row for row in result["rows"] if "left_out" not in row]
    yield Table(title, header, [_cells(row, result["batch"]) for row in rows], notes + left_out(result))


def _cells(row: Row, batch: int) -> list[str]:
    times = [number(row, f"one_seconds{which}", ".1f", 1e-3) for which in ("", "_10", "_90")]
    rate = f"{batch / row['batch_seconds']:.3g}" if "batch_seconds" in row else ""
    ratios = [number(row, f"{mode}_ratio", ".2f") for mode in ("one", "batch")]
    start = [number(row, "start_seconds", ".1f"), number(row, "logits_difference", ".0e")]
    return [row["name"], *times, ratios[0], rate, ratios[1], *start]


def main() -> int:
    """Measure all ways in one run."""
    made = parser("predict", __doc__, repeats=20)
    known = schemes(SIZES["Ti"], 8, 224)
    made.add_argument("--model", choices=list(known), metavar="NAME", default="X-ViT", help=", ".join(known))
    add_size(made, batch=8)
    made.add_argument("--ways", default=";".join(WAYS), help="names with semicolons (default: all)")
    given = made.parse_args()
    ways = [EAGER, *(way for way in given.ways.split(";") if way != EAGER)]
    if given.batch < 2:
        made.error("--batch is at least 2: latency is that of one clip")
    if unknown := [way for way in ways if way not in WAYS]:
        made.error(f"--ways: no way {unknown[0]!r}; ways: {'; '.join(WAYS)}")
    measurement = Measurement("predict", given, "onnxruntime")
    model = schemes(SIZES[given.size], given.frames, given.image_size)[given.model]()
    network, side = model.network.eval().to(measurement.device), given.image_size
    clip = torch.randn(given.batch, 3, model.frames, side, side, device=measurement.device)
    with TemporaryDirectory() as folder, torch.no_grad():
        inputs = Inputs(network, clip, Path(folder))
        for way in ways:
            measurement.add(way, partial(start, inputs), against=EAGER)
        measurement.run(first=0, more=percentiles)  # exporting makes torch.compile forget: round 0 warms up
    measurement.show(tables)
    return 0


if __name__ == "__main__":
    ran(main)
