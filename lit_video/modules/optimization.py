"""Optimizer, parameter groups and learning rate schedule."""

from __future__ import annotations  # a signature then shows names of types, such as Count

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, Literal

import torch
from torch import nn
from torch.optim.lr_scheduler import LambdaLR

from lit_video.errors import UserError
from lit_video.modules.layer_order import layers_below
from lit_video.network.transformer import undecayed
from lit_video.utils.arguments import (
    InnerShare,
    NotNegative,
    Positive,
    Share,
    ShareAboveZero,
    ShareBelowOne,
    check_fields,
)


@dataclass(frozen=True)
class Optimization:
    """Settings of the optimizer and schedule; the defaults are X-ViT's for SSv2 (arXiv:2106.05968, section 4.1).

    Args:
        optimizer: ``sgd`` with momentum, ``adamw``, or ``muon`` (timm's; Jordan et al., 2024). Muon makes a matrix's
            update orthogonal, on a CPU in float32, on a GPU in bfloat16, and needs fewer steps; other parameters use
            AdamW with Nesterov's momentum. ``logistic`` fits the linear classifier of a frozen model in the first step,
            by :class:`~lit_video.modules.logistic.LogisticRegression`; no other setting has an effect on it.
        lr: base learning rate, for the batch in use; it is not rescaled.
        momentum: SGD's momentum.
        nesterov: whether SGD uses Nesterov's momentum.
        betas: AdamW's decay rates; with ``muon`` they are 0.9 and 0.95.
        weight_decay: weight decay of the decayed group.
        decay_all: decay norms, biases, tokens and positions too, as X-ViT's release does.
        layer_decay: factor between the rates of a layer and the layer above it (BEiT, arXiv:2106.08254, appendix H),
            also of other networks (:mod:`~lit_video.modules.layer_order`). The classifier, and layers over frames
            (temporal attention, ViViT-2's temporal encoder), have the rate ``lr``. The layers by which a Perceiver
            reads tokens have the rate of its first layer.
        warmup: share of training in which the rate rises linearly to the schedule's value at the end of the warm-up.
        warmup_start: first rate, as a share of ``lr``.
        cooldown: share of training, its last, in which the rate falls linearly to zero instead of along the cosine;
            until then it is constant, and trainings of several lengths share their beginning (arXiv:2405.18392).
        whole_cosine: begin the cosine at the end of the warm-up, at the full rate, as ViViT's release does; otherwise
            the cosine begins with training, as in PySlowFast, and the warm-up ends below ``lr``.
        milestones: shares of training at which the rate falls to a tenth, instead of the cosine (TimeSformer:
            epochs 11 and 14 of 15).
    """

    optimizer: Literal["sgd", "adamw", "muon", "logistic"] = "sgd"
    lr: Positive = 0.05
    momentum: ShareBelowOne = 0.9
    _: KW_ONLY
    nesterov: bool = False
    betas: tuple[ShareBelowOne, ShareBelowOne] = (0.9, 0.999)
    weight_decay: NotNegative = 1e-4
    decay_all: bool = False
    layer_decay: ShareAboveZero = 1.0
    warmup: ShareBelowOne = 5 / 35
    warmup_start: Share = 0.1
    milestones: tuple[InnerShare, ...] = ()
    cooldown: InnerShare | None = None
    whole_cosine: bool = False

    def __post_init__(self) -> None:
        check_fields(self)
        if self.cooldown and (self.milestones or self.whole_cosine):
            raise ValueError("cooldown takes the place of milestones and whole_cosine: give one of the three")
        if self.cooldown and self.warmup + self.cooldown > 1:
            raise ValueError(f"warmup {self.warmup:g} and cooldown {self.cooldown:g} are more than the training")
        if self.optimizer == "muon" and self.decay_all:
            raise ValueError("decay_all is for sgd and adamw; muon is for matrices alone")


def optimization_of(settings: Optimization | Mapping[str, Any] | None) -> Optimization:
    """Return an optimization unchanged, build it from a checkpoint's fields, or return the default for ``None``."""
    if isinstance(settings, Optimization):
        return settings
    return Optimization(**settings or {})


