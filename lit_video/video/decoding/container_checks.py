"""Files that FFmpeg opens though they are no intact videos: lists of other files, texts, files that are cut short."""

from __future__ import annotations

from pathlib import Path

import av
from av.video.stream import VideoStream

# these play other files, or draw their text: text.txt is a video of its letters
_NO_VIDEOS = {
    "concat": "a list of files",
    "hls": "a list of files",
    "dash": "a list of files",
    "tty": "a text",
    "bin": "a text",
    "xbin": "a text",
    "adf": "a text",
    "idf": "a text",
}


def no_file(path: Path) -> str:
    """Why a path is not even opened, or an empty string: reading a pipe waits for its writer, perhaps for ever."""
    return "neither a file nor a folder" if path.exists() and not (path.is_file() or path.is_dir()) else ""


def no_video(container: av.container.InputContainer) -> str:
    """Why what FFmpeg has opened is no video of its own, or an empty string."""
    return f"{_NO_VIDEOS[container.format.name]}, no video" if container.format.name in _NO_VIDEOS else ""


def cut_off(stream: VideoStream, path: Path) -> str:
    """Why a file is known to be cut short, or an empty string: its index refers to bytes behind its end.

    What is left would decode, but it is not the video that the label was given to.
    """
    index = stream.index_entries
    size = path.stat().st_size
    lost = sum(entry.pos + entry.size > size for entry in index)
    return f"the file ends early, {lost} or more of its frames are cut off" if lost else ""
