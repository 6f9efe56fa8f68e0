"""Model card of a run as Markdown: data, settings, accuracy, confusions."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from msgspec.structs import asdict

from lit_video.errors import UserError
from lit_video.runs.folder import FinishedRun, read_finished, remarks
from lit_video.runs.predictions import MISTAKES, Draws, Predictions, TaskPredictions, most_confused, read_predictions
from lit_video.tables.statistics import FEWEST_CLUSTERS, accuracy_interval, cautious_difference
from lit_video.tables.time_use import TimeUse, read_time_use
from lit_video.utils.clip_shape import size_in_words
from lit_video.utils.text import as_markdown, markdown_lines, plural, these

CARD = Path(__file__).with_name("card.md")  # words in braces are filled in
SURE = 0.025  # one-sided significance level
CONFUSIONS_SHOWN = 3  # confusions listed
CLASSES_SHOWN = 30  # classes listed


def model_card(run_dir: Path) -> str:
    """Return the card of a finished run."""
    run, predictions = tested_run(run_dir)
    result = run.result
    settings = run.identity.settings
    data = settings["data"]["init_args"]
    model = settings["model"]["init_args"]

    splits = result.video_counts
    counts = ", ".join(f"{count.used} {name}" for name, count in splits.items()) or "see run.json"
    if "test" not in splits:  # the test is on the validation videos
        counts = counts.replace(" val", " test")

    start = model.get("weights") or model.get("image_weights") or "nothing: from scratch"
    if start.startswith("stills:"):
        start = "drawn pictures"

    # the folder of the videos if it has a name, else the data set's class
    folder = Path(str(data.get("root") or "")).name
    name = folder if folder not in ("", "DIR") else settings["data"]["class_path"].rpartition(".")[2]

    filled = asdict(result) | model["optimization"] | asdict(result.weights)
    filled |= {
        "videos": f"{name} ({counts})",
        "commit": run.identity.commit,
        "digest": run.identity.data,
        "clip": f"{data['num_frames']} frames of {size_in_words(data['image_size'])} pixels",
        "millions": result.params / 1e6,
        "start": start,
        "duration": plural(round(result.seconds / 60), "minute"),
    }
    for key, value in filled.items():
        if isinstance(value, str):
            filled[key] = as_markdown(value)
    return CARD.read_text(encoding="utf-8").format(**filled, accuracy=_accuracy(run, predictions))


def tested_run(run_dir: Path) -> tuple[FinishedRun, Predictions | None]:
    """Read a finished run and the predictions of its test, ``None`` if it was not tested."""
    run = read_finished(run_dir, anywhere=True)
    if run is None:
        raise UserError(f"{run_dir}: no finished run (no run.json); train it first")
    return run, read_predictions(run_dir, run.result)


def headline(run_dir: Path) -> list[str]:
    """Return lines on a finished run: accuracy, its meaning, most-frequent-class baseline, confusions, folds."""
    run, predictions = tested_run(run_dir)
    if predictions is None:
        return ["Not tested."]
    return accuracy_facts(run, predictions)


def use_of_time(run_dir: Path) -> TimeUse | None:
    """Return what a finished run's model uses of time; ``None`` without tests with the frames in other orders."""
    run, _ = tested_run(run_dir)
    return read_time_use([run])


def _accuracy(run: FinishedRun, predictions: Predictions | None) -> str:
    """Return the facts of a test, its metrics, and a table of the classes of each task."""
    metrics = run.result.metrics
    lines: list[str] = []
    if predictions is not None:
        time = read_time_use([run])
        sentences = [*accuracy_facts(run, predictions), *(time.sentences if time else [])]
        lines += [f"- {as_markdown(sentence)}" for sentence in sentences]
    elif not any(name.startswith("test/") for name in metrics):
        lines.append("- not tested")

    lines += [f"- {as_markdown(name.removeprefix('test/'))}: {value:z.1f}" for name, value in metrics.items()]
    if predictions is None:
        return "\n".join(lines)

    if run.result.temperature is not None:
        lines.append(f"- temperature of the probabilities: {run.result.temperature:.2f}, by the tests of the folds")
    lines.append(f"- the {int((~predictions.hits()).sum())} mistakes by file: `{MISTAKES}` of the run")

    for name, task in predictions.tasks.items():
        if name:
            lines += ["", f"### {as_markdown(name)}"]
        lines += ["", markdown_lines(["class", "test videos", "right, %"], class_lines(task)[:CLASSES_SHOWN])]
    return "\n".join(lines)


