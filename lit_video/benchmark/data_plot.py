"""A benchmark of data paths drawn: CPU time per clip, and clips/s against workers."""

from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from lit_video.utils.figures import plt, save


def draw(result: dict[str, Any], path: Path) -> None:
    """Write the figure: a point per kind of video, sampling and library on a log axis; a line per loader."""
    save(figure(result), path)


def figure(result: dict[str, Any]) -> Figure:
    """The figure; of bars on a log axis lengths would mean nothing, and workers come whole."""
    rows = [row for row in result["rows"] if row["transform_seconds"] is not None][::-1]
    drawn, (points, lines) = plt.subplots(1, 2, figsize=(13, 2 + 0.2 * len(rows)), layout="constrained")
    for place, row in enumerate(rows):
        value = 1000 * row["transform_seconds"]
        points.plot(value, place, "o", color="C0" if row["library"] == "lit_video" else "C7")
        points.annotate(f"{value:.0f}", (value, place), (6, 0), textcoords="offset points", va="center", fontsize=7)
    names = [f"{row['videos']}, {row['sampling']}, {row['library']}" for row in rows]
    points.set_yticks(range(len(rows)), names, fontsize=7)
    points.set(xscale="log", title="CPU ms per clip, decode and transform; log axis")
    points.xaxis.set_major_formatter(FuncFormatter(lambda x, place: f"{x:g}"))
    points.xaxis.set_minor_formatter(NullFormatter())
    points.margins(x=0.12)
    points.grid(alpha=0.3)
    for name, library in dict.fromkeys((row["videos"], row["library"]) for row in result["loaders"]):
        series = [row for row in result["loaders"] if (row["videos"], row["library"]) == (name, library)]
        style = "-" if library == "lit_video" else ":"
        of_series = [row["workers"] for row in series], [row["clips_per_second"] for row in series]
        lines.plot(*of_series, style, marker="o", label=f"{name}, {library}")
    lines.axhline(result["gpu_clips"], color="C7", linewidth=1)
    lines.set(title=f"clips/s of the loader; the line is one GPU ({result['gpu_clips']:g})", xlabel="workers")
    lines.set_xticks(sorted({row["workers"] for row in result["loaders"]}))
    lines.set_ylim(0, None)
    if result["loaders"]:
        lines.legend(fontsize=7)
    return drawn
