"""HMDB-51, as released."""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from lit_video.datamodules.annotated import AnnotatedVideos
from lit_video.datamodules.annotations import exactly, read_table, refuse_repeats
from lit_video.datamodules.base import Split
from lit_video.errors import UserError
from lit_video.video.clips import VideoRecord

_USE = {"train": 1, "val": 2}  # 0: in neither


class HMDB51(AnnotatedVideos):
    """HMDB-51 (Kuehne et al., ICCV 2011): 51 classes, three splits with 70 training and 30 test videos of each.

    Reads ``root/testTrainMulti_7030_splits/CLASS_test_splitN.txt`` and ``root/hmdb51_org/CLASS/VIDEO.avi``
    (serre-lab.clps.brown.edu/resource/hmdb-a-large-human-motion-database). Validation is on the test videos. Classes
    are numbered by the alphabet.

    Args:
        split: 1, 2 or 3.
        **kwargs: see :class:`AnnotatedVideos`.
    """

    classes = 51
    released: Mapping[Split, tuple[int, int]] = {"train": (3_570, 3_570), "val": (1_530, 1_530)}

    def __init__(self, split: Literal[1, 2, 3] = 1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.split = split

    @cached_property
    def class_names(self) -> list[str]:
        """Names such as "brush_hair", sorted; of the files that split the videos."""
        folder, ending = self.root / "testTrainMulti_7030_splits", f"_test_split{self.split}.txt"
        if not folder.is_dir():
            raise UserError(f"data.root: {folder} does not exist; unpack test_train_splits.rar there")
        names = sorted(path.name.removesuffix(ending) for path in folder.glob(f"*{ending}"))
        return exactly(51, names, folder)

    def annotated(self, split: Split) -> list[VideoRecord]:
        """Videos that the files of a split mark for this use."""
        return [record for label in range(51) for record in self._of_class(label, _USE[split])]

    def _of_class(self, label: int, use: int) -> list[VideoRecord]:
        name = self.class_names[label]
        path = self.root / "testTrainMulti_7030_splits" / f"{name}_test_split{self.split}.txt"
        rows = read_table("data.root", path, ("video", "use"), ("video", "use"), delimiter=" ")
        refuse_repeats(rows, lambda row: row.cells["video"], "video")
        folder = self.root / "hmdb51_org" / name
        return [VideoRecord(Path(row.inside("video", folder)), label) for row in rows if row.whole("use", 3) == use]
