"""Videos in pairs, the second of which is the first played backwards."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock
from numpy.typing import NDArray
from rich.progress import track

from lit_video.datamodules.base import Split, VideoDataModule
from lit_video.datamodules.drawing import encode
from lit_video.datamodules.folder import folder_records
from lit_video.errors import UserError
from lit_video.utils.data_folder import data_folder
from lit_video.video.records import Records
from lit_video.video.sampling import Dense, Segments
from lit_video.video.seeding import digest


@dataclass(frozen=True)
class Drawn:
    """A drawn video: frames ``(t, height, width, 3)``, frames per second, and what the file says of itself."""

    frames: NDArray[np.uint8]
    fps: int
    comment: str


class ReversedPairs(VideoDataModule):
    """Base of the embedded data sets: small H.264 videos whose classes differ in time only.

    **Why no single frame and no sum over frames can show the direction.** Videos come in pairs: the second is the first
    played backwards, with the other direction as its label. Every frame is coded on its own (intra only, constant
    quantiser), so the codec carries nothing over from frame to frame, and both files of a pair decode to the same
    pictures in opposite order. Clips are cut symmetrically in time: the evenly spaced clips of one member, of an even
    number of frames, show the frames of the other's in reverse, and random clips do so in distribution. Hence any
    sum over frames of anything computed from single frames, or any other function of the set of frames, has the
    same value for both members of a pair; on the test split it gets at most one of two right. The ceiling of such
    models, spatial attention with temporal averaging among them, is 50 %.
    It holds for models that do not see a frame's place in time: experiments on blind models have no temporal positions.
    ``tests/datamodules/test_reversed_pairs.py`` checks every link of this argument.

    The files are written on first use, each complete or absent; a run that was interrupted is completed by the next.
    They are read back by the path of all other data sets.

    Args:
        root: folder of the data sets; ``None`` for ``$LIT_VIDEO_DATA``, else ``~/.cache/lit_video``.
        folder: in it, named after everything that the pictures depend on.
        version: of the pictures, which their seeds depend on.
        difficulty: 0 to 1.
        pairs: pairs of videos of each kind in train, val and test.
        **kwargs: see :class:`VideoDataModule`. Flips must stay off: they swap directions.

    Raises:
        ValueError: a difficulty out of its range, no pairs in a split, a flip, or another sampling.
    """

    def __init__(
        self,
        root: str | None,
        folder: str,
        version: int,
        difficulty: float,
        pairs: tuple[int, int, int],
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if not 0 <= difficulty <= 1:
            raise ValueError(f"difficulty is {difficulty}, expected a number from 0 to 1")
        if min(pairs) < 1:
            raise ValueError(f"pairs is {list(pairs)}, expected at least 1 for each split")
        if self.augmentation.flip:
            raise ValueError("augmentation has a flip, which must be 0: it turns one class into another")
        if not isinstance(self.sampling, Dense | Segments):
            raise ValueError(f"sampling is {self.sampling}, expected Dense or Segments: others cut no symmetric clips")
        self.version = version
        self.difficulty = difficulty
        self.pairs: dict[Split, int] = dict(zip(("train", "val", "test"), pairs, strict=True))
        self.root = data_folder(root) / f"{folder}-{'-'.join(map(str, pairs))}"

    @property
    def kinds(self) -> Sequence[str]:
        """What a pair of videos can be of; each kind has two classes."""
        raise NotImplementedError

    reversal_ceiling = 50.0
    """Accuracy in percent that models which score a clip and its reverse alike cannot be expected to pass."""

    @property
    def blind_ceiling(self) -> float:
        """Accuracy in percent that models for which a clip's frames are a set cannot be expected to pass."""
        return self.reversal_ceiling

    def directions(self, kind: str) -> tuple[str, str]:
        """Names of a kind's two classes: that of the video played backwards, and that of the video as drawn."""
        raise NotImplementedError

    def difficulty_of(self, split: Split) -> float:
        """Difficulty of a split's videos."""
        return self.difficulty

    def draw(self, kind: str, seed: int, difficulty: float) -> Drawn:
        """A video, a function of kind, seed and difficulty."""
        raise NotImplementedError

    @property
    def class_names(self) -> list[str]:
        """The two directions of every kind."""
        return [name for kind in self.kinds for name in self.directions(kind)]

    def records(self, split: Split) -> Records:
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
                for what, paths in track(todo, f"Writing {2 * len(todo)} videos to {self.root}"):
                    self._write(what, *paths)
            except OSError as error:
                raise UserError(f"data.root: cannot write {self.root} ({error.strerror}); set data.root") from error
            (self.root / "complete").touch()

    def _jobs(self) -> list[tuple[tuple[str, int, float], tuple[Path, Path]]]:
        """Kind, seed and difficulty of every pair, with its two files."""
        jobs = []
        for split, count in self.pairs.items():
            for kind in self.kinds:
                for i in range(count):
                    backward, forward = (self.root / split / name / f"{i:05}.mp4" for name in self.directions(kind))
                    what = (kind, digest(self.version, split, kind, i), self.difficulty_of(split))
                    jobs.append((what, (backward, forward)))
        return jobs

    def _write(self, what: tuple[str, int, float], backward: Path, forward: Path) -> None:
        """Draw once, encode forwards and backwards."""
        drawn = self.draw(*what)
        for path, images in ((forward, drawn.frames), (backward, drawn.frames[::-1])):
            path.parent.mkdir(parents=True, exist_ok=True)
            part = path.with_suffix(f".part{os.getpid()}")
            encode(part, images, drawn.fps, drawn.comment)
            part.replace(path)
