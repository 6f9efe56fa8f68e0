"""Models that are ready to classify videos, with their classes and how clips are made: of runs, and published."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import is_zipfile

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn.modules.module import register_module_parameter_registration_hook
from torch.utils.hooks import RemovableHandle

from lit_video import datamodules, modules
from lit_video.datamodules.epic_kitchens import CLASSES
from lit_video.datamodules.folder import VideoList
from lit_video.errors import OptionError, UserError
from lit_video.modules import VideoClassifier
from lit_video.network.aggregation import linear_head
from lit_video.runs.checkpoint import find_checkpoint
from lit_video.utils.class_paths import known_class
from lit_video.video.batch import Classes, normalise, outputs
from lit_video.video.settings import SETTINGS, restored_settings, stored_settings
from lit_video.weights.hub import PREFIX, find, weights_path
from lit_video.weights.reading import CHECKPOINT_KEY, EXPORTED, held, read_weights
from lit_video.weights.settings import BIASES, channel_pixels, fold_pixels, number_of_classes, refuse_other_pixels

if TYPE_CHECKING:
    from lit_video.inference.predict import Evaluation, Paths, VideoPredictions

LARGER = "size is larger than that of the weights in the checkpoint"


@dataclass(frozen=True)
class TrainedModel:
    """A model of a run, with what it needs to classify videos.

    Args:
        model: on the CPU, in eval mode.
        class_names: by class number, of each task if there are several.
        settings: arguments of a data set, see :func:`~lit_video.video.settings.stored_settings`.
    """

    model: VideoClassifier
    class_names: list[str] | dict[str, list[str]]
    settings: dict[str, Any]

    def predict(self, videos: "Paths", top: int = 5, evaluation: "Evaluation | None" = None) -> "VideoPredictions":
        """Classify videos: see :func:`~lit_video.inference.predict.predict`."""
        from lit_video.inference.predict import predict  # which needs this class

        return predict(self, videos, top, evaluation)

    def transform(self, frames: NDArray[np.uint8]) -> Tensor:
        """Crop and normalise one clip's frames as in the test, for ``model``.

        Shape: ``(t, height, width, 3)``, RGB -> float ``(crops, 3, t, h, w)``.
        """
        data = VideoList([], **self.settings)
        views = data.view(data.test_crops)(frames)
        return normalise(views[None], data.mean, data.std, data.channels)


def load(source: str | Path | TrainedModel) -> TrainedModel:
    """Load a trained model with its classes and the settings of its clips.

    Args:
        source: a run's folder, as ``finetune`` prints it, its ``last.ckpt``, or ``TABLE/ROW`` of ``runs/``;
            ``hub:NAME``, published weights that have been fetched, with the settings of their evaluation (classes that
            they do not name are called by their numbers); or what this function returned.

    Raises:
        UserError: there is no such run, its checkpoint is wrong, or the weights have not been fetched or do not fit.
    """
    if isinstance(source, TrainedModel):
        return source
    if str(source).startswith(PREFIX):
        return _released(str(source))
    path = find_checkpoint(str(source))
    checkpoint = read_checkpoint(path)
    stored = checkpoint.get(CHECKPOINT_KEY)
    if stored is None:
        raise OptionError("ckpt", f"{path} has no class names: it is another program's, or made without a data module")
    model = build_model(checkpoint, VideoClassifier, path)
    try:
        settings = restored_settings(stored["data"])
        VideoList([], **settings)
    except Exception as error:  # of whatever stands there instead
        raise OptionError("ckpt", f"{path} has settings of no data set: {_line(error)}") from error
    return TrainedModel(model, stored["class_names"], settings)


def _released(name: str) -> TrainedModel:
    given, stored = find(name).settings, read_weights(weights_path(name))
    count = number_of_classes(stored.tensors, *BIASES) or 0
    classes: Classes = CLASSES if count == outputs(CLASSES) else count
    clips = {key: given[f"data.{key}"] for key in SETTINGS if f"data.{key}" in given}
    if sampling := clips.get("sampling"):
        kind = sampling if isinstance(sampling, dict) else {"class_path": sampling}
        clips["sampling"] = getattr(datamodules, kind["class_path"])(**kind.get("init_args", {}))
    settings = {key.removeprefix("model."): value for key, value in given.items() if key.startswith("model.")}
    size, data = {key: clips[key] for key in ("frames", "image_size")}, stored_settings(VideoList([], **clips))
    model = getattr(modules, given["model"])(classes, **size, **settings, weights=name)
    model.setup("test")
    try:
        refuse_other_pixels(data, stored)
    except ValueError as error:
        raise UserError(f"{name}: {error}") from error
    if known := channel_pixels(stored):
        fold_pixels(model.network.embed, *known, data)
    if isinstance(classes, dict):
        tasks = {task: [f"{task} {i}" for i in range(number)] for task, number in classes.items()}
        return TrainedModel(model.eval(), tasks, clips)
    names = sorted(stored.labels, key=stored.labels.__getitem__)
    return TrainedModel(model.eval(), names if len(names) == count else [f"class {i}" for i in range(count)], clips)


def read_checkpoint(path: Path, option: str = "ckpt") -> dict[str, Any]:
    """The content of a checkpoint, which ``option`` names; code in it is not run.

    Raises:
        UserError: the file does not exist, is damaged, or another program's.
    """
    if not path.is_file():
        raise OptionError(option, f"{path}: no such file; runs keep theirs as last.ckpt")
    if path.suffix == ".safetensors":
        return _exported(path, option)
    if not is_zipfile(path):
        raise OptionError(option, f"{path} is damaged, or no checkpoint of lit_video")
    try:
        checkpoint = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    except Exception as error:  # a damaged pickle can raise anything
        raise OptionError(option, f"{path} is damaged, or no checkpoint of lit_video: {_line(error)}") from error
    whole = isinstance(checkpoint, dict) and {"state_dict", "hyper_parameters"} <= checkpoint.keys()
    if not whole or not all(isinstance(value, Tensor) for value in dict(checkpoint["state_dict"]).values()):
        raise OptionError(option, f"{path} is no checkpoint of lit_video: it has no state_dict with hyper_parameters")
    return checkpoint


def _exported(path: Path, option: str) -> dict[str, Any]:
    """Weights that ``export --to safetensors`` wrote, with the settings beside them, as a checkpoint."""
    try:
        settings = json.loads(path.with_name(EXPORTED).read_text(encoding="utf-8"))
        weights = {f"network.{name}": value for name, value in load_file(path).items()}
        return {"state_dict": weights, "hyper_parameters": settings.pop("hyper_parameters"), CHECKPOINT_KEY: settings}
    except Exception as error:  # of a file that can come from anybody
        raise OptionError(option, f"{path} with {EXPORTED} is no export of lit_video: {_line(error)}") from error


def build_model(checkpoint: Mapping[str, Any], family: type[VideoClassifier], path: Path) -> VideoClassifier:
    """The model that a checkpoint describes, with its weights, calibrated; nothing that it names is imported.

    Raises:
        UserError: it is no model of this family, or its weights do not fit.
    """
    settings, stored = checkpoint["hyper_parameters"], checkpoint.get(CHECKPOINT_KEY)
    try:
        kind = known_class(family, stored["model"]) if stored else family
        tensors = checkpoint["state_dict"]
        with no_larger_than(tensors):
            model = kind(**{name: value for name, value in settings.items() if not name.startswith("_")})
        model.load_state_dict(tensors)
        if stored and (temperature := stored.get("temperature")):  # of a cross-validation, see training/folds.py
            for parameter in linear_head(model.network).parameters():
                parameter.data /= temperature
    except Exception as error:  # of constructors, of torch
        raise OptionError("ckpt", f"{path} is no checkpoint of a {family.__name__}: {_line(error)}") from error
    return model.eval()


def no_larger_than(stored: Mapping[str, Tensor]) -> RemovableHandle:
    """Refuse a model of more parameters than a file holds (twice: some are replaced) before it is whole."""
    left = 2 * held(stored.values())

    def count(module: nn.Module, name: str, parameter: nn.Parameter | None) -> None:
        nonlocal left
        left -= 0 if parameter is None else parameter.numel()
        if left < 0:
            raise ValueError(LARGER)

    return register_module_parameter_registration_hook(count)


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
