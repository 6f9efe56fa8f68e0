"""Starting weights of a network, from an image model or a release, checked against settings and data; their record."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, replace
from inspect import getsource
from pathlib import Path
from typing import Any, Literal

import torch
from torch import nn

from lit_video.errors import UserError
from lit_video.network.transformer import VideoTransformer
from lit_video.runs.chosen_checkpoint import checkpoint_in_words
from lit_video.settings.effects import Effect
from lit_video.utils.classes import by_task
from lit_video.video.seeding import digest
from lit_video.video.settings import stored_settings
from lit_video.video.trained_on import joined
from lit_video.weights import settings as stated
from lit_video.weights.hub import weights_path
from lit_video.weights.hugging_face import check_config, check_labels
from lit_video.weights.image_vit import TubeletInit, load_image_vit, read_image_vit
from lit_video.weights.loading import CLASSIFIER, SourceName, load_pretrained
from lit_video.weights.parts import without
from lit_video.weights.reading import StoredWeights, of_our_own, read_weights, tensors_digest
from lit_video.weights.settings import WeightsSettings

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


@dataclass(frozen=True)
class StartingWeights:
    """Starting weights of a network; :class:`~lit_video.modules.VideoClassifier` explains the settings."""

    network: nn.Module
    record: WeightsRecord
    settings: Mapping[str, Any]  # settings and family of the model
    _: KW_ONLY
    data: Any = None  # data set of the training; None in a user's own program
    weights: str | None = None
    weights_settings: WeightsSettings | None = None
    weights_source: SourceName | None = None
    weights_ema: bool | None = None
    image_weights: str | None = None
    image_pixels: Literal["ignore"] | None = None
    tubelet_init: TubeletInit = "central"

    def load(self, stage: str) -> list[str]:
        """Load image weights (for training only) and released weights, unless the network has loaded weights before.

        Returns:
            Lines for the user about these weights. After an error the network counts as not loaded.
        """
        lines: list[str] = []
        if self.record.is_loaded:
            return lines

        image = self.image_weights if stage == "fit" else None
        is_loaded = False
        try:
            if image:
                stored, taken = self._take_image(image)
                lines += _about(image, stored.choice, taken)
                if self.image_pixels != "ignore":
                    lines += _about(image, self._match_pixels(stored))
            if self.weights is not None:
                with _naming("weights", self.weights):
                    lines += self._start_from(self.weights, fresh_head=stage == "fit")
            is_loaded = bool(image) or self.weights is not None
        finally:
            self.record.loaded_from = "file" if is_loaded else None

        return lines

    def check_image(self) -> None:
        """Refuse image weights that do not fit a network on the meta device."""
        if self.image_weights and not self.image_weights.startswith("stills:"):
            self._take_image(self.image_weights)

    def refuse_checkpoint(self, checkpoint: Mapping[str, Any]) -> None:
        """Refuse a checkpoint of another scheme, other pixels or other classes."""
        stored = of_our_own(checkpoint)
        try:
            self.record.note(stored.trained_on)
            if self.weights_settings == "ignore":
                return
            self._refuse_what_differs(stored, stated.IGNORE, "function", "shape")
            stated.refuse_another_grid(self.network, stored, stated.IGNORE)
            self._check_labels(stored, whole=True)
        except ValueError as error:
            raise UserError(f"the checkpoint does not fit: {error}") from error

    def compare(self, stored: StoredWeights, fits: bool) -> StoredWeights:
        """Refuse a data set with other pixels or classes than those with which the weights were trained.

        Args:
            stored: classes and pixels of the weights.
            fits: whether a training begins, not a test.

        Returns:
            The classes and pixels of the weights from now on: in a training the data set's, else ``stored``.
        """
        if self.data is None:
            return stored

        if self.weights_settings != "ignore":
            try:
                stated.refuse_other_pixels(stored_settings(self.data), stored, stated.IGNORE)
                self._check_labels(stored, whole=True)
            except ValueError as error:
                raise UserError(f"the model's weights do not fit the data: {error}") from error

        if not fits:
            return stored
        return replace(stored, clips=stored_settings(self.data), class_names=self.data.class_names)

    def _take_image(self, source: str) -> tuple[StoredWeights, str]:
        assert isinstance(self.network, VideoTransformer)
        with _naming("image_weights", source):
            stored = read_image_vit(source, self.network, self.weights_ema)
            self.record.note(stored.trained_on)

            grid = stated.known_grid(self.network, stored)
            facts = [
                load_image_vit(self.network, stored.tensors, self.tubelet_init, grid=grid),
                stated.line_on_grid(self.network, stored, image=True),
            ]
            return stored, "; ".join(filter(None, facts))

    def _start_from(self, path: str, fresh_head: bool) -> list[str]:
        file = weights_path(path)
        stored = read_weights(file, self.weights_ema, self.weights_source)
        self.record.note(stored.trained_on)

        if self.weights_settings != "ignore":
            check_config(stored.config, self.network)
            self._refuse_what_differs(stored, stated.OTHERWISE)

        tensors = stated.tasks_in_order(stored.tensors, by_task(self.settings.get("num_classes")))
        grid = stated.known_grid(self.network, stored)
        left_out = load_pretrained(self.network, tensors, fresh_head, grid=grid, source=self.weights_source)

        facts: list[str] = []
        folder = Path(path)
        if folder.is_dir() and file.is_file():
            facts.append(f"starts from {checkpoint_in_words(folder, file)}")
        facts += [stored.choice, stated.line_on_grid(self.network, stored)]
        if left_out:
            facts.append(f"it has no classifier of these classes: the classifier starts from scratch ({left_out})")

        compared = stated.pixel_settings(stored) and not stated.channel_pixels(stored)
        if self.weights_settings != "ignore" and not compared:
            facts.append(self._match_pixels(stored))

        if not left_out:
            self._check_labels(stored, whole=not fresh_head)
        return _about(path, *facts)

    def _match_pixels(self, stored: StoredWeights) -> str:
        """Fold the data's pixel scale into the patches to match the weights' training; return a message."""
        if self.data is None or not isinstance(self.network, VideoTransformer):
            return ""

        pixels = stated.channel_pixels(stored)
        if pixels:
            return stated.fold_pixels(self.network.embed, *pixels, data=stored_settings(self.data))

        return (
            "the mean and deviation of its pixels are not known: "
            f"assumed to be data.mean {self.data.mean} and data.std {self.data.std}"
        )

    def _refuse_what_differs(self, stored: StoredWeights, otherwise: str, *effects: Effect) -> None:
        stated.refuse_other_settings(self.settings, stored, otherwise, *effects)
        if self.data is not None:
            stated.refuse_other_pixels(stored_settings(self.data), stored, otherwise)

    def _check_labels(self, stored: StoredWeights, whole: bool) -> None:
        """Refuse weights that number the data's classes differently, or, if ``whole``, lack one of them."""
        data_labels = by_task(getattr(self.data, "class_names", None))
        by_this_package = stored.class_names is not None
        for task, labels in stored.labels.items():
            check_labels(labels, data_labels.get(task, ()), whole and by_this_package)


