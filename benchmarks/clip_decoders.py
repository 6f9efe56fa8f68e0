"""Clip decoders to compare (ours, stock PyTorchVideo, torchcodec) and the reference for their pixels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import torch
from torch import Tensor
from torchvision.transforms.v2 import functional as F

from lit_video.video.augmentation import Augmentation, EvaluationViews
from lit_video.video.decoding import Frames, decode, forget_tables, frame_table

FRAMES, SIDE = 8, 224
STOCK = "PyTorchVideo"
PLAIN = Augmentation(policy="none", random_erasing=0, label_smoothing=0)


@dataclass(frozen=True)
class Clip:
    """Frames of a video by number, and the span in seconds that stock PyTorchVideo cuts and subsamples."""

    path: Path
    numbers: tuple[int, ...]
    start: Fraction
    end: Fraction


def cut(path: Path, sampling: str, share: float) -> Clip:
    """Return a clip that begins at a ``share`` (0 to 1) of the video's free part.

    ``sampling`` is ``whole`` or a stride such as ``stride 8``, shortened where the video is too short for it.
    """
    table = frame_table(path)
    times = [(pts - table.pts[0]) * table.time_base for pts in table.pts] or [
        i * table.seconds / table.count for i in range(table.count)
    ]
    times.append(table.seconds)
    if sampling == "whole":
        numbers, end = [table.count * (2 * i + 1) // (2 * FRAMES) for i in range(FRAMES)], table.count
    else:
        stride = max(min(int(sampling.split()[1]), table.count // FRAMES), 1)
        first = int(share * max(table.count - stride * FRAMES, 0))
        numbers = [min(first + i * stride, table.count - 1) for i in range(FRAMES)]
        end = min(first + FRAMES * stride, table.count)
    return Clip(path, tuple(numbers), times[numbers[0]], times[end])


@dataclass(frozen=True)
class ClipDecoder:
    """A library's steps: decode a clip, transform it to 224 pixels, return its uint8 ``(t, height, width, 3)``."""

    name: str
    decode: Callable[[Clip], Frames | Tensor]
    transform: Callable[[Frames | Tensor], Tensor]
    pixels: Callable[[Frames | Tensor], Frames] = np.asarray


def clip_decoders() -> Iterator[ClipDecoder]:
    """Yield our decoder, stock PyTorchVideo, and torchcodec if it can be imported."""
    view = EvaluationViews(1, SIDE)  # for every library that returns uint8 frames: the faster transform
    yield ClipDecoder("lit_video", ours, view)
    yield ClipDecoder(STOCK, _stock, _stock_transform, _stock_pixels)
    try:
        from torchcodec.decoders import VideoDecoder  # noqa: F401

        yield ClipDecoder("torchcodec", _torchcodec, view)
    except (ImportError, RuntimeError, OSError) as error:  # RuntimeError: no FFmpeg found
        print(f"left out: torchcodec: {str(error).partition(chr(10))[0]}")


def ours(clip: Clip) -> Frames:
    """Decode with our decoder, including the scan of the file that every library needs for a new video."""
    forget_tables()
    return decode(clip.path, clip.numbers)


def _stock(clip: Clip) -> Tensor:
    """Return the same frames by ``EncodedVideo.get_clip`` and subsampling: float ``(3, t, h, w)``."""
    from pytorchvideo.data.encoded_video import EncodedVideo

    video = EncodedVideo.from_path(str(clip.path), decode_audio=False, decoder="pyav")
    try:
        frames = video.get_clip(clip.start, clip.end)["video"]
    finally:
        video.close()
    return torch.index_select(frames, 1, torch.tensor(clip.numbers) - clip.numbers[0])


def _stock_transform(frames: Frames | Tensor) -> Tensor:
    """Apply the transform of PyTorchVideo's tutorial by torchvision: its own module no longer imports."""
    clip = torch.as_tensor(frames).permute(1, 0, 2, 3) / 255
    return F.center_crop(F.resize(clip, [256], antialias=True), [SIDE, SIDE])


def _stock_pixels(frames: Frames | Tensor) -> Frames:
    return torch.as_tensor(frames).permute(1, 2, 3, 0).to(torch.uint8).numpy()


def _torchcodec(clip: Clip) -> Frames:
    from torchcodec.decoders import VideoDecoder

    video = VideoDecoder(str(clip.path), seek_mode="exact", num_ffmpeg_threads=1, dimension_order="NHWC")
    return video.get_frames_at(list(clip.numbers)).data.numpy()


def truth(clip: Clip) -> Frames:
    """Return a clip's frames from the whole video, decoded in order by one thread without skipping."""
    wanted, images = set(clip.numbers), {}
    with av.open(str(clip.path)) as container:
        for i, frame in enumerate(container.decode(video=0)):
            if i in wanted:
                images[i] = np.rot90(frame.to_ndarray(format="rgb24"), frame.rotation // 90)
            if i >= max(wanted):
                break
    return np.stack([images[i] for i in clip.numbers])


def wrong(library: ClipDecoder, clips: Sequence[Clip]) -> str:
    """Return how a library's pixels differ from those of the whole video; empty if they are equal."""
    for clip in clips:
        try:
            actual, expected = library.pixels(library.decode(clip)), truth(clip)
        except Exception as error:  # any library's failure is reported
            return f"{clip.path.name}: {type(error).__name__}: {(str(error).splitlines() or [''])[0][:200]}"
        if actual.shape != expected.shape:
            return f"{clip.path.name}: frames of shape {actual.shape}, expected {expected.shape}"
        if frames := [n for n, a, b in zip(clip.numbers, actual, expected, strict=True) if not np.array_equal(a, b)]:
            return f"{clip.path.name}: other pixels in frames {frames}"
    return ""
