"""A benchmark of data paths drawn: CPU time per clip, cores for a rate by format, and clips/s of loaders."""

from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from lit_video.benchmark.data_report import cores_for
from lit_video.utils.figures import plt, save


def draw(result: dict[str, Any], path: Path) -> None:
    """Write the figure: a panel for each part that was measured."""
    save(figure(result), path)


def figure(result: dict[str, Any]) -> Figure:
    """The figure."""
    rows = [row for row in result["rows"] if row["transform_seconds"] is not None][::-1]
    loaders = [row for row in result["loaders"] if "missing" not in row]
    parts = [(_libraries, rows), (_formats, result["formats"][::-1]), (_loaders, loaders)]
    filled = [(part, measured) for part, measured in parts if measured]
    height = 2.5 + 0.2 * max((len(measured) for _, measured in filled), default=1)
    drawn, panels = plt.subplots(
        1, max(len(filled), 1), figsize=(6.5 * len(filled) or 6.5, height), layout="constrained", squeeze=False
    )
    for (part, measured), axes in zip(filled, panels[0], strict=False):
        part(axes, measured, result["clips_per_second"])
    return drawn


def _libraries(axes: Axes, rows: list[dict[str, Any]], rate: float) -> None:
    """A point per kind of video, sampling and library."""
    names = [f"{row['videos']}, {row['sampling']}, {row['library']}" for row in rows]
    _points(axes, rows, [1000 * row["transform_seconds"] for row in rows], names)
    axes.set_title("CPU ms per clip, decode and transform; log axis")


def _points(axes: Axes, rows: list[dict[str, Any]], values: list[float], names: list[str]) -> None:
    """A point per row, ours blue; of bars on a log axis lengths would mean nothing."""
    for place, (row, value) in enumerate(zip(rows, values, strict=True)):
        axes.plot(value, place, "o", color="C0" if row["library"] == "lit_video" else "C7")
        text = f"{value:.0f}" if value >= 10 else f"{value:.1f}"
        axes.annotate(text, (value, place), (6, 0), textcoords="offset points", va="center", fontsize=7)
    axes.set_yticks(range(len(rows)), names, fontsize=7)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, place: f"{x:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.margins(x=0.12)
    axes.grid(alpha=0.3)


def _formats(axes: Axes, rows: list[dict[str, Any]], rate: float) -> None:
    """A bar per kind of video and format: cores, of which decoding is the darker part."""
    places = range(len(rows))
    axes.barh(places, [cores_for(rate, row["clip_seconds"]) for row in rows], color="C0", alpha=0.35, label="all")
    axes.barh(places, [cores_for(rate, row["decode_seconds"]) for row in rows], color="C0", label="decoding")
    for place, row in enumerate(rows):
        loss = "" if row["psnr"] is None else f", {row['psnr']:.1f} dB"
        cores = cores_for(rate, row["clip_seconds"])
        note = f"{cores:.1f}: bytes x {row['size_ratio']:.2f}{loss}"
        axes.annotate(note, (cores, place), (4, 0), textcoords="offset points", va="center", fontsize=7)
    axes.set_yticks(places, [f"{row['videos']}, {row['format']}" for row in rows], fontsize=7)
    axes.set_title(f"cores for {rate:g} clips/s: decode, view, collate")
    axes.margins(x=0.35)
    axes.set_xlim(0, None)
    axes.legend(fontsize=7, loc="lower right")


def _loaders(axes: Axes, rows: list[dict[str, Any]], rate: float) -> None:
    """A point per kind of video, number of workers and loader."""
    kinds = list(dict.fromkeys(row["videos"] for row in rows))

    def place(row: dict[str, Any]) -> tuple[object, ...]:
        return kinds.index(row["videos"]), row["workers"], row["library"] != "lit_video", row["library"]

    rows = sorted(rows, key=place, reverse=True)  # the first is on top
    names = [f"{row['videos']}, {row['workers']} workers, {row['library']}" for row in rows]
    _points(axes, rows, [row["clips_per_second"] for row in rows], names)
    axes.set_title("clips/s of the loader; log axis")
