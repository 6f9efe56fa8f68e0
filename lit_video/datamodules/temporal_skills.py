"""The embedded data set that grades: what takes time to see, one skill beside the other."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from lit_video.datamodules.base import Split
from lit_video.datamodules.blind_orders import share_told
from lit_video.datamodules.reversed_pairs import Drawn, ReversedPairs
from lit_video.datamodules.temporal_skills_rendering import render, skill
from lit_video.video.decoding import FrameTable
from lit_video.video.sampling import Dense, Sampling, Segments

VERSION = 2  # of the pictures: a change of what is drawn for a seed raises it
FPS = 8
SKILLS = ("drift", "zoom", "rotation", "order1", "order3", "order5", "meeting", "duration")


class TemporalSkills(ReversedPairs):
    """Small square videos of one skill each: class = skill x direction, by default 8 x 2 = 16 classes.

    ========  ==================================================  ======================================
    skill     shown                                               what it takes to tell the direction
    ========  ==================================================  ======================================
    drift     a shape moves left or right over a torus            where, in neighbouring frames
    zoom      a shape grows or shrinks                            how large, in neighbouring frames
    rotation  two bars turn one way or the other                  at what angle, in neighbouring frames
    orderN    one place is bright in one frame, and dark N        two events at a distance in time; nothing
              frames later; or the other way round                between them helps
    meeting   two shapes move together or apart                   two motions, of which neither says enough
    duration  a shape is there for three frames, gone, and        how long something lasted, and when
              there for one frame; or the other way round
    ========  ==================================================  ======================================

    Models that are blind to order cannot pass 50 % (see :class:`ReversedPairs`), and in the N orders of one data set
    not 50 / N %, where clips show every step: the set of frames is the same at any distance. Clips that leave steps out
    tell distances in part (:mod:`~lit_video.datamodules.blind_orders`). Chance is one of all classes.
    ``test/skill/NAME`` is the accuracy over a skill's videos, of which each skill has as many, so that
    ``test/video_top1`` is their mean.

    Nuisance, drawn per pair: shape, place, size, speed, brighter or darker than the background, colours, gradient,
    texture and noise.

    Args:
        root: see :class:`ReversedPairs`.
        skills: drift, zoom, rotation, meeting, duration, and orderN for any N below the number of steps; frames in
            the table above are steps.
        length: frames of a video; ``None`` for those of a clip, which then shows all of it.
        frames_per_step: frames that a step of what is shown lasts, each with its own noise. A video of 16 with 2 shows
            what one of 8 shows, at twice the frame rate, so that clips of every second frame miss nothing.
        side: of the pictures in pixels, an even number.
        difficulty: 0 to 1, that of the hardest training videos. Each draws its own from 0 to it, which raises noise and
            texture and lowers the contrast, at 1 to a tenth.
        test_difficulty: of validation and test videos, harder, so that a model that has learned every skill still
            misses some: one that sees more passes more of them.
        pairs: pairs of videos per skill in train, val and test.
        sampling: how clips are cut: ``Segments``, over all of the video, also of ``None``, or ``Dense``.
        frames: of a clip.
        test_crops: one shows all of a square video.
        **kwargs: see :class:`VideoDataModule`.

    Raises:
        ValueError: a value out of its range, a flip, another sampling, videos too short for a skill or a clip, or
            frames of clips that cannot be spread evenly over the video, forwards as backwards.
    """

    def __init__(
        self,
        root: str | None = None,
        skills: tuple[str, ...] = SKILLS,
        length: int | None = None,
        frames_per_step: int = 1,
        side: int = 32,
        difficulty: float = 0.65,
        test_difficulty: float = 0.85,
        pairs: tuple[int, int, int] = (256, 16, 64),
        sampling: Sampling | None = None,
        frames: int = 8,
        test_crops: int = 1,
        **kwargs: Any,
    ) -> None:
        self.skills = {name: skill(name) for name in skills}
        self.length = length or frames
        self.frames_per_step = frames_per_step
        self.side = side
        size = f"{self.length}x{side}" + (f"-s{frames_per_step}" if frames_per_step > 1 else "")
        folder = f"temporal_skills-v{VERSION}-{'+'.join(skills)}-{size}-d{difficulty:g}-{test_difficulty:g}"
        sampling = sampling or Segments()
        super().__init__(
            root, folder, VERSION, difficulty, pairs, sampling=sampling, frames=frames, test_crops=test_crops, **kwargs
        )
        if not 0 <= test_difficulty <= 1:
            raise ValueError(f"test_difficulty is {test_difficulty}, expected a number from 0 to 1")
        self.test_difficulty = test_difficulty
        if side < 16 or side % 2:
            raise ValueError(f"side is {side}, expected an even number from 16: H.264 halves the colours' size")
        if len(self.skills) < len(skills) or not skills:
            raise ValueError(f"skills is {list(skills)}, expected one or more, each once")
        if frames_per_step < 1 or self.length % frames_per_step:
            raise ValueError(f"frames_per_step is {frames_per_step}, expected a divisor of the length {self.length}")
        for name, one in self.skills.items():
            shortest = one.shortest * frames_per_step
            if self.length < shortest:
                raise ValueError(f"length is {self.length}, too short for {name}, which takes {shortest} frames")
        if isinstance(self.sampling, Dense) and self.sampling.seconds > self.length / FPS:
            raise ValueError(f"sampling.seconds is {self.sampling.seconds}, videos last {self.length / FPS}")
        if self.length % frames or (self.length > frames and frames % 2):
            raise ValueError(f"length is {self.length}, expected {frames} (frames), or a multiple of it if it is even")

    @property
    def kinds(self) -> Sequence[str]:
        """The skills."""
        return list(self.skills)

    def directions(self, kind: str) -> tuple[str, str]:
        """The skill with either direction, such as ``drift left`` and ``drift right``."""
        return f"{kind} {self.skills[kind].backward}", f"{kind} {self.skills[kind].forward}"

    @property
    def class_groups(self) -> dict[str, list[int]]:
        """The two classes of every skill."""
        return {f"skill/{name}": [2 * i, 2 * i + 1] for i, name in enumerate(self.skills)}

    @property
    def blind_ceiling(self) -> float:
        """Half of each skill's videos, and of the orders half of those whose distance the test's clips tell."""
        distances = [one.shortest - 1 for name, one in self.skills.items() if name.startswith("order")]
        others = len(self.skills) - len(distances)
        steps = self.length // self.frames_per_step
        told = share_told(distances, steps, self._steps_shown()) * len(distances) if distances else 0.0
        return 50.0 * (others + told) / len(self.skills)

    def _steps_shown(self) -> list[list[int]]:
        """Of each test clip, the step that each frame shows."""
        video = FrameTable((), Fraction(1, FPS), (), self.length, Fraction(self.length, FPS), self.side, self.side)
        clips = [self.sampling.numbers(video, self.frames, clip, self.test_clips) for clip in range(self.test_clips)]
        return [[number // self.frames_per_step for number in numbers] for numbers in clips]

    def difficulty_of(self, split: Split) -> float:
        """Other videos than those of training are harder."""
        return self.difficulty if split == "train" else self.test_difficulty

    def draw(self, kind: str, seed: int, difficulty: float) -> Drawn:
        """A video, forwards."""
        frames = render(self.skills[kind], seed, self.length, self.side, difficulty, self.frames_per_step)
        return Drawn(frames, FPS, f"{kind}, seed {seed}, difficulty {difficulty:g}")
