"""Draw docs/schemes.svg, what each scheme reads.

python docs/scripts/schemes_picture.py
"""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from svg_picture import DEPTH, DIM, FRAME, GRID, HEADS, strip, text, write_svg

from lit_video.attention import Factorised, FactorisedHeads, LocalWindow, Mixing, MixingPlan
from lit_video.attention.scheme import Scheme
from lit_video.network.timesformer import SCHEMES

ROOT = Path(__file__).parents[2]
WIDTH, LINE = 370, 31
Rows = Mapping[str, Callable[[], Scheme]]  # makers of a layer by name
ALL: Rows = {
    "space only (S)": partial(SCHEMES["space"], DIM, HEADS),
    "X-ViT, t_w = 1": partial(Mixing, DIM, HEADS, MixingPlan(window=1)),
    "X-ViT, t_w = 2": partial(Mixing, DIM, HEADS, MixingPlan(window=2)),
    "exact window": partial(LocalWindow, DIM, HEADS),
    "joint (ST)": partial(SCHEMES["joint"], DIM, HEADS),
    "divided (T+S)": partial(SCHEMES["divided"], DIM, HEADS),
    "local-global (L+G)": partial(SCHEMES["local_global"], DIM, HEADS),
    "axial (T+W+H)": partial(SCHEMES["axial"], DIM, HEADS),
    "ViViT model 3": partial(Factorised, DIM, HEADS),
    "ViViT model 4": partial(FactorisedHeads, DIM, HEADS),
}


def key(left: int, top: int) -> list[str]:
    """Explain the colours, in two lines."""
    square = '<rect class="{}" x="{}" y="{}" width="10" height="10"/>'
    return [
        square.format("asks", left, top),
        text(left + 15, top + 9.5, "this patch reads"),
        square.format("one", left, top + 17),
        text(left + 15, top + 26.5, "in 1 layer"),
        square.format("later", left + 80, top + 17),
        text(left + 95, top + 26.5, f"in {DEPTH}"),
        square.format("never", left + 130, top + 17),
        text(left + 145, top + 26.5, "never"),
    ]


def draw_schemes(path: Path) -> None:
    """Draw all schemes, with the number of patches that are read in one layer and in four."""
    left = 118
    right = left + GRID.t * FRAME + 4
    parts = key(left, 4)
    parts.append(text(right, 13, "patches", "quiet"))
    parts.append(text(right, 30, f"of {GRID.t * GRID.h * GRID.w}", "quiet"))
    for i, (name, make) in enumerate(ALL.items()):
        top = 42 + i * LINE
        paths, first, last = strip(make, left, top)
        counts = str(first) if first == last else f"{first}, {last}"
        parts += [text(left - 8, top + 14, name, anchor="end"), *paths, text(right, top + 14, counts)]
    height = 42 + len(ALL) * LINE
    write_svg(path, WIDTH, height, f"patches that a patch reads in one layer and in {DEPTH}: {', '.join(ALL)}", parts)


if __name__ == "__main__":
    draw_schemes(ROOT / "docs/schemes.svg")
