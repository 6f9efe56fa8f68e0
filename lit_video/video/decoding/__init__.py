"""Frame-exact decoding of the frames that a clip needs, and no others.

A :class:`FrameTable`, read from a file's packets by PyAV, lists a video's frames.
:func:`decode` maps ``(path, frame numbers)`` to frames, with the same pixels as decoding the whole video.
"""

from lit_video.video.decoding.container import DecodeError
from lit_video.video.decoding.images import decode_images, forget_tables, image_table
from lit_video.video.decoding.pyav import Decode, KeptVideos, decode, decode_in_order
from lit_video.video.decoding.table_of_frames import FrameTable, exact, looped, segment
from lit_video.video.decoding.table_reading import Frames, frame_table

__all__ = ["Decode", "DecodeError", "FrameTable", "Frames", "KeptVideos"]
__all__ += ["decode", "decode_images", "decode_in_order", "exact", "forget_tables"]
__all__ += ["frame_table", "image_table", "looped", "segment"]
