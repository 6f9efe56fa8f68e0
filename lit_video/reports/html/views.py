"""Contents of the page: verdicts of claims; a table's rows, pairs, curves, skills, confusions."""

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from itertools import count
from math import copysign, sqrt
from statistics import mean
from typing import Any

import numpy as np

from lit_video.reports.card import accuracy_facts, class_lines
from lit_video.reports.html.collect import Section
from lit_video.reports.verdicts import Verdict
from lit_video.runs.predictions import most_confused
from lit_video.tables.rendering import measured_groups
from lit_video.utils.colours import LIGHT

QUANTITIES = (
    ("val/clip_top1", "validation top-1 (%)"),
    ("val/loss", "validation loss"),
    ("train/clip_top1", "training top-1 (%)"),
    ("train/loss", "training loss"),
)
MISTAKES = 3  # named below a confusion matrix
NUMBERS = count()  # makes the ids in pictures unique
Points = Sequence[tuple[float, float]]  # epoch, value
WIDEST = 100.0  # points, at the ends of the axis of differences
TICKS = (-50, -10, -1, 0, 1, 10, 50)
KINDS = {
    "supported by construction": "supported",
    "too few videos to tell": "undecided",
    "not testable here": "untested",
}


def drawn(figure: Any, description: str) -> dict[str, str]:
    """Return a matplotlib figure as SVG in the page's colours and font, with ids unique on the page."""
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


def pairs(section: Section) -> list[dict[str, Any]]:
    """Return the summary's pairs of rows, by their labels."""
    return [pair | {name: section.labels[pair[name]] for name in ("first", "second")} for pair in section.data["pairs"]]


def accuracy(section: Section) -> list[dict[str, Any]]:
    """Return facts and classes of a single model by task; nothing where models are compared."""
    shown = {row: seeds for row, seeds in section.read.predictions.items() if row not in folds(section)}
    if len(section.labels) - len(folds(section)) != 1 or [len(seeds) for seeds in shown.values()] != [1]:
        return []
    ((row, (predictions,)),) = shown.items()
    facts = accuracy_facts(section.read.results[row][0], predictions)
    return [
        {"task": task, "facts": [] if i else facts, "classes": class_lines(each)}
        for i, (task, each) in enumerate(predictions.tasks.items())
    ]


def rows(section: Section) -> dict[str, str] | None:
    """Draw the rows' accuracies, the paper's beside ours; ``None`` for a single model, also in folds."""
    from lit_video.inference.result_pictures import rows_figure

    shown = [*section.data["reported"], *section.data["rows"]]
    metrics = [row["metrics"].get(section.table.metric, {}) for row in shown]
    ours = [(each["ours"], each["std"] or 0.0) if each.get("ours") is not None else None for each in metrics]
    papers = [(each["paper"], 0.0) if each.get("paper") is not None else None for each in metrics]
    sides = {name: values for name, values in (("paper", papers), ("ours", ours)) if any(values)}
    names = [row["label"] for row in shown]
    if len(names) < 2 or not sides or accuracy(section):
        return None
    return drawn(rows_figure(names, sides), f"accuracy of the rows, {section.table.title}: {', '.join(names)}")


def folds(section: Section) -> set[str]:
    """Return the rows that are cross-validation folds of another row."""
    return {name for results in section.read.results.values() for one in results for name in one.get("folds", ())}


def groups(section: Section) -> dict[str, Any] | None:
    """Draw accuracy by group of classes, means over seeds; ``None`` without groups."""
    found = measured_groups(section.data["rows"])
    if found is None:
        return None
    from lit_video.inference.result_pictures import heat_map

    return {"title": found.title, "picture": drawn(heat_map(found), found.title)}


def curves(section: Section) -> list[dict[str, str]]:
    """Draw each recorded quantity: the mean over seeds, and for validation each seed."""
    from lit_video.inference.result_pictures import curves_figure

    names, panels = [*section.labels.values()], []
    for key, label in QUANTITIES:
        lines = {}
        for row, name in section.labels.items():
            if seeds := [points for curve in section.curves[row] if (points := _points(curve, key))]:
                lines[name] = (average(seeds), seeds if len(seeds) > 1 and key.startswith("val/") else [])
        if lines:
            description = f"{label} over epochs, {section.table.title}: {', '.join(lines)}"
            panels.append(drawn(curves_figure(label, lines, names), description))
    return panels


def _points(curve: Sequence[Any], key: str) -> Points:
    return [(point["epoch"], point[key]) for point in curve if key in point and "epoch" in point]


def average(curves: Sequence[Points]) -> Points:
    """Return the mean over the curves, at the epochs that all of them have."""
    tables = [dict(curve) for curve in curves]
    shared = set[float].intersection(*(set(table) for table in tables))
    return [(x, mean(table[x] for table in tables)) for x in sorted(shared)]


def confusions(section: Section) -> list[dict[str, Any]]:
    """Return a matrix per row and task over all seeds, and its most frequent mistakes: (class, taken for, videos)."""
    from lit_video.inference.result_pictures import confusion_figure

    kept = {section.labels[row]: seeds for row, seeds in section.read.predictions.items()}
    matrices = []
    for task in next(iter(kept.values()))[0].tasks if kept else ():
        for label, seeds in kept.items():
            of_task = [one.tasks[task] for one in seeds]
            counts, classes = np.sum([one.confusion for one in of_task], axis=0), of_task[0].classes
            picture = drawn(
                confusion_figure(counts, classes), f"confusion matrix of {label}, {task or section.table.title}"
            )
            worst = most_confused(counts, classes, MISTAKES)
            matrices.append({"label": label, "task": task, "picture": picture, "worst": worst})
    return matrices


def mistakes(section: Section) -> list[dict[str, Any]]:
    """Return each row's most confident mistakes, with thumbnails as a data URI; folds are shown joined."""
    found = {row: shown for row, shown in section.mistakes.items() if row not in folds(section) and shown[0]}
    return [
        {
            "label": section.labels[row],
            "rows": [one | {"probability": f"{100 * float(one['probability']):.0f} %"} for one in rows],
            "picture": f"data:image/jpeg;base64,{b64encode(picture).decode()}",
        }
        for row, (rows, picture) in found.items()
    ]


def without(section: Section) -> list[str]:
    """Return the labels of rows that lack the predictions of some run."""
    kept, results = section.read.predictions, section.read.results
    labels = {row: label for row, label in section.labels.items() if row not in folds(section)}
    return [label for row, label in labels.items() if len(kept.get(row, ())) < len(results[row])]
