"""What a configured model is called when schemes are compared: in W&B, in ``result.json``. Imports no torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_CONVNETS = {
    "c2d": "C2D",
    "i3d": "I3D",
    "slow": "Slow",
    "slowfast": "SlowFast",
    "slowfast_50_50": "SlowFast 50-50",
    "r2plus1d": "R(2+1)D",
    "csn": "CSN",
    "x3d": "X3D",
}


def scheme_name(model: Mapping[str, Any]) -> str:
    """The scheme's name: its family, and what makes another attention of it; sizes and windows are settings, not names.

    Args:
        model: ``class_path`` (with or without its package) and ``init_args``, as in a run's ``config.yaml``; what
            ``init_args`` leaves out has the class's default.

    Returns:
        ``X-ViT``, ``X-ViT exact``, ``TimeSformer divided``, ``ViViT-2``, ``ViViT-2 mean``, ``SlowFast``, ...; of a
        class that is not ours its own name.
    """
    family = str(model["class_path"]).rpartition(".")[2]
    settings: Mapping[str, Any] = model.get("init_args") or {}
    match family:
        case "XViT":
            return "X-ViT exact" if settings.get("exact") else "X-ViT"
        case "TimeSformer":
            return f"TimeSformer {str(settings.get('attention', 'divided')).replace('_', '-')}"
        case "ViViT":
            name = f"ViViT-{settings.get('variant', 1)}"
            return f"{name} mean" if name == "ViViT-2" and settings.get("temporal") == "mean" else name
        case "ConvNet":
            architecture = str(settings.get("architecture", "i3d"))
            return _CONVNETS.get(architecture, architecture)
    return family
