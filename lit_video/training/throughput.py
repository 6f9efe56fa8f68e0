"""Clips per second of every row of a table, beside the first row's, measured in rounds."""

import random
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from statistics import median, quantiles

import torch

from lit_video.tables.table import Row
from lit_video.training.cli import BuildCLI
from lit_video.training.request import Request, Run
from lit_video.training.run import build_row
from lit_video.utils.clip_shape import height_and_width
from lit_video.utils.environment import seconds

Times = dict[str, list[float]]


def rounds(
    actions: Mapping[str, Callable[[], object]],
    repeats: int,
    device: torch.device,
    first: int = 0,
    clock: Callable[[], float] = time.perf_counter,
) -> Iterator[Times]:
    """Yield the times of all actions after each round, in which each runs once.

    Neighbours in time share the machine's state, so that times of one round compare. Each round has an order of its
    own: what ran before costs or saves an action several percent on a CPU. Round 0 warms up and is not kept; ``first``
    is 1 where all have run before.
    """
    times: Times = {name: [] for name in actions}
    order, draw = list(actions), random.Random(0)
    for number in range(first, repeats + 1):
        draw.shuffle(order)
        for name in order:
            elapsed = seconds(actions[name], device, clock)
            print(f"round {number} of {repeats}: {name} {elapsed:.3f} s", file=sys.stderr, flush=True)
            if number:
                times[name].append(elapsed)
        if number:
            yield times


def measure(request: Request, device: torch.device, batch: int, repeats: int) -> dict[str, dict[str, float]]:
    """Median and quartiles of each row's clips per second, and the median of its rounds' ratios to the first row."""
    torch.manual_seed(0)
    actions = {row.name: _inference(request, row, device, batch) for row in request.rows}
    *_, times = rounds(actions, repeats, device)
    return {row.name: _summary(times[row.name], times[request.rows[0].name], batch) for row in request.rows}


def _inference(request: Request, row: Row, device: torch.device, batch: int) -> Callable[[], object]:
    built = build_row(Run(request, row, request.seeds[0]), BuildCLI)
    data, network = built.datamodule, built.model.network.eval().to(device)
    clip = torch.randn(batch, 3, data.frames, *height_and_width(data.image_size), device=device)

    def forward() -> None:
        with torch.no_grad():
            network(clip)

    return forward


def _summary(own: list[float], first: list[float], batch: int) -> dict[str, float]:
    low, middle, high = quantiles([batch / each for each in own], n=4, method="inclusive")
    ratio = median(b / a for a, b in zip(own, first, strict=True))
    return {"clips_per_second": middle, "low": low, "high": high, "ratio": ratio}
