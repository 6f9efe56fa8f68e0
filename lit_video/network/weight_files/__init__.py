"""Files of weights, of every kind that people have, as tensors by name. Nothing in a file is ever run."""

from lit_video.network.weight_files.reading import StoredWeights, read_weights

__all__ = ["StoredWeights", "read_weights"]
