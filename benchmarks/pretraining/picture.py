"""Draw docs/drawn_videos.jpg: twelve motions of drawn videos, eight frames each.

python -m benchmarks.pretraining.picture
"""

from pathlib import Path

import numpy as np
from PIL import Image

from benchmarks.pretraining.drawn.catalogue import MOTIONS
from benchmarks.pretraining.drawn.video import draw_labels, draw_video

PICTURE = Path(__file__).parents[2] / "docs/drawn_videos.jpg"
FRAMES = 8
SIDE = 112
GAP = 4  # white pixels between videos
DEGRADATION = 0.7
SEED = 3
OTHER_SEEDS = {"moves right and down, turning clockwise": 5}
SHOWN = (
    "moves right",
    "moves right and down, turning clockwise",
    "grows",
    "ripples right",
    "bends up",
    "swings the left arm",
    "jumping jack",
    "one wave to the head",
    "parting",
    "walks right",
    "sways across, then rocks",
    "circles the right hand",
)


def main() -> None:
    """Write the picture: a row for each motion, its frames from left to right."""
    rows = []
    for number, name in enumerate(SHOWN):
        rng = np.random.default_rng((OTHER_SEEDS.get(name, SEED), number))
        labels = draw_labels(rng, (MOTIONS[name].name,), moving_camera=0.5)
        video = draw_video(rng, labels, FRAMES, side=SIDE, degradation=DEGRADATION)
        row = np.concatenate(list(video.frames.transpose(0, 2, 3, 1)), axis=1)
        rows.append(np.pad(row, ((0, GAP), (0, 0), (0, 0)), constant_values=255))
    Image.fromarray(np.concatenate(rows)).save(PICTURE, quality=80)


if __name__ == "__main__":
    main()
