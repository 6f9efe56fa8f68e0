"""Contents of the page: verdicts of claims; a table's rows, pairs, curves, skills, confusions, calibration, classes."""

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from itertools import count
from math import ceil, copysign, floor, sqrt
from statistics import mean
from typing import Any

import numpy as np

from lit_video.reports.card import accuracy_facts, class_lines
from lit_video.reports.html.collect import Section
from lit_video.reports.verdicts import Verdict
from lit_video.runs.predictions import TaskPredictions, most_confused
from lit_video.tables.rendering import measured_groups
from lit_video.tables.statistics import calibration
from lit_video.utils.colours import LIGHT

QUANTITIES = (
    ("val/clip_top1", "validation top-1 (%)"),
    ("val/loss", "validation loss"),
    ("train/clip_top1", "training top-1 (%)"),
    ("train/loss", "training loss"),
)
MISTAKES = 3  # named below a confusion matrix
LARGEST = 12  # classes shown with gains, and with losses
NUMBERS = count()  # pictures are numbered through
Points = Sequence[tuple[float, float]]  # epoch, value
WIDEST = 100.0  # points, at the ends of the axis of differences
TICKS = (-50, -10, -1, 0, 1, 10, 50)
KINDS = {
    "supported by construction": "supported",
    "too few videos to tell": "undecided",
    "not testable here": "untested",
}


def drawn(figure: Any, description: str) -> dict[str, str]:
    """Return a matplotlib figure as SVG in the page's colours and font, its ids unique on the page, and its label."""
    from lit_video.utils.figures import content_of  # takes a second

    svg = content_of(figure, "svg", bbox_inches="tight").decode()
    left_out = r""" xmlns(:\w+)?="[^"]*"|(?<=<g) id="[^"]*"|<style.*</style>|font-family: [^;"]*;|(?<=\n) +"""
    svg = re.sub(left_out, "", svg[svg.index("<svg") :])
    svg = re.sub(r'(id="|url\(#|href="#)', rf"\1picture{next(NUMBERS)}-", svg)
    for name, colour in LIGHT.items():
        svg = svg.replace(colour, f"var(--{name})")
    return {"svg": svg, "description": description}


def place(points: float) -> float:
    """Return a difference's position on its axis, in percent of the width; roots spread values near 0."""
    return 50 + copysign(50 * sqrt(min(abs(points), WIDEST) / WIDEST), points)


def verdict(one: Verdict, labels: Mapping[str, str]) -> dict[str, Any]:
    """Return a verdict for the page: a line per pair, with the positions of its interval and the paper's difference."""
    lines = []
    papers: list[float | None] = [a - b for a, b in one.claim.paper()]
    papers = papers or [None] * len(one.claim.pairs)
    for pair, paper, found in zip(one.claim.pairs, papers, one.differences, strict=True):
        name = " vs ".join(one.claim.table.row(row).label for row in pair)
        line = {"name": name, "paper": paper, "paper_at": None if paper is None else place(paper), "found": found}
        lines.append(line | ({key: place(getattr(found, key)) for key in ("low", "value", "high")} if found else {}))
    kind, margin = KINDS.get(one.judgement, one.judgement.replace(" ", "-")), one.claim.margin
    kind += " one-seed" if one.words != one.judgement else ""
    return {
        "kind": kind,
        "verdict": one,
        "lines": lines,
        "within": None if margin is None else (place(-margin), place(margin)),
        "table": labels.get(one.claim.table.name, ""),
        "why": one.claim.follow_ups.get(one.scale, ""),
    }


