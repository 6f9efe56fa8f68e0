"""Records of networks' weights: who loaded them, and the videos that they were trained on."""

import re
from collections.abc import Mapping
from typing import Any, Literal

from torch import nn

from lit_video.video.trained_on import joined
from lit_video.weights.loading import CLASSIFIER

AWAITS = "awaits_weights"  # key in a state dict's metadata: True if its values are random and a file will replace them


class WeightsRecord:
    """Record of a network's weights, held by the classifiers of this network.

    Attributes:
        loaded_from: origin of the weights: ``file`` for starting weights, ``state`` for a checkpoint or a state dict,
            ``None`` for random weights.
        trained_on: training videos, see :mod:`lit_video.video.trained_on`; empty if unknown.
    """

    def __init__(self) -> None:
        self.loaded_from: Literal["file", "state"] | None = None
        self.trained_on = ""

    @property
    def is_loaded(self) -> bool:
        """Whether the weights were loaded, from a file, a checkpoint or a state dict, and are not random."""
        return self.loaded_from is not None

    @property
    def is_restored(self) -> bool:
        """Whether the last weights that were loaded are a checkpoint's or a state dict's."""
        return self.loaded_from == "state"

    def note(self, videos: str) -> None:
        """Add training videos to the known ones; usually they are known already, from an earlier checkpoint."""
        if videos not in ("", self.trained_on):
            self.trained_on = joined(self.trained_on, videos)

    def mark(
        self, network: nn.Module, state: Mapping[str, Any], prefix: str, metadata: Mapping[str, Any], *_: object
    ) -> None:
        """Record that a network loads a state dict, if it holds all weights except the classifier's.

        A tuner may save a model before its starting weights are loaded, try something, and restore it. The state dict's
        metadata tell this (``AWAITS``), and it is not recorded as loading.
        """
        names = [name for name, _ in network.named_parameters() if not re.match(rf"aggregate\.|{CLASSIFIER}", name)]
        whole = all(f"{prefix}{name}" in state for name in names)
        if whole and not metadata.get(AWAITS):
            self.loaded_from = "state"


def record_of(network: nn.Module) -> WeightsRecord:
    """Return the record of a network, one for all its classifiers: it follows the state dicts that the network loads.

    A hook of the network holds it, so copies and pickles of the network have it too.
    """
    hooks: dict[int, Any] = network._load_state_dict_pre_hooks
    for hook in hooks.values():
        record = getattr(hook.hook, "__self__", None)
        if isinstance(record, WeightsRecord):
            return record

    record = WeightsRecord()
    network.register_load_state_dict_pre_hook(record.mark)  # type: ignore[no-untyped-call]
    return record
