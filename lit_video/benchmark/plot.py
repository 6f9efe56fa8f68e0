"""A benchmark drawn: throughput of every model, memory, and multiply-adds. No accuracy: nothing here was trained."""

from pathlib import Path
from typing import Any

from lit_video.benchmark.peers import PUBLISHED
from lit_video.utils.figures import plt, save


def draw(result: dict[str, Any], path: Path) -> None:
    """Write the figure: forward and training throughput, peak memory and multiply-adds, one bar per model."""
    rows = [row for row in result["rows"][::-1] if "left_out" not in row]
    names = [row["model"] for row in rows]
    colors = ["C7" if name.startswith("HF") or name in PUBLISHED else "C0" for name in names]
    panels = [
        ("forward, clips/s", [row["forward_clips_per_second"] for row in rows]),
        ("training, clips/s", [row["train_clips_per_second"] for row in rows]),
        ("peak memory of training, GiB", [(row["train_memory"] or 0) / 2**30 for row in rows]),
        ("multiply-adds of a clip, G", [row["macs"] / 1e9 for row in rows]),
    ]
    figure, axes = plt.subplots(1, 4, figsize=(14, 1 + 0.3 * len(rows)), sharey=True, layout="constrained")
    for axis, (title, values) in zip(axes, panels, strict=True):
        axis.barh(names, values, color=colors)
        axis.bar_label(axis.containers[0], fmt="%.3g", padding=2, fontsize=8)
        axis.set_title(title, fontsize=10)
        axis.margins(x=0.2)
    facts = f"{result['image_size']} px, batch {result['batch']}, {result['dtype']}, {result['device']}"
    figure.suptitle(f"ViT-{result['size']}/16 (blue) and other packages' models, {facts}")
    save(figure, path)
