"""Model families as LightningModules."""

from lit_video.modules.classifier import VideoClassifier
from lit_video.modules.xvit import XViT

__all__ = ["VideoClassifier", "XViT"]
