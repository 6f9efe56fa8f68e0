"""The embedded data set: small H.264 videos whose classes differ in time only."""

import os
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

from filelock import FileLock
from rich.progress import track

from lit_video.datamodules.base import Split, VideoDataModule
from lit_video.datamodules.folder import folder_records
from lit_video.datamodules.moving_shapes_rendering import (
    MOTIONS,
    SHAPES,
    SHORTEST,
    ZOOMS,
    Scene,
    draw_scene,
    encode,
    render,
)
from lit_video.errors import UserError
from lit_video.video.clips import VideoRecord
from lit_video.video.sampling import Dense, Sampling, Segments
from lit_video.video.seeding import digest

VERSION = 1  # of the pictures: a change of what is drawn for a seed raises it


class MovingShapes(VideoDataModule):
    """Shapes that drift left or right over a torus, or grow or shrink: class = shape x motion, 4 x 2 = 8 classes.

    **Why no single frame and no sum over frames can show the motion.** Videos come in pairs: the second is the first
    played backwards, with the other motion as its label. Every frame is coded on its own (intra only, constant
    quantiser), so the codec carries nothing over from frame to frame, and both files of a pair decode to the same
    pictures in opposite order. Clips are cut symmetrically in time: the evenly spaced clips of one member, of an even
    number of frames, show the frames of the other's in reverse, and random clips do so in distribution. Hence any
    sum over frames of anything computed from single frames, or any other function of the set of frames, has the
    same value for both members of a pair; on the test split it gets at most one of two right. The ceiling of such
    models, spatial attention with temporal averaging among them, is 50 % (the shape, and a guess of the motion); chance
    is 12.5 %.
    It holds for models that do not see a frame's place in time: experiments on blind models have no temporal positions.
    ``tests/datamodules/test_moving_shapes.py`` checks every link of this argument.

    Nuisance, drawn per pair: start (uniform over the torus), speed, slope of the path, size, colours, background
    gradient and texture, noise, duration and frame rate.

    The files are written on first use to ``root/v{VERSION}-...``, each complete or absent; a run that was interrupted
    is completed by the next. They are read back by the path of all other data sets.

    Args:
        root: folder of the videos; ``None`` for ``$LIT_VIDEO_DATA``, else ``~/.cache/lit_video``.
        difficulty: 0 to 1; raises noise and texture, lowers contrast and size (see ``draw_scene``).
        pairs: pairs of videos per shape in train, val and test.
        motion: ``drift`` left or right; or ``zoom``: the shape stays in its place and grows or shrinks, which is
            easier: it takes what one place shows, and when. The argument above holds for both.
        sampling: how clips are cut, ``Dense`` or ``Segments``; ``None`` for 1 second.
        **kwargs: see :class:`VideoDataModule`. Flips must stay off: they swap the motions.

    Raises:
        ValueError: a value out of its range, a flip, a sampling that cuts no symmetric clips, or dense clips longer
            than the shortest video, whose repeated last frame would differ between the members of a pair.
    """

    def __init__(
        self,
        root: str | None = None,
        difficulty: float = 0.25,
        pairs: tuple[int, int, int] = (128, 8, 64),
        motion: Literal["drift", "zoom"] = "drift",
        sampling: Sampling | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(sampling=sampling or Dense(seconds=1.0), **kwargs)
        if not 0 <= difficulty <= 1:
            raise ValueError(f"difficulty is {difficulty}, expected a number from 0 to 1")
        if min(pairs) < 1:
            raise ValueError(f"pairs is {list(pairs)}, expected at least 1 for each split")
        if self.augmentation.flip:
            raise ValueError("augmentation has a flip, which must be 0: it turns one class into another")
        if not isinstance(self.sampling, Dense | Segments):
            raise ValueError(f"sampling is {self.sampling}, expected Dense or Segments: others cut no symmetric clips")
        if isinstance(self.sampling, Dense) and self.sampling.seconds > SHORTEST:
            raise ValueError(f"sampling.seconds is {self.sampling.seconds}, the shortest video lasts {SHORTEST:.3f}")
        base = Path(root or os.environ.get("LIT_VIDEO_DATA") or "~/.cache/lit_video").expanduser()
        self.difficulty = difficulty
        self.motion = motion
        self.pairs = dict(zip(("train", "val", "test"), pairs, strict=True))
        kind = f"v{VERSION}-d{difficulty:g}{'-zoom' if motion == 'zoom' else ''}"
        self.root = base / f"moving_shapes-{kind}-{'-'.join(map(str, pairs))}"

    @property
    def class_names(self) -> list[str]:
        """``disk moving left``, ``disk moving right``, ..., or ``disk shrinking``, ``disk growing``, ..."""
        return [f"{shape} {motion}" for shape in SHAPES for motion in self._motions]

    @property
    def _motions(self) -> tuple[str, ...]:
        """The motion played backwards, and the one that is rendered."""
        return ZOOMS if self.motion == "zoom" else tuple(f"moving {motion}" for motion in MOTIONS)

    def records(self, split: Split) -> list[VideoRecord]:
        """Videos of a split, read from the folder like all others."""
        return folder_records(self.root, split, self.class_names)

    def check(self) -> None:
        """The folder can be written."""
        try:
            self.root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"data.root: cannot write {self.root} ({error.strerror}); set data.root") from None

    def prepare_data(self) -> None:
        """Write the videos that are not there yet."""
        self.check()
        if (self.root / "complete").exists():
            return
        with FileLock(self.root / "lock"):
            todo = [job for job in self._jobs() if not all(path.exists() for path in job[1])]
            try:
                for seed, paths in track(todo, f"Writing {2 * len(todo)} videos to {self.root}"):
                    self._write(seed, *paths)
            except OSError as error:
                raise UserError(f"data.root: cannot write {self.root} ({error.strerror}); set data.root") from error
            (self.root / "complete").touch()

    def scene(self, seed: int, shape: str) -> Scene:
        """What a pair of videos shows, a function of the seed."""
        return draw_scene(seed, shape, self.difficulty, self.motion == "zoom")

    def _jobs(self) -> list[tuple[tuple[int, str], tuple[Path, Path]]]:
        """Seed and shape of every pair, with its two files."""
        jobs = []
        for split, count in self.pairs.items():
            for shape in SHAPES:
                for i in range(count):
                    backward, forward = (self.root / split / f"{shape} {m}" / f"{i:05}.mp4" for m in self._motions)
                    jobs.append(((digest(VERSION, split, shape, i), shape), (backward, forward)))
        return jobs

    def _write(self, what: tuple[int, str], backward: Path, forward: Path) -> None:
        """Render once, encode forwards and backwards."""
        scene = self.scene(*what)
        frames = render(scene)
        for path, images in ((forward, frames), (backward, frames[::-1])):
            path.parent.mkdir(parents=True, exist_ok=True)
            part = path.with_suffix(f".part{os.getpid()}")
            encode(part, images, scene.fps, comment=str(asdict(scene)))
            part.replace(path)
