"""Terms on which the rows of a table were trained: optimizer, rate, steps, start, positions in time."""

from collections.abc import Mapping, Sequence

from lit_video.runs.finished import FinishedRun


def terms_of(run: FinishedRun) -> str:
    """Return how a run was trained: ``muon at 0.003, 768 steps of 16 clips, from stills:24576``; empty if unknown."""
    model = run.identity.settings.get("model", {}).get("init_args", {})
    optimization = model.get("optimization", {})
    if not optimization.keys() >= {"optimizer", "lr"}:  # a model with an optimizer of its own
        return ""
    start = model.get("weights") or model.get("image_weights")
    trained = f"{optimization['optimizer']} at {optimization['lr']:g}, {run.result.steps:,} steps"
    trained += f" of {run.result.global_batch} clips, {f'from {start}' if start else 'from scratch'}"
    if model.get("positions") in ("none", "space"):
        trained += ", no positions in time"
    return trained


def terms(labels: Mapping[str, str], runs: Mapping[str, Sequence[FinishedRun]]) -> list[str]:
    """Say how a table's rows were trained: one sentence if all were trained alike, else one for each group of rows.

    The sentence of the largest group comes first; the others name their rows.

    Args:
        labels: label of each row.
        runs: runs of each row, by seed.
    """
    alike: dict[str, list[str]] = {}
    for row, of_seeds in runs.items():
        if of_seeds and (trained := terms_of(of_seeds[0])):
            alike.setdefault(trained, []).append(labels[row])
    if not alike:
        return []

    (most, _), *others = sorted(alike.items(), key=lambda item: -len(item[1]))
    sentences = [f"Trained by {most}"]
    for trained, rows in others:
        sentences.append(f"{', '.join(rows)}: {trained}")
    return sentences
