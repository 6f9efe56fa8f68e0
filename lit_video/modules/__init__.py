"""Model families as LightningModules."""

from lit_video.modules.classifier import VideoClassifier
from lit_video.modules.convnet import ConvNet
from lit_video.modules.perceiver import Perceiver
from lit_video.modules.timesformer import TimeSformer
from lit_video.modules.vivit import ViViT
from lit_video.modules.xvit import XViT
from lit_video.network import readouts  # noqa: F401  # settings may name its classes

__all__ = ["ConvNet", "Perceiver", "TimeSformer", "ViViT", "VideoClassifier", "XViT"]
