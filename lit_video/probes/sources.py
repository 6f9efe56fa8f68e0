"""Frozen models from what users name: a run, published weights, a library's model, a folder, a file, a function."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from lit_video.datamodules.films import find_skill
from lit_video.errors import UserError
from lit_video.modules import VideoClassifier
from lit_video.network.aggregation import last_linear
from lit_video.network.transformer import VideoTransformer, all_tokens
from lit_video.probes.frozen import FrozenModel, ModelOptions, clip_format
from lit_video.probes.libraries import (
    CLASSIFIER_INPUT,
    is_hugging_face,
    last_layer,
    of_hugging_face,
    of_program,
    of_timm,
    of_torchvision,
    reading_inputs,
)
from lit_video.probes.videos import PROBED_SKILLS
from lit_video.utils.environment import choose_device
from lit_video.utils.files import PROGRAMS, user_path
from lit_video.video.seeding import seeded
from lit_video.weights.hub import DRAWN_WEIGHTS, IMAGES, PREFIX, VIDEOS

if TYPE_CHECKING:
    from lit_video.inference.predict import TrainedModel

Model = "str | Path | TrainedModel | nn.Module | Callable[[Tensor], Tensor]"


def frozen_model(source: Any, options: ModelOptions) -> FrozenModel:
    """Return a model that gives features, with its clips.

    Args:
        source: a run's folder or checkpoint, ``hub:NAME``, ``torchvision:NAME``, ``timm:NAME``, a folder of
            transformers, an exported program, a model of :func:`lit_video.load`, a module, or a function from
            normalised clips ``(b, 3, t, height, width)`` to features ``(b, d)`` or tokens ``(b, n, d)``.
        options: the user's settings.

    Raises:
        UserError: there is no such model, or its clips are not known.
    """
    from lit_video.inference.predict import TrainedModel, load

    if isinstance(source, TrainedModel):
        return _of_run(source, "model", options)
    if not isinstance(source, str | Path):
        return _of_function(source, options)

    text = str(source)
    if text.startswith(VIDEOS):
        return of_torchvision(text, options)
    if text.startswith(IMAGES):
        return of_timm(text, options)
    if not text.startswith(PREFIX):
        path = user_path(source)
        if is_hugging_face(path):
            return of_hugging_face(path, options)
        if path.suffix in PROGRAMS and path.is_file():
            return of_program(path, options)
    return _of_run(load(source), text, options)


def _of_run(trained: "TrainedModel", name: str, options: ModelOptions) -> FrozenModel:
    """Return a model of this package; its clips are those of its test."""
    from lit_video.datamodules.folder import VideoList

    data = VideoList([], **trained.settings)
    own = {setting: getattr(data, setting) for setting in ("num_frames", "image_size", "mean", "std")}
    clip = clip_format(name, options.clip, own, origin="the settings of its test", channels=data.channels)

    model = trained.model
    if options.random_weights:
        with seeded("weights", options.seed):
            untrained = {name: None for name in ("weights", "image_weights") if name in model.hparams}
            model = type(model)(**{**model.hparams, **untrained})
    module = model.to(choose_device(options.device)).eval()
    frozen = _of_classifier(module, name, options, clip=clip)

    skill_classes: set[str] = set()
    for skill in map(find_skill, PROBED_SKILLS):
        skill_classes |= {f"{skill.name} {skill.backward}", f"{skill.name} {skill.forward}"}
    remarks: list[str] = []
    if options.random_weights:
        pass
    elif skill_classes.intersection(trained.class_names):
        remarks = ["it was trained on temporal skills; these videos are others, drawn by other seeds"]
    elif trained.weights == PREFIX + DRAWN_WEIGHTS:
        seen = "seen in pretraining: it learned from drawn videos that move, turn, grow and meet like these"
        remarks = [f"{seen} (docs/drawn_videos.md)"]
    return replace(frozen, remarks=remarks)


def _of_classifier(model: VideoClassifier, name: str, options: ModelOptions, *, clip: Any) -> FrozenModel:
    network = model.network
    if not options.tokens:
        layer = last_linear(network)
        if layer is None:  # in a network of the user's own
            layer = last_layer(network, name)
        return FrozenModel(name, reading_inputs(model, layer), clip, what=CLASSIFIER_INPUT, module=model)
    if not isinstance(network, VideoTransformer):
        raise UserError(f"{name}: a {type(network).__name__} has no tokens; leave out --tokens")

    def read(clips: Tensor) -> Tensor:
        tokens, grid = network.forward_tokens(clips)
        return all_tokens(tokens, grid, network.norm)

    return FrozenModel(name, read, clip, what="all tokens after the last layer", module=model)


def _of_function(source: Any, options: ModelOptions) -> FrozenModel:
    """Return the user's module or function; a model of this package tells its clips, for others the user does."""
    if isinstance(source, torch.export.ExportedProgram):
        source = source.module()
    if not callable(source):
        raise UserError(f"model: {type(source).__name__} is neither a name nor a function from clips to features")

    module = source if isinstance(source, nn.Module) else None
    name = type(source).__name__ if module is not None else getattr(source, "__qualname__", type(source).__name__)
    if options.random_weights:
        raise UserError(f"{name}: give it with random weights in place of random_weights")

    if isinstance(source, VideoClassifier):
        own = {setting: source.hparams.get(setting) for setting in ("num_frames", "image_size")}
        clip = clip_format(name, options.clip, own, origin="the model's own settings")
        return _of_classifier(source, name, options, clip=clip)

    clip = clip_format(name, options.clip, {}, origin="")
    device = choose_device(options.device) if options.device else None
    return FrozenModel(name, source, clip, what="its output", module=module, device=device)
