"""Settings in which the two rows of a claim differ: a claim about one thing must vary nothing else."""

from collections.abc import Iterable, Sequence

from lit_video.runs.finished import FinishedRun
from lit_video.runs.identity import differences
from lit_video.settings.effects import model_names
from lit_video.settings.nested import short_key
from lit_video.tables.table import Row

# Names of many settings at once: "model" is a scheme with its other settings, "method" also its training and views,
# where each paper has its own. Neither covers starting weights; a claim names them too if they differ.
_MODEL = "model"
METHOD = "method"
OF_MODEL = tuple(f"model.{name}" for name in model_names("function", "shape", "clip", "classes", "start"))
OF_METHOD = ("model", "data", "trainer", "global_batch", "steps")
START = tuple(f"model.{name}" for name in model_names("files"))
_CLASS = "model.class_path"
_BATCH = "data.batch_size"  # a part of a step's batch, see global_batch
STEPS_KEY = "steps"  # number of optimizer steps, which rows of fewer videos have fewer of


def row_contrast(first: Row, second: Row) -> list[str]:
    """Return the settings that both rows of a table set, to different values.

    A setting that one row leaves out has a default, which only a resolved configuration knows: :func:`run_contrast`.
    """
    both = first.settings.keys() & second.settings.keys() - {_BATCH}
    return sorted(key for key in both if first.settings[key] != second.settings[key])


def run_contrast(first: FinishedRun, second: FinishedRun) -> list[str]:
    """Return the settings in which two runs differ: all that affect numbers but seed and code.

    Settings that only one of two classes of models has are left out, but not starting weights: the other class starts
    from none. Weights are compared by name, since each machine trains its own image model.
    """
    was = first.identity.without_weights()
    now = second.identity.without_weights()
    shared = was.flat.keys() & now.flat.keys()
    other_class = was.flat.get(_CLASS) != now.flat.get(_CLASS)

    contrast = dict[str, None]()
    for difference in differences(was, now):
        key = short_key(difference.key)
        if difference.kind in ("code", "folder", "spread") or key == "seed_everything":
            continue

        of_one_class = other_class and difference.key not in shared and key.startswith("model.")
        is_start = key in START and (difference.was or difference.now)
        if of_one_class and not is_start:
            continue
        contrast[key] = None

    if first.result.steps != second.result.steps:
        contrast[STEPS_KEY] = None
    return list(contrast)


def uncovered(contrast: Iterable[str], varies: Sequence[str]) -> list[str]:
    """Return the settings of a contrast that are none of those named in ``varies``, nor a part of one.

    ``model`` covers the settings ``OF_MODEL``, ``method`` all of model, data and training but starting weights.
    """
    return [key for key in contrast if not any(_covers(name, key) for name in varies)]


def _covers(name: str, key: str) -> bool:
    if name == METHOD:
        return key not in START and any(_part_of(key, whole) for whole in OF_METHOD)
    if name == _MODEL:
        return key == _MODEL or any(_part_of(key, whole) for whole in OF_MODEL)
    return _part_of(key, name)


def _part_of(key: str, name: str) -> bool:
    return key == name or key.startswith(f"{name}.")
