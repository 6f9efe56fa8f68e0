"""Time and memory of models on one device, in rounds."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from statistics import correlation, median
from typing import Any

import torch
import torch._dynamo
import torch.nn.functional as F
from torch import Tensor

from lit_video.benchmark.models import CLASSES, BenchmarkModel, LeftOut
from lit_video.benchmark.timing import Times, peak_memory, rounds, seconds
from lit_video.network.cost import count
from lit_video.training.compilation import compiled
from lit_video.utils.environment import provenance

MATMUL = "matrix products"
PRODUCTS = 4
MANY = 3  # points: through two there is always a line
FORWARD, TRAIN = "forward", "train"
Row = dict[str, Any]
Steps = dict[str, Callable[[], None]]


class Bench:
    """Runs models on one device in one precision."""

    def __init__(self, device: torch.device, dtype: torch.dtype, batch: int, repeats: int) -> None:
        self.device = device
        self.dtype = dtype
        self.batch = batch
        self.repeats = repeats

    def facts(self, command: str) -> dict[str, Any]:
        """Where and how: device, versions, commit, command."""
        return {
            **provenance(command, self.device, "transformers"),
            "dtype": str(self.dtype).removeprefix("torch."),
            "batch": self.batch,
            "repeats": self.repeats,
        }

    def run(
        self,
        models: Sequence[BenchmarkModel | LeftOut],
        image_size: int,
        keep: Callable[[dict[str, Any]], None] = lambda result: None,
    ) -> dict[str, Any]:
        """Measure memory, then time in rounds: forward and training step of all models, in a new order each time.

        Args:
            models: in the order of the rows.
            image_size: of the clips, in pixels.
            keep: called with the result so far, after every round.

        Returns:
            ``rows``, one per model, with the reason (``left_out``) of one that cannot run; ``rounds``; and
            ``matmul_flops``, the FLOP/s of large matrix products in the same rounds.
        """
        torch.manual_seed(0)
        rows: dict[str, Row] = {model.name: {"model": model.name} for model in models}
        actions: Steps = {}
        result: dict[str, Any] = {}
        with ExitStack() as stack:
            # of the third model on, Dynamo would else make code for any shape: modules share what it keeps of shapes
            stack.enter_context(torch._dynamo.config.patch(automatic_dynamic_shapes=False))
            for model in models:
                if isinstance(model, LeftOut):
                    rows[model.name]["left_out"] = model.reason
                    continue
                with _said(model, rows[model.name]):
                    self._move(model, rows[model.name], image_size)
            running = [m for m in models if isinstance(m, BenchmarkModel) and "left_out" not in rows[m.name]]
            self._compare(running, rows, image_size)
            for model in running:
                with _said(model, rows[model.name]):
                    steps = self._start(model, rows[model.name], image_size, stack)
                    actions |= {f"{model.name}, {mode}": step for mode, step in steps.items()}
            (product := self._product())()
            for times in rounds(actions | {MATMUL: product}, self.repeats, self.device, first=1):
                result = self._result([*rows.values()], times)
                keep(result)
        return result

    def _move(self, model: BenchmarkModel, row: Row, image_size: int) -> None:
        """Count, and put it on the device."""
        row["frames"] = model.frames
        row["params"], row["macs"] = count(model.network, model.frames, image_size)
        if model.note:
            row["note"] = model.note
        model.network.to(self.device)

    def _compare(self, models: list[BenchmarkModel], rows: dict[str, Row], image_size: int) -> None:
        """Say with what each is compared; how far its logits are from transformers', which has the same weights."""
        by_name = {model.name: model for model in models}
        for model in models:
            if peer := by_name.get(model.against):
                rows[model.name]["against"] = peer.name
            if peer and peer.name.startswith("HF"):
                clip = torch.randn(1, 3, model.frames, image_size, image_size, device=self.device)
                difference = largest_difference(model.network, peer.network, clip)
                rows[model.name]["logits_difference"] = difference

    def _start(self, model: BenchmarkModel, row: Row, image_size: int, stack: ExitStack) -> Steps:
        """Run it once, which takes as long as it takes to compile, and measure its memory."""
        stack.enter_context(compiled(model.network, model.compile))
        steps = self._steps(model, image_size)
        row["start_seconds"] = sum(seconds(step, self.device) for step in steps.values())
        row["train_memory"] = self._memory(model, steps[TRAIN])
        print(f"{model.name}: first steps {row['start_seconds']:.1f} s", file=sys.stderr, flush=True)
        return steps

    def _result(self, rows: list[Row], times: Times) -> dict[str, Any]:
        """Medians, and medians of the ratios of each round."""
        rate = PRODUCTS * self._side**3 / median(times[MATMUL])
        return {
            "rounds": len(times[MATMUL]),
            "matmul_flops": 2 * rate,
            "rows": [row if "left_out" in row else row | self._measured(row, times, rate) for row in rows],
        }

    def _measured(self, row: Row, times: Times, rate: float) -> Row:
        measured: Row = {}
        for mode in (FORWARD, TRAIN):
            ours, theirs = times[f"{row['model']}, {mode}"], times.get(f"{row.get('against')}, {mode}")
            measured[f"{mode}_seconds"] = median(ours)
            measured[f"{mode}_clips_per_second"] = self.batch / median(ours)
            if theirs:
                measured[f"{mode}_throughput_ratio"] = median(b / a for a, b in zip(ours, theirs, strict=True))
        measured["macs_per_second"] = row["macs"] * measured["forward_clips_per_second"]
        measured["share_of_matmul"] = measured["macs_per_second"] / rate
        # a backward pass multiplies twice what the forward pass does
        measured["train_share_of_matmul"] = 3 * row["macs"] * measured["train_clips_per_second"] / rate
        return measured

    def _steps(self, model: BenchmarkModel, image_size: int) -> Steps:
        """Inference, and a training step (forward, backward, SGD), on the same clips."""
        network = model.network
        clip = torch.randn(self.batch, 3, model.frames, image_size, image_size, device=self.device)
        optimizer = torch.optim.SGD(network.parameters(), lr=1e-6)

        def logits() -> Tensor:
            with torch.autocast(self.device.type, self.dtype, enabled=self.dtype != torch.float32):
                return network(clip)

        def forward() -> None:
            network.eval()
            with torch.no_grad():
                logits()

        def train() -> None:
            network.train()
            output = logits()
            target = torch.arange(len(output), device=self.device) % CLASSES
            torch.autograd.backward(F.cross_entropy(output, target))
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)

        return {FORWARD: forward, TRAIN: train}

    @property
    def _side(self) -> int:
        return 1024 if self.device.type == "cpu" else 8192

    def _product(self) -> Callable[[], None]:
        """Square matrix products: what the device reaches at best in this precision."""
        a, b = (torch.randn(self._side, self._side, device=self.device, dtype=self.dtype) for _ in range(2))

        def product() -> None:
            for _ in range(PRODUCTS):
                a @ b

        return product

    def _memory(self, model: BenchmarkModel, train: Callable[[], None]) -> int | None:
        """Peak of a training step, the weights included: activations, gradients and all."""
        with peak_memory(self.device) as peaks:
            train()
        weights = sum(p.numel() * p.element_size() for p in model.network.parameters())
        return peaks[0] + weights if peaks else None


