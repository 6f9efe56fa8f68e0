"""Video data sets as LightningDataModules, and what they are set up with."""

from lit_video.datamodules.base import VideoDataModule
from lit_video.datamodules.folder import VideoFolder
from lit_video.datamodules.moving_shapes import MovingShapes
from lit_video.datamodules.recipes import recipe
from lit_video.datamodules.released_sampling import ReleasedDense, ReleasedSegments
from lit_video.datamodules.sampling import Dense, DenseStride, Sampling, Segments, Uniform, WholeVideo
from lit_video.datamodules.something_v2 import SomethingV2
from lit_video.datamodules.transforms import Augmentation

__all__ = [
    "Augmentation",
    "Dense",
    "DenseStride",
    "MovingShapes",
    "ReleasedDense",
    "ReleasedSegments",
    "Sampling",
    "Segments",
    "SomethingV2",
    "Uniform",
    "VideoDataModule",
    "VideoFolder",
    "WholeVideo",
    "recipe",
]
