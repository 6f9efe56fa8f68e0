"""Checkpoints of runs, usable alone: the model, the names of its classes, and how its clips are made."""

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

from lit_video.datamodules.folder import VideoList
from lit_video.errors import OptionError
from lit_video.modules import VideoClassifier
from lit_video.network.aggregation import linear_head
from lit_video.utils.class_paths import known_class
from lit_video.video.batch import normalise
from lit_video.video.settings import restored_settings
from lit_video.weights.reading import CHECKPOINT_KEY, EXPORTED

if TYPE_CHECKING:
    from lit_video.inference.predict import Evaluation, Paths, VideoPredictions


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
        views = data.view_type(data.test_crops, data.image_size)(frames)
        return normalise(views[None], data.mean, data.std, data.channels)


def load_trained_model(path: Path) -> TrainedModel:
    """A run's checkpoint, without its configuration and its data.

    Raises:
        UserError: the file does not exist, is damaged, or is no checkpoint of ours.
    """
    checkpoint = read_checkpoint(path)
    stored = checkpoint.get(CHECKPOINT_KEY)
    if stored is None:
        raise OptionError("ckpt", f"{path} has no class names: it is another program's, or made without a data module")
    model = build_model(checkpoint, VideoClassifier, path)
    try:
        settings = restored_settings(stored["data"])
    except Exception as error:  # of whatever stands there instead
        raise OptionError("ckpt", f"{path} has settings of no data set: {_line(error)}") from error
    return TrainedModel(model, stored["class_names"], settings)


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
    if not isinstance(checkpoint, dict) or not {"state_dict", "hyper_parameters"} <= checkpoint.keys():
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
        with _no_larger_than(checkpoint["state_dict"]):
            model = kind(**{name: value for name, value in settings.items() if not name.startswith("_")})
        model.load_state_dict(checkpoint["state_dict"])
        if stored and (temperature := stored.get("temperature")):  # of a cross-validation, see training/folds.py
            for parameter in linear_head(model.network).parameters():
                parameter.data /= temperature
    except Exception as error:  # of constructors, of torch
        raise OptionError("ckpt", f"{path} is no checkpoint of a {family.__name__}: {_line(error)}") from error
    return model.eval()


def _no_larger_than(stored: Mapping[str, Tensor]) -> RemovableHandle:
    """Refuse a model of more parameters than a file holds (twice: some are replaced) before it is whole."""
    left = 2 * sum(tensor.numel() for tensor in stored.values())

    def count(module: nn.Module, name: str, parameter: nn.Parameter | None) -> None:
        nonlocal left
        left -= 0 if parameter is None else parameter.numel()
        if left < 0:
            raise ValueError("its settings ask for a larger model than it holds")

    return register_module_parameter_registration_hook(count)


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
