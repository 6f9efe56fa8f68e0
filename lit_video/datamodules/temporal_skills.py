"""Synthetic data set of temporal skills that no single frame shows, on a circle of time."""

from __future__ import annotations  # a signature then shows names of types, such as Count

import logging
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock
from numpy.typing import NDArray

from lit_video.datamodules.base import VideoDataModule
from lit_video.datamodules.drawing import SHAPES, encode, paint
from lit_video.datamodules.films import Skill, events_apart, find_skill
from lit_video.datamodules.floors import (
    Needs,
    distances_told,
    is_told,
    smallest_distance,
    sum_ceiling,
    two_frames_ceiling,
)
from lit_video.datamodules.folder import folder_records
from lit_video.datamodules.records import Records
from lit_video.datamodules.stored_pixels import (
    MOST_STORED,
    SharedTable,
    decoded,
    pixels_name,
    read_pixels,
    write_pixels,
)
from lit_video.errors import UserError
from lit_video.utils.arguments import Count, Share, Whole, check_arguments
from lit_video.utils.files import MOST_DRAWN, data_folder, files_below, is_video, within
from lit_video.utils.parallel import in_parallel
from lit_video.utils.splits import Split
from lit_video.utils.text import plural
from lit_video.video.decoding import Frames, FrameTable, KeptVideos
from lit_video.video.decoding.table_reading import add_source
from lit_video.video.loading import VideoNumbers
from lit_video.video.sampling import Dense, Sampling, Segments
from lit_video.video.seeding import digest

_logger = logging.getLogger(__name__)

PAIRS_AT_ONCE = 8  # pairs that a process draws at a time, in some 50 milliseconds
DIGESTS = "SHA256SUMS"  # digests of the drawn videos and their pixels, beside them: sha256sum -c compares them
VERSION = 4  # increment whenever the pictures of a seed change
FPS = 8
SKILLS = ("drift", "zoom", "rotation", "order1", "order2", "order3", "meeting", "duration")


