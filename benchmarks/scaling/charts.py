"""The pictures of docs/scaling.md."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import altair as alt
from inputs import GB, Assumptions, Inputs
from predictions import COUNTS, MEMORIES, demand, strong, weak

from lit_video.costs.scaling import Strategy
from lit_video.reports.charts.series import colour, shape
from lit_video.reports.charts.style import Values, save, table

WIDTH, HEIGHT = 300, 210  # pixels of a panel; two side by side read well at 800
SLOW = 12.5  # GB/s of a node: one card of 100 Gbit/s


def draw(inputs: Inputs, a: Assumptions, stem: Path) -> None:
    """Write ``STEM_gpus.svg`` and ``STEM_data.svg``."""
    kind = "measured steps" if inputs.device else f"estimate, {a.gpu.name}"
    names = list(inputs.models)
    panels = [
        _panel("hours", names, "GPUs", "hours per epoch, paper's batch", log=True),
        _panel("strong", names, "GPUs", "efficiency (%), paper's batch"),
        _panel("fast", names, "GPUs", f"efficiency (%), {a.network:g} GB/s per node"),
        _panel("slow", names, "GPUs", f"efficiency (%), {SLOW:g} GB/s per node"),
    ]
    rows = {"hours": _strong(inputs, a, "epoch", 1), "strong": _strong(inputs, a, "efficiency", 100)}
    rows |= {"fast": _weak(inputs, a), "slow": _weak(inputs, replace(a, network=SLOW))}
    title = f"Kinetics-400 ({kind}). Below: batch grows with the GPUs; dashed: FSDP"
    _save(panels, rows, title, stem.with_name(f"{stem.name}_gpus.svg"))
    read, needed = _demands(inputs, a)
    panels = [
        _with_rules(_panel("read", names, "GPUs", "GB/s of videos read, batch grows", log=True), [a.storage]),
        _with_rules(_panel("needed", names, "clips of a pass on a GPU", "GB of memory, DDP", log=True), list(MEMORIES)),
    ]
    title = f"Data ({kind}) and memory (counted); dashed: storage, GPUs of {', '.join(map(str, MEMORIES))} GB"
    _save(panels, {"read": read, "needed": needed}, title, stem.with_name(f"{stem.name}_data.svg"))


def _strong(inputs: Inputs, a: Assumptions, field: str, factor: float) -> Values:
    points = [(name, gpus, strong(inputs, a, name, gpus)) for name in inputs.models for gpus in COUNTS]
    return [_point(name, gpus, factor * getattr(each, field)) for name, gpus, each in points if each]


def _weak(inputs: Inputs, a: Assumptions) -> Values:
    strategies: tuple[Strategy, ...] = ("ddp", "fsdp")
    rows = []
    for name in inputs.models:
        for how in strategies:
            points = [(gpus, weak(inputs, a, name, gpus, how)) for gpus in COUNTS]
            rows += [_point(name, gpus, 100 * each.efficiency, how) for gpus, each in points if each]
    return rows


def _demands(inputs: Inputs, a: Assumptions) -> tuple[Values, Values]:
    """GB/s of videos by GPUs, and GB of memory by clips."""
    read, needed = [], []
    for name, footprint in inputs.footprints.items():
        asked = demand(inputs, a, name)
        read += [_point(name, gpus, gpus * asked.bytes / GB) for gpus in COUNTS]
        filled = [(clips, (footprint.ddp() + clips * footprint.clip) / GB) for clips in COUNTS[:8]]
        needed += [_point(name, clips, memory) for clips, memory in filled if memory <= 2 * MEMORIES[-1]]
    return read, needed


def _point(name: str, x: float, y: float, strategy: Strategy = "ddp") -> dict[str, Any]:
    return {"row": name, "x": x, "y": y, "strategy": strategy}


def _panel(rows: str, names: list[str], x: str, y: str, log: bool = False) -> Any:
    scale = dict(type="log") if log else dict(domain=[0, 105])
    ticks = dict(values=COUNTS, format="d", labelFlush=False, labelFontSize=11)
    dashes = alt.StrokeDash("strategy:N", scale=dict(domain=["ddp", "fsdp"], range=[[1, 0], [5, 4]]), legend=None)
    base = table(rows).encode(
        x=alt.X("x:Q", title=x, scale=dict(type="log", base=2), axis=ticks),
        y=alt.Y("y:Q", title=y, scale=scale, axis=dict(format="~r" if log else "d", tickCount=6)),
        color=colour(names),
    )
    marks = base.mark_point(filled=True, size=40).encode(shape=shape(names))
    return alt.layer(base.mark_line(strokeWidth=2).encode(strokeDash=dashes), marks)


def _with_rules(panel: Any, heights: list[float]) -> Any:
    rules = alt.Chart(alt.InlineData(values=[{"y": height} for height in heights]))
    return panel + rules.mark_rule(strokeDash=[4, 3], color="var(--quiet)").encode(y="y:Q")


def _save(panels: list[Any], rows: dict[str, Values], title: str, path: Path) -> None:
    figure = alt.concat(*(panel.properties(width=WIDTH, height=HEIGHT) for panel in panels), columns=2)
    figure.datasets = rows
    save(figure, title, path)
