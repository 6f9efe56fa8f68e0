"""Compile and export a tiny network of every scheme in every way that PyTorch offers, and compare the logits.

    python -m benchmarks.exports
    python -m benchmarks.exports --models X-ViT,T+S --ways pt2,onnx -o exports.json

Weights are random, so that no branch is zero. Each program is asked for batches of several sizes, also for one clip; a
compiled network also trains with a smaller last batch. A cell is the largest difference from the network's own numbers
relative to the largest of them, "no" with the first line of the error below the table, or "not run". An interrupted
command goes on with ``-o FILE``, and tries again what failed. Generated code takes a minute or more for each network.
"""

from __future__ import annotations

import copy
import json
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

import torch
from torch import Tensor, nn

from benchmarks.harness import CLASSES, Actions, Measurement, Result, Row, Table, left_out, parser, ran
from benchmarks.models import Build, Model, schemes
from lit_video.inference.export import BATCHES, WRITERS
from lit_video.network.convnets import convnet
from lit_video.network.embedding import ClipSize
from lit_video.network.timesformer import timesformer
from lit_video.network.vit import ViTSize
from lit_video.training.fit import compiled
from lit_video.utils.text import first_line

SIZE, SIDE, FRAMES = ViTSize(16, 2, 2), 32, 4
EXAMPLE = 2  # clips that a program is made with
TRAINED, TESTED = (4, 3, 1), (4, 3, 1)  # clips of each batch: the last ones are smaller
# further attention of TimeSformer, by its name in the table
FURTHER = {
    "sliding L+G": "sliding_global",
    "space before time": "space_before_time",
    "parallel": "parallel",
    "trajectory": "lit_video.attention.trajectory.Trajectory",
    "TokenLearner": "lit_video.attention.token_learner.TokenLearner",
    "shifted windows": "lit_video.attention.shifted_windows.ShiftedWindows",
}
# architecture and channels of the stem; SlowFast has a multiple of 8
CNNS = {
    "C2D": ("c2d", 8),
    "I3D": ("i3d", 8),
    "Slow": ("slow", 8),
    "SlowFast": ("slowfast", 16),
    "R(2+1)D": ("r2plus1d", 8),
    "CSN": ("csn", 8),
    "X3D": ("x3d", 8),
}
CNN_FRAMES = 8
BLOCKS = 2  # left of each stage of a CNN: an odd and an even one
Program = Callable[[Tensor], Tensor]
Clips = Callable[[int], Tensor]  # so many clips, the same at each call


def networks() -> dict[str, Build]:
    """Return builders of tiny networks by name, transformers first."""
    clip = ClipSize((SIDE, SIDE), num_frames=FRAMES)

    def further(attention: str) -> Build:
        return lambda: Model(timesformer(SIZE, CLASSES, clip, attention_type=attention), FRAMES)

    def cnn(architecture: str, width: int) -> Build:
        return lambda: Model(shallow(convnet(architecture, CLASSES, width=width, dropout=0.0)), CNN_FRAMES)

    transformers = schemes(SIZE, FRAMES, SIDE) | {name: further(attention) for name, attention in FURTHER.items()}
    return transformers | {name: cnn(*choice) for name, choice in CNNS.items()}


def shallow(network: nn.Module) -> nn.Module:
    """Leave the first blocks of each stage of a CNN; the others repeat them."""
    for module in network.modules():
        if hasattr(module, "res_blocks"):
            module.res_blocks = module.res_blocks[:BLOCKS]
    return network


def randomise(network: nn.Module) -> nn.Module:
    """Draw all parameters, because those at zero hide what comes before them."""
    torch.manual_seed(0)
    for module in network.modules():
        for parameter in module.parameters(recurse=False):
            nn.init.normal_(parameter, mean=float("Norm" in type(module).__name__ and parameter.ndim == 1), std=0.2)
    return network


class Compared:
    """Largest difference of numbers from expected ones, relative to the largest of these."""

    def __init__(self) -> None:
        self.difference = 0.0

    def add(self, actual: Tensor, expected: Tensor) -> None:
        """Take in two tensors of one shape.

        Raises:
            ValueError: a number is not finite, or the shapes differ.
        """
        if actual.shape != expected.shape:
            raise ValueError(f"shape {tuple(actual.shape)}, expected {tuple(expected.shape)}")
        if not actual.isfinite().all():
            raise ValueError("numbers that are not finite")
        if expected.numel():
            difference = (actual - expected).abs().max() / expected.abs().max().clamp(min=1e-6)
            self.difference = max(self.difference, float(difference))


def tested(network: nn.Module, program: Program, clips: Clips) -> float:
    """Return how far a program's logits are from those of the network, for batches of several sizes."""
    compared = Compared()
    with torch.no_grad():
        for count in TESTED:
            compared.add(program(clips(count)), network(clips(count)))
    return compared.difference


def written(kind: str, network: nn.Module, clips: Clips) -> float:
    """Write a program as the command ``export`` does, and test it."""
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        program = WRITERS[kind](network, clips(EXAMPLE), Path(folder, f"model.{kind}"))
        return tested(network, program, clips)


def ahead(network: nn.Module, clips: Clips) -> float:
    """Compile an exported network with AOTInductor into a library of machine code, and test it."""
    from torch._inductor import aoti_compile_and_package, aoti_load_package

    exported = torch.export.export(network, (clips(EXAMPLE),), dynamic_shapes=(BATCHES,))
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        path = aoti_compile_and_package(exported, package_path=str(Path(folder, "model.pt2")))
        return tested(network, aoti_load_package(path), clips)


