"""A benchmark of data paths as tables."""

from math import ceil
from typing import Any

from lit_video.utils.text_tables import text_table


def render(result: dict[str, Any]) -> str:
    """Decoding, errors, loaders and the GPUs that they feed."""
    header = ["videos", "sampling", "library", "clips", "decode ms", "x stock", "+ transform ms", "x stock"]
    body = [_cells(row) for row in result["rows"]]
    blocks = [text_table(f"CPU time per clip of 8 frames, medians, {result['device']}", header, body)]
    blocks.append("x stock: PyTorchVideo's time over this one's, median over the clips; clips: those with equal pixels")
    blocks += [f"error: {e['library']}: {e['video']}, {e['sampling']}: {e['error']}" for e in result["errors"]]
    if result["loaders"]:
        header = ["videos", "library", "workers", "clips/s", "CPU ms per clip", "GPUs fed"]
        loaders = [_loader_cells(row, result["gpu_clips"]) for row in result["loaders"]]
        title = f"Whole loader; a GPU that trains {result['gpu_clips']:g} clips/s"
        blocks += [text_table(title, header, loaders), *_feeds(result)]
    return "\n".join(blocks)


def _cells(row: dict[str, Any]) -> list[str]:
    cells = [row["videos"], row["sampling"], row["library"], str(row["clips"])]
    for key in ("decode", "transform"):
        seconds, ratio = row[f"{key}_seconds"], row[f"{key}_ratio"]
        cells += ["" if seconds is None else f"{1000 * seconds:.1f}", "" if ratio is None else f"{ratio:.1f}"]
    return cells


def _loader_cells(row: dict[str, Any], gpu: float) -> list[str]:
    rate = row["clips_per_second"]
    cost = 1000 * row["cpu_seconds_per_clip"]
    return [row["videos"], row["library"], str(row["workers"]), f"{rate:.1f}", f"{cost:.0f}", f"{rate / gpu:.2f}"]


def _feeds(result: dict[str, Any]) -> list[str]:
    """How much of a GPU the most workers of our loader feed, by kind of video, and how many a GPU takes."""
    ours = {row["videos"]: row for row in result["loaders"] if row["library"] == "lit_video"}
    return [f"{name}: {_fed(row, result['gpu_clips'])}" for name, row in ours.items()]


def _fed(row: dict[str, Any], gpu: float) -> str:
    """Workers are whole; without any the process that trains loads, as one worker would."""
    count, share = row["workers"], row["clips_per_second"] / gpu
    who = {0: "no worker, the process itself, feeds", 1: "1 worker feeds"}.get(count, f"{count} workers feed")
    needed = ceil(max(count, 1) / share)
    takes = f"at this rate it takes {needed} worker{'s' * (needed > 1)}"
    return f"{who} {share:.1f} of a GPU with {gpu:g} clips/s; {takes}"
