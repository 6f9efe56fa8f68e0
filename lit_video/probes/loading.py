"""A frozen model from what a user gives: a run, published weights, a library's name, a folder, a file, a function."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from lit_video.datamodules.films import skill
from lit_video.errors import UserError
from lit_video.modules import VideoClassifier
from lit_video.network.aggregation import linear_head
from lit_video.network.transformer import VideoTransformer, all_tokens
from lit_video.probes.clip_format import clip_format
from lit_video.probes.frozen import Asked, FrozenModel
from lit_video.probes.last_layer import reading_inputs
from lit_video.probes.libraries import (
    CLASSIFIER,
    PROGRAMS,
    VIDEOS,
    is_hugging_face,
    of_hugging_face,
    of_program,
    of_timm,
    of_torchvision,
)
from lit_video.probes.videos import SKILLS
from lit_video.utils.environment import choose_device
from lit_video.utils.files import user_path
from lit_video.video.seeding import seeded
from lit_video.weights.hub import IMAGES, PREFIX

if TYPE_CHECKING:
    from lit_video.inference.predict import TrainedModel

Model = "str | Path | TrainedModel | nn.Module | Callable[[Tensor], Tensor]"
PREFIXES = (PREFIX, VIDEOS, IMAGES)


def frozen_model(source: Any, asked: Asked) -> FrozenModel:
    """Return a model that gives features, with its clips.

    Args:
        source: a run's folder or checkpoint, ``hub:NAME``, ``torchvision:NAME``, ``timm:NAME``, a folder of
            transformers, an exported program, a model of :func:`lit_video.load`, a module, or a function from
            normalised clips ``(b, 3, t, height, width)`` to features ``(b, d)`` or tokens ``(b, n, d)``.
        asked: the user's settings.

    Raises:
        UserError: there is no such model, or its clips are not known.
    """
    from lit_video.inference.predict import TrainedModel, load

    if isinstance(source, TrainedModel):
        return _of_run(source, "model", asked)
    if not isinstance(source, str | Path):
        return _of_function(source, asked)

    text = str(source)
    if text.startswith(VIDEOS):
        return of_torchvision(text, asked)
    if text.startswith(IMAGES):
        return of_timm(text, asked)
    if not text.startswith(PREFIX):
        path = user_path(source)
        if is_hugging_face(path):
            return of_hugging_face(path, asked)
        if path.suffix in PROGRAMS and path.is_file():
            return of_program(path, asked)
    return _of_run(load(source), text, asked)


def _of_run(trained: "TrainedModel", name: str, asked: Asked) -> FrozenModel:
    """Return a model of this package; its clips are those of its test."""
    from lit_video.datamodules.folder import VideoList

    data = VideoList([], **trained.settings)
    known = {setting: getattr(data, setting) for setting in ("num_frames", "image_size", "mean", "std")}
    clip = clip_format(name, asked.clip, known, "the settings of its test", channels=data.channels)

    model = trained.model
    if asked.random_weights:
        with seeded("weights", asked.seed):
            untrained = {name: None for name in ("weights", "image_weights") if name in model.hparams}
            model = type(model)(**{**model.hparams, **untrained})
    module = model.to(choose_device(asked.device)).eval()
    frozen = _of_classifier(module, name, asked, clip=clip)
    return replace(frozen, remarks=_remarks(trained, asked))


def _remarks(trained: "TrainedModel", asked: Asked) -> list[str]:
    """Say whether a model was trained on the skills themselves."""
    own = {way for name in SKILLS for way in (f"{name} {skill(name).backward}", f"{name} {skill(name).forward}")}
    if asked.random_weights or not own.intersection(trained.class_names):
        return []
    return ["it was trained on temporal skills; these videos are others, drawn by other seeds"]


def _of_classifier(model: VideoClassifier, name: str, asked: Asked, *, clip: Any) -> FrozenModel:
    network = model.network
    if not asked.tokens:
        read: Callable[[Tensor], object] = reading_inputs(network, linear_head(network))
        return FrozenModel(name, read, clip, what=CLASSIFIER, module=model)
    if not isinstance(network, VideoTransformer):
        raise UserError(f"{name}: a {type(network).__name__} has no tokens; leave out --tokens")
    return FrozenModel(name, partial(_tokens, network), clip, what="all tokens after the last layer", module=model)


def _tokens(network: VideoTransformer, clips: Tensor) -> Tensor:
    tokens, grid = network.embed(clips)
    for block in network.blocks:
        tokens = block(tokens, grid)
    return all_tokens(tokens, grid, network.norm)


def _of_function(source: Any, asked: Asked) -> FrozenModel:
    """Return a module or a function of the user's; its clips are as given, but for those of this package's models."""
    if isinstance(source, torch.export.ExportedProgram):
        source = source.module()
    if not callable(source):
        raise UserError(f"model: {type(source).__name__} is neither a name nor a function from clips to features")

    module = source if isinstance(source, nn.Module) else None
    name = type(source).__name__ if module is not None else getattr(source, "__qualname__", type(source).__name__)
    if asked.random_weights:
        raise UserError(f"{name}: give it with random weights in place of random_weights")

    if isinstance(source, VideoClassifier):
        own = {setting: source.hparams.get(setting) for setting in ("num_frames", "image_size")}
        clip = clip_format(name, asked.clip, own, "the model's own settings")
        return _of_classifier(source, name, asked, clip=clip)

    clip = clip_format(name, asked.clip, {}, "")
    device = choose_device(asked.device) if asked.device else None
    return FrozenModel(name, source, clip, what="its output", module=module, device=device)
