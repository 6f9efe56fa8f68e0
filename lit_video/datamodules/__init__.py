"""Video data sets as LightningDataModules, with their samplings, views and records."""

from lit_video.datamodules.annotated import AnnotatedVideos as AnnotatedVideos
from lit_video.datamodules.base import VideoDataModule as VideoDataModule
from lit_video.datamodules.folder import VideoFolder as VideoFolder
from lit_video.datamodules.released import HMDB51 as HMDB51
from lit_video.datamodules.released import UCF101 as UCF101
from lit_video.datamodules.released import Charades as Charades
from lit_video.datamodules.released import Diving48 as Diving48
from lit_video.datamodules.released import EpicKitchens100 as EpicKitchens100
from lit_video.datamodules.released import HowTo100MTasks as HowTo100MTasks
from lit_video.datamodules.released import Kinetics400 as Kinetics400
from lit_video.datamodules.released import Kinetics600 as Kinetics600
from lit_video.datamodules.released import Kinetics700 as Kinetics700
from lit_video.datamodules.released import MomentsInTime as MomentsInTime
from lit_video.datamodules.released import SomethingV2 as SomethingV2
from lit_video.datamodules.temporal_skills import TemporalSkills as TemporalSkills
from lit_video.datamodules.video_csv import VideoCSV as VideoCSV
from lit_video.video.augmentation import Augmentation as Augmentation
from lit_video.video.augmentation import recipe as recipe
from lit_video.video.sampling import Dense as Dense
from lit_video.video.sampling import DenseStride as DenseStride
from lit_video.video.sampling import ReleasedDense as ReleasedDense
from lit_video.video.sampling import ReleasedSegments as ReleasedSegments
from lit_video.video.sampling import Sampling as Sampling
from lit_video.video.sampling import Segments as Segments
from lit_video.video.sampling import WholeVideo as WholeVideo
