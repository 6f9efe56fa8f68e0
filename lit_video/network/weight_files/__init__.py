"""Files of weights, of every kind that people have, as tensors by name. Nothing in a file is ever run."""

from lit_video.network.weight_files.reading import CHECKPOINT_KEY, EXPORTED, StoredWeights, of_our_own, read_weights

__all__ = ["CHECKPOINT_KEY", "EXPORTED", "StoredWeights", "of_our_own", "read_weights"]
