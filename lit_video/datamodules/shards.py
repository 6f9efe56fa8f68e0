"""A data set that ``data shards`` has written: videos as pictures in tar files, on a disk or behind a URL."""

import csv
import io
import json
from functools import cached_property
from pathlib import Path
from typing import Any

from fsspec.implementations.local import LocalFileSystem

from lit_video.datamodules.base import SPLITS, Split, VideoDataModule
from lit_video.errors import UserError
from lit_video.video.clips import VideoRecord
from lit_video.video.shards import BLOCK, ShardPlace, open_url, read_parts

VERSION = 1
DESCRIPTION = "shards.json"  # written last
SHARDS = "{:06}.tar"
COLUMNS = ("path", "label", "start", "end", "shard", "from", "to", "broken")


class VideoShards(VideoDataModule):
    """Any data set, as ``data shards`` has written it: its classes, its splits, its records, in its order.

    Clips, views, seeds, resumption and broken videos are those of files: a shard is only where frames come from, which
    are read one by one by their place. So an epoch has a random order as any other, over all shards.

    Args:
        root: the folder, or its URL (``https://``; ``s3://`` and others by fsspec's libraries).
        **kwargs: see :class:`VideoDataModule`; ``manifest``, ``keep_gb`` and ``decoder`` are for video files.
    """

    def __init__(self, root: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        for name, unused in (("manifest", None), ("keep_gb", 0), ("decoder", "pyav")):
            if kwargs.get(name, unused) != unused:
                raise ValueError(f"{name} is {kwargs[name]}, but shards hold no video files")
        self.url = root.rstrip("/") if "://" in root else str(Path(root).expanduser())
        self.root = Path(self.url)
        self._records: dict[Split, list[VideoRecord]] = {}

    @cached_property
    def described(self) -> dict[str, Any]:
        """What ``data shards`` says of the data set."""
        described: dict[str, Any] = json.loads(self._read(DESCRIPTION))
        if described["version"] != VERSION:
            made = f"has version {described['version']}, this lit_video reads {VERSION}"
            raise UserError(f"data.root: {self.url}/{DESCRIPTION} {made}; write the shards again (data shards)")
        return described

    @property
    def class_names(self) -> list[str] | dict[str, list[str]]:
        """Those of the data set that was written."""
        names: list[str] | dict[str, list[str]] = self.described["classes"]
        return names

    @property
    def present(self) -> tuple[Split, ...]:
        """Splits that the data set had."""
        return tuple(split for split in SPLITS if split in self.described["splits"])

    def records(self, split: Split) -> list[VideoRecord]:
        """Videos of a split in the order of the data set that was written."""
        if split not in self._records:
            if split not in self.present:
                raise UserError(f"data.root: {self.url} has no {split} videos, only {', '.join(self.present)}")
            shards: dict[str, str] = {}  # one text for all videos of a shard
            rows = csv.DictReader(io.StringIO(self._read(f"{split}.csv")))
            self._records[split] = [self._record(row, shards) for row in rows]
        return self._records[split]

    def check(self) -> None:
        """All splits and their shards are there, and parts of them can be read; of those behind a URL of one."""
        paths = sorted({record.place.shard for split in SPLITS for record in self.records(split) if record.place})
        files, _ = open_url(self.url)
        for path in paths if isinstance(files, LocalFileSystem) else paths[:1]:
            try:
                read_parts(path, [(0, BLOCK)])
            except OSError as error:
                raise UserError(f"data.root: {error}; write it again (data shards)") from error

    def _record(self, row: dict[str, str], shards: dict[str, str]) -> VideoRecord:
        labels = tuple(map(int, row["label"].split()))
        start, end = (float(row[key]) if row[key] else None for key in ("start", "end"))
        shard = shards.setdefault(row["shard"], f"{self.url}/{SHARDS.format(int(row['shard']))}")
        place = ShardPlace(shard, int(row["from"]), int(row["to"]), row["broken"])
        return VideoRecord(self.root / row["path"], labels[0] if len(labels) == 1 else labels, start, end, place=place)

    def _read(self, name: str) -> str:
        try:
            files, place = open_url(f"{self.url}/{name}")
        except ValueError as error:
            raise UserError(f"data.root: {self.url}: {error}") from error
        try:
            return bytes(files.cat_file(place)).decode()
        except FileNotFoundError:
            what = "no shards, or data shards has not ended" if name == DESCRIPTION else "its tables are incomplete"
            raise UserError(f"data.root: {self.url} has no {name}: {what}") from None
        except Exception as error:  # of the library of any file system
            raise UserError(f"data.root: {self.url}/{name} cannot be read: {error}") from error
