"""Checkpoints of runs and exports: reading without running code, and building the model."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from threading import get_ident
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn.modules.module import register_module_parameter_registration_hook
from torch.utils.hooks import RemovableHandle

from lit_video.errors import OptionError, one_line
from lit_video.modules import VideoClassifier
from lit_video.network.aggregation import linear_head
from lit_video.utils.class_paths import known_class
from lit_video.weights.integrity import EXPORTED, refuse_damage, refuse_no_checkpoint
from lit_video.weights.parts import without
from lit_video.weights.reading import CHECKPOINT_KEY, held, refuse_changed

ADAPTED = re.compile(r"(?:^|\.)(?:base_layer|base_model|lora_\w+|modules_to_save)\.")  # names of PEFT's parameters
LARGER = "size is larger than that of the weights in the checkpoint"


def read_checkpoint(path: Path, option: str = "ckpt") -> dict[str, Any]:
    """Read a checkpoint without running its code; errors name the setting ``option``."""
    refuse_no_checkpoint(path, option)
    if path.suffix == ".safetensors":  # written by export --to safetensors
        try:
            settings = json.loads(path.with_name(EXPORTED).read_text(encoding="utf-8"))
            weights = {f"network.{name}": value for name, value in load_file(path).items()}
            refuse_changed(path, weights)
            hyper_parameters = settings.pop("hyper_parameters")
            return {"state_dict": weights, "hyper_parameters": hyper_parameters, CHECKPOINT_KEY: settings}
        except Exception as error:  # the file may come from anybody
            raise OptionError(option, f"{path} with {EXPORTED} is no export of lit_video: {one_line(error)}") from error

    try:
        refuse_damage(path)
        checkpoint = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    except Exception as error:  # a damaged pickle can raise anything
        raise OptionError(option, f"{path} is damaged, or no checkpoint of lit_video: {one_line(error)}") from error

    has_keys = isinstance(checkpoint, dict) and {"state_dict", "hyper_parameters"} <= checkpoint.keys()
    if not has_keys or not all(isinstance(value, Tensor) for value in dict(checkpoint["state_dict"]).values()):
        raise OptionError(option, f"{path} is no checkpoint of lit_video: it has no state_dict with hyper_parameters")

    try:
        refuse_changed(path, checkpoint["state_dict"])
    except ValueError as error:
        raise OptionError(option, f"{path}: {error}; train again, or take another file") from error
    return checkpoint


def build_model(checkpoint: Mapping[str, Any], family: type[VideoClassifier], path: Path) -> VideoClassifier:
    """Build a checkpoint's model, with logits divided by a stored temperature; import nothing that the file names."""
    hyper_parameters = checkpoint["hyper_parameters"]
    stored = checkpoint.get(CHECKPOINT_KEY)
    try:
        kind = known_class(family, stored["model"]) if stored else family
        tensors = checkpoint["state_dict"]
        if any(ADAPTED.search(name) for name in tensors):
            raise ValueError("it holds adapters; save it after model.network = model.network.merge_and_unload()")
        with no_larger_than(tensors):
            model = kind(**without(hyper_parameters, "_"))
        model.load_state_dict(tensors)

        temperature = stored.get("temperature") if stored else None
        if temperature:  # set by a cross-validation, see training/folds.py
            for parameter in linear_head(model.network).parameters():
                parameter.data /= temperature
    except Exception as error:  # constructors and torch raise anything
        raise OptionError("ckpt", f"{path} is no checkpoint of a {family.__name__}: {one_line(error)}") from error
    return model.eval()


def no_larger_than(stored: Mapping[str, Tensor]) -> RemovableHandle:
    """Refuse, in a block, to build a model with more than twice the file's parameters, which might fill the memory.

    The limit is twice the number because a constructor may build a part and then replace it.
    """
    remaining = 2 * held(stored.values())
    builder = get_ident()

    def count(module: nn.Module, name: str, parameter: nn.Parameter | None) -> None:
        nonlocal remaining
        if parameter is not None and get_ident() == builder:  # PyTorch's hook is that of all threads
            remaining -= parameter.numel()
        if remaining < 0:
            raise ValueError(LARGER)

    return register_module_parameter_registration_hook(count)