class TemporalSkills(VideoDataModule):
    """Small square videos of one skill each: class = skill x direction, by default 8 x 2 = 16 classes.

    ========= ====== ===================================================== ============================================
    skill     kind   shown                                                 needed to tell the direction
    ========= ====== ===================================================== ============================================
    drift     change a shape moves left or right over a torus              position in neighbouring frames
    zoom      change a shape grows or shrinks                              size in neighbouring frames
    rotation  change two bars turn one way or the other                    angle in neighbouring frames
    meeting   change two shapes move together or apart                     two motions; neither is enough alone
    speed     change a shape speeds up or slows down                       three frames: a change of speed
    orderN    when   a point is bright, then dark N steps later, or the    two events N or T - N frames apart; nothing
                     other way round                                       between them helps
    duration  when   a shape is shown for three frames and soon after for  how long it was shown, and when
                     one, or the other way round
    count     when   a point flashes once, twice, three times, or the      how often it flashes, and when
                     other way round
    occlusion when   a bright and a dark shape pass, each behind an        when each was hidden; places and ways of
                     invisible wall of its own                             moving do not help
    ========= ====== ===================================================== ============================================

    *Change* is told by neighbouring states, *when* by which event came first. Two neighbouring frames at a known time
    tell all of change but speed, and nothing of when but order1, whose events may be neighbours
    (:func:`~lit_video.datamodules.floors.two_frames_ceiling`).

    **orderN, duration, count and occlusion need no attention in space: brightness by time is enough.** The mean
    brightness of each frame, T numbers, shows which events a film has, and when.

    **No single frame shows the direction, even if its time is known.** A video plays one turn of a film on a circle of
    T steps from a random step, see :mod:`lit_video.datamodules.films`. The first steps are stratified: in every T
    pairs of a skill, each step is the first step once. So every frame of a turn is equally likely at every time, in
    both directions. ``tests/datamodules/test_circle_of_time.py`` tests this by enumeration for all skills, and that no
    turn of one direction is also a turn of the other, in the same or another skill.

    **No function of the set of frames shows it.** Videos come in pairs: the second is the first played backwards,
    labelled with the other direction. Every frame is coded on its own (intra only, constant quantiser), so both files
    decode to the same pictures in opposite order. Clips are cut symmetrically in time: with an even number of frames,
    the evenly spaced clips of one video are the reversed clips of the other; for random clips this holds in
    distribution. Any function of the set of frames, such as a mean over frames, therefore gets at most one video of a
    pair right: its ceiling is 50 %. With K skills orderN in one data set their ceiling is 50 / K % of the classes if
    clips show every step, because the set of frames is the same for every N; clips that skip steps reveal some N
    (:func:`~lit_video.datamodules.floors.distances_told`). ``tests/datamodules/test_reversed_pairs.py`` checks every
    step of this argument.

    **Positions in time show more than the set of frames**: a sum over frames whose times are known can tell some
    directions without comparing two frames, see :func:`~lit_video.datamodules.floors.sum_ceiling`. What attention in
    time adds is the difference to a control: a row with the same positions in time, without attention between frames.

    A test measures two numbers. ``test/recognised`` is the share of videos whose predicted class is of the true skill.
    ``test/direction`` is the share in which, of the true skill's two logits, that of the true direction is larger
    (chance, and the ceiling of blind models, is 50 %). Both are also measured by skill, ``test/direction/NAME``. For
    ``test/video_top1``, both must be right.

    Each pair has its own random appearance and motion. Videos are written on first use. With ``keep_gb`` their decoded
    pixels are written too, once for all runs, if those of a split take at most 4 GiB.

    Args:
        root: folder of the data sets; ``None`` for ``$LIT_VIDEO_DATA``, else ``~/.cache/lit_video``.
        skills: names from the table above; orderN for any N below half the number of steps.
        length: frames of a video; ``None`` for the ``num_frames`` of a clip, so that a clip shows the whole video.
        frames_per_step: frames per step, each with its own noise; 16 frames with 2 per step show 8 steps.
        side: side of the pictures in pixels, an even number.
        difficulty: difficulty of the hardest training videos, 0 to 1: more noise and texture, less contrast.
        test_difficulty: difficulty of the hardest validation and test videos; higher, so that no model gets all right.
        pairs: numbers of pairs of videos per skill in train, val and test; multiples of the steps keep the strata
            whole.
        fresh: number of pairs of videos per skill as difficult as those of training, on which a run is tested too.
        drawing: seed of all pictures, so that settings can be chosen on other pictures than those of the tests.
        sampling: sampling of clips, ``Dense`` or ``Segments``; ``None`` for ``Segments`` over the whole video.
        num_frames: frames of a clip.
        test_crops: spatial views; one shows a square video completely.
        **kwargs: see :class:`VideoDataModule`. Flips must stay off: they swap directions.
    """

    disjoint = True  # each split is drawn on its own, when training starts

    def __init__(
        self,
        root: str | None = None,
        skills: tuple[str, ...] = SKILLS,
        length: Count | None = None,
        *,
        frames_per_step: Count = 1,
        side: Count = 32,
        difficulty: Share = 0.65,
        test_difficulty: Share = 0.85,
        pairs: tuple[Count, Count, Count] = (256, 16, 64),
        fresh: Whole = 0,
        drawing: Whole = 0,
        sampling: Sampling | None = None,
        num_frames: Count = 8,
        test_crops: Count = 1,
        **kwargs: Any,
    ) -> None:
        check_arguments(locals())
        super().__init__(sampling=sampling or Segments(), num_frames=num_frames, test_crops=test_crops, **kwargs)
        self.skills = {name: find_skill(name) for name in skills}
        self.length = length or num_frames
        self.frames_per_step = frames_per_step
        self.side = side
        self.difficulty = difficulty
        self.test_difficulty = test_difficulty
        self.pairs: dict[Split, int] = dict(zip(("train", "val", "test"), pairs, strict=True))
        if fresh:
            self.pairs["fresh"] = fresh
            self.further_splits = (*self.further_splits, "fresh")
            # training films to test: no fewer than fresh ones, or their share of right ones would be the coarser
            self.sample_size = max(self.sample_size, 2 * fresh * len(self.skills))
        self.drawing = drawing
        self._filled: set[Split] = set()  # splits whose stored pixels were asked for

        size = f"{self.length}x{side}"
        if frames_per_step > 1:
            size += f"-s{frames_per_step}"
        hardest = f"d{difficulty:g}-{test_difficulty:g}"
        counts = "-".join(map(str, self.pairs.values()))
        folder = f"temporal_skills-v{VERSION}-{'+'.join(skills)}-{size}-{hardest}-{counts}"
        if drawing:
            folder += f"-drawing{drawing}"
        self.root = data_folder(root) / folder

        self._check_settings(skills, list(self.pairs.values()))

    def _check_settings(self, skills: Sequence[str], pairs: Sequence[int]) -> None:
        within("videos' pixels", 2 * len(skills) * sum(pairs) * self.length * self.side**2, MOST_DRAWN)
        if self.side < 16 or self.side % 2:
            raise ValueError(f"side is {self.side}, expected an even number from 16: H.264 halves the colours' size")
        if len(self.skills) < len(skills) or not skills:
            raise ValueError(f"skills is {list(skills)}, expected one or more, each once")
        if self.frames_per_step < 1 or self.length % self.frames_per_step:
            raise ValueError(
                f"frames_per_step is {self.frames_per_step}, expected a divisor of the length {self.length}"
            )

        longest = max(self.skills.values(), key=lambda skill: skill.shortest)
        least = longest.shortest * self.frames_per_step
        if self.length < least:
            raise ValueError(f"length is {self.length}, too short for {longest.name}, which takes {least} frames")

        if self.augmentation.flip:
            raise ValueError("augmentation has a flip, which must be 0: it turns one class into another")
        if type(self.sampling) not in (Dense, Segments):
            raise ValueError(f"sampling is {self.sampling}, expected Dense or Segments: others cut no symmetric clips")
        if isinstance(self.sampling, Dense) and self.sampling.seconds > self.length / FPS:
            raise ValueError(f"sampling.seconds is {self.sampling.seconds}, videos last {self.length / FPS}")
        frames = self.num_frames
        if self.length % frames or (self.length > frames and frames % 2):
            raise ValueError(f"length is {self.length}, expected {frames} (frames), or a multiple if frames is even")

    @property
    def steps(self) -> int:
        """Number of steps of a turn."""
        return self.length // self.frames_per_step

    @property
    def event_distances(self) -> list[int]:
        """N of every orderN, in steps."""
        distances = [events_apart(name) for name in self.skills]
        return [distance for distance in distances if distance is not None]

    @property
    def class_names(self) -> list[str]:
        """The two class names of every skill, such as ``drift left`` and ``drift right``."""
        names: list[str] = []
        for name in self.skills:
            names += self.directions(name)
        return names

    def directions(self, kind: str) -> tuple[str, str]:
        """Return the class names of a skill's two videos: first played backwards, then as drawn."""
        return f"{kind} {self.skills[kind].backward}", f"{kind} {self.skills[kind].forward}"

    @property
    def opposites(self) -> dict[str, tuple[int, int]]:
        """The two class numbers of every skill, by its name."""
        return {name: (2 * i, 2 * i + 1) for i, name in enumerate(self.skills)}

    draw_kind = "pair"

    def draw_names(self, split: Split) -> list[str]:
        """Return the name of every video's pair: a video and its reverse are one draw."""
        records = self.records(split)
        skills = [*self.skills]
        return [f"{skills[record.label // 2]}/{record.path.stem}" for record in records]  # type: ignore[operator]

    def reverses(self, records: Records) -> VideoNumbers:
        """Return for each training video the number of its reverse: ``(videos,)``."""
        films = [(record.label // 2, record.path.name) for record in records]  # type: ignore[operator]  # one label each
        place = {(film, label % 2): i for i, (film, label) in enumerate(zip(films, records.labels, strict=True))}
        return np.array([place[film, 1 - label % 2] for film, label in zip(films, records.labels, strict=True)])

    @property
    def blind_ceiling(self) -> float:
        """Highest top-1 in percent of a model that sees a set of frames without order: 50, less with several orderN."""
        others = len(self.skills) - len(self.event_distances)  # skills whose set of frames shows the skill
        told = distances_told(self.event_distances, self.steps, self.steps_shown())
        return self.reversal_ceiling * (others + told) / len(self.skills)

    reversal_ceiling = 50.0
    """Highest possible top-1, in percent, of models that give a clip and its reverse the same scores."""

    def sum_ceilings(self) -> dict[str, float]:
        """Return by skill the highest accuracy of the direction that a sum over frames can reach, in percent.

        Skills with continuous states are left out, and all skills if the clips do not show every step.
        """
        if self.num_frames != self.length or self.frames_per_step > 1:
            return {}

        ceilings: dict[str, float] = {}
        for name, named_skill in self.skills.items():
            ceiling = sum_ceiling(named_skill, self.steps)
            if ceiling is not None:
                ceilings[name] = ceiling
        return ceilings

    def two_frames_ceilings(self) -> dict[str, float]:
        """Return by skill the highest accuracy of the direction from two neighbouring frames at a known time.

        In percent; the frames are of neighbouring steps. No skill is known if the clips do not show every frame.
        """
        if self.num_frames != self.length:
            return {}
        return {name: two_frames_ceiling(named_skill, self.steps) for name, named_skill in self.skills.items()}

    def told(self, compared: Collection[tuple[int, int]]) -> list[str]:
        """Return the skills whose direction is told if these pairs of a clip's frames are compared, by their numbers.

        See :func:`~lit_video.datamodules.floors.is_told`. Models that see no order tell none.
        """
        clips = [{(clip[first], clip[second]) for first, second in compared} for clip in self.steps_shown()]
        return [name for name, named_skill in self.skills.items() if is_told(named_skill, self.steps, clips)]

    def needs(self) -> Needs:
        """Return the needs of the test's clips; on a circle of T steps, events N apart are also T - N apart."""
        clips = self.steps_shown()
        furthest = max((max(apart, self.steps - apart) for apart in self.event_distances), default=1)
        return Needs(
            steps_shown=max(len(set(clip)) for clip in clips) / self.steps,
            reach=smallest_distance(clips, furthest) or None,
            blind_ceiling=self.blind_ceiling,
            reversal_ceiling=self.reversal_ceiling,
            sum_ceilings=self.sum_ceilings(),
            two_frames_ceilings=self.two_frames_ceilings(),
        )

    @property
    def drawn_as(self) -> str:
        """Name of the folder, which states how the videos are drawn."""
        return self.root.name

    @property
    def shared_folder(self) -> Path:
        """Folder of the data sets."""
        return self.root.parent

    def steps_shown(self) -> list[list[int]]:
        """Return the step that each frame of each test clip shows."""
        video = FrameTable(
            pts=(),
            time_base=Fraction(1, FPS),
            keyframes=(),
            count=self.length,
            seconds=Fraction(self.length, FPS),
            height=self.side,
            width=self.side,
        )

        clips: list[list[int]] = []
        for clip in range(self.test_clips):
            clips.append(self.sampling.numbers(video, self.num_frames, clip, clips=self.test_clips))
        return (np.array(clips) // self.frames_per_step).tolist()

    def records(self, split: Split) -> Records:
        """Return a split's videos from the folder."""
        return folder_records(self.root, split, self.class_names)

    def check(self) -> None:
        """Check that the folder can be written."""
        with self._writing():
            self.root.mkdir(parents=True, exist_ok=True)

    def prepare_data(self) -> None:
        """Draw the videos that are missing or were changed; refuse a folder with other videos."""
        super().prepare_data()
        self.check()
        pairs = self.drawn_pairs()
        drawn = {path for pair in pairs for path in pair.paths}
        others = sorted(path for path in files_below(self.root) if is_video(path) and path not in drawn)
        if others:  # a folder's videos are all used
            count = plural(len(others), "video")
            raise UserError(f"data.root: {others[0]}: {count} not drawn here lie in {self.root}; move them away")
        if not self._to_draw(pairs):
            return
        with FileLock(self.root / "lock"), self._writing():
            wrong = self._to_draw(pairs)
            names = {self._name(path) for pair in pairs for path in pair.paths}
            were_all_drawn = self._digests().keys() >= names
            if were_all_drawn and wrong:
                _logger.info(f"{self.root}: videos are missing or were changed; {2 * len(wrong)} are drawn again")

            self._draw(wrong)

    def _expected(self, split: Split) -> Records:
        """Return the videos of a split; with ``keep_gb``, read their pixels from the file of the split."""
        if isinstance(self._decode, KeptVideos) and not self.manifest and split not in self._filled:
            self._filled.add(split)
            self._fill(self._decode, split)
        return super()._expected(split)

    def _fill(self, kept: KeptVideos, split: Split) -> None:
        """Keep a split's videos from the file of their pixels; write it if it is missing or was changed.

        Without the file, each video is decoded at its first use, with the same pixels.
        """
        paths = [record.path for record in self.records(split)]
        size = 3 * len(paths) * self.length * self.side**2
        if size > min(kept.room, MOST_STORED):
            return
        drawn = self._digests()
        whole = len(paths) == 2 * len(self.skills) * self.pairs[split]
        if not whole or not drawn.keys() >= {self._name(path) for path in paths}:
            return  # prepare_data has not drawn these videos

        digests = {path: drawn[self._name(path)] for path in paths}
        file = self.root / pixels_name(split, {self._name(path): digests[path] for path in paths})
        pixels = self._stored(file)
        if pixels is None:
            with suppress(OSError, NotImplementedError), FileLock(self.root / "lock"):  # no right to write, or no locks
                pixels = self._stored(file)
                if pixels is None:
                    pixels = self._decode_all(digests, file)
        if pixels is None or _digest(paths[0]) != digests[paths[0]]:
            return
        kept.fill(paths, pixels)
        add_source(SharedTable.of(paths))

    def _stored(self, file: Path) -> Frames | None:
        """Return the pixels in a file, ``None`` if it is missing or not as it was written."""
        return read_pixels(file, self._digests().get(self._name(file), ""))

    def _decode_all(self, digests: Mapping[Path, str], file: Path) -> Frames | None:
        """Decode videos and write their pixels; ``None`` if a video's content is not the expected one."""
        if file.exists():
            _logger.info(f"{file}: not as it was written; the videos are decoded again")
        pixels = decoded([*digests])
        if any(_digest(path) != expected for path, expected in digests.items()):
            return None

        part = file.with_suffix(".part")
        try:
            if pixels is not None:
                write_pixels(part, pixels)
                self._replace(part, file)
        except OSError:  # a full disk
            part.unlink(missing_ok=True)
        return pixels

    def _to_draw(self, pairs: Sequence[DrawnPair]) -> list[DrawnPair]:
        """Return the pairs with a video whose content is not the one that was drawn."""
        drawn = self._digests()
        wrong = []
        for pair in pairs:
            if not all(_digest(path) == drawn.get(self._name(path)) for path in pair.paths):
                wrong.append(pair)
        return wrong

    def _digests(self) -> dict[str, str]:
        """Return the digests of the drawn videos by name, from a file in the format of ``sha256sum``."""
        try:
            lines = (self.root / DIGESTS).read_text().splitlines()
        except FileNotFoundError:
            return {}
        drawn: dict[str, str] = {}
        for line in lines:
            sha256_of_video, _, name = line.partition("  ")
            drawn[name] = sha256_of_video
        return drawn

    def _name(self, path: Path) -> str:
        """Return a file's path in the folder, with slashes on every system."""
        return path.relative_to(self.root).as_posix()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Turn errors of the disk into one line for the user."""
        try:
            yield
        except OSError as error:
            raise UserError(f"data.root: cannot write {self.root} ({error.strerror}); set data.root") from error

    def drawn_pairs(self) -> list[DrawnPair]:
        """Return how every pair of videos is drawn, and where its files are."""
        pairs: list[DrawnPair] = []
        for split, count in self.pairs.items():
            difficulty = self.difficulty if split in ("train", "fresh") else self.test_difficulty
            for name, named_skill in self.skills.items():
                firsts = first_steps(count, self.steps, digest(VERSION, self.drawing, split, name))

                for i, first in enumerate(firsts):
                    seed = digest(VERSION, self.drawing, split, name, i)
                    backward, forward = (
                        self.root / split / direction / f"{i:05}.mp4" for direction in self.directions(name)
                    )
                    pair = DrawnPair(
                        named_skill,
                        seed=seed,
                        first=first,
                        difficulty=difficulty,
                        paths=(backward, forward),
                    )
                    pairs.append(pair)
        return pairs

    def _draw(self, pairs: Sequence[DrawnPair]) -> None:
        """Draw pairs of videos on all usable cores, and record their digests in the order of the pairs."""
        for half_file in self.root.glob("*/*/*.part*"):  # a stopped process leaves them
            half_file.unlink()

        work = partial(_drawn, num_frames=self.length, side=self.side, frames_per_step=self.frames_per_step)
        items = [(pair.paths[0], pair) for pair in pairs]
        title = f"Writing {2 * len(pairs)} videos to {self.root}"
        for pair, parts in zip(pairs, in_parallel(work, items, title, chunk=PAIRS_AT_ONCE), strict=True):
            for part, path in zip(parts, pair.paths, strict=True):
                self._replace(part, path)

    def _replace(self, part: Path, path: Path) -> None:
        """Record the digest of a complete file, then give the file its name."""
        with (self.root / DIGESTS).open("a") as file:
            file.write(f"{_digest(part)}  {self._name(path)}\n")
        part.replace(path)


@dataclass(frozen=True)
class DrawnPair:
    """A video and the same video played backwards: how they are drawn, and their files."""

    skill: Skill
    seed: int
    first: int  # step of the turn with which the forward video begins
    difficulty: float  # difficulty of the hardest video, 0 to 1
    paths: tuple[Path, Path]  # backward, forward

    @property
    def comment(self) -> str:
        """How the pair is drawn, in words, for the files' metadata."""
        return f"{self.skill.name}, seed {self.seed}, from step {self.first}, difficulty {self.difficulty:g}"

    def render(self, num_frames: int, side: int, frames_per_step: int = 1) -> NDArray[np.uint8]:
        """Draw the forward video: ``(frames, side, side, 3)``, each step ``frames_per_step`` frames long.

        The video's own difficulty is random, at most :attr:`difficulty`; a higher one means more noise, more texture
        and less contrast.
        """
        rng = np.random.default_rng(self.seed)
        steps = self.skill.film(rng, num_frames // frames_per_step, self.first)
        film = [steps[frame // frames_per_step] for frame in range(num_frames)]
        shape = "bars" if self.skill.name == "rotation" else str(rng.choice(SHAPES))
        return paint(rng, film, shape, side=side, difficulty=self.difficulty)


def _drawn(item: tuple[Path, DrawnPair], *, num_frames: int, side: int, frames_per_step: int) -> list[Path]:
    """Draw a pair of videos in files beside their final names; return these files."""
    _, pair = item
    frames = pair.render(num_frames, side, frames_per_step)
    parts: list[Path] = []
    for path, pictures in zip(pair.paths, (frames[::-1], frames), strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".part{os.getpid()}")
        encode(part, pictures, FPS, comment=pair.comment)
        parts.append(part)
    return parts


def _digest(path: Path) -> str:
    """Return the SHA-256 of a file; empty without one."""
    try:
        return sha256(path.read_bytes()).hexdigest()
    except FileNotFoundError:
        return ""


def first_steps(count: int, steps: int, seed: int) -> list[int]:
    """Return the first steps of ``count`` turns; every block of ``steps`` turns has each step once, in random order."""
    rng = np.random.default_rng(seed)
    strata = [rng.permutation(steps) for _ in range(0, count, steps)]
    return [int(first) for first in chain.from_iterable(strata)][:count]
