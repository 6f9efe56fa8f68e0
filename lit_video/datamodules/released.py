"""Released data sets: short videos of one class, such as Kinetics, and long ones, such as Charades."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from lit_video.datamodules.annotated import AS_TEST, AS_VALIDATION, AnnotatedVideos
from lit_video.errors import UserError
from lit_video.utils.annotations import (
    AnnotationRow,
    exactly,
    multi_hot,
    numbered,
    read_annotations,
    read_entries,
    read_json,
    read_text,
    refuse_repeats,
)
from lit_video.utils.arguments import Count, check_arguments
from lit_video.utils.splits import Split
from lit_video.video.clips import VideoRecord
from lit_video.video.seeding import digest

KINETICS_COLUMNS = ("label", "youtube_id", "time_start", "time_end", "split")
KINETICS_SPLITS = {"train": {"train"}, "val": {"val", "validate", "validation"}}
UCF101_SIZES = {1: (9_537, 3_783), 2: (9_586, 3_734), 3: (9_624, 3_696)}  # split: numbers of training and test videos
HMDB51_USE = {"train": 1, "val": 2}  # codes in the split files; 0: unused
PLAIN = str.maketrans("", "", "[]")  # templates put placeholders in brackets, labels.json does not
EPIC_CLASSES = {"verb": 97, "noun": 300}
EPIC_TIMES = ("start_timestamp", "stop_timestamp")
EPIC_FRAMES = ("start_frame", "stop_frame")
EPIC_RATES = (60.0, 50.0)  # rate of the released frames, which need not be the video's; 50 in the extension
TRAIN_SHARE = 85 / 120  # training share of HowTo100M's videos


class Kinetics(AnnotatedVideos):
    """Base class of the Kinetics releases.

    Reads ``root/annotations/{train,val}.csv`` (or ``validate.csv``; ``label,youtube_id,time_start,time_end,split``,
    github.com/cvdfoundation/kinetics-dataset) and ``root/{train,val}/[LABEL/]ID_SSSSSS_EEEEEE.mp4``, with start and end
    in seconds. Results are reported on the validation split. Many videos are gone from YouTube; ``missing: skip``
    leaves them out. The lists have had several lengths over time; a length is checked against the range that users
    report.
    """

    classes: int

    @cached_property
    def class_names(self) -> list[str]:
        """Labels such as "abseiling", sorted."""
        labels = sorted({row.text("label") for row in self._rows("train")})
        return exactly(self.classes, labels, self._csv("train"))

    def annotated(self, split: Split) -> Iterator[VideoRecord]:
        """Yield the videos that a split's csv lists."""
        rows = self._rows(split)
        for row in rows:
            if row.text("split") not in KINETICS_SPLITS[split]:
                raise row.error("split", f"is {row.text('split')}, expected {split}; put the released file there")
        refuse_repeats(rows, "youtube_id", lambda row: (row.cells["youtube_id"], row.cells["time_start"]))
        # downloaders put all videos into one folder, or into folders by label
        folders = self.folders.names(self.root / split)
        for row in rows:
            label = row.text("label")
            spellings = (label, label.replace(" ", "_"))
            folder = next((spelling for spelling in spellings if spelling in folders), "")
            name = f"{row.text('youtube_id')}_{row.whole('time_start'):06d}_{row.whole('time_end'):06d}.mp4"
            yield VideoRecord(self.root / split / folder / name, row.member("label", self.numbers))

    def _csv(self, split: Split) -> Path:
        path = self.root / "annotations" / f"{split}.csv"
        validate = path.with_name("validate.csv")
        if split == "val" and validate.exists():
            return validate
        return path

    def _rows(self, split: Split) -> list[AnnotationRow]:
        return read_annotations("data.root", self._csv(split), KINETICS_COLUMNS)


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

    Training and validation videos: 545,317 and 35,000 in the paper, 534,073 and 33,914 in CVDF's 2020 edition.
    """

    classes = 700
    released: Mapping[Split, tuple[int, int]] = {"train": (529_000, 545_793), "val": (33_800, 35_000)}


class UCF101(AnnotatedVideos):
    """UCF-101 (arXiv:1212.0402): 101 classes, 13,320 videos, three splits.

    Reads ``root/ucfTrainTestlist/{classInd,trainlist01,testlist01}.txt`` (the action recognition splits of
    www.crcv.ucf.edu/data/UCF101.php) and ``root/UCF-101/CLASS/VIDEO.avi``. Validation uses the test list.

    Args:
        split: 1, 2 or 3.
        **kwargs: see :class:`AnnotatedVideos`.
    """

    classes = 101

    def __init__(self, split: Literal[1, 2, 3] = 1, **kwargs: Any) -> None:
        check_arguments(locals())
        super().__init__(**kwargs)
        self.split = split
        train, test = UCF101_SIZES[split]
        self.released = {"train": (train, train), "val": (test, test)}

    @cached_property
    def class_names(self) -> list[str]:
        """Names such as "ApplyEyeMakeup", by class number."""
        path = self.root / "ucfTrainTestlist" / "classInd.txt"
        columns = ("number", "name")
        rows = read_annotations("data.root", path, columns, headless=columns, delimiter=" ")
        return numbered(rows, columns, 101, path=path, first=1)

    def annotated(self, split: Split) -> Iterator[VideoRecord]:
        """Yield the videos of a split's list; the parent folder is the class."""
        path = self.root / "ucfTrainTestlist" / f"{AS_TEST[split]}list{self.split:02d}.txt"
        for row in read_annotations(
            "data.root", path, ("path",), headless=("path", "number"), delimiter=" ", unique="path"
        ):
            video = Path(row.inside("path", self.root / "UCF-101"))
            yield VideoRecord(video, row.member("path", self.numbers, video.parent.name))

    draw_kind = "group"

    def draw_names(self, split: Split) -> list[str]:
        """Return class and group of every video, such as ``v_ApplyEyeMakeup_g08``: clips of a group share a source."""
        return [path.rpartition("_c")[0] for path in self.records(split).paths]


