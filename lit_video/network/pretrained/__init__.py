"""Released checkpoints as networks of this package, strictly: every key is used, or named in the error."""

from lit_video.network.pretrained.sources import SOURCES, detect, load

__all__ = ["SOURCES", "detect", "load"]
