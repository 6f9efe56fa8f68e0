"""Contents of the page: verdicts of claims; a table's rows, curves, skills, confusions."""

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from itertools import count, product
from math import copysign, sqrt
from statistics import mean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lit_video.reports.card import accuracy_facts, class_lines
from lit_video.reports.html.collect import Section
from lit_video.reports.next_step import next_step
from lit_video.reports.verdicts import Verdict
from lit_video.runs.predictions import ORDERS, most_confused
from lit_video.tables.comparing import on_skills
from lit_video.tables.rendering import measured_groups
from lit_video.tables.table import OWN_SCALE
from lit_video.tables.time_use import FRAME_ORDERS, TimeUse, read_time_use
from lit_video.utils.colours import LIGHT

SPLIT_NOUNS = {"val": "validation", "train": "training"}
QUANTITIES = {"clip_top1": "top-1 (%)", "loss": "loss"}
MOST_MISTAKES = 3  # number of mistakes named below a confusion matrix
NEED_TIME = 8  # most classes that are listed as needing time
NAMED_CLASSES = 30  # most classes whose names are readable beside a confusion matrix
NUMBERS = count()  # makes the ids in pictures unique
Points = Sequence[tuple[float, float]]  # epoch, value
WIDEST = 100.0  # points, at the ends of the axis of differences
TICKS = (-50, -10, -1, 0, 1, 10, 50)
CSS_CLASSES = {
    "supported by construction": "supported",
    "contradicted by construction": "contradicted",
    "differ by at most": "alike",
    "too few to tell": "undecided",
    "not testable here": "untested",
    "unfinished": "untested",
    "one seed": "untested",
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
    """Return a difference's position on its axis, in percent of the width; a root spreads the values near 0."""
    return 50 + copysign(50 * sqrt(min(abs(points), WIDEST) / WIDEST), points)


def kind(result: Verdict) -> str:
    """Return a verdict's CSS classes."""
    return CSS_CLASSES.get(result.judged.judgement, result.judged.judgement.replace(" ", "-"))


def verdict(result: Verdict, labels: Mapping[str, str]) -> dict[str, Any]:
    """Return a verdict for the page: a line per pair, with the positions of its interval and the paper's difference."""
    lines = []
    papers = dict(zip(result.claim.pairs, result.claim.paper(), strict=False))
    for pair in result.judged.pairs:
        first, second = pair.rows
        paper = papers.get((first, second))
        difference = pair.difference
        name = f"{_label(result, first)} vs {_label(result, second)}{on_skills(pair.skills, pair.lesson)}"
        line: dict[str, Any] = {"name": name, "paper": None, "found": difference, "low": None}
        if paper:
            line |= {"paper": paper[0] - paper[1], "paper_at": place(paper[0] - paper[1])}
        if difference and difference.bounded:
            line |= {
                "low": place(difference.low),
                "value": place(difference.value),
                "high": place(difference.high),
            }
        lines.append(line)

    low, high = result.claim.bounds
    return {
        "kind": kind(result),
        "verdict": result,
        "lines": lines,
        "within": None if result.claim.kind == "better" else (place(low), place(high)),
        "table": labels.get(result.claim.table.name, ""),
        "why": result.claim.follow_ups.get(result.scale, ""),
        "follow_ups": [verdict(follow_up, labels) for follow_up in result.follow_ups],
    }


def _label(result: Verdict, row: str) -> str:
    """Return a row's label, or its name if it is a control that the table lacks."""
    labels = {table_row.name: table_row.label for table_row in result.claim.table.rows}
    return labels.get(row, row)


def accuracy(section: Section) -> list[dict[str, Any]]:
    """Return facts and classes of a single model by task; an empty list if models are compared."""
    models = list(section.labels.keys() - section.folds)
    if len(models) != 1 or len(section.predictions.get(models[0], ())) != 1:
        return []
    (kept,) = section.predictions[models[0]]
    facts = accuracy_facts(section.by_row[models[0]][0], kept)
    tasks = []
    for task, answers in kept.tasks.items():
        tasks.append({"task": task, "facts": facts, "classes": class_lines(answers)})
        facts = []  # shown with the first task only
    return tasks


def advice(section: Section) -> str:
    """Say what to do next with a single model of the user's own videos; empty for other tables."""
    if section.table.scale != OWN_SCALE or not accuracy(section):
        return ""
    (row,) = section.labels.keys() - section.folds
    (kept,) = section.predictions[row]
    return next_step(section.by_row[row][0].folder, kept)


def time(section: Section) -> list[dict[str, Any]]:
    """Return what the model of each row uses of time, with the classes that lose most; nothing without such tests."""
    uses = []
    for row, label in section.labels.items():
        use = None if row in section.folds else read_time_use(section.by_row[row])
        if use:
            uses.append({"label": label, "sentences": use.sentences} | _class_losses(use))
    return uses


def _class_losses(use: TimeUse) -> dict[str, Any]:
    """Return header and body of a table of the classes that need time most; empty if no order costs for certain."""
    decisive = use.decisive
    if decisive is None:
        return {"header": [], "body": []}

    orders = [order for order in ORDERS if order in use.orders]
    changed = {}
    for order in orders:
        changed[order] = {loss.name: loss for loss in use.orders[order].classes}

    body = []
    for loss in decisive.classes[:NEED_TIME]:
        if loss.lost <= 0:
            break
        accuracies = [f"{changed[order][loss.name].changed:.0f}" for order in orders]
        body.append([loss.name, str(loss.videos), f"{loss.forward:.0f}", *accuracies, loss.taken_for])

    names = [f"{FRAME_ORDERS[order]} (%)" for order in orders]
    return {
        "header": ["class", "test videos", "right (%)", *names, f"with {FRAME_ORDERS[decisive.order]} taken for"],
        "body": body,
    }


def rows(section: Section) -> dict[str, str] | None:
    """Draw the rows' accuracies, the paper's beside ours; ``None`` for a single model, even if cross-validated."""
    from lit_video.inference.result_pictures import rows_figure

    shown = [*section.data.reported, *section.data.rows]
    papers = []
    measured = []
    for i, row in enumerate(shown):
        numbers = row.numbers(section.table.metric)
        if numbers.paper is not None:
            papers.append((i, numbers.paper, 0.0))
        if numbers.ours is not None:
            measured.append((i, numbers.ours, numbers.std or 0.0))
    sides = {side: values for side, values in (("paper", papers), ("ours", measured)) if values}
    names = [row.label for row in shown]
    if len(names) < 2 or not sides or accuracy(section):
        return None
    return drawn(rows_figure(names, sides), f"accuracy of the rows, {section.table.title}: {', '.join(names)}")


def groups(section: Section) -> list[dict[str, Any]]:
    """Draw accuracy by skill or group of classes, means over seeds."""
    from lit_video.inference.result_pictures import heat_map

    pictures = []
    for accuracies in measured_groups(section.data.rows):
        pictures.append({"title": accuracies.title, "picture": drawn(heat_map(accuracies), accuracies.title)})
    return pictures


def curves(section: Section) -> list[dict[str, str]]:
    """Draw each recorded quantity: the mean over seeds, and for validation each seed."""
    from lit_video.inference.result_pictures import curves_figure

    names = list(section.labels.values())
    panels = []
    for split, quantity in product(SPLIT_NOUNS, QUANTITIES):
        key = f"{split}/{quantity}"
        lines = {}
        for row, name in section.labels.items():
            recorded = []
            for curve in section.curves[row]:
                points = [(point["step"], point[key]) for point in curve if key in point]
                if points:
                    recorded.append(points)
            if recorded:
                thin = recorded if len(recorded) > 1 and split == "val" else []
                lines[name] = (average(recorded), thin)

        if lines:
            label = f"{SPLIT_NOUNS[split]} {QUANTITIES[quantity]}"
            description = f"{label} over optimizer steps, {section.table.title}: {', '.join(lines)}"
            panels.append(drawn(curves_figure(label, lines, names), description))
    return panels


def average(curves: Sequence[Points]) -> Points:
    """Return the mean over the curves, at the steps that all of them have."""
    values: dict[float, list[float]] = {}
    for curve in curves:
        for step, value in dict(curve).items():
            values.setdefault(step, []).append(value)
    return [(step, mean(of_curves)) for step, of_curves in sorted(values.items()) if len(of_curves) == len(curves)]


def confusions(section: Section) -> list[dict[str, Any]]:
    """Return a matrix per row and task over all seeds, and its most frequent mistakes: (class, taken for, videos)."""
    if not section.predictions:
        return []

    matrices = []
    for task in next(iter(section.predictions.values()))[0].tasks:
        for row, of_seeds in section.predictions.items():
            label = section.labels[row]
            classes = of_seeds[0].tasks[task].classes
            counts = np.sum([predictions.tasks[task].confusion for predictions in of_seeds], axis=0)

            description = f"confusion matrix of {label}, {task or section.table.title}"
            worst = most_confused(counts, classes, MOST_MISTAKES)
            matrices.append({"label": label, "task": task, "worst": worst} | matrix(counts, classes, description))
    return matrices


def matrix(counts: NDArray[np.int64], classes: Sequence[str], description: str) -> dict[str, Any]:
    """Return a confusion matrix as a table of the page, or, with many classes, as a picture without names and numbers.

    A table is preferred because matplotlib takes 0.1 s to place names and numbers, a hundred times as long.
    """
    if len(classes) > NAMED_CLASSES:
        from lit_video.inference.result_pictures import confusion_figure

        return {"picture": drawn(confusion_figure(counts, classes), description)}

    percent = 100 * counts / np.maximum(counts.sum(1, keepdims=True), 1)
    lines = []
    for name, videos, shares in zip(classes, counts.tolist(), percent.round().astype(int).tolist(), strict=True):
        lines.append((name, list(zip(videos, shares, strict=True))))
    return {"description": description, "classes": classes, "lines": lines}


def mistakes(section: Section) -> list[dict[str, Any]]:
    """Return each row's most confident mistakes, with strips of frames as a data URI; leave out single folds."""
    views = []
    for row, (shown, picture) in section.mistakes.items():
        if shown and row not in section.folds:
            uri = f"data:image/jpeg;base64,{b64encode(picture).decode()}"
            views.append({"label": section.labels[row], "rows": shown, "picture": uri})
    return views


def rows_without_predictions(section: Section) -> list[str]:
    """Return the labels of rows that lack the predictions of some run."""
    complete = {*section.predictions, *section.folds}
    return [label for row, label in section.labels.items() if row not in complete]
