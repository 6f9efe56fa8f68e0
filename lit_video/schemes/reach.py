"""Temporal reach of a network: the frames that it can compare."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import torch
from torch import Tensor, nn

from lit_video.schemes.sight import randomised
from lit_video.utils.clip_shape import ImageSize, height_and_width

_NOTHING = 1e-11  # changes below this share of the largest score are rounding errors of double precision
# standard deviations of random weights; several, because small weights may have effects too small to be seen, and
# large weights make attention pick one token
_SPREADS = (0.1, 0.3, 1.0)
_AT_ONCE = 16  # clips that pass through a network together


@dataclass(frozen=True)
class Reach:
    """Temporal reach: the frames that interact in a network's scores, and whether these show the frames' order."""

    # pairs of frames that interact, the earlier one first; each frame that the scores show is a pair with itself
    pairs: frozenset[tuple[int, int]]
    order: bool  # True if reversing a clip changes its scores
    # True if reversing a clip keeps its scores, but other orders change them: scores show which frames are near each
    # other, not which come first
    near: bool = False

    @property
    def frames(self) -> int:
        """Largest distance of two frames that interact; 0 if each frame contributes independently."""
        return max((later - earlier for earlier, later in self.pairs), default=0)


def reach(network: nn.Module, num_frames: int, image_size: ImageSize) -> Reach:
    """Measure which frames of a clip interact in a network's scores.

    Let f(a, b) be the scores of a clip after a change a to one frame and a change b to another. If the frames do not
    interact, f(a, b) - f(a) - f(b) + f() is zero. The network takes clips ``(b, 3, t, height, width)``; a copy with
    random weights is measured. Uniform frame sampling (ViViT) leaves frames out, often the first.
    """
    pairs: set[tuple[int, int]] = set()
    order = False
    near = False
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(0)
        for spread in _SPREADS:
            scores = randomised(copy.deepcopy(network).cpu(), spread)
            clip, change = torch.randn(2, 1, 3, num_frames, *height_and_width(image_size), dtype=torch.float64)
            unchanged = scores(clip)
            least = _NOTHING * float(unchanged.abs().max())

            changed = _of_each(scores, [_changed(clip, change, i) for i in range(num_frames)])
            alone = [effect - unchanged[0] for effect in changed]
            seen = [i for i in range(num_frames) if alone[i].abs().max() > least]
            pairs |= {(i, i) for i in seen}

            asked = [pair for pair in combinations(seen, 2) if pair not in pairs]
            together = _of_each(scores, [_changed(clip, change, *pair) for pair in asked])
            for (i, j), both in zip(asked, together, strict=True):
                if (both - unchanged[0] - alone[i] - alone[j]).abs().max() > least:
                    pairs.add((i, j))

            rolled = clip.clone()
            rolled[:, :, seen] = clip[:, :, seen].roll(1, 2)
            order |= bool((scores(clip.flip(2)) - unchanged).abs().max() > least)
            near |= bool((scores(rolled) - unchanged).abs().max() > least)
    return Reach(frozenset(pairs), order, near and not order)


def _of_each(network: nn.Module, clips: Sequence[Tensor]) -> list[Tensor]:
    """Return the scores of each clip ``(1, 3, t, height, width)``, of several at once."""
    parts = [clips[first : first + _AT_ONCE] for first in range(0, len(clips), _AT_ONCE)]
    return [scores for part in parts for scores in network(torch.cat([*part]))]


def _changed(clip: Tensor, change: Tensor, *frames: int) -> Tensor:
    clip = clip.clone()
    clip[:, :, list(frames)] += change[:, :, list(frames)]
    return clip
