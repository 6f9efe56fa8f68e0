"""Shards: tar files of videos as pictures, in WebDataset's layout, of which the wanted frames are read and no others.

A video's members are its pictures, ``KEY.NUMBER.jpg``, then ``KEY.json``, which says where they are. A clip needs two
reads at known places, the second of all its pictures at once, so shards may be on a disk or behind any URL that fsspec
opens (``https://``, ``s3://`` with s3fs, ...): streaming a shard from its start would read thirty pictures for one.
"""

import json
import os
import time
import zlib
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import fsspec
import torch
from cachetools import LRUCache, cached
from fsspec.implementations.local import LocalFileSystem
from torchvision.io import ImageReadMode, decode_image

from lit_video.video.decoding import DecodeError, Frames, FrameTable
from lit_video.video.decoding.frame_table import check_numbers, compact, stacked, table_cache

BLOCK = 512  # of a tar
TRIES = 3  # of a read through a network
Range = tuple[int, int]


class ShardPlace(NamedTuple):
    """Where a video is: the URL or path of its shard, and the bytes of its description in it.

    ``broken`` is why it could not be written, and empty where it could.
    """

    shard: str
    start: int
    end: int
    broken: str = ""


@dataclass(frozen=True)
class _Described:
    """The frames of a video, and where each is in the shard."""

    table: FrameTable
    starts: Sequence[int]
    sizes: Sequence[int]
    checksums: Sequence[int]


def description(table: FrameTable, size: tuple[int, int], first: int, sizes: list[int], crcs: list[int]) -> Any:
    """What a shard says of a video whose pictures lie one behind the other from the byte ``first``.

    Args:
        table: of the source.
        size: (height, width) of the pictures.
        first: where the first picture begins in the shard, after its header.
        sizes: of the pictures in bytes.
        crcs: their checksums, :func:`zlib.crc32`.
    """
    return {
        "times": list(table.times),
        "time_base": str(table.time_base),
        "seconds": str(table.seconds),
        "height": size[0],
        "width": size[1],
        "first": first,
        "sizes": sizes,
        "checksums": crcs,
    }


def shard_table(path: Path, place: ShardPlace) -> FrameTable:
    """The frames of a video in a shard, at the times of the source.

    Raises:
        DecodeError: it was broken when the shard was written, or the shard cannot be read.
    """
    return _described(path, place).table


def decode_shard(path: Path, place: ShardPlace, numbers: Sequence[int]) -> Frames:
    """Frames of a video in a shard by their number; only these are read.

    Returns:
        RGB, ``(len(numbers), height, width, 3)``.

    Raises:
        DecodeError: the shard cannot be read, or a picture is not what was written.
        IndexError: a number beyond the video's frames.
    """
    video = _described(path, place)
    check_numbers(path, numbers, video.table.count)
    wanted = sorted(set(numbers))
    texts = _read(path, place.shard, [(video.starts[i], video.starts[i] + video.sizes[i]) for i in wanted])
    images = {}
    for i, text in zip(wanted, texts, strict=True):
        if zlib.crc32(text) != video.checksums[i]:
            raise DecodeError(f"{path}: frame {i} is damaged in {place.shard} (checksum)")
        # a third faster than Pillow, the same pixels
        image = decode_image(torch.frombuffer(bytearray(text), dtype=torch.uint8), ImageReadMode.RGB)
        images[i] = image.permute(1, 2, 0).numpy()
    return stacked(path, [images[i] for i in numbers])


_kept: LRUCache[Any, "_Described"] = table_cache(lambda video: 3 * len(video.sizes))


@cached(_kept, key=lambda path, place: place)
def _described(path: Path, place: ShardPlace) -> _Described:
    if place.broken:
        raise DecodeError(f"{path}: {place.broken}")
    (text,) = _read(path, place.shard, [(place.start, place.end)])
    try:
        plain = json.loads(text)
        sizes, base = plain["sizes"], Fraction(plain["time_base"])
        table = FrameTable(
            compact(plain["times"]), base, (), len(sizes), Fraction(plain["seconds"]), plain["height"], plain["width"]
        )
        steps = [BLOCK + padded(size) for size in sizes[:-1]]
        starts = array("q", accumulate(steps, initial=int(plain["first"])))
        return _Described(table, starts, array("q", sizes), array("I", plain["checksums"]))
    except (ValueError, KeyError, TypeError) as error:
        raise DecodeError(f"{path}: its description in {place.shard} is damaged") from error


def padded(size: int) -> int:
    """Bytes that a member of a tar takes after its header."""
    return -(-size // BLOCK) * BLOCK


def _read(path: Path, shard: str, ranges: list[Range]) -> list[bytes]:
    try:
        return read_parts(shard, ranges)
    except OSError as error:
        raise DecodeError(f"{path}: {error}") from error


def read_parts(url: str, ranges: list[Range]) -> list[bytes]:
    """Parts of a file, all asked for at once; what a network fails to give is asked for again.

    Raises:
        OSError: a part cannot be read, or the file ends before its end; with the URL and the reason.
    """
    files, name = open_url(url)
    tries = 1 if isinstance(files, LocalFileSystem) else TRIES
    starts, ends = (list(places) for places in zip(*ranges, strict=True))
    for attempt in range(tries):
        if attempt:
            time.sleep(2**attempt)
        parts = files.cat_ranges([name] * len(ranges), starts, ends, on_error="return")
        failed = [part for part in parts if isinstance(part, Exception)]
        if not failed or isinstance(failed[0], FileNotFoundError):
            break
    if failed:
        why = getattr(failed[0], "strerror", None) or str(failed[0]) or type(failed[0]).__name__
        raise OSError(f"{url}: {why}") from failed[0]
    for part, (start, end) in zip(parts, ranges, strict=True):
        if len(part) > end - start:
            raise OSError(f"{url}: the server gives whole files, not parts of them (HTTP's Range)")
        if len(part) < end - start:
            raise OSError(f"{url}: the file ends early")
    return list(parts)


def open_url(url: str) -> tuple[Any, str]:
    """The file system of a path or URL, and its name there.

    Raises:
        ValueError: no library for such a URL is installed.
    """
    return _opened(url, os.getpid())


@cache
def _opened(url: str, process: int) -> tuple[Any, str]:
    """Of one process: connections do not survive a fork."""
    try:
        files, name = fsspec.core.url_to_fs(url)
    except ImportError as error:
        raise ValueError(str(error)) from error
    return files, name