def dots(section: Section) -> dict[str, Any] | None:
    """Each row's number in the paper, ours with its deviation over seeds, and its cost, as places on an axis of each.

    A cost is shown where it differs: GMACs of all views of a video, and measured clips per second.
    """
    rows = [*section.data["reported"], *section.data["rows"]]
    metrics = [row["metrics"].get(section.table.metric, {}) for row in rows]
    rates = (section.throughput or {}).get("rows", {})
    sides: dict[str, list[float | None]] = {
        "paper (%)": [each.get("paper") for each in metrics],
        "ours (%)": [each.get("ours") for each in metrics],
        "GMACs": [row["gmacs"] and row["gmacs"] * row["views"] for row in rows],
        "clips/s": [rates.get(row["name"], {}).get("clips_per_second") for row in rows],
    }
    heads, lines = [], [{"label": row["label"], "cells": []} for row in rows]
    for side, values in sides.items():
        percent = side.endswith("(%)")
        spread = [(each.get("std") or 0) if side == "ours (%)" else 0 for each in metrics]
        ends = [v + sign * d for v, d in zip(values, spread, strict=True) if v is not None for sign in (-1, 1)]
        if not ends or (not percent and len(set(ends)) == 1):
            continue
        low, high = (floor(min(ends)), ceil(max(ends))) if percent else (0, max(ends))
        scale = 100 / (high - low or 1)
        heads.append({"name": side, "low": f"{low:.3g}", "high": f"{high:.3g}"})
        for line, value, d in zip(lines, values, spread, strict=True):
            at = [] if value is None else [scale * (value + sign * d - low) for sign in (-1, 0, 1)]
            text = "" if value is None else f"{value:.1f}" if percent else f"{value:.3g}"
            line["cells"].append({"side": side, "text": text, "at": at})
    lines = [line for line in lines if any(cell["at"] for cell in line["cells"])]
    return {"sides": heads, "rows": lines} if len(lines) > 1 else None


def pairs(section: Section) -> list[dict[str, Any]]:
    """Return the summary's pairs of rows, by their labels."""
    return [pair | {name: section.labels[pair[name]] for name in ("first", "second")} for pair in section.data["pairs"]]


def accuracy(section: Section) -> list[dict[str, Any]]:
    """Facts and classes of a single model, each of its tasks; nothing where models are compared."""
    shown = {row: seeds for row, seeds in section.read.predictions.items() if row not in folds(section)}
    if len(section.labels) - len(folds(section)) != 1 or [len(seeds) for seeds in shown.values()] != [1]:
        return []
    ((row, (predictions,)),) = shown.items()
    facts = accuracy_facts(section.read.results[row][0], predictions)
    return [
        {"task": task, "facts": [] if i else facts, "classes": class_lines(each)}
        for i, (task, each) in enumerate(predictions.tasks.items())
    ]


def folds(section: Section) -> set[str]:
    """Rows that are folds, whose tests are those of another row."""
    return {name for results in section.read.results.values() for one in results for name in one.get("folds", ())}


def groups(section: Section) -> dict[str, Any] | None:
    """Accuracy by group of classes, means over seeds; ``None`` of a data set without groups."""
    found = measured_groups(section.data["rows"])
    if found is None:
        return None
    from lit_video.inference.result_pictures import heat_map

    return {"title": found.title, "picture": drawn(heat_map(found), found.title)}


def curves(section: Section) -> dict[str, Any]:
    """Draw each quantity that runs recorded: the mean over seeds, and of validation each seed."""
    from lit_video.inference.result_pictures import CURVE_MARKS, curves_figure, series

    names, panels = [*section.labels.values()], []
    for key, label in QUANTITIES:
        lines = {}
        for row, name in section.labels.items():
            if seeds := [points for curve in section.curves[row] if (points := _points(curve, key))]:
                lines[name] = (average(seeds), seeds if len(seeds) > 1 and key.startswith("val/") else [])
        if lines:
            description = f"{label} over epochs, {section.table.title}: {', '.join(lines)}"
            panels.append(drawn(curves_figure(label, lines, names), description))
    marks = [(*series(i), name) for i, name in enumerate(names)]
    return {"panels": panels, "legend": [(CURVE_MARKS[mark], colour, name) for colour, mark, name in marks]}


def _points(curve: Sequence[Any], key: str) -> Points:
    return [(point["epoch"], point[key]) for point in curve if key in point and "epoch" in point]


def average(curves: Sequence[Points]) -> Points:
    """Return the mean over the curves, at the epochs that all of them have."""
    tables = [dict(curve) for curve in curves]
    shared = set[float].intersection(*(set(table) for table in tables))
    return [(x, mean(table[x] for table in tables)) for x in sorted(shared)]