def accuracy_facts(run: FinishedRun, predictions: Predictions) -> list[str]:
    """Return lines on the accuracy: interval and meaning, each task's baseline and confusions, cross-validation."""
    right = predictions.hits()
    share = f"{100 * right.mean():.1f} % of {plural(len(right), 'test video')} are right"
    if len(predictions.tasks) > 1:
        share += f" in {' and '.join(predictions.tasks)}"

    draws = predictions.draws
    interval = accuracy_interval(right, groups=draws.number if draws else None)
    counted = "if no two of them were recorded together"
    kind = "new videos like these"
    if draws and not interval.bounded:  # too few draws tell nothing about others
        interval = accuracy_interval(right)
        counted = f"for videos of {these(draws.count, draws.kind)} alone"
        kind = f"new videos of {these(draws.count, draws.kind)}"
    elif draws:
        counted = f"over {plural(draws.count, draws.kind)}"

    own_settings = replace(run, overridden={})  # this model's settings are its own, whatever the row's are
    first = f"{share} (95 % interval {interval.low:.0f} to {interval.high:.0f} %, {counted})"
    meaning = f"in the long run, {interval.low:.0f} to {interval.high:.0f} of 100 {kind} are named right"
    facts = ["; ".join([first, *remarks(own_settings)]), f"In words: {meaning}"]
    for name, task in predictions.tasks.items():
        facts += [f"{name}: {fact}".removeprefix(": ") for fact in _facts(task, predictions.draws)]

    folds = run.result.folds
    if folds:
        shares = ", ".join(f"{share:.0f}" for share in folds.values())
        facts += [
            f"Cross-validated: every video was tested by a model that was trained without it, in {len(folds)} parts "
            f"({shares} % right); the model to use was trained on all of them, and was not tested itself",
        ]
    return facts


def _facts(task: TaskPredictions, draws: Draws | None) -> list[str]:
    """Compare the model with always answering the most frequent class; list confusions.

    Whether the model is better is said by McNemar's test, or by an interval over draws.
    """
    from scipy.stats import binomtest  # here, because importing it takes half a second

    frequent = int(np.bincount(task.target).argmax())
    always = task.target == frequent
    right = task.hits()
    baseline = f"always answering {task.classes[frequent]!r} gives {100 * always.mean():.1f} %"
    compared = "the model is better"
    gained = int((right & ~always).sum())
    lost = int((always & ~right).sum())
    if not gained + lost or binomtest(gained, gained + lost, alternative="greater").pvalue >= SURE:
        more = "more videos, a longer training or pretrained weights may help"
        compared = f"the model is not better for certain; {more}"
    elif draws:
        groups = draws.number
        if draws.count < FEWEST_CLUSTERS or cautious_difference([right], [always], groups=groups).low <= 0:
            compared = f"the model is better on {these(draws.count, draws.kind)}, but for others that is not certain"

    facts = [f"Baseline: {baseline}; {compared}"]
    if not right.all():
        confused = []
        for label, predicted, videos in most_confused(task.confusion, task.classes, CONFUSIONS_SHOWN):
            confused.append(f"{label!r} taken for {predicted!r} ({videos})")
        facts.append(f"Most often confused: {'; '.join(confused)}")
    return facts


def class_lines(task: TaskPredictions) -> list[list[str]]:
    """Return name, number of test videos and accuracy in percent of each class with test videos."""
    lines = []
    for name, videos, accuracy in zip(task.classes, task.videos, task.class_accuracy(), strict=True):
        if videos:
            lines.append([name, str(videos), f"{accuracy:.0f}"])
    return lines
