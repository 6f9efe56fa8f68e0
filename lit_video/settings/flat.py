"""Resolved settings as a flat mapping: for comparison, keys joined by dots; for W&B, plain values."""

from collections.abc import Mapping
from typing import Any

from lit_video.settings.nested import by_key, short_key

# Lightning's callbacks that cannot change results; all others may
SHOWING = {"DeviceStatsMonitor", "LearningRateMonitor", "RichModelSummary", "RichProgressBar", "TQDMProgressBar"}
CALLBACKS = "counting callbacks"  # flat key of Lightning's other callbacks
OWN = "own callbacks"  # flat key of a user's own callbacks

Plain = str | int | float | bool


def flatten(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Join nested keys by dots; callbacks that may affect numbers form one setting."""
    flat = by_key(settings)
    callbacks = (settings.get("trainer") or {}).get("callbacks") or []

    for callback in callbacks if isinstance(callbacks, list) else [callbacks]:
        name = lightning_name(callback)
        if name not in SHOWING:
            flat.setdefault(CALLBACKS if name else OWN, []).append(callback)
    return flat


def lightning_name(callback: object) -> str:
    """Return the name of a callback of Lightning's; empty for any other one."""
    if not isinstance(callback, dict):
        return ""
    package, _, name = str(callback.get("class_path")).rpartition(".")
    return name if package.partition(".")[0] in ("", "lightning", "pytorch_lightning") else ""


def plain_settings(settings: Mapping[str, Any]) -> dict[str, dict[str, Plain]]:
    """Return plain values by group and name for W&B, which shows ``model`` and ``window`` as ``model.window``.

    The name of ``model.size.embed_dim`` in its group is ``size_embed_dim``, because a name cannot hold a value and
    further names. A class becomes its name, that of a whole group under ``class``, and a list becomes its
    comma-separated values; unset values are left out.
    """
    plain: dict[str, dict[str, Plain]] = {}
    for key, value in by_key(settings).items():
        group, *parts = short_key(key).split(".")
        if key.endswith("class_path"):
            value = str(value).rpartition(".")[2]
        if isinstance(value, list | tuple) and value and all(isinstance(part, Plain) for part in value):
            value = ",".join(map(str, value))
        if isinstance(value, Plain):
            plain.setdefault(group, {})["_".join(parts) or "class"] = value
    return plain
