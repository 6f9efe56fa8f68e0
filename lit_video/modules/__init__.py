"""Model families as LightningModules.

Flat YAML names of the papers' knobs are worth a long signature in a family's LightningModule (and in a data module) and
nowhere else: what is below takes dataclasses (``ViTSize``, ``ClipSize``, ``Positions``, ``MixingPlan``).
"""

from lit_video.modules.classifier import VideoClassifier
from lit_video.modules.convnet import ConvNet
from lit_video.modules.perceiver import Perceiver
from lit_video.modules.timesformer import TimeSformer
from lit_video.modules.vivit import ViViT
from lit_video.modules.xvit import XViT

__all__ = ["ConvNet", "Perceiver", "TimeSformer", "ViViT", "VideoClassifier", "XViT"]