class HMDB51(AnnotatedVideos):
    """HMDB-51 (Kuehne et al., ICCV 2011): 51 classes, three splits with 70 training and 30 test videos per class.

    Reads ``root/testTrainMulti_7030_splits/CLASS_test_splitN.txt`` and ``root/hmdb51_org/CLASS/VIDEO.avi``
    (serre-lab.clps.brown.edu/resource/hmdb-a-large-human-motion-database). Validation uses the test videos.

    Args:
        split: 1, 2 or 3.
        **kwargs: see :class:`AnnotatedVideos`.
    """

    classes = 51
    released: Mapping[Split, tuple[int, int]] = {"train": (3_570, 3_570), "val": (1_530, 1_530)}

    def __init__(self, split: Literal[1, 2, 3] = 1, **kwargs: Any) -> None:
        check_arguments(locals())
        super().__init__(**kwargs)
        self.split = split

    @cached_property
    def class_names(self) -> list[str]:
        """Names such as "brush_hair", sorted, from the names of the split files."""
        folder = self.root / "testTrainMulti_7030_splits"
        ending = f"_test_split{self.split}.txt"
        names = sorted(path.name.removesuffix(ending) for path in folder.glob(f"*{ending}"))
        return exactly(51, names, folder)

    def annotated(self, split: Split) -> Iterator[VideoRecord]:
        """Yield the videos that the split files mark for training or test."""
        columns = ("video", "use")
        for label, name in enumerate(self.class_names):
            path = self.root / "testTrainMulti_7030_splits" / f"{name}_test_split{self.split}.txt"
            for row in read_annotations("data.root", path, columns, headless=columns, delimiter=" ", unique="video"):
                if row.whole("use", 3) == HMDB51_USE[split]:
                    yield VideoRecord(Path(row.inside("video", self.root / "hmdb51_org" / name)), label)


class Diving48(AnnotatedVideos):
    """Diving-48, labels V2 of October 2020: 48 classes, 15,027 training and 1,970 test videos.

    Reads ``root/Diving48_V2_{train,test}.json``, ``root/Diving48_vocab.json`` and ``root/rgb/VID_NAME.mp4``
    (www.svcl.ucsd.edu/projects/resound/dataset.html). Videos are already cut. Validation uses the test split.
    """

    classes = 48
    released: Mapping[Split, tuple[int, int]] = {"train": (15_027, 15_027), "val": (1_970, 1_970)}

    @cached_property
    def class_names(self) -> list[str]:
        """Take-off, somersault, twist and position, such as "Back 15som 05Twis FREE", by class number."""
        path = self.root / "Diving48_vocab.json"
        dives = read_json("data.root", path)
        if not isinstance(dives, list) or not dives or any(type(dive) is not list for dive in dives):
            raise UserError(f"data.root: {path} is no list of dives; put the released file there")
        names = [" ".join(map(str, dive)) for dive in dives]
        return exactly(48, names, path)

    def annotated(self, split: Split) -> Iterator[VideoRecord]:
        """Yield the videos that a split's JSON file lists."""
        path = self.root / f"Diving48_V2_{AS_TEST[split]}.json"
        for row in read_entries("data.root", path, ("vid_name", "label")):
            yield VideoRecord(self.root / "rgb" / f"{row.text('vid_name')}.mp4", row.whole("label", below=48))

    def draw_names(self, split: Split) -> list[str]:
        """Return the recording that every video was cut from: ``ID`` of ``ID_00012.mp4``."""
        return [path.rpartition("_")[0] for path in self.records(split).paths]


