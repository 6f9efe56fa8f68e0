"""Synthetic data set of temporal skills that no single frame shows."""

import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from itertools import chain, product
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock
from rich.progress import track

from lit_video.datamodules.base import Split, VideoDataModule
from lit_video.datamodules.drawing import encode, render, skill
from lit_video.datamodules.folder import folder_records
from lit_video.datamodules.records import Records
from lit_video.errors import UserError
from lit_video.utils.arguments import Count, Share, check_arguments
from lit_video.utils.files import data_folder
from lit_video.utils.limits import MOST_DRAWN, within
from lit_video.video.decoding import FrameTable
from lit_video.video.sampling import Dense, Sampling, Segments
from lit_video.video.seeding import digest

VERSION = 2  # increment whenever the pictures of a seed change
FPS = 8
SKILLS = ("drift", "zoom", "rotation", "order1", "order3", "order5", "meeting", "duration")


class TemporalSkills(VideoDataModule):
    """Small square videos of one skill each: class = skill x direction, by default 8 x 2 = 16 classes.

    ========= ======================================================== ===============================================
    skill     shown                                                    needed to tell the direction
    ========= ======================================================== ===============================================
    drift     a shape moves left or right over a torus                 position in neighbouring frames
    zoom      a shape grows or shrinks                                 size in neighbouring frames
    rotation  two bars turn one way or the other                       angle in neighbouring frames
    orderN    a point is bright, then dark N steps later, or reversed   two events; nothing between them helps
    meeting   two shapes move together or apart                        two motions; neither is enough alone
    duration  a shape is shown for three frames and for one            how long it was shown, and when
    count     a point flashes once more in one half                    how often: both halves are bright equally long
    speed     a shape speeds up or slows down                          three frames: a change of speed
    occlusion a bright and a dark shape pass behind a wall             when each was hidden
    ========= ======================================================== ===============================================

    **Why no single frame and no sum over frames can show the direction.** Videos come in pairs: the second is the first
    played backwards, labelled with the other direction. Every frame is coded on its own (intra only, constant
    quantiser), so both files decode to the same pictures in opposite order. Clips are cut symmetrically in time: with
    an even number of frames, the evenly spaced clips of one video are the reversed clips of the other; for random clips
    this holds in distribution. Any function of the set of frames, such as a sum, therefore has the same value for both
    videos and gets at most one of them right: its ceiling is 50 %. With K skills orderN in one data set, their ceiling
    is 50 / K % if clips show every step, because the set of frames is the same for every N; clips that skip steps
    reveal some N (:func:`distances_told`). Temporal positions show a model more than the set of frames; experiments on
    models blind to order omit them. ``tests/datamodules/test_reversed_pairs.py`` checks every step of this argument.

    Chance is 1 / number of classes. ``test/skill/NAME`` is the accuracy over a skill's videos, ``test/video_top1`` the
    mean over all skills. Each pair has its own random appearance and motion. Videos are written on first use.

    Args:
        root: folder of the data sets; ``None`` for ``$LIT_VIDEO_DATA``, else ``~/.cache/lit_video``.
        skills: names from the table above; orderN for any N below the number of steps.
        length: frames of a video; ``None``: the ``frames`` of a clip, so that a clip shows the whole video.
        frames_per_step: frames per step, each with its own noise; 16 frames with 2 per step show 8 steps.
        side: side of the pictures in pixels, an even number.
        difficulty: difficulty of the hardest training videos, 0 to 1: more noise and texture, less contrast.
        test_difficulty: difficulty of the hardest validation and test videos; higher, so that no model gets all right.
        pairs: numbers of pairs of videos per skill in train, val and test.
        sampling: sampling of clips: ``Dense``, or ``Segments`` over the whole video (``None``).
        frames: frames of a clip.
        test_crops: spatial views; one shows a square video completely.
        **kwargs: see :class:`VideoDataModule`. Flips must stay off: they swap directions.
    """

    def __init__(
        self,
        root: str | None = None,
        skills: tuple[str, ...] = SKILLS,
        length: Count | None = None,
        frames_per_step: Count = 1,
        side: Count = 32,
        difficulty: Share = 0.65,
        test_difficulty: Share = 0.85,
        pairs: tuple[Count, Count, Count] = (256, 16, 64),
        sampling: Sampling | None = None,
        frames: Count = 8,
        test_crops: Count = 1,
        **kwargs: Any,
    ) -> None:
        check_arguments(locals())
        super().__init__(sampling=sampling or Segments(), frames=frames, test_crops=test_crops, **kwargs)
        self.skills = {name: skill(name) for name in skills}
        self.length = length or frames
        self.frames_per_step = frames_per_step
        self.side = side
        self.difficulty = difficulty
        self.test_difficulty = test_difficulty
        self.pairs: dict[Split, int] = dict(zip(("train", "val", "test"), pairs, strict=True))
        size, of_pairs = f"{self.length}x{side}", "-".join(map(str, pairs))
        if frames_per_step > 1:
            size += f"-s{frames_per_step}"
        folder = f"temporal_skills-v{VERSION}-{'+'.join(skills)}-{size}-d{difficulty:g}-{test_difficulty:g}-{of_pairs}"
        self.root = data_folder(root) / folder
        self._check_pictures(skills, pairs)
        self._check_clips()

    def _check_pictures(self, skills: Sequence[str], pairs: Sequence[int]) -> None:
        within("videos' pixels", 2 * len(skills) * sum(pairs) * self.length * self.side**2, MOST_DRAWN)
        if self.side < 16 or self.side % 2:
            raise ValueError(f"side is {self.side}, expected an even number from 16: H.264 halves the colours' size")
        if len(self.skills) < len(skills) or not skills:
            raise ValueError(f"skills is {list(skills)}, expected one or more, each once")
        if (step := self.frames_per_step) < 1 or self.length % step:
            raise ValueError(f"frames_per_step is {step}, expected a divisor of the length {self.length}")
        longest = max(self.skills.values(), key=lambda one: one.shortest)
        if self.length < (least := longest.shortest * step):
            raise ValueError(f"length is {self.length}, too short for {longest.name}, which takes {least} frames")

    def _check_clips(self) -> None:
        if self.augmentation.flip:
            raise ValueError("augmentation has a flip, which must be 0: it turns one class into another")
        if type(self.sampling) not in (Dense, Segments):
            raise ValueError(f"sampling is {self.sampling}, expected Dense or Segments: others cut no symmetric clips")
        if isinstance(self.sampling, Dense) and self.sampling.seconds > self.length / FPS:
            raise ValueError(f"sampling.seconds is {self.sampling.seconds}, videos last {self.length / FPS}")
        frames = self.frames
        if self.length % frames or (self.length > frames and frames % 2):
            raise ValueError(f"length is {self.length}, expected {frames} (frames), or a multiple if frames is even")

    @property
    def class_names(self) -> list[str]:
        """The two class names of every skill, such as ``drift left`` and ``drift right``."""
        return [*chain.from_iterable(map(self.directions, self.skills))]

    def directions(self, kind: str) -> tuple[str, str]:
        """Return the class names of a skill's two videos: first played backwards, then as drawn."""
        return f"{kind} {self.skills[kind].backward}", f"{kind} {self.skills[kind].forward}"

    @property
    def class_groups(self) -> dict[str, list[int]]:
        """The two class numbers of every skill."""
        return {f"skill/{name}": [2 * i, 2 * i + 1] for i, name in enumerate(self.skills)}

    reversal_ceiling = 50.0
    """Highest possible accuracy, in percent, of models that give a clip and its reverse the same scores."""

    @property
    def blind_ceiling(self) -> float:
        """Highest accuracy in percent of a model blind to order: 50, less with several orderN (``distances_told``)."""
        distances = [one.shortest - 1 for name, one in self.skills.items() if name.startswith("order")]
        others = len(self.skills) - len(distances)
        steps = self.length // self.frames_per_step
        told = distances_told(distances, steps, self._steps_shown())
        return self.reversal_ceiling * (others + told) / len(self.skills)

    def _steps_shown(self) -> list[list[int]]:  # steps by test clip and frame
        video = FrameTable((), Fraction(1, FPS), (), self.length, Fraction(self.length, FPS), self.side, self.side)
        clips = [self.sampling.numbers(video, self.frames, clip, self.test_clips) for clip in range(self.test_clips)]
        return (np.array(clips) // self.frames_per_step).tolist()

    def records(self, split: Split) -> Records:
        """Return a split's videos from the folder."""
        return folder_records(self.root, split, self.class_names)

    def check(self) -> None:
        """Check that the folder can be written."""
        with self._writing():
            self.root.mkdir(parents=True, exist_ok=True)

    def prepare_data(self) -> None:
        """Write the missing videos."""
        super().prepare_data()
        self.check()
        if (self.root / "complete").exists():
            return
        with FileLock(self.root / "lock"), self._writing():
            missing = [job for job in self._jobs() if not all(map(Path.exists, job[1]))]
            for what, paths in track(missing, f"Writing {2 * len(missing)} videos to {self.root}"):
                self._write(what, *paths)
            (self.root / "complete").touch()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise UserError(f"data.root: cannot write {self.root} ({error.strerror}); set data.root") from error

    def _jobs(self) -> list[tuple[tuple[str, int, float], tuple[Path, Path]]]:
        """Return skill, seed and difficulty of every pair, with the paths of its backward and its forward video."""
        jobs = []
        for split, count in self.pairs.items():
            difficulty = self.difficulty if split == "train" else self.test_difficulty
            for kind, i in product(self.skills, range(count)):
                backward, forward = (self.root / split / name / f"{i:05}.mp4" for name in self.directions(kind))
                jobs.append(((kind, digest(VERSION, split, kind, i), difficulty), (backward, forward)))
        return jobs

    def _write(self, what: tuple[str, int, float], backward: Path, forward: Path) -> None:
        kind, seed, difficulty = what
        frames = render(self.skills[kind], seed, self.length, self.side, difficulty, self.frames_per_step)
        for path, images in ((forward, frames), (backward, frames[::-1])):
            path.parent.mkdir(parents=True, exist_ok=True)
            part = path.with_suffix(f".part{os.getpid()}")
            encode(part, images, FPS, f"{kind}, seed {seed}, difficulty {difficulty:g}")
            part.replace(path)


def distances_told(distances: Sequence[int], steps: int, clips: Sequence[Sequence[int]]) -> float:
    """Return the expected number of ``distances`` (N of orderN) that the best guess from sets of frames gets right.

    If clips show every step equally often, all K distances look alike: a guess is right for 1 of K videos. Otherwise
    the distance affects how often the clips show each of the two events, and the best (Bayes) guess uses this.
    Distances are in steps and equally frequent; the first event is equally likely at each step that leaves room for the
    second. ``clips`` has the steps that the frames of each test clip show.
    """
    shares: dict[object, dict[int, Fraction]] = defaultdict(lambda: defaultdict(Fraction))
    for distance in distances:
        room = range(steps - distance)
        for first in room:
            shown = sorted((clip.count(first), clip.count(first + distance)) for clip in map(list, clips))
            shares[tuple(shown)][distance] += Fraction(1, len(room))
    return float(sum(max(of_distances.values()) for of_distances in shares.values()))
