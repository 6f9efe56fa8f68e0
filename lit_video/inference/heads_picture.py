"""Which frames the channels of every head are read from, in an X-ViT."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from torch import Tensor

from lit_video.attention import LocalWindow, Mixing
from lit_video.inference.channel_sources import channel_offsets
from lit_video.modules import VideoClassifier, XViT
from lit_video.network.block import Block
from lit_video.utils.figures import plt

OWN = "#d9d9d9"
# frames before and after: blues and oranges, which differ to the colour-blind and in grey; further away is darker
BEFORE, AFTER = ("#9ecae1", "#3182bd", "#08306b", "#041c42"), ("#fdd0a2", "#e6550d", "#7f2704", "#3d1202")
NAMES = {"x": "input", "key": "keys", "value": "values", "query": "queries"}
MOST = 20  # heads of a layer whose shares are written out


@dataclass(frozen=True)
class Layers:
    """Layers, counted from 1, that read alike; ``offsets (a, c)`` of each channel of each head."""

    numbers: list[int]
    offsets: Tensor
    mixed: tuple[str, ...]

    @property
    def title(self) -> str:
        """Which layers, and what of their tokens moves."""
        runs = [[n for _, n in run] for _, run in groupby(enumerate(self.numbers), key=lambda one: one[1] - one[0])]
        which = ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in runs)
        what = " and ".join(NAMES[name] for name in self.mixed) or "nothing moves"
        return f"layer{'s' * (len(self.numbers) > 1)} {which}: {what}"


def heads_figure(model: VideoClassifier, name: str) -> Figure:
    """Which frames the heads of every layer read.

    Args:
        model: an X-ViT.
        name: of it, for the title.

    Raises:
        ValueError: another family, or attention to an exact window.
    """
    groups = layers(model, name)
    size = (1.2 + 4.2 * len(groups), 1.7 + 0.3 * len(groups[0].offsets))
    figure, axes = plt.subplots(1, len(groups), figsize=size, squeeze=False, layout="constrained")
    for panel, group in zip(axes[0], groups, strict=True):
        _draw(panel, group)
    seen = sorted({int(k) for group in groups for k in group.offsets.flatten()})
    handles = [Patch(facecolor=colour(k), edgecolor="black", linewidth=0.5, label=frame_name(k)) for k in seen]
    figure.suptitle(f"Frames that each head's channels are read from\n{name}", fontsize=10)
    figure.legend(handles=handles, loc="outside lower center", ncols=len(seen), fontsize=9, frameon=False)
    return figure


def layers(model: VideoClassifier, name: str) -> list[Layers]:
    """The layers of an X-ViT, those that read alike together.

    Raises:
        ValueError: another family, or attention to an exact window.
    """
    if not isinstance(model, XViT):
        other = f"{name} is a {type(model).__name__}"
        raise ValueError(f"{other}; only the heads of an XViT read channels of other frames")
    schemes = [block.scheme for block in model.network.blocks if isinstance(block, Block)]
    if any(isinstance(scheme, LocalWindow) for scheme in schemes):
        raise ValueError(f"{name} attends its window exactly: every head reads all its frames with all channels")
    groups: list[Layers] = []
    for number, scheme in enumerate(schemes, 1):
        mixed = scheme.plan.mixed if isinstance(scheme, Mixing) and scheme.offsets else ()
        offsets = channel_offsets(scheme)
        alike = next((one for one in groups if one.mixed == mixed and one.offsets.equal(offsets)), None)
        if alike is None:
            groups.append(Layers([number], offsets, mixed))
        else:
            alike.numbers.append(number)
    return groups


def _draw(panel: Axes, group: Layers) -> None:
    heads, channels = group.offsets.shape
    for head, row in enumerate(group.offsets.tolist()):
        start = 0.0
        for k, run in groupby(row):
            length = len(list(run))
            share = 100 * length / channels
            panel.barh(head, share, left=start, height=0.8, color=colour(k), edgecolor="black", linewidth=0.5)
            if heads <= MOST and share >= 8:
                dark = abs(k) > 1
                panel.text(
                    start + share / 2,
                    head,
                    f"{share:.3g}",
                    ha="center",
                    va="center",
                    fontsize=7,
                    color="white" if dark else "black",
                )
            start += share
    panel.set(xlim=(0, 100), ylim=(heads - 0.5, -0.5), xlabel="channels of the head, %", ylabel="head")
    panel.set_yticks(range(heads), map(str, range(1, heads + 1)))
    panel.tick_params(labelsize=8)
    panel.set_title(group.title, fontsize=9)


def colour(offset: int) -> str:
    """Grey for the token's own frame, blue for earlier ones, orange for later ones."""
    if offset == 0:
        return OWN
    shades: Sequence[str] = BEFORE if offset < 0 else AFTER
    return shades[min(abs(offset), len(shades)) - 1]


def frame_name(offset: int) -> str:
    """t-1, t, t+1, ..."""
    return f"t{offset:+d}" if offset else "t (own)"