def backbone_digest(network: nn.Module, settings: Mapping[str, Any]) -> int:
    """Return a digest of a backbone: its weights, the model's settings and users' code."""
    weights = without(network.state_dict(), r"aggregate\.")
    code = []
    for kind in set(map(type, network.modules())):
        if not kind.__module__.startswith(("torch.", "lit_video.", "timm.")):
            code.append(getsource(kind))
    fields = sorted((name, repr(value)) for name, value in settings.items())
    return digest(tensors_digest(weights), fields, sorted(code))


def keep_features(network: VideoTransformer, data: Any, device: torch.device, *, backbone: int) -> None:
    """Cache a frozen backbone's features in a data set, under its digest."""
    training = network.training
    network.eval()
    data.keep_features(network.forward_features, device, backbone)
    network.train(training)


def tell_whether_awaited(model: Any, state: Any, prefix: str, _: object) -> None:
    """Write into the metadata of a classifier's state dict whether its starting weights are not loaded yet.

    Called by PyTorch as a hook, with the arguments of ``register_state_dict_post_hook``.
    """
    awaits = bool(model.weights or model.image_weights) and not model.weights_record.is_loaded
    for name, metadata in state._metadata.items():
        if name.startswith(f"{prefix}network"):
            metadata[AWAITS] = awaits


@contextmanager
def _naming(setting: str, path: str) -> Iterator[None]:
    """Name the setting and the file in an error."""
    try:
        yield
    except UserError as error:
        raise UserError(f"model.{setting}: {error}") from error
    except ValueError as error:
        raise UserError(f"model.{setting}: {path}: {error}") from error


def _about(path: str, *facts: str) -> list[str]:
    return [f"{path}: {fact}" for fact in facts if fact]


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
