"""Hyper-parameters that ``torch.load(weights_only=True)`` reads from a checkpoint."""

from dataclasses import asdict, is_dataclass
from typing import Any

from lightning import LightningModule
from lightning.pytorch.utilities import rank_zero_warn
from torch import Tensor


def keep_storable(model: LightningModule) -> None:
    """Convert a model's hyper-parameters to plain values that constructors accept; drop others with a warning."""
    plain = {name: _plain(value) for name, value in model.hparams.items()}
    for name in [name for name, value in plain.items() if not _storable(value)]:
        del plain[name]
        kind = type(model.hparams.pop(name)).__name__
        rank_zero_warn(f"{name}: checkpoints leave out this {kind}; give it again: load_from_checkpoint(..., {name}=)")
    model.save_hyperparameters(plain)


def _plain(value: Any) -> Any:
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value


def _storable(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(_storable, (*value, *value.values())))
    if isinstance(value, list | tuple):
        return all(map(_storable, value))
    return isinstance(value, Tensor) or type(value) in (type(None), bool, int, float, str)
