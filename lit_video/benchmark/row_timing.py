"""Clips per second of every row of a table, beside the first row's."""

from collections.abc import Callable
from statistics import median, quantiles
from typing import Any

import torch

from lit_video.benchmark.timing import interleaved
from lit_video.tables.table import Row
from lit_video.tables.throughput import PAPERS
from lit_video.training.cli import BuildCLI
from lit_video.training.request import Request
from lit_video.training.run import build_row
from lit_video.utils.image_size import height_and_width
from lit_video.utils.text_tables import text_table


def measure(request: Request, device: torch.device, batch: int, repeats: int) -> dict[str, list[float]]:
    """Clips per second of each round, by row."""
    torch.manual_seed(0)
    actions = {row.name: _inference(request, row, device, batch) for row in request.rows}
    times = interleaved(actions, repeats, device, "forward")
    return {name: [batch / seconds for seconds in rounds] for name, rounds in times.items()}


def _inference(request: Request, row: Row, device: torch.device, batch: int) -> Callable[[], object]:
    built = build_row(request, row, request.seeds[0], BuildCLI)
    data, network = built.datamodule, built.model.network.eval().to(device)
    clip = torch.randn(batch, 3, data.frames, *height_and_width(data.image_size), device=device)

    def forward() -> None:
        with torch.no_grad():
            network(clip)

    return forward


def summarise(rates: dict[str, list[float]], row: Row, first: Row) -> dict[str, float]:
    """Median and quartiles of the rate, and the median of each round's ratio to the first row."""
    own = rates[row.name]
    low, middle, high = quantiles(own, n=4, method="inclusive")
    ratio = median(a / b for a, b in zip(own, rates[first.name], strict=True))
    return {"clips_per_second": middle, "low": low, "high": high, "ratio": ratio}


def render(request: Request, result: dict[str, Any]) -> str:
    """The result as a table; the paper's ratio where it gives its rates."""
    papers = {row.name: row.paper[PAPERS] for row in request.rows if PAPERS in row.paper}
    first = request.rows[0]
    body = []
    for row in request.rows:
        measured = result["rows"][row.name]
        spread = f"{measured['low']:.3g} to {measured['high']:.3g}"
        paper = f"{papers[row.name] / papers[first.name]:.3f}" if {row.name, first.name} <= papers.keys() else ""
        body.append([row.label, f"{measured['clips_per_second']:.3g}", spread, f"{measured['ratio']:.3f}", paper])
    title = f"{request.table.title} - {request.table.source}; scale {request.table.scale}, {result['device']}"
    header = ["row", "clips/s", "quartiles", f"over {first.label}", "the paper's"]
    return text_table(f"{title}, batch {result['batch']}, medians of {result['repeats']}", header, body)
