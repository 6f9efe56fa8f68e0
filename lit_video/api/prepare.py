"""A folder of videos, encoded anew for fast training."""

from __future__ import annotations  # a signature then shows names of types, such as Count

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal

from lit_video.api.arguments import File, existing_path
from lit_video.errors import UserError
from lit_video.utils.arguments import Range, refuse_wrong_values
from lit_video.utils.files import COMMON, files_below, is_video, user_path

if TYPE_CHECKING:
    from lit_video.datamodules.preparation import Prepared

Preset = Literal["small", "fast", "fastest"]
ShortSide = Annotated[int, Range(16)]


def prepare(src: File, dst: File, *, preset: Preset = "small", short_side: ShortSide = 256) -> Prepared:
    """Encode every video of a folder for fast training, copy its annotations, and list the videos in a table.

    A call that was stopped goes on where it was.

    Args:
        src: folder of videos or of class folders.
        dst: another folder; ``videos.csv`` in it lists its videos.
        preset: ``small``, or ``fast`` (a seventh larger) and ``fastest`` (three times as large) for faster reading.
        short_side: maximum of the shorter side in pixels.

    Returns:
        The table of the videos, and the videos that cannot be read with the reasons.

    Raises:
        UserError: there is no such folder, a video is missing, or the folder cannot be written.
    """
    refuse_wrong_values(prepare, locals())
    source = existing_path(src, "no such folder")
    if not any(map(is_video, files_below(source))):
        raise UserError(f"SRC: {source} holds no video ({', '.join(sorted(COMMON))})")

    from lit_video.datamodules.preparation import PRESETS, prepare_folder  # here, because importing torch takes seconds

    return prepare_folder(source, user_path(dst), replace(PRESETS[preset], short_side=short_side))
