"""The schemes that ``finetune`` and ``compare`` know by a short name."""

from dataclasses import dataclass, field
from typing import Any

from lit_video.errors import UserError
from lit_video.utils.text import did_you_mean


@dataclass(frozen=True)
class Scheme:
    """A model's class and the settings that make the scheme of it.

    Args:
        label: label of its row in a table.
        model: name of its class.
        settings: settings of the class, without ``model.``.
    """

    label: str
    model: str
    settings: dict[str, Any] = field(default_factory=dict)


def _timesformer(label: str, attention: str) -> Scheme:
    return Scheme(f"TimeSformer {label}", "TimeSformer", {"attention": attention})


def _vivit(variant: int) -> Scheme:
    return Scheme(f"ViViT-{variant}", "ViViT", {"variant": variant, "tubelet": 2, "temporal_depth": 2})


SCHEMES = {
    "xvit": Scheme("X-ViT, t_w = 1", "XViT", {"window": 1, "ta_layers": 1}),
    "xvit2": Scheme("X-ViT, t_w = 2", "XViT", {"window": 2, "ta_layers": 1}),
    "space": Scheme("spatial-only", "XViT", {"window": 0, "ta_layers": 0}),
    "divided": _timesformer("T+S", "divided"),
    "joint": _timesformer("ST", "joint"),
    "local_global": _timesformer("L+G", "local_global"),
    "axial": _timesformer("T+W+H", "axial"),
    "vivit1": _vivit(1),
    "vivit2": _vivit(2),
    "vivit3": _vivit(3),
    "vivit4": _vivit(4),
    "perceiver": Scheme("Perceiver", "Perceiver", {"latents": 32, "reads": 2}),
}


def schemes_named(names: str) -> dict[str, Scheme]:
    """Schemes by ``xvit,divided``, each once.

    Raises:
        UserError: there is no such name.
    """
    wanted = list(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))
    unknown = [name for name in wanted if name not in SCHEMES]
    if unknown or not wanted:
        wrong = (unknown or [names])[0]
        raise UserError(f"no scheme {wrong!r}{did_you_mean(wrong, SCHEMES)}; schemes: {', '.join(SCHEMES)}")
    return {name: SCHEMES[name] for name in wanted}
