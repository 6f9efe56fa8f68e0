"""Cached features of a frozen backbone: a few views of each video pass through it once."""

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from io import BytesIO
from pathlib import Path

import numpy as np
import torch
from filelock import FileLock
from torch import Tensor

from lit_video.errors import UserError
from lit_video.utils.files import write_bytes
from lit_video.utils.parallel import with_progress
from lit_video.video.augmentation import TrainingView
from lit_video.video.clips import ClipDataset, Key, Sample, VideoRecord
from lit_video.video.decoding import KeptVideos, decode
from lit_video.video.seeding import digest, seeded
from lit_video.video.trained_on import whole_digest

_logger = logging.getLogger(__name__)

RANDOM = 3  # random training views, besides the centre view
VIEWS_PER_PASS = 8  # views that go through the backbone at once
GIGABYTES = 0.5  # memory for a decoded video, shared by its views


class Features:
    """Folder of features of one backbone and one kind of clips: a float16 file ``(views, ...)`` for each video.

    The name of a file is a digest of its video. A file holds the centre view (for training and validation), ``RANDOM``
    random views (for training) and the views of the test, if it has several. ``random`` cuts the random views,
    ``evaluation`` the others.
    """

    def __init__(self, folder: Path, random: ClipDataset, evaluation: Sequence[ClipDataset]) -> None:
        self.folder = folder
        self._views = (random, *evaluation)
        self._digests: dict[Path, str] = {}  # contents, which are read once

    def file(self, record: VideoRecord) -> Path:
        """Return the file of a video's features."""
        if record.path not in self._digests:
            self._digests[record.path] = whole_digest(record.path)
        key = digest(self._digests[record.path], record.start, record.end, record.fps)
        return self.folder / f"{key:016x}.npy"

    def complete(self, records: Sequence[VideoRecord], compute: Callable[[Tensor], Tensor]) -> None:
        """Write missing or damaged files; other processes wait until they are written.

        ``compute`` is the backbone; it takes uint8 clips ``(b, t, 3, height, width)``.
        """
        files = {self.file(record): record for record in records}
        self.folder.mkdir(parents=True, exist_ok=True)
        with FileLock(self.folder / "lock"), torch.no_grad():
            missing = [file for file in files if not _whole(file)]
            if missing:
                _logger.info(f"{len(missing)} videos go once through the frozen backbone, into {self.folder}")
            for file in with_progress(missing, len(missing), "features"):
                self._write(file, files[file], compute)

    def _write(self, file: Path, record: VideoRecord, compute: Callable[[Tensor], Tensor]) -> None:
        """Write the features of all views of a video."""
        kept = KeptVideos(decode, GIGABYTES)  # decodes once for all views
        seed = int(file.stem, 16)  # for the random views
        clips = [replace(views, records=[record], seed=seed, decode=kept) for views in self._views]
        random, centre, *tests = clips

        samples = [centre[0]]
        for epoch in range(RANDOM):
            samples.append(random[epoch, 0])
        for test in tests:
            samples += test.__getitems__([*range(len(test))])

        pixels = torch.cat([sample["clip"] for sample in samples])
        features = torch.cat([compute(part).half().cpu() for part in torch.split(pixels, VIEWS_PER_PASS)])
        if not features.isfinite().all():
            raise UserError(f"{record.path}: its features are not finite in float16; leave out data.features")

        content = BytesIO()
        np.save(content, features.numpy())
        write_bytes(file, content.getvalue())

    def of(self, clips: ClipDataset) -> "FeatureDataset":
        """Return a data set of the features of these clips."""
        files = [self.file(record) for record in clips.records]
        return FeatureDataset(**{field.name: getattr(clips, field.name) for field in fields(clips)}, files=files)


@dataclass(eq=False, repr=False)
class FeatureDataset(ClipDataset):
    """Features ``(views, ...)`` in place of clips; a training sample is one view, chosen at random."""

    files: Sequence[Path] = ()

    def _samples(self, keys: list[Key]) -> list[Sample]:
        return [self._read(key) for key in keys]

    def _read(self, key: Key) -> Sample:
        """Read the views of a clip from its video's file.

        In training this is one view at random, of the centre view and the random ones. The views of a test are at the
        end of the file.
        """
        epoch, index = key
        video, clip = divmod(index, self.clips or 1)
        crops = self.view.crops
        first = 1 + RANDOM + clip * crops
        if isinstance(self.view, TrainingView):
            with seeded(self.seed, epoch, index):
                first = int(torch.randint(1 + RANDOM, ()))
        elif len(self) * crops == len(self.files):  # each video has one view, the centre view
            first = 0

        views = np.load(self.files[video], mmap_mode="r")
        return Sample(
            clip=torch.from_numpy(np.array(views[first : first + crops])),
            label=torch.tensor(self.records[video].label),
            video=video,
            first_view=clip * crops,
            key=torch.tensor(key),
            broken="",
            gap="",
        )


def _whole(file: Path) -> bool:
    """Return whether a file is there and has the size that its header says."""
    with suppress(OSError, ValueError, EOFError):
        return np.load(file, mmap_mode="r").ndim > 0
    return False
