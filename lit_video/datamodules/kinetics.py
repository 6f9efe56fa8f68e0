"""Kinetics-400, -600 and -700, as released."""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from lit_video.datamodules.annotated import AnnotatedVideos
from lit_video.datamodules.annotations import Row, exactly, read_table, refuse_repeats
from lit_video.datamodules.base import Split
from lit_video.video.clips import VideoRecord

_COLUMNS = ("label", "youtube_id", "time_start", "time_end", "split")
_SPLITS = {"train": {"train"}, "val": {"val", "validate", "validation"}}


class Kinetics(AnnotatedVideos):
    """Base class of the Kinetics releases.

    Reads ``root/annotations/{train,val}.csv`` (or ``validate.csv``; ``label,youtube_id,time_start,time_end,split``,
    github.com/cvdfoundation/kinetics-dataset) and ``root/{train,val}/[LABEL/]ID_SSSSSS_EEEEEE.mp4``, start and end in
    seconds, six digits; other video formats do as well. Classes are numbered by the alphabet, as in papers. Results are
    reported on the validation split. Many videos are gone from YouTube: ``missing: skip`` goes on without them. Lists
    differ by their date: the number of annotations is checked for a range between the counts that users report.
    """

    classes: int

    @cached_property
    def class_names(self) -> list[str]:
        """Labels such as "abseiling", sorted."""
        labels = sorted({row.text("label") for row in self._rows("train")})
        return exactly(self.classes, labels, self._csv("train"))

    def annotated(self, split: Split) -> list[VideoRecord]:
        """Videos that the csv of a split lists."""
        rows = self._rows(split)
        for row in rows:
            if row.text("split") not in _SPLITS[split]:
                raise row.error("split", f"is {row.text('split')}, expected {split}; put the released file there")
        refuse_repeats(rows, lambda row: (row.cells["youtube_id"], row.cells["time_start"]), "youtube_id")
        labels = [row.member("label", self.numbers) for row in rows]
        folders = self._by_label(split)
        return [
            VideoRecord(self._path(row, folders[row.cells["label"]]), label)
            for row, label in zip(rows, labels, strict=True)
        ]

    def _csv(self, split: Split) -> Path:
        folder = self.root / "annotations"
        validate = folder / "validate.csv"
        return validate if split == "val" and validate.exists() else folder / f"{split}.csv"

    def _rows(self, split: Split) -> list[Row]:
        return read_table("data.root", self._csv(split), _COLUMNS)

    def _path(self, row: Row, folder: Path) -> Path:
        name = f"{row.text('youtube_id')}_{row.whole('time_start'):06d}_{row.whole('time_end'):06d}"
        return self.folders.find(folder, name)

    def _by_label(self, split: Split) -> dict[str, Path]:
        """Folder of the videos of each label; downloaders put them into one folder, or into folders by label."""
        folder = self.root / split
        names = self.folders.names(folder)
        spellings = {label: (label, label.replace(" ", "_")) for label in self.class_names}
        folders = {label: [name for name in spellings[label] if name in names] for label in spellings}
        return {label: folder / folders[label][0] if folders[label] else folder for label in folders}


class Kinetics400(Kinetics):
    """Kinetics-400 (arXiv:1705.06950): up to 246,534 training and 19,906 validation videos; see :class:`Kinetics`."""

    classes = 400
    released: Mapping[Split, tuple[int, int]] = {"train": (239_000, 246_534), "val": (19_700, 19_906)}


class Kinetics600(Kinetics):
    """Kinetics-600 (arXiv:1808.01340): about 392,622 training and 30,001 validation videos; see :class:`Kinetics`."""

    classes = 600
    released: Mapping[Split, tuple[int, int]] = {"train": (366_000, 427_549), "val": (27_900, 30_001)}


class Kinetics700(Kinetics):
    """Kinetics-700 (arXiv:1907.06987) and its edition of 2020 (arXiv:2010.10864); see :class:`Kinetics`.

    545,317 training and 35,000 validation videos in the paper; CVDF has 534,073 and 33,914 of the edition of 2020.
    """

    classes = 700
    released: Mapping[Split, tuple[int, int]] = {"train": (529_000, 545_793), "val": (33_800, 35_000)}
