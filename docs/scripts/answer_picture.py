"""Draw docs/answer.svg: what rows of UTD-MHAD lose when frames change their order, from packed runs.

python docs/scripts/answer_picture.py
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from svg_picture import text, write_svg

from lit_video.tables.reading import read_table
from lit_video.tables.results import measured_rows

ROOT = Path(__file__).parents[2]
RUNS = ROOT / "benchmarks/results"
TABLE = "utd_mhad"
ROWS = {
    "xvit1": "X-ViT, t_w = 1, with TA",
    "divided": "TimeSformer, T+S",
    "joint": "TimeSformer, ST",
    "control_timesformer": "TimeSformer's control",
}
WIDTH, LEFT, RIGHT, TOP, LINE = 370, 14, 356, 62, 46
CHANCE = 100 / 27  # percent
ORDERS = {
    "frames in order": "test/video_top1",
    "reversed": "reversed/video_top1",
    "shuffled": "shuffled/video_top1",
}


def place(percent: float) -> float:
    """Return the horizontal place of a percentage, from 0 to 80."""
    return LEFT + (RIGHT - LEFT) * percent / 80


def mark(order: str, x: float, y: float) -> str:
    """Draw the mark of an order of frames: its shape tells it, its colour repeats that."""
    if order == "frames in order":
        return f'<circle class="one" cx="{x:.1f}" cy="{y}" r="6.5"/>'
    if order == "reversed":
        return f'<path class="asks" d="M{x + 5:.1f} {y - 7}v14l-11 -7z"/>'
    return f'<path class="quiet" d="M{x:.1f} {y - 7}l7 7l-7 7l-7 -7z"/>'


def measured() -> dict[str, dict[str, float]]:
    """Return the accuracy of each row by the order of its frames, in percent, a mean over seeds."""
    table = read_table([ROOT / f"experiments/{TABLE}.yaml"])
    runs = measured_rows(table, RUNS)
    return {
        row: {
            order: float(np.mean([run.result.metrics[metric] for run in runs[row]])) for order, metric in ORDERS.items()
        }
        for row in ROWS
    }


def draw(rows: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Draw a line for each row, with a mark for each order of its frames."""
    parts = [
        text(LEFT, 16, "Right, in % of 430 videos of persons never seen,", "ink bold"),
        text(LEFT, 32, "when the test changes the order of the frames", "ink bold"),
    ]
    bottom = TOP + LINE * len(rows)
    for percent in (0, 20, 40, 60, 80):
        parts.append(f'<path class="never" d="M{place(percent) - 0.5:.1f} {TOP - 14}h1v{bottom - TOP + 8}h-1z"/>')
        parts.append(text(place(percent), bottom + 10, f"{percent}", "quiet", "middle"))
    parts.append(f'<path class="quiet" d="M{place(CHANCE) - 0.5:.1f} {TOP - 14}h1v{bottom - TOP + 8}h-1z"/>')

    for number, (row, percents) in enumerate(rows.items()):
        y = TOP + LINE * number
        parts.append(text(place(CHANCE) + 6, y, ROWS[row]))
        low, high = place(min(percents.values())), place(max(percents.values()))
        parts.append(f'<path class="later" d="M{low:.1f} {y + 16}h{high - low:.1f}v2h{low - high:.1f}z"/>')
        parts += [mark(order, place(percent), y + 17) for order, percent in percents.items()]

    for order, left in zip(ORDERS, (LEFT + 8, 150, 240), strict=True):
        parts.append(mark(order, left, bottom + 28))
        parts.append(text(left + 12, bottom + 32, order))
    parts.append(text(LEFT, bottom + 52, "Thin line: chance. Means of five seeds, on a CPU.", "quiet"))
    return parts


def main() -> None:
    """Write the picture."""
    rows = measured()
    height = TOP + LINE * len(rows) + 62
    title = "Accuracy with frames in order, reversed and shuffled"
    write_svg(ROOT / "docs/answer.svg", WIDTH, height, title, draw(rows))
    for row, percents in rows.items():
        print(row, *(f"{order} {percent:.1f}" for order, percent in percents.items()), sep="; ")


if __name__ == "__main__":
    main()
