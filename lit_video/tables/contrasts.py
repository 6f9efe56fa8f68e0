"""Settings in which the two rows of a claim differ, to show that they differ in nothing but what the claim is about."""

from collections.abc import Sequence

from lit_video.runs.folder import FinishedRun
from lit_video.runs.record import differences
from lit_video.settings.effects import model_names
from lit_video.settings.nested import short_key
from lit_video.tables.table import Row, Table

# A claim may name many settings at once. "model" stands for the scheme with all settings of the network; "method" also
# for training and views, for claims across papers. Neither includes starting weights, which have a name of their own.
_MODEL = "model"
METHOD = "method"
OF_MODEL = tuple(f"model.{name}" for name in model_names("function", "shape", "clip", "classes", "start"))
OF_METHOD = ("model", "data", "trainer", "global_batch", "steps")
START = tuple(f"model.{name}" for name in model_names("files"))
_CLASS = "model.class_path"
_BATCH = "data.batch_size"  # only together with the number of devices does it tell a step's batch, see global_batch
STEPS_KEY = "steps"  # number of optimizer steps, smaller for a row with fewer training videos


def row_contrast(first: Row, second: Row) -> list[str]:
    """Return the settings that both rows of a table set, to different values.

    A setting that only one of the rows sets is left out, because the default in the other row is not known here; see
    :func:`run_contrast`.
    """
    both = first.settings.keys() & second.settings.keys() - {_BATCH}
    return sorted(key for key in both if first.settings[key] != second.settings[key])


def planned_contrast(table: Table, first: Row, second: Row) -> list[str] | None:
    """Return the settings in which two rows differ by the table's files; ``None`` if they differ in nothing.

    Beside those of :func:`row_contrast` these are starting weights that only one of the rows has: the other one then
    starts without, whatever its class.
    """
    was = table.settings_of(first)
    now = table.settings_of(second)
    if was == now:
        return None
    return row_contrast(first, second) + [key for key in START if bool(was.get(key)) != bool(now.get(key))]


def run_contrast(first: FinishedRun, second: FinishedRun) -> list[str]:
    """Return the settings in which two runs differ, of all that affect numbers; seed and code are left out.

    If the models are of different classes, settings that only one class has are left out; starting weights are not,
    because the other class then starts without.
    """
    was = first.identity
    now = second.identity
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


def uncovered(contrast: Sequence[str], varies: Sequence[str]) -> list[str]:
    """Return the settings of a contrast that ``varies`` does not name, neither themselves nor a setting around them.

    In ``varies``, ``model`` stands for ``OF_MODEL``, and ``method`` for all settings of model, data and training except
    starting weights.
    """
    covered = set()
    for name in varies:
        wholes = {METHOD: OF_METHOD, _MODEL: OF_MODEL}.get(name, (name,))
        for key in contrast:
            is_part = any(f"{key}.".startswith(f"{whole}.") for whole in wholes)
            if key == name or (is_part and not (name == METHOD and key in START)):
                covered.add(key)
    return [key for key in contrast if key not in covered]