@contextmanager
def _said(model: BenchmarkModel, row: Row) -> Iterator[None]:
    """Say in its row why a model fails in the block: out of memory, or another package's that does not run here."""
    try:
        yield
    except Exception as error:
        model.network.to("cpu")
        row["left_out"] = f"failed: {str(error).split(chr(10))[0] or type(error).__name__}"


def largest_difference(ours: torch.nn.Module, theirs: torch.nn.Module, clip: Tensor) -> float | None:
    """Largest difference of the logits of a clip; ``None`` where a peer gives another number of rows (HF's S)."""
    with torch.no_grad():
        a, b = ours.eval()(clip), theirs.eval()(clip)
    return (a - b).abs().max().item() if a.shape == b.shape else None


def line_fit(rows: list[Row]) -> dict[str, float]:
    """How well cost, times and memory against frames fit a line: the squared correlation, 1 for a line.

    Of three lengths and more; there is none where others could not run.
    """
    rows = [row for row in rows if "left_out" not in row]
    if len(rows) < MANY:
        return {}
    frames = [row["frames"] for row in rows]
    keys = [key for key in ("macs", "forward_seconds", "train_seconds", "train_memory") if rows[0][key] is not None]
    return {key: correlation(frames, [row[key] for row in rows]) ** 2 for key in keys}
