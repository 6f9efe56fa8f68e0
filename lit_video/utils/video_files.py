"""Videos at a place that a user names, told by the names of files alone."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from lit_video.errors import UserError
from lit_video.utils.files import COMMON, TABLES, files_below, is_picture, is_video, user_path


def videos_at(path: Path, fps: float | None = None) -> list[Path]:
    """Return a file, or the videos below a folder; with a frame rate ``fps``, folders of pictures count as videos.

    Raises:
        UserError: there is no video, but perhaps a picture.
    """
    if not path.is_dir():
        if is_picture(path):
            raise UserError(f"{path}: is a picture, not a video; give the folder of its frames, and --fps N")
        return [path]

    inside = sorted(set(_below(path, fps)))
    if not inside and any(_below(path, fps=1.0)):
        raise UserError(f"{path}: holds pictures but no video; give --fps N, the frame rate of the pictures")
    if not inside:
        raise UserError(f"{path}: holds no video ({', '.join(COMMON)})")
    return inside


def is_table(path: Path) -> bool:
    """Return whether a path is of a table of videos."""
    return path.suffix.lower() in TABLES and path.is_file()


def refuse_no_video(places: Iterable[str | Path], fps: float | None = None) -> None:
    """Refuse a place without a video, before torch is imported, which takes seconds; list a folder to its first."""
    for path in map(user_path, places):
        is_given = is_table(path) or any(_below(path, fps))
        if not is_given:
            videos_at(path, fps)


def _below(folder: Path, fps: float | None) -> Iterator[Path]:
    for path in files_below(folder):
        if not path.is_file():
            continue
        if is_video(path):
            yield path
        elif fps and is_picture(path):
            yield path.parent
