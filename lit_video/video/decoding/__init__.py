"""Frame-exact decoding of the frames that a clip needs, and no others.

A :class:`FrameTable`, read from a file's packets by PyAV, says which frames a video has.
:func:`decode` maps ``(path, frame numbers)`` to frames, with the pixels of decoding the whole video and picking.
"""

from lit_video.video.decoding.frame_table import DecodeError, Frames, FrameTable, exact, forget_tables, frame_table
from lit_video.video.decoding.images import decode_images, image_table
from lit_video.video.decoding.pyav import Decode, KeptVideos, decode, decode_in_order
from lit_video.video.decoding.segments import looped, segment

__all__ = [
    "Decode",
    "DecodeError",
    "FrameTable",
    "Frames",
    "KeptVideos",
    "decode",
    "decode_images",
    "decode_in_order",
    "exact",
    "forget_tables",
    "frame_table",
    "image_table",
    "looped",
    "segment",
]
