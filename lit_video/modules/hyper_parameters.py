"""Settings of model and data in a checkpoint, stored so that ``torch.load(weights_only=True)`` can read them."""

from dataclasses import asdict, is_dataclass
from typing import Any

from lightning import LightningModule
from lightning.pytorch.utilities import rank_zero_warn
from torch import Tensor

from lit_video.modules.starting_weights import WeightsRecord
from lit_video.settings.effects import OWN_CODE, model_names, picked
from lit_video.utils.class_paths import class_path
from lit_video.video.settings import SETTINGS, stored_settings
from lit_video.weights.reading import CHECKPOINT_KEY, MODEL_KEY

# key of settings that are stored apart from a checkpoint's hyper-parameters, which ``load_from_checkpoint`` overwrites
CHECKED = ("family", "size", *model_names("function", "shape", "clip", "classes"))


def settings_of(model: LightningModule) -> dict[str, Any]:
    """Return a model's settings and its family, the class of this package that the model is or extends."""
    families = (kind.__name__ for kind in type(model).__mro__ if kind.__module__.startswith("lit_video."))
    return {**model.hparams, "family": next(families)}


def checked_settings(model: LightningModule) -> dict[str, Any]:
    """Return the settings that must agree when a checkpoint is loaded."""
    settings = picked(settings_of(model), CHECKED)
    return {name: value for name, value in settings.items() if value is not None or name not in OWN_CODE}


def videos_of(model: LightningModule) -> Any:
    """Return the trainer's data module; ``None`` for a user's own loaders, under Fabric, or without Lightning."""
    data = getattr(model._trainer, "datamodule", None)
    needed = {"class_names", *SETTINGS}
    return data if needed <= {*dir(data)} else None


def add_settings(model: LightningModule, record: WeightsRecord, checkpoint: dict[str, Any]) -> None:
    """Add the model's settings to a checkpoint and, if there is a data set, its classes, clip settings and videos."""
    checkpoint[MODEL_KEY] = checked_settings(model)

    data = videos_of(model)
    if data:
        if hasattr(data, "trained_on"):
            record.note(data.trained_on(model))
        checkpoint[CHECKPOINT_KEY] = {
            "model": class_path(type(model)),
            "data": stored_settings(data),
            "class_names": data.class_names,
            "trained_on": record.trained_on,
        }


def keep_storable(model: LightningModule) -> None:
    """Convert a model's hyper-parameters to plain values that constructors accept; drop others with a warning."""
    for name, value in dict(model.hparams).items():
        if is_dataclass(value) and not isinstance(value, type):
            value = asdict(value)
            model.hparams[name] = value
        if isinstance(value, type):
            value = class_path(value)
            model.hparams[name] = value

        if not _storable(value):
            kind = type(model.hparams.pop(name)).__name__
            rank_zero_warn(
                f"{name}: checkpoints leave out this {kind}; give it again: load_from_checkpoint(..., {name}=)"
            )
    model.save_hyperparameters(dict(model.hparams))


def _storable(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(_storable, (*value, *value.values())))
    if isinstance(value, list | tuple):
        return all(map(_storable, value))
    return isinstance(value, Tensor) or type(value) in (type(None), bool, int, float, str)
