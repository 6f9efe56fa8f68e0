"""Time and memory of models on one device, interleaved."""

from collections.abc import Callable
from statistics import correlation, median
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from lit_video.benchmark.models import CLASSES, BenchmarkModel, largest_difference
from lit_video.benchmark.timing import interleaved, peak_memory
from lit_video.costs.count import count
from lit_video.utils.environment import commit, device_name, versions

MATMUL = "matrix product"


class Bench:
    """Runs models on one device in one precision."""

    def __init__(self, device: torch.device, dtype: torch.dtype, batch: int, repeats: int) -> None:
        self.device = device
        self.dtype = dtype
        self.batch = batch
        self.repeats = repeats

    def facts(self, command: str) -> dict[str, Any]:
        """Where and how: device, versions, commit, command, and the rate of matrix products."""
        return {
            "command": f"python -m lit_video benchmark model {command}".strip(),
            "commit": commit(),
            "device": device_name(),
            "versions": versions(),
            "dtype": str(self.dtype).removeprefix("torch."),
            "batch": self.batch,
            "repeats": self.repeats,
        }

    def run(self, models: list[BenchmarkModel], image_size: int) -> list[dict[str, Any]]:
        """Time, then measure memory; one row per model."""
        torch.manual_seed(0)
        for model in models:
            model.network.to(self.device)
        differences = self._differences(models, image_size)
        steps = {c.name: self._steps(c, image_size) for c in models}
        times, rate = {}, 0.0
        for i, mode in enumerate(("forward", "train")):
            actions = {MATMUL: self._product()} | {name: step[i] for name, step in steps.items()}
            times[mode] = interleaved(actions, self.repeats, self.device, mode)
            rate = max(rate, 4 * self._side**3 / median(times[mode].pop(MATMUL)))
        rows = []
        for model in models:
            row = self._row(model, image_size, times)
            row["share_of_matmul"] = row["macs_per_second"] / rate
            row["train_memory"] = self._memory(model, steps[model.name][1])
            row["logits_difference"] = differences.get(model.name)
            rows.append(row)
        return rows

    def _row(self, model: BenchmarkModel, image_size: int, times: dict[str, dict[str, list[float]]]) -> dict[str, Any]:
        """Cost, medians, and medians of the ratios of each round."""
        params, macs = count(model.network, model.frames, image_size)
        row: dict[str, Any] = {"model": model.name, "frames": model.frames, "params": params, "macs": macs}
        for mode, all_times in times.items():
            ours, theirs = all_times[model.name], all_times.get(model.against)
            row[f"{mode}_seconds"] = median(ours)
            row[f"{mode}_clips_per_second"] = self.batch / median(ours)
            if theirs:
                row["against"] = model.against
                row[f"{mode}_throughput_ratio"] = median(b / a for a, b in zip(ours, theirs, strict=True))
        row["macs_per_second"] = macs * row["forward_clips_per_second"]
        return row

    def _differences(self, models: list[BenchmarkModel], image_size: int) -> dict[str, float | None]:
        """How far the logits of a model are from its peer's, which has the same weights."""
        differences = {}
        by_name = {c.name: c for c in models}
        for ours in models:
            if ours.against.startswith("HF") and ours.against in by_name:
                clip = torch.randn(1, 3, ours.frames, image_size, image_size, device=self.device)
                differences[ours.name] = largest_difference(ours, by_name[ours.against], clip)
        return differences

    def _steps(self, model: BenchmarkModel, image_size: int) -> tuple[Callable[[], None], Callable[[], None]]:
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

        return forward, train

    @property
    def _side(self) -> int:
        return 1024 if self.device.type == "cpu" else 8192

    def _product(self) -> Callable[[], None]:
        """Four square matrix products: what the device reaches at best in this precision."""
        a, b = (torch.randn(self._side, self._side, device=self.device, dtype=self.dtype) for _ in range(2))

        def product() -> None:
            for _ in range(4):
                a @ b

        return product

    def _memory(self, model: BenchmarkModel, train: Callable[[], None]) -> int | None:
        """Peak of a training step, the weights included: activations, gradients and all."""
        with peak_memory(self.device) as peaks:
            train()
        weights = sum(p.numel() * p.element_size() for p in model.network.parameters())
        return peaks[0] + weights if peaks else None


def line_fit(rows: list[dict[str, Any]]) -> dict[str, float]:
    """How well cost, times and memory against frames fit a line: the squared correlation, 1 for a line."""
    frames = [row["frames"] for row in rows]
    keys = [key for key in ("macs", "forward_seconds", "train_seconds", "train_memory") if rows[0][key] is not None]
    return {key: correlation(frames, [row[key] for row in rows]) ** 2 for key in keys}
