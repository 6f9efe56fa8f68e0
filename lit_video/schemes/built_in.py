"""The papers' attention schemes by name."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from lit_video.errors import UserError
from lit_video.utils.text import did_you_mean

if TYPE_CHECKING:
    from lit_video.attention import Scheme

# row of the skills table for each built-in scheme, where the two have different names
TIMESFORMER_SCHEMES = (
    "space",
    "joint",
    "divided",
    "local_global",
    "sliding_global",
    "axial",
    "space_before_time",
    "parallel",
)
OTHERS = {"window": "exact1_time", "mixing": "xvit1", "factorised": "vivit3", "factorised_heads": "vivit4"}
KNOWN = (*TIMESFORMER_SCHEMES, *OTHERS)


def built_in() -> "dict[str, Callable[..., Scheme]]":
    """Return the papers' schemes by name; ``scheme(dim, num_heads)`` builds one."""
    # here, because importing torch takes seconds
    from lit_video.attention import Factorised, FactorisedHeads, LocalWindow, Mixing, MixingPlan
    from lit_video.network.timesformer import SCHEMES

    others = (LocalWindow, partial(Mixing, plan=MixingPlan()), Factorised, FactorisedHeads)
    return SCHEMES | dict(zip(OTHERS, others, strict=True))


def refuse_unknown_name(name: str) -> None:
    """Refuse a name that is neither a built-in scheme nor has the form of a file or of ``MODULE.CLASS``."""
    if name not in KNOWN and not {".", "/"} & set(name):
        raise UserError(f"{name}: no built-in scheme{did_you_mean(name, KNOWN)}; give FILE.py, or {', '.join(KNOWN)}")
