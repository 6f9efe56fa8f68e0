"""CPU time of a training clip of each planned model: decoded, cut, augmented, from videos like Kinetics'."""

import random
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

import torch
from models import Planned, planned

from lit_video.benchmark.sample_videos import KINDS, make_videos
from lit_video.video import sampling
from lit_video.video.augmentation import Augmentation, TrainingView
from lit_video.video.clips import ClipDataset, VideoRecord
from lit_video.video.recipes import recipe

MADE = KINDS[:2]  # 340 x 256, 10 s: key frames far apart, as they come; close together, as `data prepare` writes them
VIDEOS, CLIPS = 2, 6


def time_clips(folder: Path) -> dict[str, Any]:
    """Bytes of the videos and CPU seconds per clip, medians, by kind of video; the models take turns."""
    torch.set_num_threads(1)
    make_videos(folder, VIDEOS, MADE)
    rows = []
    for kind in MADE:
        paths = sorted((folder / kind.name).glob(f"*{kind.suffix}"))
        sets = {plan.name: _clips(plan, paths) for plan in planned()}
        times: dict[str, list[float]] = {name: [] for name in sets}
        draw = random.Random(0)
        for i in range(CLIPS * VIDEOS + 1):
            for name in draw.sample(list(sets), len(sets)):
                start = time.process_time()
                sets[name][i, i % VIDEOS]
                if i:  # the first reads the videos' index, and compiles
                    times[name].append(time.process_time() - start)
            print(f"{kind.name}, round {i}", {k: round(v[-1], 3) for k, v in times.items() if v}, file=sys.stderr)
        size = sum(path.stat().st_size for path in paths) / VIDEOS
        row = {"videos": kind.name, "video_bytes": size, "seconds": kind.frames / kind.fps}
        rows.append(row | {"cpu_seconds": {name: median(each) for name, each in times.items()}})
    return {"videos": VIDEOS, "clips": CLIPS * VIDEOS, "rows": rows}


def _clips(plan: Planned, paths: list[Path]) -> ClipDataset:
    """Training clips as the recipe's loader makes them."""
    cut, augmentation = plan.data["sampling"], plan.data["augmentation"]
    chosen = Augmentation(**augmentation) if isinstance(augmentation, dict) else recipe(augmentation)
    view = TrainingView(chosen, plan.model.image_size)
    records = [VideoRecord(path, 0) for path in paths]
    return ClipDataset(records, getattr(sampling, cut["class_path"])(**cut["init_args"]), plan.model.frames, view, 0)
