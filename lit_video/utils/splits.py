"""Names of the parts of a data set."""

from typing import Literal

# fresh: videos as difficult as those of training, which ask what a model has learned of them beyond memory
Split = Literal["train", "val", "test", "fresh"]
SPLITS: tuple[Split, ...] = ("train", "val", "test")
"""The parts that every data set has."""
