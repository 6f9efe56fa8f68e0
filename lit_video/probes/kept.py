"""Features of rounds of videos, kept on disk; written again if a file is damaged or the model has changed."""

import json
import logging
import re
import time
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
from lit_video.probes.frozen import BATCH_TOLERANCE, FrozenModel, alike, checked_batch
from lit_video.probes.videos import ProbeVideos
from lit_video.utils.files import data_folder, write_atomically, write_bytes
from lit_video.utils.parallel import with_progress
from lit_video.video.seeding import digest

_logger = logging.getLogger(__name__)

FEATURES_VERSION = 1  # increment whenever the same model and videos would give other features or small frames
TOGETHER = 8  # clips of a call
UNLIKE = [0, 2]  # two clips of a round that check a model; of two skills, because a pair has equal statistics
PLANS = "plans.json"  # for each number of minutes that was asked for, the number of rounds


@dataclass
class Round:
    """Features and small frames of a round of videos."""

    features: NDArray[np.floating]  # (videos, width), or float16 tokens (videos, tokens, width)
    small_frames: NDArray[np.float32]  # (videos, pixels)


@dataclass
class KeptFeatures:
    """Folder with a model's features, a file for each round; its name holds a digest of the model and the videos."""

    model: FrozenModel
    videos: ProbeVideos
    root: Path = field(default_factory=lambda: data_folder() / "probes")

    def __post_init__(self) -> None:
        """Find the folder."""
        key = digest(FEATURES_VERSION, self.model.digest, self.model.clip.key, self.model.what, self.videos.key)
        name = re.sub(r"[^\w.-]+", "_", self.model.name)[-60:]
        self.folder = self.root / f"{name}-{key:016x}"
        self._together = TOGETHER

    def check(self) -> float:
        """Check the model on two clips, delete kept features that it no longer gives, and return the seconds of a clip.

        Raises:
            UserError: the model fails, or its features change from call to call.
        """
        clips = self.videos.round(0)[UNLIKE]
        began = time.perf_counter()
        self._together, features = checked_batch(self.model, clips, TOGETHER)
        seconds = (time.perf_counter() - began) / 4  # clips of three calls: one, two, one

        kept = self._read(0)
        if kept is None:
            return seconds
        before = torch.as_tensor(kept.features[UNLIKE]).float()
        if not alike(before, features.float(), BATCH_TOLERANCE):
            _logger.info(f"{self.folder}: features of another model, which are made again")
            for file in self.folder.glob("*.npz"):
                file.unlink()
            (self.folder / PLANS).unlink(missing_ok=True)
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
        """Return the rounds whose file is missing or damaged."""
        return [number for number in range(rounds) if self._read(number) is None]

    def complete(self, rounds: list[int]) -> None:
        """Write the features of rounds and show the time that is left; another process waits until they are written."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with FileLock(self.folder / "lock"):
            for _ in with_progress(map(self._write, rounds), len(rounds), "rounds of videos"):
                pass

    def read(self, rounds: int) -> Round:
        """Return the features of the first rounds, ``(rounds, skills, 2, ...)``, and their small frames."""
        skills = len(self.videos.skills)
        kept = []
        for number in range(rounds):
            one_round = self._read(number)
            assert one_round is not None, number
            kept.append(one_round)

        features = np.stack([one_round.features for one_round in kept])
        small = np.stack([one_round.small_frames for one_round in kept])
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
        if features.ndim == 3:  # tokens
            features = features.astype(np.float16)
            if not np.isfinite(features).all():
                beyond = "its tokens are larger than float16 holds, in which they are kept; leave out the tokens"
                raise UserError(f"{self.model.name}: {beyond}")
        small = self.videos.small_frames(clips).numpy().astype(np.float32)

        content = BytesIO()
        np.savez(content, features=features, small_frames=small)
        write_bytes(self._file(number), content.getvalue())

    def _read(self, number: int) -> Round | None:
        """Return a round; ``None`` if its file is missing, or if a checksum shows that it is damaged."""
        with suppress(OSError, ValueError, EOFError, KeyError, BadZipFile):
            with np.load(self._file(number)) as content:
                one_round = Round(content["features"], content["small_frames"])
            if len(one_round.features) == len(one_round.small_frames) == self.videos.in_a_round:
                return one_round
        return None

    def _file(self, number: int) -> Path:
        return self.folder / f"{number:04}.npz"
