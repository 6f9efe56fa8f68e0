"""Pictures of patches as SVG, with colours for light and dark pages, readable 370 pixels wide."""

from collections.abc import Callable, Sequence
from html import escape
from itertools import product
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from lit_video.attention.scheme import Grid, Scheme
from lit_video.schemes.sight import randomised, token_layout

GRID, DEPTH, TOKEN = Grid(8, 4, 4), 4, 3 * 16 + 1 * 4 + 1  # row 1, column 1 of frame 3
DIM, HEADS = 24, 2  # width and heads of the measured schemes
PATCH, FRAME = 5, 24  # pixels from a patch to the next, from a frame to the next
# Colours by class, on light and dark pages; on both, what is read first stands out most from the page.
COLOURS = {
    "ink": ("#1f2328", "#e6edf3"),
    "quiet": ("#59636e", "#9198a1"),
    "one": ("#0a58ca", "#a5d0ff"),
    "later": ("#8fbcf5", "#35659e"),
    "never": ("#e4e7eb", "#2d333b"),
    "asks": ("#d1242f", "#ff6a69"),
}


def read(make: Callable[[], Scheme], depth: int) -> NDArray[np.bool_]:
    """Return which patches the token's output after so many layers depends on: bool ``(t, h, w)``."""
    torch.manual_seed(0)
    layers = [randomised(make(), std=0.2) for _ in range(depth)]
    _, is_patch = token_layout(layers[0].class_tokens, GRID)
    patches = is_patch.nonzero()[:, 0]
    tokens = torch.randn(1, len(is_patch), DIM, dtype=torch.float64, requires_grad=True)
    out = tokens.clone()
    for layer in layers:
        out = layer(out, GRID)
    row = out[0, patches[TOKEN]]
    (gradient,) = torch.autograd.grad(row @ torch.randn_like(row), tokens)
    sizes = gradient[0, patches].abs().amax(-1)
    return (sizes > 1e-12 * sizes.max()).view(GRID.t, GRID.h, GRID.w).numpy()


def strip(make: Callable[[], Scheme], left: int, top: int) -> tuple[list[str], int, int]:
    """Draw the frames of a clip, a square for each patch; return them with the patches read in 1 and in all layers."""
    first, last = read(make, 1), read(make, DEPTH)
    squares: dict[str, list[str]] = {}
    for t, y, x in product(range(GRID.t), range(GRID.h), range(GRID.w)):
        asks = (t * GRID.h + y) * GRID.w + x == TOKEN
        name = "asks" if asks else "one" if first[t, y, x] else "later" if last[t, y, x] else "never"
        side = PATCH - 1
        square = f"M{left + t * FRAME + x * PATCH} {top + y * PATCH}h{side}v{side}h-{side}z"
        squares.setdefault(name, []).append(square)
    paths = [f'<path class="{name}" d="{"".join(parts)}"/>' for name, parts in squares.items()]
    return paths, int(first.sum()), int(last.sum())


def text(x: float, y: float, words: str, style: str = "ink", anchor: str = "start") -> str:
    """Write words at a place."""
    return f'<text class="{style}" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(words)}</text>'


def write_svg(path: Path, width: int, height: int, title: str, parts: Sequence[str]) -> None:
    """Write a picture, with a transparent ground."""
    light = "".join(f".{name}{{fill:{colour}}}" for name, (colour, _) in COLOURS.items())
    dark = "".join(f".{name}{{fill:{colour}}}" for name, (_, colour) in COLOURS.items())
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{2 * width}" role="img">',
        f"<title>{escape(title)}</title>",
        "<style>text{font:12px system-ui,'Segoe UI','DejaVu Sans',sans-serif}.bold{font-weight:600}",
        f"{light}@media (prefers-color-scheme:dark){{{dark}}}</style>",
        *parts,
        "</svg>",
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
