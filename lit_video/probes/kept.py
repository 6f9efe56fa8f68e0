"""Features of rounds of videos, kept on disk; damaged files and those of a model that has changed are written again."""

import json
import logging
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import torch
from filelock import FileLock
from numpy.typing import NDArray

from lit_video.errors import UserError
from lit_video.probes.frozen import BESIDE, FrozenModel, alike, checked_batch
from lit_video.probes.videos import ProbeVideos
from lit_video.utils.files import data_folder, write_atomically, write_bytes
from lit_video.utils.parallel import with_progress
from lit_video.video.seeding import digest

_logger = logging.getLogger(__name__)

VERSION = 1  # increment whenever features or small frames of the same model and videos would be others
TOGETHER = 8  # clips of a call
UNLIKE = [0, 2]  # numbers in a round of the clips that check a model
PLANS = "plans.json"  # number of rounds by the minutes that were asked for


@dataclass
class Round:
    """Features and small frames of a round of videos."""

    features: NDArray[np.floating]  # (videos, width), or float16 tokens (videos, tokens, width)
    small_frames: NDArray[np.float32]  # (videos, pixels)


@dataclass
class KeptFeatures:
    """Folder of the features of a model, a file for each round of videos; its name is a digest of both."""

    model: FrozenModel
    videos: ProbeVideos
    root: Path = field(default_factory=lambda: data_folder() / "probes")

    def __post_init__(self) -> None:
        """Find the folder."""
        key = digest(VERSION, self.model.digest, self.model.clip.key, self.model.what, self.videos.key)
        name = re.sub(r"[^\w.-]+", "_", self.model.name)[-60:]
        self.folder = self.root / f"{name}-{key:016x}"
        self._together = TOGETHER

    def check(self) -> float:
        """Check the model on two clips; drop kept features that are no longer its own; return the seconds of a clip.

        Raises:
            UserError: the model fails, or its features change from call to call.
        """
        clips = self.videos.round(0)[UNLIKE]  # clips of two skills: a pair has equal statistics
        began = time.perf_counter()
        self._together, features = checked_batch(self.model, clips, TOGETHER)
        seconds = (time.perf_counter() - began) / 4  # clips of three calls: one, two, one

        kept = self._read(0)
        if kept is not None and not alike(torch.as_tensor(kept.features[UNLIKE]).float(), features.float(), BESIDE):
            _logger.info(f"{self.folder}: features of another model, which are made again")
            self._forget()
        return seconds

    def planned(self, minutes: float) -> int | None:
        """Return the number of rounds of an earlier call with these minutes; ``None`` if there was none."""
        with suppress(OSError, ValueError, AttributeError):
            planned = json.loads((self.folder / PLANS).read_text()).get(f"{minutes:g}")
            return planned if isinstance(planned, int) else None
        return None

    def plan(self, minutes: float, rounds: int) -> None:
        """Keep the number of rounds, so that the same minutes are the same videos at every call."""
        plans: dict[str, Any] = {}
        with suppress(OSError, ValueError):
            plans = dict(json.loads((self.folder / PLANS).read_text()))
        write_atomically(self.folder / PLANS, json.dumps(plans | {f"{minutes:g}": rounds}) + "\n")

    def missing(self, rounds: int) -> list[int]:
        """Return the rounds whose features are not kept, or damaged."""
        return [number for number in range(rounds) if self._read(number) is None]

    def complete(self, rounds: list[int]) -> None:
        """Write the features of rounds, with the time left, while others wait."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with FileLock(self.folder / "lock"):
            for _ in with_progress(self._written(rounds), len(rounds), "rounds of videos"):
                pass

    def _written(self, rounds: list[int]) -> Iterator[int]:
        for number in rounds:
            self._write(number)
            yield number

    def read(self, rounds: int) -> Round:
        """Return the features of the first rounds, ``(rounds, skills, 2, ...)``, and their small frames."""
        skills = len(self.videos.skills)
        kept = []
        for number in range(rounds):
            found = self._read(number)
            assert found is not None, number
            kept.append(found)
        features = np.stack([each.features for each in kept])
        small = np.stack([each.small_frames for each in kept])
        return Round(
            features.reshape(rounds, skills, 2, *features.shape[2:]),
            small.reshape(rounds, skills, 2, -1),
        )

    def size_of_round(self) -> float:
        """Return the bytes of the features of the first round."""
        kept = self._read(0)
        return float(kept.features.nbytes) if kept else 0.0

    def _write(self, number: int) -> None:
        clips = self.videos.round(number)
        parts = [self.model.features(part).float() for part in torch.split(clips, self._together)]
        features = torch.cat(parts).numpy()
        if features.ndim == 3:
            features = _halved(features, self.model.name)
        small = self.videos.small_frames(clips).numpy().astype(np.float32)

        content = BytesIO()
        np.savez(content, features=features, small_frames=small)
        write_bytes(self._file(number), content.getvalue())

    def _read(self, number: int) -> Round | None:
        """Return a round; ``None`` if its file is missing, or damaged by its checksums."""
        with suppress(OSError, ValueError, EOFError, KeyError, BadZipFile):
            with np.load(self._file(number)) as content:
                found = Round(content["features"], content["small_frames"])
            if len(found.features) == len(found.small_frames) == self.videos.in_a_round:
                return found
        return None

    def _file(self, number: int) -> Path:
        return self.folder / f"{number:04}.npz"

    def _forget(self) -> None:
        for file in self.folder.glob("*.npz"):
            file.unlink()
        (self.folder / PLANS).unlink(missing_ok=True)


def _halved(tokens: NDArray[np.floating], name: str) -> NDArray[np.float16]:
    """Return tokens in float16; refuse values that it lacks."""
    halved = tokens.astype(np.float16)
    if not np.isfinite(halved).all():
        raise UserError(
            f"{name}: its tokens are larger than float16 holds, in which they are kept; leave out the tokens"
        )
    return halved
