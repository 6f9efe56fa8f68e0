"""Frame-exact decoding of the frames that a clip needs, and no others.

A :class:`FrameTable`, read from a file's packets by PyAV, is the one truth about a video's frames, whatever decodes
them. A decoder is a function ``(path, frame numbers) -> frames``, and all give the pixels of decoding the whole video
and picking.
"""

from lit_video.datamodules.decoding.choice import Decode, DecoderName, decoder
from lit_video.datamodules.decoding.images import decode_images, image_table
from lit_video.datamodules.decoding.pyav import decode
from lit_video.datamodules.decoding.table import DecodeError, Frames, FrameTable, forget_tables, frame_table, segment

__all__ = [
    "Decode",
    "DecodeError",
    "DecoderName",
    "FrameTable",
    "Frames",
    "decode",
    "decode_images",
    "decoder",
    "forget_tables",
    "frame_table",
    "image_table",
    "segment",
]
