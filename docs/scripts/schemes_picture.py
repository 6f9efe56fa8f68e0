"""Draw docs/schemes.svg: what each scheme reads, measured, beside the accuracy of its row in twelve temporal skills.

python docs/scripts/schemes_picture.py
"""

import os
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

os.environ["MPLBACKEND"] = "agg"

import matplotlib as mpl
import numpy as np
import torch
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import NDArray
from written_page import write_picture

from lit_video.attention import Factorised, FactorisedHeads, LocalWindow, Mixing, MixingPlan
from lit_video.attention.heads import Grid, Scheme
from lit_video.network.timesformer import SCHEMES
from lit_video.schemes.sight import randomised, token_layout
from lit_video.tables.reading import read_table
from lit_video.tables.rendering import measured_groups
from lit_video.tables.summary import summary

ROOT = Path(__file__).parents[2]
GRID, DEPTH, TOKEN = Grid(8, 4, 4), 4, 3 * 16 + 1 * 4 + 1  # row 1, column 1 of frame 3
WIDTH, HEADS = 24, 2
ONE, LATER, NEVER, MARK = "#1f6feb", "#9ec5fe", "#8b949e33", "#d1242f"
INK = "#1f2328"
PATCH, FRAME, CELL, LINE, HEAD, STRIP = 8, 37, 22, 44, 130, 206  # in points
# Rows of experiments/skills.yaml, and what their encoder's layers are made of.
ROWS: dict[str, tuple[str, Callable[[], Scheme]]] = {
    "space": ("space only (S)", partial(SCHEMES["space"], WIDTH, HEADS)),
    "xvit1": ("X-ViT, t_w = 1", partial(Mixing, WIDTH, HEADS, MixingPlan(window=1))),
    "xvit2": ("X-ViT, t_w = 2", partial(Mixing, WIDTH, HEADS, MixingPlan(window=2))),
    "exact1_time": ("exact window", partial(LocalWindow, WIDTH, HEADS)),
    "joint": ("joint (ST)", partial(SCHEMES["joint"], WIDTH, HEADS)),
    "divided": ("divided (T+S)", partial(SCHEMES["divided"], WIDTH, HEADS)),
    "local_global": ("local-global (L+G)", partial(SCHEMES["local_global"], WIDTH, HEADS)),
    "axial": ("axial (T+W+H)", partial(SCHEMES["axial"], WIDTH, HEADS)),
    "vivit3": ("ViViT model 3", partial(Factorised, WIDTH, HEADS)),
    "vivit4": ("ViViT model 4", partial(FactorisedHeads, WIDTH, HEADS)),
}


def read(make: Callable[[], Scheme], depth: int) -> Any:
    """Return which patches the token's output after so many layers depends on: bool ``(t, h, w)``."""
    torch.manual_seed(0)
    layers = [randomised(make(), std=0.2) for _ in range(depth)]
    _, is_patch = token_layout(layers[0].class_tokens, GRID)
    patches = is_patch.nonzero()[:, 0]
    tokens = torch.randn(1, len(is_patch), WIDTH, dtype=torch.float64, requires_grad=True)
    out = tokens.clone()
    for layer in layers:
        out = layer(out, GRID)
    row = out[0, patches[TOKEN]]
    (gradient,) = torch.autograd.grad(row @ torch.randn_like(row), tokens)
    sizes = gradient[0, patches].abs().amax(-1)
    return (sizes > 1e-12 * sizes.max()).view(GRID.t, GRID.h, GRID.w).numpy()


def strip(make: Callable[[], Scheme]) -> NDArray[np.float64]:
    """Return the frames of a clip as an RGBA picture, a colour for each patch and gaps between them."""
    first, last = read(make, 1), read(make, DEPTH)
    picture = np.zeros((GRID.h * PATCH, GRID.t * FRAME, 4))
    for t, y, x in product(range(GRID.t), range(GRID.h), range(GRID.w)):
        token = (t * GRID.h + y) * GRID.w + x == TOKEN
        colour = MARK if token else ONE if first[t, y, x] else LATER if last[t, y, x] else NEVER
        top, left = y * PATCH, t * FRAME + x * PATCH
        picture[top : top + PATCH - 1, left : left + PATCH - 1] = to_rgba(colour)
    return picture


def draw() -> Figure:
    """Draw one line for each scheme: frames of a clip on the left, skills on the right."""
    table = read_table([ROOT / "experiments/skills.yaml", ROOT / "experiments/scale/profile.yaml"])
    groups = measured_groups(summary(table, ROOT / "benchmarks/results")["rows"])
    assert groups
    accuracy = {row["name"]: values for row, values in groups.rows}
    skills = STRIP + GRID.t * FRAME + 14
    width, height = skills + 12 * CELL + 24, HEAD + LINE * len(ROWS)
    figure = Figure(figsize=(width / 72, height / 72))
    axes = figure.add_axes((0, 0, 1, 1))
    write = partial(axes.text, fontsize=20, color=INK)
    write(STRIP, 22, "the red patch reads")
    for x, colour, words in ((0, ONE, "in 1 layer"), (128, LATER, "in 4")):
        axes.add_patch(Rectangle((STRIP + x, 36), 16, 16, color=colour, lw=0))
        write(STRIP + x + 22, 52, words)
    write(skills, 22, "and learns (dark: 100 %)")
    for i, name in enumerate(groups.names):
        write(skills + (i + 0.5) * CELL + 4, HEAD - 12, name, rotation=60, rotation_mode="anchor", fontsize=18)
    for i, (row, (name, make)) in enumerate(ROWS.items()):
        top = HEAD + i * LINE
        write(STRIP - 10, top + 23, name, ha="right")
        picture = strip(make)
        axes.imshow(
            picture, extent=(STRIP, STRIP + picture.shape[1], top + picture.shape[0], top), interpolation="none"
        )
        for j, value in enumerate(accuracy[row]):
            blue = mpl.colormaps["Blues"]((value or 0) / 100)
            axes.add_patch(Rectangle((skills + j * CELL, top), CELL - 2, 4 * PATCH, color=blue, lw=0))
    axes.set(xlim=(0, width), ylim=(height, 0), aspect="auto")
    axes.axis("off")
    return figure


def main() -> None:
    """Write the picture."""
    write_picture(ROOT / "docs/schemes.svg", draw())


if __name__ == "__main__":
    main()
