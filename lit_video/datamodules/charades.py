"""Charades, as released."""

from collections.abc import Mapping
from functools import cached_property

from lit_video.datamodules.annotated import AnnotatedVideos
from lit_video.datamodules.annotations import Row, exactly, multi_hot, read_table, read_text, refuse_repeats
from lit_video.datamodules.base import Split
from lit_video.video.clips import VideoRecord


class Charades(AnnotatedVideos):
    """Charades (arXiv:1604.01753): videos of half a minute, each with several of 157 actions.

    Reads ``root/Charades/Charades_v1_{train,test}.csv`` (``actions``: ``c092 11.90 21.20;c147 0.00 12.60``) and
    ``Charades_v1_classes.txt`` beside them, and ``root/Charades_v1_480/ID.mp4`` or else ``root/Charades_v1/ID.mp4``
    (prior.allenai.org/projects/charades). 7,985 videos are for training; results are those of the 1,863 test videos,
    by mean average precision. A video's labels are its actions at any time; some have none.
    """

    classes = 157
    several_labels = True
    released: Mapping[Split, tuple[int, int]] = {"train": (7_985, 7_985), "val": (1_863, 1_863)}

    @cached_property
    def class_names(self) -> list[str]:
        """Names such as "Holding some clothes", by class number."""
        path = self.root / "Charades" / "Charades_v1_classes.txt"
        lines = read_text("data.root", path).splitlines()
        return exactly(157, [line.partition(" ")[2].strip() for line in lines if line], path)

    def annotated(self, split: Split) -> list[VideoRecord]:
        """Videos that the csv of a split lists."""
        path = self.root / "Charades" / f"Charades_v1_{'train' if split == 'train' else 'test'}.csv"
        rows = read_table("data.root", path, ("id", "actions"), delimiter=",")
        refuse_repeats(rows, lambda row: row.cells["id"], "id")
        codes = {f"c{number:03d}": number for number in range(157)}

        def labels(row: Row) -> tuple[int, ...]:
            given = [action.split()[0] for action in row.cells["actions"].split(";") if action.strip()]
            return multi_hot([row.member("actions", codes, code) for code in given], 157)

        small = self.root / "Charades_v1_480"
        videos = small if small.is_dir() else self.root / "Charades_v1"
        return [VideoRecord(self.folders.find(videos, row.text("id")), labels(row)) for row in rows]
