"""Attention schemes by the short names of ``finetune`` and ``compare``, without importing torch."""

from typing import Any

from lit_video.errors import UserError
from lit_video.utils.text import did_you_mean

Rows = dict[str, dict[str, Any]]  # rows of a table: label and settings, by name
SCHEMES: Rows = {
    "xvit": {"label": "X-ViT", "set": {"model.window": 1, "model.ta_layers": 1}},
    "xvit2": {"label": "X-ViT, window 2", "set": {"model.window": 2, "model.ta_layers": 1}},
    "space": {"label": "spatial-only", "set": {"model.window": 0, "model.ta_layers": 0}},
    **{
        name: {"label": f"TimeSformer {label}", "set": {"model": "TimeSformer", "model.attention": name}}
        for name, label in {"divided": "T+S", "joint": "ST", "local_global": "L+G", "axial": "T+W+H"}.items()
    },
    **{
        f"vivit{i}": {
            "label": f"ViViT-{i}",
            "set": {"model": "ViViT", "model.variant": i, "model.tubelet": 2, "model.temporal_depth": 2},
        }
        for i in (1, 2, 3, 4)
    },
    "perceiver": {"label": "Perceiver", "set": {"model": "Perceiver", "model.latents": 32, "model.reads": 2}},
}


def schemes_named(names: str) -> Rows:
    """Return the rows of schemes by name (``xvit,divided``), or by ``MODULE.CLASS`` of one's own, each once.

    Raises:
        UserError: there is no such name.
    """
    given = [*filter(None, map(str.strip, names.split(",")))]
    if unknown := [name for name in given if "." not in name and name not in SCHEMES] or ([] if given else [names]):
        near = did_you_mean(unknown[0], SCHEMES)
        raise UserError(f"no scheme {unknown[0]!r}{near}; schemes: {', '.join(SCHEMES)}")
    rows: Rows = {}
    for name in given:
        if "." not in name:
            rows[name] = SCHEMES[name]
            continue
        from lit_video.schemes.loading import import_scheme  # imports torch

        try:
            label = import_scheme(name)
        except ValueError as error:
            raise UserError(f"--schemes: {error}") from error
        rows[label] = {"label": label, "set": {"model": "TimeSformer", "model.attention": name}}
    return rows