def trained(network: nn.Module, clips: Clips) -> float:
    """Train a network that computes compiled, with smaller last batches, then infer; return the difference.

    Logits and gradients are compared with those of an equal network that is not compiled.

    Raises:
        ValueError: the network itself cannot train with one of the batches.
    """
    plain = copy.deepcopy(network)
    plain._compiled_call_impl = None  # type: ignore[assignment]
    both = (network.train(), plain.train())
    compared = Compared()
    for count in TRAINED:
        try:
            copy.deepcopy(plain)(clips(count))
        except Exception as error:
            fault = f"the network itself, not compiled, fails in training with a batch of {count} of {SIDE} pixels"
            raise ValueError(f"{fault}: {first_line(error)}") from error
        outputs = []
        for each in both:
            torch.manual_seed(count)  # equal dropout
            outputs.append(each(clips(count)))
            torch.autograd.backward(outputs[-1].square().mean())
        compared.add(*outputs)

        ours, theirs = (torch.cat([p.grad.flatten() for p in each.parameters() if p.grad is not None]) for each in both)
        compared.add(ours, theirs)
        for each in both:
            each.zero_grad()

    with torch.no_grad():
        compared.add(network.eval()(clips(TRAINED[1])), plain.eval()(clips(TRAINED[1])))
    return compared.difference


def generated(network: nn.Module, clips: Clips) -> float:
    """Train with generated code, as ``fit --compile full`` does."""
    with compiled(network, enabled=True):
        return trained(network, clips)


def traced(network: nn.Module, clips: Clips) -> float:
    """Train with the graphs from which code would be generated, forward and backward, in one piece each."""
    network.compile(backend="aot_eager", fullgraph=True)
    return trained(network, clips)


WAYS: dict[str, tuple[str, Callable[[nn.Module, Clips], float]]] = {
    "pt2": ("torch.export", partial(written, "pt2")),
    "onnx": ("ONNX", partial(written, "onnx")),
    "traced": ("torch.compile, graphs", traced),
    "compile": ("torch.compile, code", generated),
    "aot": ("AOTInductor", ahead),
}


def start(measurement: Measurement, build: Build, earlier: Mapping[str, Row], row: Row) -> Actions:
    """Try a network in each way; a row keeps the difference of the numbers, or the error's first line."""
    model = build()
    network = randomise(model.network).eval()
    row |= {"differences": {}} | earlier.get(row["name"], {}) | {"errors": {}}

    def clips(count: int) -> Tensor:
        generator = torch.Generator().manual_seed(count)
        return torch.randn(count, 3, model.num_frames, SIDE, SIDE, generator=generator)

    for way in measurement.arguments.ways.split(","):
        if way in row["differences"]:
            continue
        torch.compiler.reset()
        begin = time.perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # exporters emit warnings about their own code
                row["differences"][way] = WAYS[way][1](copy.deepcopy(network), clips)
        except Exception as error:  # any library's failure is what is looked for
            row["errors"][way] = first_line(error)
        seconds = time.perf_counter() - begin
        outcome = row["errors"].get(way) or f"{row['differences'][way]:.0e}"
        print(f"{row['name']}, {way}: {outcome} ({seconds:.0f} s)", file=sys.stderr, flush=True)
        measurement.keep()
    return {}


def kept(path: Path | None, versions: Mapping[str, str]) -> dict[str, Row]:
    """Return the rows of an interrupted measurement by name; none of other versions."""
    if path is None or not path.exists():
        return {}
    stored = json.loads(path.read_text(encoding="utf-8"))
    return {row["name"]: row for row in stored["rows"]} if stored["versions"] == versions else {}


def tables(result: Result) -> Iterator[Table]:
    """Yield a table with a row per network and a column per way; errors are notes below it."""
    ways = result["ways"].split(",")
    rows = {row["name"]: row for row in result["rows"]}
    body, notes = [], left_out(result)
    for name in result["models"].split(","):
        tried: Row = {"differences": {}, "errors": {}} | rows.get(name, {})
        known = {way: f"{difference:.0e}" for way, difference in tried["differences"].items()}
        known |= dict.fromkeys(tried["errors"], "no")
        body.append([name, *(known.get(way, "not run") for way in ways)])
        notes += [f"{name}, {WAYS[way][0]}: {line}" for way, line in tried["errors"].items()]
    if others := [label for way, (label, _) in WAYS.items() if way not in ways]:
        notes.append(f"not run by this command: {'; '.join(others)}")
    about = f"torch {result['versions']['torch']}"
    if "onnx" in ways:
        about += f", onnxruntime {result['versions']['onnxruntime']}"
    title = f"{SIZE.depth} layers of {SIZE.embed_dim} channels, {FRAMES} frames of {SIDE} pixels, {about}"
    yield Table(title, ["network", *(WAYS[way][0] for way in ways)], body, notes)


def main() -> int:
    """Try all networks; return 1 if one could not be built."""
    made = parser("exports", __doc__)
    known = networks()
    made.add_argument("--models", default=",".join(known), help="names with commas (default: all)")
    made.add_argument("--ways", default=",".join(WAYS), help=f"with commas, of {', '.join(WAYS)} (default: all)")
    given = made.parse_args()
    for flag, names, choices in (("models", given.models, known), ("ways", given.ways, WAYS)):
        if unknown := [name for name in names.split(",") if name not in choices]:
            made.error(f"--{flag}: no {unknown[0]!r}, expected some of {', '.join(choices)}")

    measurement = Measurement("exports", given, "onnxruntime", "onnxscript")
    earlier = kept(given.output, measurement.result["versions"])
    measurement.rows.extend(earlier.values())  # so that no interruption loses what an earlier command has measured
    measurement.keep()
    for name in given.models.split(","):
        measurement.rows[:] = [row for row in measurement.rows if row["name"] != name]
        measurement.add(name, partial(start, measurement, known[name], earlier))
    return measurement.show(tables)


if __name__ == "__main__":
    ran(main)
