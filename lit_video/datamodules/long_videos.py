"""Released data sets of long videos: Charades, Epic-Kitchens-100 and HowTo100M."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from lit_video.datamodules.annotated import AS_TEST, AS_VALIDATION, AnnotatedVideos
from lit_video.errors import UserError
from lit_video.utils.annotations import AnnotationRow, exactly, multi_hot, numbered, read_annotations, read_text
from lit_video.utils.arguments import Count, check_arguments
from lit_video.utils.splits import Split
from lit_video.video.clips import VideoRecord
from lit_video.video.seeding import digest

EPIC_CLASSES = {"verb": 97, "noun": 300}
EPIC_TIMES = ("start_timestamp", "stop_timestamp")
EPIC_FRAMES = ("start_frame", "stop_frame")
EPIC_RATES = (60.0, 50.0)  # rate of the released frames, which need not be the video's; 50 in the extension
TRAIN_SHARE = 85 / 120  # training share of HowTo100M's videos


class Charades(AnnotatedVideos):
    """Charades (arXiv:1604.01753): videos of half a minute, each with several of 157 actions.

    Reads ``Charades_v1_{train,test}.csv`` and ``Charades_v1_classes.txt`` in ``root/Charades``, and the videos
    ``root/Charades_v1_480/ID.mp4`` or else ``root/Charades_v1/ID.mp4`` (prior.allenai.org/projects/charades). Results
    are the mean average precision on the test videos. A video's label has all its actions; some videos have no action.
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

    def annotated(self, split: Split) -> Iterator[VideoRecord]:
        """Yield the videos that a split's csv lists."""
        path = self.root / "Charades" / f"Charades_v1_{AS_TEST[split]}.csv"
        codes = {f"c{number:03d}": number for number in range(157)}
        small = self.root / "Charades_v1_480"
        videos = small if small.is_dir() else self.root / "Charades_v1"
        for row in read_annotations("data.root", path, ("id", "actions"), delimiter=",", unique="id"):
            numbers: list[int] = []
            for action in row.cells["actions"].split(";"):
                if action.strip():
                    code, *_ = action.split()
                    numbers.append(row.member("actions", codes, code))
            yield VideoRecord(videos / f"{row.text('id')}.mp4", multi_hot(numbers, 157))


class EpicKitchens100(AnnotatedVideos):
    """Epic-Kitchens-100 (arXiv:2006.13256): segments of long videos, each with a verb and a noun.

    Reads ``EPIC_100_{train,validation}.csv`` and ``EPIC_100_{verb,noun}_classes.csv``
    (github.com/epic-kitchens/epic-kitchens-100-annotations) in ``root/annotations``. A video is a folder of frames,
    ``root/rgb_frames/P01/P01_01/`` or ``root/P01/rgb_frames/P01_01/``, or else
    a file ``root/P01/videos/P01_01.MP4``. Frames are taken by ``start_frame`` and ``stop_frame``, as released at 60 a
    second, or 50 in the extension; those of a video file by its times. Results are for the validation segments.
    """

    classes = EPIC_CLASSES
    released: Mapping[Split, tuple[int, int]] = {"train": (67_217, 67_217), "val": (9_668, 9_668)}

    @cached_property
    def class_names(self) -> dict[str, list[str]]:
        """Names of the verbs, such as "take", and of the nouns, such as "tap", in the order of their numbers."""
        columns = ("id", "key")
        names: dict[str, list[str]] = {}
        for task, count in EPIC_CLASSES.items():
            file = f"{task}_classes"
            rows = self._rows(file, columns)
            names[task] = numbered(rows, columns, count, path=self._csv(file))
        return names

    def annotated(self, split: Split) -> Iterable[VideoRecord]:
        """Return the segments that a split's csv lists."""
        columns = ("narration_id", "participant_id", "video_id", *EPIC_TIMES, *EPIC_FRAMES, "verb_class", "noun_class")
        rows = self._rows(AS_VALIDATION[split], columns, unique="narration_id")
        return (self._record(row) for row in rows)

    draw_kind = "person"

    def draw_names(self, split: Split) -> list[str]:
        """Return the person who wears the camera: ``P01`` of the video ``P01_11``."""
        return [Path(path).stem.partition("_")[0] for path in self.records(split).paths]

    def _record(self, row: AnnotationRow) -> VideoRecord:
        """Return the segment of a row, in a folder of frames if there is one."""
        label = (row.whole("verb_class", below=97), row.whole("noun_class", below=300))
        for column in EPIC_TIMES:
            row.text(column)  # refuses an empty time
        start, end = row.segment(*EPIC_TIMES)

        person = row.text("participant_id")
        video = row.text("video_id")
        for folder in (self.root / "rgb_frames" / person, self.root / person / "rgb_frames"):
            if video in self.folders.names(folder):
                assert end is not None, "not empty, as checked above"
                return self._frames(row, folder / video, label, end=end)
        return VideoRecord(self.root / person / "videos" / f"{video}.mp4", label, start=start, end=end)

    def _frames(self, row: AnnotationRow, folder: Path, label: tuple[int, int], *, end: float) -> VideoRecord:
        """Return the segment of a row in a folder of frames, at the one of ``EPIC_RATES`` that fits the row's end."""
        first, last = (row.whole(column) for column in EPIC_FRAMES)
        if not 0 < first <= last:
            raise row.error(EPIC_FRAMES[1], f"is {last}, before the first frame {first}; correct one of them")

        rate = min(EPIC_RATES, key=lambda rate: abs(last - end * rate))
        start = (first - 1) / rate  # frames are numbered from 1
        return VideoRecord(folder, label, start=start, end=last / rate, fps=rate)

    def _csv(self, name: str) -> Path:
        return self.root / "annotations" / f"EPIC_100_{name}.csv"

    def _rows(self, name: str, columns: tuple[str, ...], unique: str | None = None) -> list[AnnotationRow]:
        return read_annotations("data.root", self._csv(name), columns, delimiter=",", unique=unique)