class MomentsInTime(AnnotatedVideos):
    """Moments in Time (arXiv:1801.03150): 802,264 training and 33,900 validation videos of 3 seconds, 339 classes.

    Reads ``root/moments_categories.txt`` (``label,number``), ``root/{training,validation}Set.csv`` (no header; columns
    ``LABEL/VIDEO.mp4``, label, votes for it, votes against it) and ``root/{training,validation}/LABEL/VIDEO.mp4``
    (moments.csail.mit.edu). The second release has 305 classes, 727,305 training and 30,500 validation videos.

    Args:
        classes: number of classes, if not the paper's 339.
        **kwargs: see :class:`AnnotatedVideos`.
    """

    released: Mapping[Split, tuple[int, int]] = {"train": (727_305, 802_264), "val": (30_500, 33_900)}

    def __init__(self, classes: Count = 339, **kwargs: Any) -> None:
        check_arguments(locals())
        super().__init__(**kwargs)
        self.classes: int = classes

    @cached_property
    def class_names(self) -> list[str]:
        """Names such as "blocking", by class number."""
        path = self.root / "moments_categories.txt"
        columns = ("label", "number")
        rows = read_annotations("data.root", path, columns, headless=columns, delimiter=",")
        return numbered(rows, ("number", "label"), self.classes, path=path)

    def annotated(self, split: Split) -> Iterator[VideoRecord]:
        """Yield the videos that a split's csv lists."""
        part = {"train": "training", "val": "validation"}[split]
        path = self.root / f"{part}Set.csv"
        columns = ("path", "label", "for", "against")
        for row in read_annotations("data.root", path, columns[:2], headless=columns, delimiter=",", unique="path"):
            video = Path(row.inside("path", self.root / part))
            yield VideoRecord(video, row.member("label", self.numbers))


class SomethingV2(AnnotatedVideos):
    """Something-Something v2: 174 classes, 168,913 training and 24,777 validation videos (webm, 12 fps).

    Reads ``root/labels/{labels,train,validation}.json`` and ``root/20bn-something-something-v2/ID.webm``
    (www.qualcomm.com/developer/software/something-something-v-2-dataset). Mirroring changes classes: leave flips off.
    """

    classes = 174
    released: Mapping[Split, tuple[int, int]] = {"train": (168_913, 168_913), "val": (24_777, 24_777)}

    @cached_property
    def class_names(self) -> list[str]:
        """Templates such as "Pushing something from left to right", by class number."""
        path = self.root / "labels" / "labels.json"
        numbers = read_json("data.root", path)
        fault = f"{path} does not number the templates from 0; put the released file there"
        if not isinstance(numbers, dict):
            raise UserError(f"data.root: {fault}")
        if {str(number) for number in numbers.values()} != {str(number) for number in range(len(numbers))}:
            raise UserError(f"data.root: {fault}")
        return exactly(174, sorted(numbers, key=lambda name: int(numbers[name])), path)

    def annotated(self, split: Split) -> Iterator[VideoRecord]:
        """Yield the videos that a split's file lists."""
        videos = self.root / "20bn-something-something-v2"
        path = self.root / "labels" / f"{AS_VALIDATION[split]}.json"
        for row in read_entries("data.root", path, ("id", "template")):
            label = row.member("template", self.numbers, row.text("template").translate(PLAIN))
            yield VideoRecord(videos / f"{row.text('id')}.webm", label)


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
        folders = (self.root / "rgb_frames" / person, self.root / person / "rgb_frames")
        folder = next((folder for folder in folders if video in self.folders.names(folder)), None)
        if folder is None:
            return VideoRecord(self.root / person / "videos" / f"{video}.mp4", label, start=start, end=end)

        first, last = (row.whole(column) for column in EPIC_FRAMES)
        if not 0 < first <= last:
            raise row.error(EPIC_FRAMES[1], f"is {last}, before the first frame {first}; correct one of them")
        assert end is not None, "not empty, as checked above"
        rate = min(EPIC_RATES, key=lambda rate: abs(last - end * rate))  # the one that fits the row's end
        start = (first - 1) / rate  # frames are numbered from 1
        return VideoRecord(folder / video, label, start=start, end=last / rate, fps=rate)

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
