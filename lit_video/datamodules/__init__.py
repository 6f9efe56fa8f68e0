"""Video data sets as LightningDataModules, with their samplings, views and records."""

from lit_video.datamodules.annotated import AnnotatedVideos
from lit_video.datamodules.base import VideoDataModule
from lit_video.datamodules.epic_kitchens import EpicKitchens100
from lit_video.datamodules.folder import VideoFolder
from lit_video.datamodules.howto100m import HowTo100MTasks
from lit_video.datamodules.released import HMDB51, UCF101, Charades, Diving48, Kinetics400, Kinetics600, Kinetics700
from lit_video.datamodules.something_v2 import SomethingV2
from lit_video.datamodules.temporal_skills import TemporalSkills
from lit_video.datamodules.video_csv import VideoCSV
from lit_video.video.augmentation import Augmentation
from lit_video.video.recipes import recipe
from lit_video.video.released_sampling import ReleasedDense, ReleasedSegments
from lit_video.video.sampling import Dense, DenseStride, Sampling, Segments, Uniform, WholeVideo

__all__ = [
    "HMDB51",
    "UCF101",
    "AnnotatedVideos",
    "Augmentation",
    "Charades",
    "Dense",
    "DenseStride",
    "Diving48",
    "EpicKitchens100",
    "HowTo100MTasks",
    "Kinetics400",
    "Kinetics600",
    "Kinetics700",
    "ReleasedDense",
    "ReleasedSegments",
    "Sampling",
    "Segments",
    "SomethingV2",
    "TemporalSkills",
    "Uniform",
    "VideoCSV",
    "VideoDataModule",
    "VideoFolder",
    "WholeVideo",
    "recipe",
]
