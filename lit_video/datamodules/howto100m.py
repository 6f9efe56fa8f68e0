"""HowTo100M tasks: which task a video of minutes shows."""

from collections import Counter
from functools import cached_property
from typing import Any

from lit_video.datamodules.annotated import AnnotatedVideos
from lit_video.datamodules.annotations import Row, read_table
from lit_video.datamodules.base import Split
from lit_video.errors import UserError
from lit_video.video.clips import VideoRecord
from lit_video.video.seeding import digest

TRAIN_SHARE = 85 / 120


class HowTo100MTasks(AnnotatedVideos):
    """Long videos by task, as in TimeSformer (arXiv:2102.05095, section 4.6): 1,059 tasks, 120,000 videos.

    Reads ``root/HowTo100M_v1.csv`` (``video_id,category_1,category_2,rank,task_id``) and ``root/task_ids.csv`` (task
    number and name, separated by a tab), both of www.di.ens.fr/willow/research/howto100m, and ``root/videos/ID.mp4`` or
    another format. Classes are tasks with at least 100 videos (``least_videos``), by number; a video of several is of
    the one that ranks it first. The paper divides videos at random, 85,000 and 35,000; here by name, so parts stay.

    Args:
        classes: number of tasks; another than the paper's 1,059 has to be said.
        least_videos: least number of videos of a task.
        **kwargs: see :class:`AnnotatedVideos`.
    """

    def __init__(self, classes: int = 1059, least_videos: int = 100, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if classes < 2:
            raise ValueError(f"classes is {classes}, expected at least 2")
        self.classes = classes
        self.least_videos = least_videos
        self._csv, self._names_csv = self.root / "HowTo100M_v1.csv", self.root / "task_ids.csv"

    @cached_property
    def class_names(self) -> list[str]:
        """Names of the tasks, such as "Make Pancakes", by task number."""
        columns = ("task", "name")
        rows = read_table("data.root", self._names_csv, columns, columns, delimiter="\t")
        names = {row.text("task"): row.text("name") for row in rows}
        if absent := [task for task in self._numbers if task not in names]:
            raise UserError(f"data.root: {self._names_csv} does not name task {absent[0]} of {self._csv}")
        return [names[task] for task in self._numbers]

    def annotated(self, split: Split) -> list[VideoRecord]:
        """Return the videos of the classes that fall to a split."""
        folder = self.root / "videos"
        return [
            VideoRecord(folder / f"{video}.mp4", self._numbers[task])
            for video, task in self._tasks.items()
            if task in self._numbers and (split == "train") == in_training(video)
        ]

    @cached_property
    def _tasks(self) -> dict[str, str]:
        """The task of every video."""
        rows = read_table("data.root", self._csv, ("video_id", "rank", "task_id"), delimiter=",")
        best: dict[str, Row] = {}
        for row in rows:
            other = best.setdefault(row.text("video_id"), row)
            if row.whole("rank") < other.whole("rank"):
                best[row.cells["video_id"]] = row
        return {video: row.text("task_id") for video, row in best.items()}

    @cached_property
    def _numbers(self) -> dict[str, int]:
        """Class number by task."""
        videos = Counter(self._tasks.values())
        tasks = [task for task, count in videos.items() if count >= self.least_videos]
        if len(tasks) != self.classes:
            found = f"{self._csv} has {len(tasks)} tasks of at least {self.least_videos} videos, not {self.classes}"
            raise UserError(f"data.classes: {found}; set data.classes to that, or another data.least_videos")
        return {task: number for number, task in enumerate(sorted(tasks, key=lambda task: (len(task), task)))}


def in_training(video: str) -> bool:
    """Return whether a video's name puts it into the training part, 85 of 120."""
    return digest(video) % 10_000 < 10_000 * TRAIN_SHARE
