"""Draw docs/schemes.svg, what each scheme reads, and docs/demo.svg, what that is worth in the demo.

python docs/scripts/schemes_picture.py
"""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from svg_picture import DEPTH, DIM, FRAME, GRID, HEADS, strip, text, write_svg

import lit_video
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
DEMO: Rows = {  # by row of experiments/ablation_tw.yaml
    "tw0": partial(Mixing, DIM, HEADS, MixingPlan(window=0)),
    "tw1": partial(Mixing, DIM, HEADS, MixingPlan(window=1)),
    "tw2": partial(Mixing, DIM, HEADS, MixingPlan(window=2)),
    "tw2_boundary": partial(Mixing, DIM, HEADS, MixingPlan(window=2, boundary=True)),
}


def key(left: int, top: int) -> list[str]:
    """Explain the colours, in two lines."""
    square = '<rect class="{}" x="{}" y="{}" width="10" height="10"/>'
    return [
        square.format("asks", left, top),
        text(left + 15, top + 9.5, "the red patch reads"),
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


def draw_demo(path: Path) -> None:
    """Draw the demo's rows: what a patch reads, and the share of directions that are told, beside chance."""
    table = lit_video.table("ablation_tw", runs=ROOT / "benchmarks/results", seeds=[0]).data
    left = 90
    bars = left + GRID.t * FRAME + 4
    scale = 0.42  # pixels for a percent
    chance = bars + 50 * scale
    bottom = 42 + len(DEMO) * LINE
    parts = key(left, 4)
    parts += [
        text(bars, 13, "direction"),
        text(bars, 30, "of films told"),
        text(chance, bottom + 12, "chance 50", "quiet", "middle"),
    ]
    for i, row in enumerate(row for row in table.rows if row.name in DEMO):
        top = 42 + i * LINE
        told = row.numbers("test/direction").ours
        assert told is not None, f"{row.name} was not run"
        paths, _, _ = strip(DEMO[row.name], left, top)
        bar = f'<rect class="one" x="{bars}" y="{top + 3}" width="{told * scale:.1f}" height="13"/>'
        parts += [text(left - 8, top + 14, row.label, anchor="end"), *paths, bar]
        parts.append(text(bars + told * scale + 4, top + 14, f"{told:.1f} %"))
    parts.append(f'<path class="quiet" d="M{chance - 0.75} 38h1.5V{bottom - 4}h-1.5z"/>')
    write_svg(path, WIDTH, bottom + 18, "what a patch reads, and how often the direction of a film is told", parts)


def main() -> None:
    """Write both pictures."""
    draw_schemes(ROOT / "docs/schemes.svg")
    draw_demo(ROOT / "docs/demo.svg")


if __name__ == "__main__":
    main()
