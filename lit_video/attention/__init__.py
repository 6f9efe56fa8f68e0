"""Attention schemes: the attention of one encoder layer, with its residual.

A scheme maps tokens to tokens, ``forward(x: (b, n, d), grid: Grid) -> (b, n, d)``, and imports no Lightning.

Axis letters in this package and in :mod:`lit_video.network`:

===  ============================================
b    clip
t    frame (index in time), or tubelet of frames
h w  patch row and patch column; ``s = h * w``
m    tokens of one frame: ``m = 1 + s`` where every frame has a class token of its own
n    tokens of a clip, frame by frame
d    width of a token
a    heads
c    channels of a head; ``d = a * c``
===  ============================================

Each scheme declares a layout of class tokens. ``frame``: one class token before the patches of each frame
(``n = t * (1 + s)``); ``clip``: one before all patches (``n = 1 + t * s``); ``none``: patches only (``n = t * s``).
"""

from lit_video.attention.axial import Axial as Axial
from lit_video.attention.bottleneck import Bottleneck as Bottleneck
from lit_video.attention.divided import Divided as Divided
from lit_video.attention.divided import Parallel as Parallel
from lit_video.attention.divided import SpaceBeforeTime as SpaceBeforeTime
from lit_video.attention.factorised import Factorised as Factorised
from lit_video.attention.factorised_heads import FactorisedHeads as FactorisedHeads
from lit_video.attention.joint import Joint as Joint
from lit_video.attention.local import LocalWindow as LocalWindow
from lit_video.attention.local_global import LocalGlobal as LocalGlobal
from lit_video.attention.local_global import SlidingGlobal as SlidingGlobal
from lit_video.attention.mixing import Mixing as Mixing
from lit_video.attention.mixing import MixingPlan as MixingPlan
from lit_video.attention.scheme import Attention as Attention
from lit_video.attention.scheme import Grid as Grid
from lit_video.attention.scheme import Scheme as Scheme
from lit_video.attention.scheme import ZeroLinear as ZeroLinear
from lit_video.attention.space import Space as Space