def tasks(section: Section) -> dict[str, dict[str, list[TaskPredictions]]]:
    """Predictions by task and by the row's label, of every seed; of the rows that kept them for the same videos."""
    kept = {section.labels[row]: seeds for row, seeds in section.read.predictions.items()}
    names = next(iter(kept.values()))[0].tasks if kept else ()
    return {name: {label: [one.tasks[name] for one in seeds] for label, seeds in kept.items()} for name in names}


def confusions(section: Section) -> list[dict[str, Any]]:
    """Return a matrix per row and task over all seeds, and its most frequent mistakes: (class, taken for, videos)."""
    from lit_video.inference.result_pictures import confusion_figure

    matrices = []
    for task, rows in tasks(section).items():
        for label, seeds in rows.items():
            counts, classes = np.sum([one.confusion for one in seeds], axis=0), seeds[0].classes
            picture = drawn(
                confusion_figure(counts, classes), f"confusion matrix of {label}, {task or section.table.title}"
            )
            worst = most_confused(counts, classes, MISTAKES)
            matrices.append({"label": label, "task": task, "picture": picture, "worst": worst})
    return matrices


def mistakes(section: Section) -> list[dict[str, Any]]:
    """Return each row's surest mistakes, and their thumbnails as the address of a picture; of folds those joined."""
    found = {row: shown for row, shown in section.mistakes.items() if row not in folds(section) and shown[0]}
    return [
        {
            "label": section.labels[row],
            "rows": [one | {"probability": f"{100 * float(one['probability']):.0f} %"} for one in rows],
            "picture": f"data:image/jpeg;base64,{b64encode(picture).decode()}",
        }
        for row, (rows, picture) in found.items()
    ]


def calibrations(section: Section) -> list[dict[str, Any]]:
    """Each task's accuracy against confidence, of the seeds together."""
    from lit_video.inference.result_pictures import calibration_figure

    views = []
    for task, rows in tasks(section).items():
        bins = {}
        for label, seeds in rows.items():
            confidence, hits = [one.confidence for one in seeds], [one.hits() for one in seeds]
            found = calibration(np.concatenate(confidence), np.concatenate(hits))
            bins[f"{label}, error {found.error:.1f} %"] = found
        description = f"accuracy against confidence, {section.table.title}: {', '.join(bins)}"
        views.append({"task": task, "picture": drawn(calibration_figure(bins), description)})
    return views


def classes(section: Section) -> list[dict[str, Any]]:
    """Each task's accuracy by class and row, for the page's script, and the two rows that it shows at first."""
    views = []
    for task, rows in tasks(section).items():
        if len(rows) < 2:
            continue
        one = next(iter(rows.values()))[0]
        means = [float(np.mean([seed.hits().mean() for seed in seeds])) for seeds in rows.values()]
        best, worst = int(np.argmax(means)), int(np.argmin(means))
        if best == worst:
            best, worst = 0, 1
        data = {
            "classes": one.classes,
            "videos": one.videos.tolist(),
            "most": LARGEST,
            "rows": [{"label": label, "top1": class_accuracy(seeds)} for label, seeds in rows.items()],
        }
        views.append({"task": task, "data": data, "first": best, "second": worst})
    return views


def without(section: Section) -> dict[str, list[str]]:
    """Return the labels of rows that lack a file in some run, by what it holds."""
    kept = {"predictions": section.read.predictions, "curves": section.curves}
    labels = {row: label for row, label in section.labels.items() if row not in folds(section)}
    found = {}
    for what, of_rows in kept.items():
        rows = [label for row, label in labels.items() if len(of_rows.get(row, ())) < len(section.read.results[row])]
        if rows:
            found[what] = ["all rows"] if len(rows) == len(section.labels) else rows
    return found


def class_accuracy(seeds: list[TaskPredictions]) -> list[float | None]:
    """Accuracy of each class in percent, the mean over seeds; ``None`` of classes without a test video."""
    means = np.mean([one.class_accuracy() for one in seeds], axis=0)
    return [None if np.isnan(each) else round(float(each), 2) for each in means]
