"""Frame-exact decoding of the frames that a clip needs, and no others.

A :class:`FrameTable`, read from a file's packets by PyAV, lists a video's frames.
:func:`decode` maps ``(path, frame numbers)`` to frames, with the same pixels as decoding the whole video.
"""

from lit_video.video.decoding.container import DecodeError as DecodeError
from lit_video.video.decoding.frame_table import Frames as Frames
from lit_video.video.decoding.frame_table import FrameTable as FrameTable
from lit_video.video.decoding.frame_table import exact as exact
from lit_video.video.decoding.frame_table import frame_table as frame_table
from lit_video.video.decoding.frame_table import looped as looped
from lit_video.video.decoding.frame_table import segment as segment
from lit_video.video.decoding.images import decode_images as decode_images
from lit_video.video.decoding.images import forget_tables as forget_tables
from lit_video.video.decoding.images import image_table as image_table
from lit_video.video.decoding.pyav import Decode as Decode
from lit_video.video.decoding.pyav import KeptVideos as KeptVideos
from lit_video.video.decoding.pyav import decode as decode
from lit_video.video.decoding.pyav import decode_in_order as decode_in_order
