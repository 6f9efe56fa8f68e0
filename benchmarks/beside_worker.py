"""Time what another process asks for, with the ``lit_video`` of the checkout that PYTHONPATH names.

Started by ``benchmarks.beside``. Reads a line of JSON for each task, does it once, and answers with a line: seconds of
the processor, and a digest of what came out, so that equal results can be told.
"""

import hashlib
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch

from lit_video.datamodules import VideoCSV
from lit_video.own_videos.finding import find_own_videos
from lit_video.video.decoding import decode, forget_tables, frame_table


def seconds_and_digest(act: Callable[[], bytes]) -> tuple[float, str]:
    """Return the seconds of the processor that an action takes, and a digest of its result."""
    began = time.process_time()
    result = act()
    elapsed = time.process_time() - began
    return elapsed, hashlib.sha256(result).hexdigest()


def new(path: str, numbers: Sequence[int]) -> bytes:
    """Decode a clip of a video that was not read before."""
    forget_tables()
    return known(path, numbers)


def known(path: str, numbers: Sequence[int]) -> bytes:
    """Decode a clip of a video whose table is known."""
    return decode(Path(path), numbers).tobytes()


def torchcodec(path: str, numbers: Sequence[int]) -> bytes:
    """Decode a clip with torchcodec, which scans the file each time."""
    from torchcodec.decoders import VideoDecoder

    video = VideoDecoder(path, seek_mode="exact", num_ffmpeg_threads=1, dimension_order="NHWC")
    return np.asarray(video.get_frames_at(list(numbers)).data).tobytes()


def middle(path: str, frames: int) -> list[int]:
    """Return numbers of frames that are spread over a video."""
    count = frame_table(Path(path)).count
    return [count * (2 * i + 1) // (2 * frames) for i in range(frames)]


def find(path: str) -> bytes:
    """List a folder, or a table, as ``finetune`` does."""
    return str(len(find_own_videos(Path(path)).videos)).encode()


def read_csv(path: str) -> bytes:
    """List a table as ``VideoCSV`` does."""
    data = VideoCSV(root=str(Path(path).parent), train=path, val_values=None)
    return str(len(data.records("train"))).encode()


def main() -> None:
    """Answer tasks until the input ends."""
    torch.set_num_threads(1)
    clips = {"new": new, "known": known, "torchcodec": torchcodec}
    lists = {"find": find, "csv": read_csv}
    for line in sys.stdin:
        task = json.loads(line)
        kind, path = task["kind"], task["path"]
        try:
            if kind == "numbers":
                answer: object = middle(path, task["frames"])
            elif kind in lists:
                answer = seconds_and_digest(lambda: lists[kind](path))  # noqa: B023 - called at once
            else:
                answer = seconds_and_digest(lambda: clips[kind](path, task["numbers"]))  # noqa: B023 - called at once
        except Exception as error:  # another library's failure is an answer too
            answer = str(error).strip().partition("\n")[0] or type(error).__name__
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
