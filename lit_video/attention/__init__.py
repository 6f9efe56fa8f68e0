"""Attention schemes: what one encoder layer does before its MLP, residual included.

A scheme maps tokens to tokens, ``forward(x: (b, n, d), grid: Grid) -> (b, n, d)``, and knows nothing of Lightning.

Axis letters, the same everywhere in this package:

===  ============================================
b    clip
t    frame (index in time)
h w  patch row and patch column; ``s = h * w``
m    tokens of one frame, class token included: ``m = 1 + s``
n    tokens of a clip, frame by frame: ``n = t * m``
d    width of a token
a    heads
c    channels of a head; ``d = a * c``
===  ============================================
"""

from lit_video.attention.heads import Grid, Heads, Scheme
from lit_video.attention.mixing import Mixing, MixingPlan
from lit_video.attention.space import Space

__all__ = ["Grid", "Heads", "Mixing", "MixingPlan", "Scheme", "Space"]
