"""Attention schemes by short name, for ``finetune`` and ``compare``, without importing torch."""

from typing import Any

from lit_video.errors import UserError
from lit_video.utils.text import did_you_mean

TableRows = dict[str, dict[str, Any]]  # rows of a table: label and settings, by name


def _timesformer(label: str, attention: str) -> dict[str, Any]:
    return {"label": label, "set": {"model": "TimeSformer", "model.attention_type": attention}}


def _vivit(variant: int) -> dict[str, Any]:
    settings = {"model": "ViViT", "model.variant": variant, "model.tubelet_size": 2, "model.temporal_depth": 2}
    return {"label": f"ViViT-{variant}", "set": settings}


SCHEME_ROWS: TableRows = {
    "xvit": {"label": "X-ViT", "set": {"model.window": 1, "model.ta_layers": 1}},
    "xvit2": {"label": "X-ViT, window 2", "set": {"model.window": 2, "model.ta_layers": 1}},
    "space": {"label": "spatial-only", "set": {"model.window": 0, "model.ta_layers": 0}},
    "divided": _timesformer("TimeSformer T+S", "divided"),
    "joint": _timesformer("TimeSformer ST", "joint"),
    "local_global": _timesformer("TimeSformer L+G", "local_global"),
    "axial": _timesformer("TimeSformer T+W+H", "axial"),
    "vivit1": _vivit(1),
    "vivit2": _vivit(2),
    "vivit3": _vivit(3),
    "vivit4": _vivit(4),
    "perceiver": {"label": "Perceiver", "set": {"model": "Perceiver", "model.num_latents": 32, "model.reads": 2}},
}


# names of models, and of their schemes in the papers -> our names
MEANT = {
    "timesformer": "divided",
    "vivit": "vivit2",
    "x-vit": "xvit",
    "factorised": "vivit2",
    "factorized": "vivit2",
    "factorised_encoder": "vivit2",
    "space_time": "joint",
    "spacetime": "joint",
    "st": "joint",
    "t+s": "divided",
    "divided_space_time": "divided",
    "spatial": "space",
    "space_only": "space",
}


def schemes_named(names: str) -> TableRows:
    """Return a row for each scheme in a list such as ``xvit,divided``; a user's scheme is ``MODULE.CLASS``."""
    rows: TableRows = {}
    for name in [*filter(None, map(str.strip, names.split(",")))] or [names]:
        if name in SCHEME_ROWS:
            rows[name] = SCHEME_ROWS[name]
            continue
        if "." not in name:
            meant = MEANT.get(name.lower())
            near = f" (did you mean {meant}?)" if meant else did_you_mean(name, SCHEME_ROWS)
            raise UserError(f"no scheme {name!r}{near}; schemes: {', '.join(SCHEME_ROWS)}")
        from lit_video.schemes.own_classes import import_scheme  # imports torch

        try:
            label = import_scheme(name)
        except ValueError as error:
            raise UserError(f"--schemes: {error}") from error
        rows[label] = _timesformer(label, name)
    return rows
