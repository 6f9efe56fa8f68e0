"""Optimizer, parameter groups and learning rate schedule."""

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import nn


@dataclass(frozen=True)
class Optimization:
    """How a model is optimised; the defaults are X-ViT's for SSv2 (arXiv:2106.05968, section 4.1).

    Args:
        optimizer: ``sgd`` with momentum, ``adamw``, or ``muon`` (timm's; Jordan et al., 2024), which steps along the
            nearest orthogonal matrix and needs a fraction of the steps; the rest has AdamW with Nesterov's momentum.
        lr: base learning rate, for the batch in use; it is not rescaled.
        momentum: of SGD; AdamW's betas are 0.9 and 0.999, beside Muon 0.9 and 0.95.
        nesterov: of SGD.
        weight_decay: of the decayed group.
        decay_all: decay norms, biases, tokens and positions too, as X-ViT's release does.
        warmup: share of training in which the rate rises linearly to the cosine's own value.
        warmup_start: first rate, as a share of ``lr``.
        milestones: shares of training at which the rate falls to a tenth; given, they replace the cosine (TimeSformer:
            epochs 11 and 14 of 15).
    """

    optimizer: Literal["sgd", "adamw", "muon"] = "sgd"
    lr: float = 0.05
    momentum: float = 0.9
    nesterov: bool = False
    weight_decay: float = 1e-4
    decay_all: bool = False
    warmup: float = 5 / 35
    warmup_start: float = 0.1
    milestones: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if self.lr <= 0:
            raise ValueError(f"lr is {self.lr}, expected more than 0")
        if not 0 <= self.warmup < 1:
            raise ValueError(f"warmup is {self.warmup}, a share of training, expected 0 to 1")
        if not all(0 < share < 1 for share in self.milestones):
            raise ValueError(f"milestones are {list(self.milestones)}, shares of training, expected 0 to 1")
        if self.optimizer == "muon" and self.decay_all:
            raise ValueError("decay_all is of sgd and adamw; muon is for matrices alone")


def make_optimizer(config: Optimization, module: nn.Module) -> torch.optim.Optimizer:
    """Optimizer over two groups: decayed weights, and norms, biases, tokens and positions without decay."""
    groups = decay_groups(config, module)
    if config.optimizer == "adamw":
        return torch.optim.AdamW(groups, lr=config.lr)
    if config.optimizer == "muon":
        from timm.optim.muon import Muon  # releases of timm before 1.0.20 have none

        return Muon(groups, lr=config.lr, nesterov=True)
    return torch.optim.SGD(groups, lr=config.lr, momentum=config.momentum, nesterov=config.nesterov)


def decay_groups(config: Optimization, module: nn.Module) -> list[dict[str, object]]:
    """Parameter groups of a module; weights are what has two or more axes and is no token and no position."""
    decayed: list[nn.Parameter] = []
    exempt: list[nn.Parameter] = []
    for name, parameter in module.named_parameters():
        weight = parameter.ndim > 1 and not name.endswith(("_token", "_embed", "latents"))
        (decayed if weight or config.decay_all else exempt).append(parameter)
    groups = [(decayed, config.weight_decay, False), (exempt, 0.0, True)]
    muon = config.optimizer == "muon"
    return [
        {"params": parameters, "weight_decay": decay} | ({"use_fallback": others} if muon else {})
        for parameters, decay, others in groups
        if parameters
    ]


def rate(config: Optimization, progress: float) -> float:
    """Learning rate over its base at ``progress`` (0 to 1): half a cosine or steps, after a linear warm-up."""
    if progress < config.warmup:
        return config.warmup_start + (_schedule(config, config.warmup) - config.warmup_start) * progress / config.warmup
    return _schedule(config, progress)


def _schedule(config: Optimization, progress: float) -> float:
    if config.milestones:
        return float(0.1 ** sum(progress >= share for share in config.milestones))
    return cosine(progress)


def cosine(progress: float) -> float:
    """Half a cosine from 1 to 0."""
    return (1 + math.cos(math.pi * min(progress, 1.0))) / 2
