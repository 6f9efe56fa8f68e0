"""Write a data set as shards: tar files of pictures in WebDataset's layout, and tables of what they hold."""

import csv
import io
import json
import os
import tarfile
import zlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple

from PIL import Image

from lit_video.datamodules.base import Split, VideoDataModule
from lit_video.datamodules.digest import text_digest
from lit_video.datamodules.preparation.encoding import scaled
from lit_video.datamodules.preparation.target import filling
from lit_video.datamodules.shards import COLUMNS, DESCRIPTION, SHARDS, VERSION
from lit_video.errors import UserError
from lit_video.utils.files import write_atomically, write_table
from lit_video.utils.parallel import in_parallel
from lit_video.video.clips import VideoRecord
from lit_video.video.decoding import DecodeError, Frames, forget_tables
from lit_video.video.probe import stamp
from lit_video.video.records import relative
from lit_video.video.seeding import digest
from lit_video.video.shards import description, padded

LOSSLESS_EFFORT = 20
ENDINGS = {"jpeg": "jpg", "webp": "webp"}


@dataclass(frozen=True)
class Pictures:
    """How frames are stored.

    Args:
        form: ``jpeg``, fast to read, or ``webp``, smaller; its quality 100 loses nothing.
        quality: 1 to 100.
        short_side: pixels of the shorter side; a smaller video keeps its size.
        videos: in a shard.
    """

    form: Literal["jpeg", "webp"] = "jpeg"
    quality: int = 85
    short_side: int = 256
    videos: int = 100

    def __post_init__(self) -> None:
        if not 1 <= self.quality <= 100:
            raise ValueError(f"quality is {self.quality}, expected 1 to 100")
        if self.short_side < 16:
            raise ValueError(f"short_side is {self.short_side}, expected at least 16")
        if self.videos < 1:
            raise ValueError(f"videos is {self.videos}, expected at least 1")


class Member(NamedTuple):
    """A video of a shard: its name, the bytes of its description in it, or why there is none; its source's state."""

    path: str
    start: int
    end: int
    broken: str
    size: int = -1
    changed: int = -1


@dataclass(frozen=True)
class _Job:
    """A shard to write: its number, and of each video its number in all, name and records by split."""

    number: int
    videos: list[tuple[int, str, dict[Split, list[VideoRecord]]]]

    def __str__(self) -> str:
        return f"shard {self.number}"


class Written(NamedTuple):
    """What was written: numbers of whole videos and shards, and why other videos are broken, by path."""

    videos: int
    shards: int
    broken: dict[str, str]


def write_shards(data: VideoDataModule, dst: Path, pictures: Pictures) -> Written:
    """Write all videos of a data set as shards to a folder, and its records and classes as tables.

    Videos are in a random order, which is the same every time. A shard is whole or not there; those that are there, and
    whose videos have not changed since, stay. What cannot be read to its end without damage stays a record with its
    reason, so that it counts as broken in training too, and is listed in ``broken.csv``.

    Raises:
        UserError: the folder cannot be written, or holds shards of other pictures or videos.
    """
    data.check()
    root, splits = data.data_root(), {split: data.records(split) for split in data.present}
    jobs = _jobs(root, splits, pictures.videos)
    with filling(dst):
        _same_plan(dst / "plan.json", pictures, jobs)
        (dst / DESCRIPTION).unlink(missing_ok=True)
        shards = zip(jobs, in_parallel(partial(_written, dst, pictures), jobs, "data shards"), strict=True)
        places = {member.path: (job.number, member) for job, members in shards for member in members}
        broken = {path: member.broken for path, (_, member) in places.items() if member.broken}
        for split, records in splits.items():
            rows = [_row(record, *places[relative(record.path, root)]) for record in records]
            write_table(dst / f"{split}.csv", [COLUMNS, *rows])
        write_table(dst / "broken.csv", [["path", "reason"], *broken.items()])
        told_of = {"version": VERSION, "pictures": asdict(pictures), "classes": data.class_names, "splits": [*splits]}
        write_atomically(dst / DESCRIPTION, json.dumps(told_of, indent=1) + "\n")
    return Written(len(places) - len(broken), len(jobs), broken)


def _jobs(root: Path, splits: Mapping[Split, Sequence[VideoRecord]], each: int) -> list[_Job]:
    videos: dict[str, dict[Split, list[VideoRecord]]] = defaultdict(lambda: defaultdict(list))
    for split, records in splits.items():
        for record in records:
            videos[relative(record.path, root)][split].append(record)
    order = sorted(videos, key=lambda path: digest("shards", path))
    numbered = [(number, path, dict(videos[path])) for number, path in enumerate(order)]
    return [_Job(i, numbered[first : first + each]) for i, first in enumerate(range(0, len(numbered), each))]


