"""Videos given by paths of files and folders."""

from collections.abc import Sequence
from pathlib import Path

from lit_video.errors import OptionError, UserError
from lit_video.utils.files import COMMON, files_below, is_picture, is_video, user_path
from lit_video.video.clips import VideoRecord

Paths = str | Path | Sequence[str | Path | VideoRecord]  # find_videos returns given records unchanged


def find_videos(videos: Paths, fps: float | None = None) -> list[VideoRecord]:
    """Find videos by file or folder (recursively, by file extension), without duplicates; labels are placeholders.

    Folders of pictures count as videos if their frame rate ``fps`` is given.
    """
    if isinstance(videos, str | Path):
        videos = [videos]

    records = [video for video in videos if isinstance(video, VideoRecord)]
    if records:
        return records

    paths: dict[Path, None] = {}
    for text in map(str, videos):
        path = user_path(text)
        if not path.exists():
            raise UserError(f"{path}: no such file or folder")

        inside = _below(path, fps) if path.is_dir() else [path]
        if picture := next(filter(is_picture, inside), None):
            raise UserError(f"{picture}: is a picture, not a video; give the folder of its frames, and --fps N")
        if not inside and _below(path, fps=1.0):
            raise UserError(f"{path}: holds pictures but no video; give --fps N, the frame rate of the pictures")
        if not inside:
            raise UserError(f"{path}: holds no video ({', '.join(COMMON)})")
        paths |= dict.fromkeys(inside)

    if not paths:
        raise OptionError("videos", "there is none")
    return [VideoRecord(path, 0, fps=fps if path.is_dir() else None) for path in paths]


def _below(folder: Path, fps: float | None) -> list[Path]:
    videos: set[Path] = set()
    for path in files_below(folder):
        if not path.is_file():
            continue
        if is_video(path):
            videos.add(path)
        elif fps and is_picture(path):
            videos.add(path.parent)
    return sorted(videos)
