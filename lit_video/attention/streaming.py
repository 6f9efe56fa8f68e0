"""Attention schemes on a stream of frames, with a state of past frames."""

from collections.abc import Sequence

import torch
from einops import rearrange
from torch import Tensor

from lit_video.attention.local import LocalWindow
from lit_video.attention.mixing import Mixing, Target
from lit_video.attention.scheme import Grid, Scheme
from lit_video.attention.space import Space


class Streamed:
    """A scheme on a stream: calls on consecutive frames give the same outputs as one call on all frames.

    The state is kept here, not in the scheme. This base class has no state: it is for schemes with independent frames.
    """

    def __init__(self, scheme: Scheme) -> None:
        self.scheme = scheme

    def __call__(self, x: Tensor, grid: Grid) -> Tensor:
        """Process the next frames, ``(b, t * m, d) -> (b, t * m, d)`` on a grid of ``t`` frames."""
        return self.scheme(x, grid)


def streamed(scheme: Scheme) -> Streamed:
    """Wrap a scheme for streaming."""
    if isinstance(scheme, Space):
        return Streamed(scheme)
    if isinstance(scheme, LocalWindow) and (scheme.causal or scheme.window == 0):
        return WindowStream(scheme)
    if isinstance(scheme, Mixing) and scheme.plan.summary is not True:
        if not scheme.offsets:
            return Streamed(scheme)
        if scheme.plan.causal:
            return MixingStream(scheme)
    raise ValueError(f"this model cannot stream: {type(scheme).__name__} reads later frames; set model.causal true")


class MixingStream(Streamed):
    """Causal space-time mixing on a stream, with delay lines for each mixed tensor."""

    def __init__(self, scheme: Mixing) -> None:
        super().__init__(scheme)
        self.mixing = scheme
        self.delays = {name: DelayLines(scheme.offsets, scheme.fold) for name in scheme.plan.mixed}

    def __call__(self, x: Tensor, grid: Grid) -> Tensor:
        """Process the next frames."""

        def shift(names: tuple[Target, ...], x: Tensor) -> list[Tensor]:
            parts = list(x.chunk(len(names), dim=-1))
            for i, name in enumerate(names):
                if name in self.delays:
                    y = rearrange(parts[i], "b (t m) (a c) -> b t m a c", t=grid.t, a=self.mixing.groups)
                    y = self.delays[name](y)
                    parts[i] = rearrange(y, "b t m a c -> b (t m) (a c)")
            return parts

        return self.mixing.attend(x, grid, shift)


class DelayLines:
    """Channel ranges of past frames: the range c_{-k} comes out k frames after it went in.

        y_t = [x_{t-1}(c_{-1}), ..., x_{t-w}(c_{-w}), x_t(c_0)],  zeros before the first frame

    Equal to :func:`~lit_video.attention.mixing.shift_channels` with negative offsets. For each offset ``-k``, the
    state is ``fold`` channels of every token of the last ``k`` frames.
    """

    def __init__(self, offsets: Sequence[int], fold: int) -> None:
        self.ranges = {-k: slice(i * fold, (i + 1) * fold) for i, k in enumerate(offsets)}
        self.lines: dict[int, Tensor] = {}

    def __call__(self, x: Tensor) -> Tensor:
        """Return the next frames ``(b, t, ..., c)`` with channels of past frames."""
        y = x.clone()
        t = x.shape[1]
        for k, channels in self.ranges.items():
            new = x[..., channels]
            past = self.lines.get(k, new.new_zeros(new.shape[0], k, *new.shape[2:]))
            line = torch.cat((past, new), dim=1)

            y[..., channels] = line[:, :t]
            self.lines[k] = line[:, t:].clone()  # a view would keep the whole line in memory
        return y


class WindowStream(Streamed):
    """Exact attention of a causal window, with keys and values of the last ``window`` frames."""

    def __init__(self, scheme: LocalWindow) -> None:
        super().__init__(scheme)
        self.local = scheme
        self.past: list[Tensor] = []

    def __call__(self, x: Tensor, grid: Grid) -> Tensor:
        """Process the next frames."""
        q, kv = self.local.project(x, grid)
        kv = torch.cat((*self.past, kv), dim=1)
        first = max(kv.shape[1] - self.local.window, 0)
        self.past = [kv[:, first:].clone()]
        return x + self.local.attend(q, kv)
