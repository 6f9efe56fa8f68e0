"""Base of data modules whose clips depend on a seed: normalisation of pixels, and the position in an epoch."""

from typing import Any

from lightning import LightningDataModule, Trainer

from lit_video.datamodules.loaders import seen_of_epoch
from lit_video.utils.clip_shape import ImageSize, PerChannel, as_setting, per_channel
from lit_video.video.batch import Batch, Channels, RawBatch, evaluation_batch

LEAST_STD = 1e-3  # a quarter of a grey value


class SeededClips(LightningDataModule):
    """Base of data modules whose clips depend on seed, epoch and index alone, not on workers or restarts.

    The clips' pixels are uint8 until they are on the device, where they are normalised by ``mean`` and ``std``.
    A resumed training begins after the clips that its epoch has seen. See :class:`VideoDataModule` for the arguments.
    """

    def __init__(
        self,
        num_frames: int,
        image_size: ImageSize,
        batch_size: int,
        *,
        num_workers: int,
        mean: PerChannel,
        std: PerChannel,
        channels: Channels = "rgb",
        seed: int,
    ) -> None:
        super().__init__()
        self.num_frames = num_frames
        self.image_size = as_setting(image_size)
        self.batch_size = batch_size
        self.num_workers = num_workers
        self.mean = per_channel("mean", mean)
        self.std = per_channel("std", std, least=LEAST_STD)
        self.channels: Channels = channels
        self.seed = seed
        # position in a checkpoint: epoch, and number of its clips that all processes together have seen
        self._loaded: tuple[int, int] | None = None

    @property
    def trainer(self) -> Trainer | None:
        """Trainer that uses the data, or that used them last; ``None`` without Lightning's Trainer."""
        return self._trainer

    @trainer.setter
    def trainer(self, trainer: Trainer | None) -> None:
        """Attach a trainer, as it does when a fit, validation, test or prediction begins; forget the last use."""
        self._trainer = trainer
        if isinstance(trainer, Trainer):
            self._begin_use(trainer)

    def _begin_use(self, trainer: Trainer) -> None:
        """Clear what another use has left; a hook of the data module would not do, as a subclass may override it."""
        self._loaded = None

    def normalise(self, batch: RawBatch) -> Batch:
        """Normalise all views, uint8 ``(b, views, t, 3, height, width)`` -> ``(b * views, 3, t, height, width)``."""
        return evaluation_batch(batch, self.mean, self.std, channels=self.channels)

    def state_dict(self) -> dict[str, Any]:
        """Return the position in the epoch, for the checkpoint."""
        assert self.trainer is not None
        epoch, seen = seen_of_epoch(self.trainer, self.batch_size)
        return {"epoch": epoch, "seen": seen}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Keep the checkpoint's position for the training that begins with it; a test or prediction has none."""
        if self._may_resume:
            self._loaded = (state_dict["epoch"], state_dict["seen"])

    @property
    def _may_resume(self) -> bool:
        """True unless a trainer loads a checkpoint for something else than training."""
        return self.trainer is None or self.trainer.state.fn == "fit"

    def position(self) -> tuple[int, int]:
        """Return epoch, and number of its clips that were seen, at which training begins; forget the checkpoint's."""
        stored = self._loaded
        self._loaded = None
        if stored and (self.trainer is None or self.trainer.ckpt_path):  # not that of a tuner's trial
            return stored
        return (self.trainer.current_epoch if self.trainer else 0), 0
