"""Latency and throughput of a network by the ways to run it, in rounds of random order."""

import copy
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from math import isfinite
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import Tensor, nn

from lit_video.benchmark.timing import Times, rounds, rounds_done, seconds
from lit_video.inference.programs import TOLERANCE, largest, onnx_program, pt2_program
from lit_video.utils.image_size import in_words
from lit_video.utils.text_tables import text_table

Program = Callable[[Tensor], Tensor]
Row = dict[str, Any]
EAGER, BF16 = "eager", "bf16"


class NotHere(Exception):
    """A way that this machine cannot run; the message says why."""


@dataclass(frozen=True)
class Inputs:
    """What is run: a network in eval mode, a batch of clips like its own, and a folder for programs."""

    network: nn.Module
    clip: Tensor
    folder: Path

    @property
    def cuda(self) -> bool:
        """Whether on a GPU."""
        return self.clip.is_cuda


def _eager(given: Inputs) -> Program:
    return given.network


def _compiled(given: Inputs) -> Program:
    program: Program = torch.compile(copy.deepcopy(given.network), dynamic=False)
    return program


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
    program: Program = torch._inductor.aoti_load_package(path)
    return program


def _onnx_runtime(given: Inputs) -> Program:
    missing = [name for name in ("onnxscript", "onnxruntime") if find_spec(name) is None]
    if missing:
        raise NotHere(f"not installed: {', '.join(missing)}")
    if given.cuda:
        raise NotHere("measured on a CPU only")
    program = onnx_program(given.network, given.clip, given.folder / "model.onnx", _any_batch())
    assert program is not None, "onnxruntime is there"
    return program


def _any_batch() -> dict[int, Any]:
    return {0: torch.export.Dim("batch")}


WAYS: dict[str, Callable[[Inputs], Program]] = {
    EAGER: _eager,
    "compiled": _compiled,
    "pt2": _pt2,
    "pt2, AOTInductor": _aot_inductor,
    "ONNX Runtime": _onnx_runtime,
    BF16: lambda given: _low(_eager(given)),
    f"compiled, {BF16}": lambda given: _low(_compiled(given)),
}


def measure(
    network: nn.Module, shape: tuple[int, ...], ways: list[str], device: torch.device, repeats: int
) -> Iterator[Row]:
    """The result so far: after each way has been made ready, then after each round.

    Args:
        network: any, in eval mode.
        shape: of a batch of at least two clips, whose throughput is measured; latency is that of one clip.
        ways: of :data:`WAYS`, ``eager`` among them.
        device: where.
        repeats: rounds.

    Yields:
        ``rounds``, how many are done; ``rows``, one per way: the seconds that it took to make ready and run first, the
        largest difference of its logits from eager ones as a share of the largest logit, latencies' median, 10th and
        90th percentile, clips per second, and the medians of the rounds' ratios to eager; or the reason (``left_out``)
        why there are none.
    """
    torch.manual_seed(0)
    result: Row = {"shape": list(shape), "repeats": repeats, "rounds": 0, "rows": []}
    network, batch = network.eval().to(device), torch.randn(shape, device=device)
    one = batch[:1].clone()
    actions: dict[str, Callable[[], Any]] = {}
    with TemporaryDirectory() as folder, torch.no_grad():
        expected = network(batch), network(one)
        for name in ways:
            row: Row = {"way": name}
            result["rows"].append(row)
            try:
                program = _ready(name, Inputs(network, batch, Path(folder)), (batch, one), expected, row)
                actions |= {f"{name}, one": partial(program, one), f"{name}, batch": partial(program, batch)}
            except Exception as error:  # whatever a compiler or an exporter raises
                row["left_out"] = str(error).strip().split("\n")[0] or type(error).__name__
            state = row.get("left_out") or f"ready in {row['start_seconds']:.1f} s"
            print(f"{name}: {state}", file=sys.stderr, flush=True)
            yield result
        for times in rounds(actions, repeats, device):  # exporting makes torch.compile forget: the first warms up
            result["rows"] = [_timed(row, times, shape[0]) for row in result["rows"]]
            result["rounds"] = len(times[f"{EAGER}, one"])
            yield result


def _ready(name: str, given: Inputs, clips: tuple[Tensor, ...], expected: tuple[Tensor, ...], row: Row) -> Program:
    """The program, run once on each; one that computes something else is refused."""
    made: list[Program] = []
    outputs: list[Tensor] = []

    def start() -> None:
        made.append(WAYS[name](given))
        outputs.extend(made[0](clip) for clip in clips)

    row["start_seconds"] = seconds(start, given.clip.device)
    differences = [float((a.float() - b).abs().max() / b.abs().max()) for a, b in zip(outputs, expected, strict=True)]
    row["logits_difference"] = largest(differences)
    if not isfinite(row["logits_difference"]) or (BF16 not in name and row["logits_difference"] > TOLERANCE):
        raise NotHere(f"its logits differ by {row['logits_difference']:.1e} of the largest")
    return made[0]


def _timed(row: Row, times: Times, batch: int) -> Row:
    if "left_out" in row:
        return row
    one, many = (times[f"{row['way']}, {kind}"] for kind in ("one", "batch"))
    low, *_, high = quantiles(one, n=10, method="inclusive") if len(one) > 1 else one * 2
    row = row | {"latency": median(one), "latency_10": low, "latency_90": high}
    row["clips_per_second"] = batch / median(many)
    for key, own, kind in (("latency_ratio", one, "one"), ("throughput_ratio", many, "batch")):
        row[key] = median(b / a for a, b in zip(own, times[f"{EAGER}, {kind}"], strict=True))
    return row


def render(result: Row) -> str:
    """The result as a table."""
    header = ["way", "latency ms", "10 %", "90 %", "x eager", "clips/s", "x eager", "start s", "logits diff."]
    body = [_cells(row) for row in result["rows"]]
    batch, _, frames, *size = result["shape"]
    title = f"{result['model']}, {frames} x {in_words(size)}, {result['device']}, {rounds_done(result)} rounds"
    legend = (
        f"latency: of one clip, median and percentiles; clips/s: in batches of {batch}; x eager: how many times as "
        "fast, median of the rounds;\nstart: to make ready and run for the first time; bf16: by autocast"
    )
    left_out = [f"{row['way']}: {row['left_out']}" for row in result["rows"] if "left_out" in row]
    return "\n".join([text_table(title, header, body), legend, *left_out])


def _cells(row: Row) -> list[str]:
    if "latency" not in row:
        return [row["way"], "-", "", "", "", "-", "", "", ""]
    milliseconds = [f"{1e3 * row[key]:.1f}" for key in ("latency", "latency_10", "latency_90")]
    rates = [f"{row['latency_ratio']:.2f}", f"{row['clips_per_second']:.3g}", f"{row['throughput_ratio']:.2f}"]
    return [row["way"], *milliseconds, *rates, f"{row['start_seconds']:.1f}", f"{row['logits_difference']:.0e}"]
