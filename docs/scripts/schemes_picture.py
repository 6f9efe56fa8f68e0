"""Draw docs/schemes.svg: what each scheme reads, measured by derivatives.

python docs/scripts/schemes_picture.py
"""

import os
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

os.environ["MPLBACKEND"] = "agg"

import numpy as np
import torch
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import NDArray
from written_page import write_picture

from lit_video.attention import Factorised, FactorisedHeads, LocalWindow, Mixing, MixingPlan
from lit_video.attention.scheme import Grid, Scheme
from lit_video.network.timesformer import SCHEMES
from lit_video.schemes.sight import randomised, token_layout

ROOT = Path(__file__).parents[2]
GRID, DEPTH, TOKEN = Grid(8, 4, 4), 4, 3 * 16 + 1 * 4 + 1  # row 1, column 1 of frame 3
WIDTH, HEADS = 24, 2
ONE, LATER, NEVER, MARK = "#1f6feb", "#9ec5fe", "#8b949e33", "#d1242f"
INK = "#1f2328"
PATCH, FRAME, LINE, HEAD, STRIP = 8, 37, 44, 70, 206  # in points
# Name of each line, and the layers of its encoder.
ROWS: dict[str, Callable[[], Scheme]] = {
    "space only (S)": partial(SCHEMES["space"], WIDTH, HEADS),
    "X-ViT, t_w = 1": partial(Mixing, WIDTH, HEADS, MixingPlan(window=1)),
    "X-ViT, t_w = 2": partial(Mixing, WIDTH, HEADS, MixingPlan(window=2)),
    "exact window": partial(LocalWindow, WIDTH, HEADS),
    "joint (ST)": partial(SCHEMES["joint"], WIDTH, HEADS),
    "divided (T+S)": partial(SCHEMES["divided"], WIDTH, HEADS),
    "local-global (L+G)": partial(SCHEMES["local_global"], WIDTH, HEADS),
    "axial (T+W+H)": partial(SCHEMES["axial"], WIDTH, HEADS),
    "ViViT model 3": partial(Factorised, WIDTH, HEADS),
    "ViViT model 4": partial(FactorisedHeads, WIDTH, HEADS),
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
    """Draw one line for each scheme: the frames of a clip, from left to right."""
    width, height = STRIP + GRID.t * FRAME + 10, HEAD + LINE * len(ROWS)
    figure = Figure(figsize=(width / 72, height / 72))
    axes = figure.add_axes((0, 0, 1, 1))
    write = partial(axes.text, fontsize=20, color=INK)
    write(STRIP, 22, "the red patch reads")
    for x, colour, words in ((0, ONE, "in 1 layer"), (128, LATER, "in 4")):
        axes.add_patch(Rectangle((STRIP + x, 36), 16, 16, color=colour, lw=0))
        write(STRIP + x + 22, 52, words)

    for i, (name, make) in enumerate(ROWS.items()):
        top = HEAD + i * LINE
        write(STRIP - 10, top + 23, name, ha="right")
        picture = strip(make)
        right, bottom = STRIP + picture.shape[1], top + picture.shape[0]
        axes.imshow(picture, extent=(STRIP, right, bottom, top), interpolation="none")

    axes.set(xlim=(0, width), ylim=(height, 0), aspect="auto")
    axes.axis("off")
    return figure


def main() -> None:
    """Write the picture."""
    write_picture(ROOT / "docs/schemes.svg", draw())


if __name__ == "__main__":
    main()
