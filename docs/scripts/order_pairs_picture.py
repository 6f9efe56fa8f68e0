"""Draw docs/order_pairs.svg: the classes that rows of three tables give to UTD-MHAD's order pairs, from packed runs.

python docs/scripts/order_pairs_picture.py
"""

import os
from pathlib import Path

os.environ["MPLBACKEND"] = "agg"

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from written_page import write_picture

from lit_video.runs.predictions import TaskPredictions, read_predictions
from lit_video.tables.reading import read_table
from lit_video.tables.results import measured_rows
from lit_video.tables.table import Table
from lit_video.utils.colours import LIGHT

ROOT = Path(__file__).parents[2]
RUNS = ROOT / "benchmarks/results"
TABLES = ("timesformer_schemes", "ablation_tw", "vivit_models")
# actions that are each other in reverse or mirrored
PAIRS = [("swipe_left", "swipe_right"), ("draw_circle_cw", "draw_circle_ccw"), ("sit2stand", "stand2sit")]
PAIRS += [("throw", "catch")]
# colour and height of each part: the height tells the first two apart where their colours look alike
PARTS = {
    "right": (LIGHT["s0"], 0.8),
    "its partner (thin)": (LIGHT["s1"], 0.4),
    "another action": (LIGHT["rule"], 0.8),
}


def shares(predictions: TaskPredictions) -> NDArray[np.float64]:
    """Return the shares in percent of each pair's videos, ``(pairs, parts)``: right, its partner, another action."""
    found = []
    for pair in PAIRS:
        first, second = (predictions.classes.index(name) for name in pair)
        counts = predictions.confusion
        right = counts[first, first] + counts[second, second]
        partner = counts[first, second] + counts[second, first]
        videos = counts[[first, second]].sum()
        found.append(100 * np.array([right, partner, videos - right - partner]) / videos)
    return np.array(found)


def measured(table: Table) -> dict[str, NDArray[np.float64]]:
    """Return the shares ``(pairs, parts)`` of every row that was run, by its label, means over seeds."""
    found = {}
    for row, runs in measured_rows(table, RUNS).items():
        predictions = [read_predictions(run.folder) for run in runs]
        by_seed = [shares(kept.tasks[""]) for kept in predictions if kept]
        if by_seed:
            found[table.row(row).label] = np.mean(by_seed, axis=0)
    return found


def draw(rows: dict[str, NDArray[np.float64]]) -> Figure:
    """Draw a line of bars for each row, a bar for each pair."""
    # two by two, so that words can be read where the page is as narrow as a phone
    figure = Figure(figsize=(5, 2 * (0.9 + 0.27 * len(rows))), layout="constrained")
    all_axes = figure.subplots(2, len(PAIRS) // 2, sharey=True).flatten()
    for pair, axes in enumerate(all_axes):
        left = np.zeros(len(rows))
        for part, (name, (colour, height)) in enumerate(PARTS.items()):
            values = np.array([of_row[pair, part] for of_row in rows.values()])
            axes.barh(list(rows), values, height, left=left, color=colour, label=name)
            left += values
        axes.set_title("\n".join(PAIRS[pair]), fontsize=10)
        axes.set(xlim=(0, 100), xticks=[0, 50, 100], xticklabels=["0", "50", "100 %"])
        axes.spines[:].set_visible(False)
        axes.tick_params(length=0)
    all_axes[0].invert_yaxis()
    figure.legend(*all_axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    return figure


def main() -> None:
    """Write the picture."""
    scale = ROOT / "experiments/scale/utd_mhad.yaml"
    tables = [read_table([ROOT / f"experiments/{name}.yaml", scale]) for name in TABLES]
    rows = {label: values for table in tables for label, values in measured(table).items()}
    write_picture(ROOT / "docs/order_pairs.svg", draw(rows))


if __name__ == "__main__":
    main()
