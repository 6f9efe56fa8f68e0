"""One reader for all files of weights: torch's, safetensors, Flax's; code in a file is never run."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from pickle import UnpicklingError
from types import SimpleNamespace
from typing import Any
from zipfile import is_zipfile

import numpy as np
import torch
from safetensors.torch import load_file
from torch import Tensor

from lit_video.errors import UserError, one_line
from lit_video.utils.classes import by_task
from lit_video.weights.integrity import EXPORTED, recorded_digest, refuse_damage
from lit_video.weights.parts import matching, respelled

# files of weights in a folder; the first that exists is read
IN_A_FOLDER = ("model.safetensors", "pytorch_model.bin", "checkpoint", "last.ckpt")

# key under which our checkpoints store clip settings and class names; an export has them in the file EXPORTED
CHECKPOINT_KEY = "lit_video"
MODEL_KEY = "lit_video_model"  # key of our checkpoints for the model's family and settings

# modules of values that may be in a file beside the weights; placeholders replace them
BESIDE = ("numpy.", "pathlib.", "datetime.")

# keys of the weights in training checkpoints: PySlowFast, Lightning, timm, Flax
PLACES = ("model_state", "state_dict", "model", "module", "network", "params", "target", "optimizer", "opt")
AVERAGES = ("state_dict_ema", "model_ema", "ema_state_dict", "ema")  # keys of the moving average
WRAPPERS = (r"module\.", r"model\.", r"network\.")
COMPILED = "_orig_mod."  # added by torch.compile anywhere in a name

Tensors = dict[str, Tensor]


@dataclass(frozen=True)
class StoredWeights:
    """Weights of a model, with settings found in their file or folder."""

    tensors: dict[str, Tensor]  # by name
    config: dict[str, Any] = field(default_factory=dict)  # content of the folder's config.json; else empty
    choice: str = ""  # message that says which set of weights was read, if the file holds two
    preprocessor: dict[str, Any] = field(default_factory=dict)  # content of preprocessor_config.json; else empty
    model: dict[str, Any] = field(default_factory=dict)  # model settings in one of our checkpoints; else empty
    clips: dict[str, Any] = field(default_factory=dict)  # data settings in one of our checkpoints; else empty
    named: str | None = None  # source given by the user, if parameter names do not show it
    class_names: Any = None  # from one of our checkpoints: a list; for several tasks a dict of lists
    trained_on: str = ""  # training videos, see lit_video.video.trained_on; empty if unknown

    @property
    def labels(self) -> dict[str, dict[str, int]]:
        """Class numbers by name for each task, whose name is empty if there is one; empty if unknown."""
        names_by_task = {"": self.config.get("id2label") or {}}
        for task, names in by_task(self.class_names).items():
            names_by_task[task] = dict(enumerate(names)) if isinstance(names, list) else {}

        labels = {}
        for task, names in names_by_task.items():
            if names:
                labels[task] = {str(name): int(number) for number, name in names.items()}
        return labels


def read_weights(path: Path, average: bool | None = None, named: str | None = None) -> StoredWeights:
    """Read the tensors of a file or a Hugging Face folder; never run code in a file.

    Formats: torch (zip or legacy), safetensors, Flax's msgpack. From a training checkpoint, only the model is read;
    prefixes of wrappers are removed.

    Args:
        path: the file or folder.
        average: whether to read the moving average of the weights instead of the weights; ``None`` if there is one.
        named: the source, if the user gives it, see :func:`~lit_video.weights.loading.source_of`.
    """
    inside = [path / name for name in IN_A_FOLDER]
    file = next((candidate for candidate in inside if candidate.is_file()), path)
    if file.is_dir():
        raise UserError(f"the folder {path} holds no weights: expected one of {', '.join(IN_A_FOLDER)}")
    if not file.is_file():
        raise UserError(f"the weights file {path} does not exist, or is no plain file")

    try:
        refuse_damage(file)
        content = _read(file)
        tensors, choice = model_of(content, average)
        for name, tensor in tensors.items():
            if tensor.numel() > held([tensor]):
                raise ValueError(f"{name} has more values than the file holds")
        refuse_changed(file, tensors)
    except UserError:
        raise
    except Exception as error:
        raise UserError(f"{file} cannot be read as weights: {_reason(error)}") from error

    if file.suffix == ".safetensors":
        content = _json(file.with_name(EXPORTED))
    return replace(
        of_our_own(content),
        tensors=tensors,
        choice=choice,
        named=named,
        config=_json(path / "config.json"),
        preprocessor=_json(path / "preprocessor_config.json"),
    )


def tensors_digest(tensors: Mapping[str, Tensor]) -> str:
    """Return a hash of the tensors' names and values, 16 hexadecimal digits."""
    digest = blake2b(digest_size=8)
    for name, value in sorted(tensors.items()):
        value = value.detach().cpu().contiguous()
        digest.update(f"{name} {value.dtype} {tuple(value.shape)}".encode())
        digest.update(value.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def weights_digest(path: Path, average: bool | None = None) -> str:
    """Return a 16-digit hexadecimal hash of the tensor names and values that :func:`read_weights` reads."""
    files = sorted(path.glob("*")) or [path]
    states = [(file.name, file.stat().st_mtime_ns, file.stat().st_size) for file in files if file.exists()]
    return _digest_of(path, average, tuple(states))


@lru_cache(maxsize=64)
def _digest_of(path: Path, average: bool | None, states: tuple[tuple[str, int, int], ...]) -> str:
    return tensors_digest(read_weights(path, average).tensors)


def refuse_changed(file: Path, tensors: Mapping[str, Tensor]) -> None:
    """Raise a ValueError if a run or an export recorded other weights for this file."""
    recorded = recorded_digest(file)
    if recorded and recorded != tensors_digest(without_prefixes(tensors)):
        raise ValueError(f"its weights are not those that were written ({recorded}): it was damaged or changed")


def held(tensors: Iterable[Tensor]) -> int:
    """Return the number of values in the tensors' memory; what views or expanded tensors share is counted once."""
    counts = {}
    for tensor in tensors:
        if tensor.layout == torch.strided and not tensor.is_meta:
            memory = tensor.untyped_storage()
            counts[memory.data_ptr()] = memory.nbytes() // tensor.itemsize
    return sum(counts.values())


def of_our_own(content: Any) -> StoredWeights:
    """Return the settings and class names in one of our checkpoints or exports; empty for other content."""
    content = _mapping(content)
    settings = _mapping(content.get(CHECKPOINT_KEY)) or content
    hyper_parameters = _mapping(content.get("hyper_parameters"))

    clips = _mapping(settings.get("data"))
    model = _mapping(content.get(MODEL_KEY))
    if not model and (clips or {"num_classes", "num_frames", "image_size"} <= hyper_parameters.keys()):
        model = hyper_parameters

    return StoredWeights(
        tensors={},
        model=model,
        clips=clips,
        class_names=settings.get("class_names"),
        trained_on=str(settings.get("trained_on") or ""),
    )


def _mapping(content: object) -> dict[str, Any]:
    """Return a mapping as a dict; an empty one for other content."""
    return dict(content) if isinstance(content, Mapping) else {}


def _read(path: Path) -> Any:
    if path.suffix == ".safetensors":
        return load_file(path)
    if path.suffix == ".msgpack" or (not path.suffix and not is_zipfile(path)):  # scenic's file is called checkpoint
        try:
            import msgpack
        except ImportError:
            raise ValueError("it is a Flax file; pip install 'lit_video[flax]'") from None
        return msgpack.unpackb(path.read_bytes(), ext_hook=_extended, raw=False, strict_map_key=False)

    # checkpoints of timm, DeiT, MAE and DINO also hold the command line
    names: dict[str, Any] = {"argparse.Namespace": SimpleNamespace}
    while True:
        with torch.serialization.safe_globals([(kind, name) for name, kind in names.items()]):
            try:
                return torch.load(path, map_location="cpu", weights_only=True)
            except UnpicklingError as error:
                refused = re.search(r"GLOBAL (\S+)", str(error))
                if not refused or refused[1] in names or not refused[1].startswith(BESIDE):
                    raise
                names[refused[1]] = type("Placeholder", (Placeholder,), {})


class Placeholder:
    """Stand-in for a number, path or date of another library; nothing of that library is called."""

    def __init__(self, *_: object) -> None:
        """Take and forget the values."""

    def __setstate__(self, state: object) -> None:
        """Forget the state."""


def _json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        content = json.loads(path.read_text())
    except ValueError as error:
        raise UserError(f"{path} cannot be read: {_reason(error)}") from error
    if not isinstance(content, dict):
        raise UserError(f"{path}: expected names and values")
    return content


def _reason(error: Exception) -> str:
    """Return an error in one line, without torch's advice to run the file's code."""
    text = one_line(error)
    if asked := re.search(r"GLOBAL (\S+)", text):
        return f"it holds {asked[1]}, not tensors alone, and nothing of it was run; save the model's state_dict()"
    return "its pickle is damaged, or holds no tensors" if "weights_only" in text else text


def model_of(content: Any, average: bool | None = None) -> tuple[Tensors, str]:
    """Return the model's tensors in a file, and a message if it holds two sets; prefer the average, as timm does."""
    content = _mapping(content)
    averaged, place = _first(content, AVERAGES)
    weights = _weights({key: content[key] for key in content if key not in AVERAGES})

    if average is False and averaged and not weights:
        raise ValueError(f"weights_ema is false, and it holds the moving average alone ({place})")
    if average and not averaged:
        raise ValueError("weights_ema is true, and it holds no moving average of the weights")
    if not averaged and not weights:
        raise ValueError("it holds no state dict (names and tensors)")

    if not averaged or not weights:
        return without_prefixes(averaged or weights), ""
    if average is False:
        line = "read the weights, one of two sets; --model.weights_ema true reads the other"
        return without_prefixes(weights), line
    line = f"read the moving average ({place}), one of two sets; --model.weights_ema false reads the other"
    return without_prefixes(averaged), line


def without_prefixes(tensors: Mapping[str, Tensor]) -> Tensors:
    """Return the tensors under names without the prefixes that ``torch.compile`` and wrappers add."""
    bare = respelled(tensors, re.escape(COMPILED), "")
    for wrapper in WRAPPERS:
        if bare and len(matching(bare, wrapper)) == len(bare):
            return without_prefixes(respelled(bare, f"^{wrapper}", ""))
    return bare


def _weights(content: Any) -> Tensors:
    """Return the tensors under the first key of ``PLACES`` that holds tensors, else the only state dict in the content.

    If there is neither, the content itself is a state dict, or a tree of tensors (Flax).
    """
    if not isinstance(content, Mapping) or not content:
        return {}

    at_known_place, _ = _first(content, PLACES)
    if at_known_place:
        return at_known_place

    inside = dict(_state_dicts(content))
    if len(inside) > 1:
        raise ValueError(f"it holds several sets of weights ({', '.join(inside)}): save the one that is meant alone")
    return next(iter(inside.values()), {}) or _tensors(content)


def _state_dicts(content: Mapping[Any, Any], place: str = "") -> Iterator[tuple[str, Tensors]]:
    """Iterate over the state dicts at any depth of a file's content, with the keys that lead there, joined by dots."""
    for key, value in content.items():
        if not isinstance(value, Mapping):
            continue
        tensors = _mapping(value)
        of_modules = any("." in str(name) for name in tensors)  # an optimizer's state and Flax's trees have no dots
        if tensors and of_modules and all(isinstance(tensor, Tensor) for tensor in tensors.values()):
            yield f"{place}{key}", tensors
        else:
            yield from _state_dicts(value, f"{place}{key}.")


def _first(content: Mapping[str, Any], places: tuple[str, ...]) -> tuple[Tensors, str]:
    for place in places:
        weights = _weights(content.get(place))
        if weights:
            return weights, place
    return {}, ""


def _tensors(content: Any) -> Tensors:
    """Return tensors by name, nested names (Flax) joined by slashes; empty if any value is something else."""
    flat: Tensors = {}
    for key, value in _mapping(content).items():
        if isinstance(value, Tensor):
            flat[str(key)] = value
        elif inner := _tensors(value):
            flat |= {f"{key}/{name}": tensor for name, tensor in inner.items()}
        else:
            return {}
    return flat


# https://flax.readthedocs.io/en/latest/_modules/flax/serialization.html: the codes of msgpack's extended types
_ARRAY = 1
_SCALAR = 3


def _extended(code: int, data: bytes) -> Any:
    """Return an array or a number of Flax."""
    import msgpack

    if code not in (_ARRAY, _SCALAR):
        return msgpack.ExtType(code, data)

    shape, dtype, values = msgpack.unpackb(data, raw=True)
    name = dtype.decode()
    if name == "bfloat16":
        return torch.frombuffer(bytearray(values), dtype=torch.bfloat16).reshape(tuple(shape))
    array = np.frombuffer(values, dtype=np.dtype(name)).reshape(tuple(shape))
    return torch.from_numpy(array.copy()) if code == _ARRAY else array.item()