class HowTo100MTasks(AnnotatedVideos):
    """Long videos by task, as in TimeSformer (arXiv:2102.05095, section 4.6): 1,059 tasks, 120,000 videos.

    Reads ``root/HowTo100M_v1.csv`` (``video_id,category_1,category_2,rank,task_id``) and ``root/task_ids.csv`` (task
    number and name, separated by a tab), both from www.di.ens.fr/willow/research/howto100m, and ``root/videos/ID.mp4``
    or another format. Classes are the tasks with at least ``least_videos`` videos. A video of several tasks belongs to
    the task in which it ranks best. The paper splits at random (85,000 and 35,000 videos), this module by a hash.

    Args:
        classes: number of tasks, if not the paper's 1,059.
        least_videos: least number of videos of a task.
        **kwargs: see :class:`AnnotatedVideos`.
    """

    def __init__(self, classes: Count = 1059, least_videos: Count = 100, **kwargs: Any) -> None:
        check_arguments(locals())
        super().__init__(**kwargs)
        self.classes = classes
        self.least_videos = least_videos
        self._csv = self.root / "HowTo100M_v1.csv"
        self._names_csv = self.root / "task_ids.csv"

    @cached_property
    def class_names(self) -> list[str]:
        """Names of the tasks, such as "Make Pancakes", by task number."""
        columns = ("task", "name")
        rows = read_annotations("data.root", self._names_csv, columns, headless=columns, delimiter="\t")
        names = {row.text("task"): row.text("name") for row in rows}
        for task in self._numbers:
            if task not in names:
                raise UserError(f"data.root: {self._names_csv} does not name task {task} of {self._csv}")
        return [names[task] for task in self._numbers]

    def annotated(self, split: Split) -> Iterator[VideoRecord]:
        """Yield a split's videos."""
        for video, task in self._tasks.items():
            if task in self._numbers and (split == "train") == in_training(video):
                yield VideoRecord(self.root / "videos" / f"{video}.mp4", self._numbers[task])

    @cached_property
    def _tasks(self) -> dict[str, str]:
        """For each video, the task in which it ranks best."""
        rows = read_annotations("data.root", self._csv, ("video_id", "rank", "task_id"), delimiter=",")
        best: dict[str, AnnotationRow] = {}
        for row in rows:
            video = row.text("video_id")
            best_so_far = best.setdefault(video, row)
            if row.whole("rank") < best_so_far.whole("rank"):
                best[video] = row
        return {video: row.text("task_id") for video, row in best.items()}

    @cached_property
    def _numbers(self) -> dict[str, int]:
        """The class number of each task that has enough videos."""
        videos = Counter(self._tasks.values())
        tasks = [task for task, count in videos.items() if count >= self.least_videos]
        if len(tasks) != self.classes:
            fault = f"{self._csv} has {len(tasks)} tasks of at least {self.least_videos} videos, not {self.classes}"
            raise UserError(f"data.classes: {fault}; set data.classes to the number found, or change data.least_videos")

        in_order = sorted(tasks, key=lambda task: (len(task), task))  # tasks are numbers as text
        return {task: number for number, task in enumerate(in_order)}


def in_training(video: str) -> bool:
    """Return whether the hash of a video's name puts it into the training split (85 of 120 videos)."""
    return digest(video) % 10_000 < 10_000 * TRAIN_SHARE
