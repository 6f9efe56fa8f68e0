"""Diving-48 V2, as released."""

from collections.abc import Mapping
from functools import cached_property

from lit_video.datamodules.annotated import AnnotatedVideos
from lit_video.datamodules.annotations import exactly, read_entries, read_json, refuse_repeats
from lit_video.datamodules.base import Split
from lit_video.errors import UserError
from lit_video.video.clips import VideoRecord


class Diving48(AnnotatedVideos):
    """Diving-48, labels V2 of October 2020: 48 classes, 15,027 training and 1,970 test videos.

    Reads ``root/Diving48_V2_{train,test}.json``, ``root/Diving48_vocab.json`` and ``root/rgb/VID_NAME.mp4``
    (www.svcl.ucsd.edu/projects/resound/dataset.html). The videos are cut: ``start_frame`` and ``end_frame`` span all of
    each. There are no validation videos: validation is on the test split.
    """

    classes = 48
    released: Mapping[Split, tuple[int, int]] = {"train": (15_027, 15_027), "val": (1_970, 1_970)}

    @cached_property
    def class_names(self) -> list[str]:
        """Take-off, somersault, twist and position, such as "Back 15som 05Twis FREE", by class number."""
        path = self.root / "Diving48_vocab.json"
        dives = read_json("data.root", path)
        if not isinstance(dives, list) or not all(isinstance(dive, list) for dive in dives):
            raise UserError(f"data.root: {path} is no list of dives; put the released file there")
        return exactly(48, [" ".join(map(str, dive)) for dive in dives], path)

    def annotated(self, split: Split) -> list[VideoRecord]:
        """Videos that the JSON file of a split lists."""
        path = self.root / f"Diving48_V2_{'train' if split == 'train' else 'test'}.json"
        rows = read_entries("data.root", path, ("vid_name", "label"))
        refuse_repeats(rows, lambda row: row.cells["vid_name"], "vid_name")
        videos = self.root / "rgb"
        return [
            VideoRecord(self.folders.find(videos, row.text("vid_name")), row.whole("label", below=48)) for row in rows
        ]
