"""Model card of a run as Markdown: data, settings, accuracy, confusions."""

from pathlib import Path
from typing import Any

import numpy as np

from lit_video.errors import UserError
from lit_video.tables.predictions import Predictions, TaskPredictions, most_confused, read_predictions
from lit_video.tables.results import read_result
from lit_video.utils.clip_shape import in_words
from lit_video.utils.text import markdown_lines

MOST = 5  # confusions that are named
SHOWN = 30  # classes of the table
LICENCE = """The weights carry what the videos and the weights that they started from allow: look at the licences of
both before you pass this on. `lit_video` itself is under Apache-2.0."""


def model_card(run_dir: Path) -> str:
    """The card of a finished run.

    Raises:
        UserError: the run is not finished, or one of its files is damaged.
    """
    result = read_result(run_dir, anywhere=True)
    if result is None:
        raise UserError(f"{run_dir}: no finished run (no run.json); train it first")
    config = result["identity"]["settings"]
    predictions = read_predictions(run_dir, result["test_videos"])
    parts = [
        f"# {result['scheme']}, {result['table']}",
        _data(config["data"], result),
        _accuracy(result, predictions),
        _settings(config, result),
        f"## Licence\n\n{LICENCE}",
    ]
    return "\n\n".join(parts) + "\n"


def _data(data: dict[str, Any], result: dict[str, Any]) -> str:
    given = data["init_args"]
    counts = result["video_counts"]
    tested = "test" if "test" in counts else "val"  # where there is no test split, the validation videos are tested on
    videos = ", ".join(f"{each['used']} {'test' if name == tested else name}" for name, each in counts.items())
    lines = [
        f"- videos: {Path(str(given.get('root'))).name or data['class_path']} ({videos or 'see run.json'})",
        f"- digest of what was trained and tested on: `{result['identity']['data']}`",
        f"- clips: {given['frames']} frames of {in_words(given['image_size'])} pixels",
    ]
    return "\n".join(["## Data", "", *lines])


def _accuracy(result: dict[str, Any], predictions: Predictions | None) -> str:
    lines = [f"- {name.removeprefix('test/')}: {value:.1f}" for name, value in result["metrics"].items()]
    if predictions is None:
        return "\n".join(["## Accuracy", "", *lines])
    from scipy.stats import binomtest  # takes half a second

    right = predictions.hits()
    interval = binomtest(int(right.sum()), len(right)).proportion_ci(method="wilson")
    what = f" in {' and '.join(predictions.tasks)}" if len(predictions.tasks) > 1 else ""
    share = f"{100 * right.mean():.1f} % of {len(right)} test videos are right{what}"
    first = f"- {share} (95 % interval {100 * interval.low:.0f} to {100 * interval.high:.0f} %)"
    always = [_always(name, task) for name, task in predictions.tasks.items()]
    parts = [part for name, task in predictions.tasks.items() for part in _of_task(name, task)]
    return "\n".join(["## Accuracy", "", first, *always, *lines, *parts])


def _always(name: str, task: TaskPredictions) -> str:
    """Accuracy of always predicting the most frequent class, for each task."""
    often = np.bincount(task.target, minlength=len(task.classes))
    always = f"always {task.classes[int(often.argmax())]!r}"
    return f"- {f'{name}: ' if name else ''}{always} would be right in {100 * often.max() / len(task.target):.1f} %"


def _of_task(name: str, task: TaskPredictions) -> list[str]:
    """Accuracy by class and confusions, below the name of one of several tasks."""
    confused = [f"{a} taken for {b} ({n})" for a, b, n in most_confused(task.confusion, task.classes, MOST)]
    ending = ["", "Most often confused: " + "; ".join(confused) + "."] if confused else []
    return [*(["", f"### {name}"] if name else []), "", _classes(task), *ending]


def _classes(task: TaskPredictions) -> str:
    right = task.hits()
    body = []
    for number, name in enumerate(task.classes[:SHOWN]):
        members = task.target == number
        if members.any():
            body.append([name, str(int(members.sum())), f"{100 * right[members].mean():.0f}"])
    return markdown_lines(["class", "test videos", "right, %"], body)


def _settings(config: dict[str, Any], result: dict[str, Any]) -> str:
    model, rate = config["model"]["init_args"], config["model"]["init_args"]["optimization"]
    start = model.get("weights") or model.get("image_weights") or "nothing: from scratch"
    lines = [
        f"- {result['params'] / 1e6:.2f} M parameters, {result['gmacs']:.3g} GMACs a view",
        f"- views of a test video: {result['views']}",
        f"- started from {start}",
        f"- {rate['optimizer']}, rate {rate['lr']:g}, {result['steps']} steps of {result['global_batch']} clips, seed "
        f"{result['seed']}",
        f"- {result['seconds'] / 60:.0f} minutes on {result['device']}",
        f"- tested: step {result['weights']['step']}, `{result['weights']['file']}`",
        f"- made by `{result['command']}` at commit {result['commit']}; all settings in `run.json`",
    ]
    return "\n".join(["## Settings and cost", "", *lines])
