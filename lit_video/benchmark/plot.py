"""A benchmark drawn: throughput of every model, and memory."""

from pathlib import Path
from typing import Any

from lit_video.utils.figures import plt, save


def draw(result: dict[str, Any], path: Path) -> None:
    """Write the figure: forward and training throughput, and peak memory, one bar per model."""
    rows = result["rows"][::-1]
    names = [row["model"] for row in rows]
    colors = ["C7" if name.startswith("HF") else "C0" for name in names]
    panels = [
        ("forward, clips/s", [row["forward_clips_per_second"] for row in rows]),
        ("training, clips/s", [row["train_clips_per_second"] for row in rows]),
        ("peak memory of training, GiB", [(row["train_memory"] or 0) / 2**30 for row in rows]),
    ]
    figure, axes = plt.subplots(1, 3, figsize=(12, 1 + 0.3 * len(rows)), sharey=True, layout="constrained")
    for axis, (title, values) in zip(axes, panels, strict=True):
        axis.barh(names, values, color=colors)
        axis.bar_label(axis.containers[0], fmt="%.2f", padding=2, fontsize=8)
        axis.set_title(title, fontsize=10)
        axis.margins(x=0.15)
    facts = f"{result['image_size']} px, batch {result['batch']}, {result['dtype']}, {result['device']}"
    figure.suptitle(f"ViT-{result['size']}/16, {facts}")
    save(figure, path)
