"""Weights that training starts from, with the settings of the model and of the clips that they belong to."""

from dataclasses import asdict, dataclass, is_dataclass
from pathlib import Path
from typing import Any

from lit_video.errors import UserError
from lit_video.inference.checkpoints import read_checkpoint
from lit_video.weights.hub import PREFIX, find, releases, weights_path
from lit_video.weights.reading import CHECKPOINT_KEY

# of a data set; what else there is suits the user's videos
CLIPS = ("frames", "image_size", "mean", "std", "channels")
# of a model: what training chooses anew, or the data set decides
LEFT_OUT = {"num_classes", "frames", "image_size", "optimization", "weights", "weights_settings", "weights_ema"}
LEFT_OUT |= {"image_weights", "freeze", "activation_checkpointing", "drop_path", "position_std", "network"}


@dataclass(frozen=True)
class Start:
    """Where training starts.

    Args:
        weights: ``model.weights``.
        model: name of the model's class.
        settings: of the class, without ``model.``.
        clips: settings of the data set, without ``data.``.
    """

    weights: str
    model: str
    settings: dict[str, Any]
    clips: dict[str, Any]


def start_from(weights: str) -> Start:
    """Published weights by name, or a run's checkpoint or its folder.

    Raises:
        UserError: there are no such weights here, or nothing is known of their settings.
    """
    name = weights.removeprefix(PREFIX)
    if name in releases():
        return _published(name)
    path = Path(weights)
    path = path / "last.ckpt" if path.is_dir() else path
    if not path.is_file():
        raise UserError(f"--weights {weights}: no such file, and no such name; python -m lit_video weights lists names")
    checkpoint = read_checkpoint(path, "weights")
    if CHECKPOINT_KEY not in checkpoint:
        raise UserError(f"--weights {weights}: no checkpoint of a run; its settings are not known")
    own = checkpoint[CHECKPOINT_KEY]
    given = {key: _plain(value) for key, value in checkpoint["hyper_parameters"].items() if not key.startswith("_")}
    settings = {key: value for key, value in given.items() if key not in LEFT_OUT and value is not None}
    clips = {key: own["data"][key] for key in CLIPS if key in own["data"]}
    return Start(str(path.resolve()), own["model"].rpartition(".")[2], settings, clips)


def _published(name: str) -> Start:
    weights_path(PREFIX + name)  # says how to fetch them
    settings = find(PREFIX + name).settings
    model = {key.removeprefix("model."): value for key, value in settings.items() if key.startswith("model.")}
    clips = {key: settings[f"data.{key}"] for key in CLIPS if f"data.{key}" in settings}
    return Start(PREFIX + name, settings["model"], model, clips)


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return list(value) if isinstance(value, tuple) else value
