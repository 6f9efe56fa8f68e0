"""A benchmark of data paths drawn: CPU time per clip, and clips/s against workers."""

from pathlib import Path
from typing import Any

from lit_video.utils.figures import plt, save


def draw(result: dict[str, Any], path: Path) -> None:
    """Write the figure: one bar per kind of video, sampling and library (log scale); one line per loader."""
    rows = [row for row in result["rows"] if row["transform_seconds"] is not None][::-1]
    figure, (bars, lines) = plt.subplots(1, 2, figsize=(13, 2 + 0.2 * len(rows)), layout="constrained")
    names = [f"{row['videos']}, {row['sampling']}, {row['library']}" for row in rows]
    colors = ["C0" if row["library"] == "lit_video" else "C7" for row in rows]
    bars.barh(names, [1000 * row["transform_seconds"] for row in rows], color=colors)
    bars.bar_label(bars.containers[0], fmt="%.0f", padding=2, fontsize=7)
    bars.set(xscale="log", title="CPU ms per clip, decode and transform")
    bars.tick_params(axis="y", labelsize=7)
    for name, library in dict.fromkeys((row["videos"], row["library"]) for row in result["loaders"]):
        series = [row for row in result["loaders"] if (row["videos"], row["library"]) == (name, library)]
        style = "-" if library == "lit_video" else ":"
        points = [row["workers"] for row in series], [row["clips_per_second"] for row in series]
        lines.plot(*points, style, marker="o", label=f"{name}, {library}")
    lines.axhline(result["gpu_clips"], color="C7", linewidth=1)
    lines.set(title=f"clips/s of the loader; the line is one GPU ({result['gpu_clips']:g})", xlabel="workers")
    if result["loaders"]:
        lines.legend(fontsize=7)
    save(figure, path)