def make_optimizer(config: Optimization, module: nn.Module) -> torch.optim.Optimizer:
    """Make the optimizer; norms, biases, tokens and positions have weight decay only with ``decay_all``."""
    if config.optimizer == "logistic":
        from lit_video.modules.logistic import LogisticRegression

        return LogisticRegression(module)

    groups = parameter_groups(config, module)
    fused = all(parameter.is_cuda for parameter in module.parameters()) or None  # PyTorch chooses if it is None
    if config.optimizer == "muon":
        from lit_video.modules.muon import StackedMuon  # timm before 1.0.20 has no Muon

        return StackedMuon(groups, lr=config.lr)

    optimizer: torch.optim.Optimizer
    if config.optimizer == "adamw":
        optimizer = torch.optim.AdamW(groups, lr=config.lr, betas=config.betas, fused=fused)
    else:
        optimizer = torch.optim.SGD(
            groups, lr=config.lr, momentum=config.momentum, nesterov=config.nesterov, fused=fused
        )
    # let the gradient scaler unscale: Lightning refuses to clip gradients that a fused optimizer unscales
    optimizer._step_supports_amp_scaling = False
    return optimizer


def parameter_groups(config: Optimization, module: nn.Module) -> list[dict[str, object]]:
    """Group parameters by learning rate and weight decay, highest rate first.

    Frozen parameters are in the groups too: optimizers skip parameters without a gradient, and a callback may unfreeze
    them later.
    """
    parameters_by_name = dict(module.named_parameters())
    below = layers_below(module) if config.layer_decay != 1 else {}
    exempt = undecayed(module)
    for prefix, part in module.named_modules():  # the lists of parts, as in timm
        listed = getattr(part, "no_weight_decay", None)
        if callable(listed):
            exempt |= {f"{prefix}.{name}" if prefix else name for name in listed()}

    members: dict[tuple[float, bool], list[nn.Parameter]] = {}
    for name, parameter in parameters_by_name.items():
        decayed = config.decay_all or (parameter.ndim > 1 and name not in exempt)
        members.setdefault((config.layer_decay ** below.get(name, 0), decayed), []).append(parameter)

    groups: list[dict[str, object]] = []
    for (scale, decayed), parameters in sorted(members.items(), key=lambda entry: entry[0], reverse=True):
        group = {"params": parameters, "lr": config.lr * scale, "weight_decay": config.weight_decay * decayed}
        if config.optimizer == "muon":
            group["use_fallback"] = not decayed
        groups.append(group)
    return groups


def make_schedule(config: Optimization, optimizer: torch.optim.Optimizer, steps: float) -> LambdaLR:
    """Make the learning rate schedule, see :func:`rate`, over ``steps`` optimizer steps."""
    if not 0 < steps < math.inf:  # -1: a loader without length; 0: an empty loader
        ends = "trainer.max_steps, or trainer.max_epochs and a loader of known length that is not empty"
        raise UserError(f"the schedule of the learning rate needs an end: give {ends}")
    return LambdaLR(optimizer, partial(_rate_at, config, steps))  # a lambda could not be pickled


def _rate_at(config: Optimization, steps: float, step: int) -> float:
    return rate(config, step / steps)


def rate(config: Optimization, progress: float) -> float:
    """Return the rate as a factor of the base rate, at ``progress`` from 0 to 1 of the training.

    In the warm-up the rate rises linearly; then it falls along half a cosine, in steps at the milestones, or stays and
    falls in the cooldown.
    """
    if progress < config.warmup:
        rise = _schedule(config, config.warmup) - config.warmup_start
        return config.warmup_start + rise * progress / config.warmup
    return _schedule(config, progress)


def _schedule(config: Optimization, progress: float) -> float:
    if config.milestones:
        return float(0.1 ** sum(progress >= share for share in config.milestones))
    if config.cooldown:
        return min(max((1 - progress) / config.cooldown, 0.0), 1.0)
    if config.whole_cosine:
        progress = (progress - config.warmup) / (1 - config.warmup)
    return (1 + math.cos(math.pi * min(progress, 1.0))) / 2
