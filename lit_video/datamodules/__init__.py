"""Video data sets as LightningDataModules."""

from lit_video.datamodules.base import VideoDataModule
from lit_video.datamodules.folder import VideoFolder
from lit_video.datamodules.moving_shapes import MovingShapes
from lit_video.datamodules.something_v2 import SomethingV2

__all__ = ["MovingShapes", "SomethingV2", "VideoDataModule", "VideoFolder"]
