"""Videos at a place that a user names, told by the names of files alone."""

from collections.abc import Iterable
from pathlib import Path

from lit_video.errors import UserError
from lit_video.utils.files import COMMON, TABLES, files_below, is_picture, is_video, user_path


def videos_at(path: Path, fps: float | None = None) -> list[Path]:
    """Return a file, or the videos below a folder; with a frame rate ``fps``, folders of pictures count as videos.

    Raises:
        UserError: there is no video, but perhaps a picture.
    """
    inside = _below(path, fps) if path.is_dir() else [path]
    if picture := next(filter(is_picture, inside), None):
        raise UserError(f"{picture}: is a picture, not a video; give the folder of its frames, and --fps N")
    if not inside and _below(path, fps=1.0):
        raise UserError(f"{path}: holds pictures but no video; give --fps N, the frame rate of the pictures")
    if not inside:
        raise UserError(f"{path}: holds no video ({', '.join(COMMON)})")
    return inside


def is_table(path: Path) -> bool:
    """Return whether a path is of a table of videos."""
    return path.suffix.lower() in TABLES and path.is_file()


def refuse_no_video(places: Iterable[str | Path], fps: float | None = None) -> None:
    """Refuse a place without a video, before torch is imported, which takes seconds."""
    for path in map(user_path, places):
        if not is_table(path):
            videos_at(path, fps)


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
