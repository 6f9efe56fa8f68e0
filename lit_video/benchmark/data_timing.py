"""CPU time per clip of every library on the videos of a folder."""

import random
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

from lit_video.benchmark.clip_decoders import ClipDecoder, cut, same, truth
from lit_video.benchmark.sample_videos import KINDS
from lit_video.datamodules.folder import EXTENSIONS
from lit_video.errors import UserError
from lit_video.utils.files import files_below
from lit_video.video.decoding import DecodeError, frame_table

FRAMES = 8
SAMPLINGS = ("stride 8", "stride 32", "whole")
STOCK = "PyTorchVideo"


def video_groups(root: Path, each: int) -> dict[str, list[Path]]:
    """Readable videos under a folder, at most ``each``: by kind if we made them, else all together.

    Raises:
        UserError: there are none.
    """
    files = [p for p in files_below(root) if p.suffix.lower() in EXTENSIONS and not p.name.startswith(".")]
    kinds = {kind.name: [p for p in files if p.parent == root / kind.name] for kind in KINDS}
    made = {name: paths for name, paths in kinds.items() if paths}
    chosen = made or {root.resolve().name: random.Random(0).sample(files, len(files))}
    groups = {name: [p for p in paths if _readable(p)][:each] for name, paths in chosen.items()}
    if not any(groups.values()):
        raise UserError(f"{root}: no video in this folder that can be read; --make makes some")
    return {name: paths for name, paths in groups.items() if paths}


def _readable(path: Path) -> bool:
    try:
        return frame_table(path).count > 0
    except DecodeError as error:
        print(f"left out: {error}", file=sys.stderr)
        return False


def time_clips(
    decoders: list[ClipDecoder], paths: list[Path], sampling: str, clips: int
) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    """CPU time per clip of each library, in a random order for every clip; only where its pixels are right."""
    draw = random.Random(0)
    times: dict[str, dict[int, tuple[float, float]]] = {decoder.name: {} for decoder in decoders}
    errors = []
    for i, path in enumerate(path for path in paths for _ in range(clips)):
        clip = cut(path, sampling, FRAMES, draw.random())
        expected = truth(clip)
        for decoder in draw.sample(decoders, len(decoders)):
            wrong = same(decoder, clip, expected)
            if wrong:
                errors.append({"library": decoder.name, "video": str(path), "sampling": sampling, "error": wrong})
                continue
            times[decoder.name][i] = _time(decoder, clip)
    stock = times.get(STOCK, {})
    return [_row(name, each, stock) for name, each in times.items()], errors


def _time(decoder: ClipDecoder, clip: Any) -> tuple[float, float]:
    """CPU seconds, of all threads, to decode, and to decode and transform."""
    start = time.process_time()
    frames = decoder.decode(clip)
    decoded = time.process_time()
    decoder.transform(frames)
    return decoded - start, time.process_time() - start


def _row(name: str, times: dict[int, tuple[float, float]], stock: dict[int, tuple[float, float]]) -> dict[str, Any]:
    """Medians over the clips, and how many times stock takes longer for the same clip, the median too."""
    row: dict[str, Any] = {"library": name, "clips": len(times)}
    for part, key in enumerate(("decode", "transform")):
        ratios = [stock[i][part] / times[i][part] for i in times if i in stock]
        row[f"{key}_seconds"] = median(t[part] for t in times.values()) if times else None
        row[f"{key}_ratio"] = median(ratios) if ratios else None
    return row