def _same_plan(file: Path, pictures: Pictures, jobs: list[_Job]) -> None:
    """Refuse to fill a folder with shards of two kinds."""
    videos = [video for job in jobs for video in job.videos]
    listed = text_digest([f"{name} {_labels(records)}{_rate(records)}" for _, name, records in videos])
    text = json.dumps({"version": VERSION, **asdict(pictures), "listed": listed}) + "\n"
    if file.exists() and (made := file.read_text(encoding="utf-8")) != text:
        same_pictures = json.loads(made) | {"listed": listed} == json.loads(text)
        what = "other videos, labels or rates" if same_pictures else made.strip()
        raise UserError(f"DST: {file.parent} was made with {what}; give another folder, or delete it")
    write_atomically(file, text)


def _written(dst: Path, pictures: Pictures, job: _Job) -> list[Member]:
    """Write a shard unless that is done."""
    shard = dst / SHARDS.format(job.number)
    index = shard.with_suffix(".csv")  # written behind the shard
    sources = [next(iter(records.values()))[0] for _, _, records in job.videos]
    states = [_state(source.path) for source in sources]
    if shard.exists() and index.exists():
        with index.open(encoding="utf-8", newline="") as file:
            members = [Member(r[0], int(r[1]), int(r[2]), r[3], int(r[4]), int(r[5])) for r in csv.reader(file)]
        if [(member.size, member.changed) for member in members] == states:
            return members
    index.unlink(missing_ok=True)
    part = shard.with_name(f".{shard.name}.part")
    with part.open("wb") as tar:
        members = [
            _add_video(tar, pictures, *video)._replace(size=size, changed=changed)
            for video, (size, changed) in zip(job.videos, states, strict=True)
        ]
        tar.write(bytes(2 * tarfile.BLOCKSIZE))
        tar.flush()
        os.fsync(tar.fileno())
    part.replace(shard)
    write_table(index, members)
    return members


def _state(path: Path) -> tuple[int, int]:
    """Size and last change of a file, or of all in a folder, -1 where there is none."""
    found = stamp(path, "")
    return (-1, -1) if found.size is None or found.mtime is None else (found.size, found.mtime)


def _rate(records: dict[Split, list[VideoRecord]]) -> str:
    """That of a folder of frames, which says when each is shown."""
    fps = next(iter(records.values()))[0].fps
    return "" if fps is None else f" {fps}"


def _labels(records: dict[Split, list[VideoRecord]]) -> list[list[object]]:
    """Split, label, start and end of a video's records."""
    return [[split, r.label, r.start, r.end] for split, several in records.items() for r in several]


def _add_video(
    tar: BinaryIO, pictures: Pictures, number: int, name: str, records: dict[Split, list[VideoRecord]]
) -> Member:
    """Write a video's pictures, then its description; one that cannot be read to its end leaves nothing."""
    begin, key = tar.tell(), f"{number:09}"
    record = next(iter(records.values()))[0]
    sizes, checksums, shape = [], [], (0, 0)
    try:
        table = record.table()
        for i, frame in enumerate(record.decode_in_order(range(table.count))):
            text, shape = _encoded(frame, pictures)
            _add(tar, f"{key}.{i:06}.{ENDINGS[pictures.form]}", text)
            sizes.append(len(text))
            checksums.append(zlib.crc32(text))
    except DecodeError as error:
        tar.seek(begin)
        tar.truncate()
        return Member(name, 0, 0, str(error).removeprefix(f"{record.path}: "))
    finally:
        forget_tables()
    plain = {
        "path": name,
        "records": _labels(records),
        **description(table, shape, begin + tarfile.BLOCKSIZE, sizes, checksums),
    }
    start, end = _add(tar, f"{key}.json", json.dumps(plain).encode())
    return Member(name, start, end, "")


def _add(tar: BinaryIO, name: str, text: bytes) -> tuple[int, int]:
    """Append a member of a tar; where its content begins and ends."""
    info = tarfile.TarInfo(name)
    info.size = len(text)
    tar.write(info.tobuf(tarfile.USTAR_FORMAT))
    start = tar.tell()
    tar.write(text.ljust(padded(len(text)), b"\0"))
    return start, start + len(text)


def _encoded(frame: Frames, pictures: Pictures) -> tuple[bytes, tuple[int, int]]:
    """A frame as a file, and its height and width there."""
    image = resized(frame, pictures.short_side)
    text, lossless = io.BytesIO(), pictures.form == "webp" and pictures.quality == 100
    # without loss the quality is the effort: 100 takes seven times as long and saves an eighth
    image.save(text, pictures.form, quality=LOSSLESS_EFFORT if lossless else pictures.quality, lossless=lossless)
    return text.getvalue(), (image.height, image.width)


def resized(frame: Frames, short_side: int) -> Image.Image:
    """A frame as it is stored, but for the loss."""
    image = Image.fromarray(frame)
    if min(image.size) <= short_side:
        return image
    return image.resize(scaled(*image.size, short_side), Image.Resampling.BICUBIC)


def _row(record: VideoRecord, shard: int, member: Member) -> list[object]:
    """A record in the order of ``COLUMNS``."""
    labels = record.label if isinstance(record.label, tuple) else (record.label,)
    segment = ["" if time is None else time for time in (record.start, record.end)]
    return [member.path, " ".join(map(str, labels)), *segment, shard, member.start, member.end, member.broken]
