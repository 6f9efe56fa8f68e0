"""Frozen models from what users name: a run, published weights, a function, or a model of another library."""

import json
import re
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from lit_video.datamodules.films import find_skill
from lit_video.errors import UserError, one_line
from lit_video.modules import VideoClassifier
from lit_video.network.aggregation import keeping_inputs, last_linear
from lit_video.network.transformer import VideoTransformer, all_tokens
from lit_video.probes.frozen import FrozenModel, ModelOptions, clip_format
from lit_video.probes.videos import PROBED_SKILLS
from lit_video.utils.environment import choose_device
from lit_video.utils.files import PROGRAMS, user_path
from lit_video.utils.text import did_you_mean
from lit_video.video.seeding import seeded
from lit_video.weights.hub import DRAWN_WEIGHTS, IMAGES, PREFIX, VIDEOS
from lit_video.weights.integrity import EXPORTED
from lit_video.weights.reading import StoredWeights
from lit_video.weights.settings import channel_pixels

if TYPE_CHECKING:
    from lit_video.inference.predict import TrainedModel

IMAGE_FRAMES = 16  # frames of a clip for an image model, which reads each frame; the features are averaged
CLASSIFIER_INPUT = "the input of its last layer"
LAYERS = (nn.Linear, nn.Conv3d)
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


def of_torchvision(source: str, options: ModelOptions) -> FrozenModel:
    """Return a video model of torchvision, with the clips for which its published weights were trained.

    Raises:
        UserError: there is no such model, or its weights are neither on this machine nor can be downloaded.
    """
    from torchvision.models import get_model, get_model_weights, list_models, video

    name = source.removeprefix(VIDEOS)
    names = list_models(video)
    if name not in names:
        advice = did_you_mean(name, names) or f"; one of {', '.join(names)}"
        raise UserError(f"{source}: no video model of torchvision{advice}")

    published = get_model_weights(name).DEFAULT
    transform = published.transforms()
    frames = re.search(r"clip_len=(\d+)", published.meta["_docs"])
    own = {
        "num_frames": int(frames[1]) if frames else None,
        "image_size": tuple(transform.crop_size),
        "mean": tuple(transform.mean),
        "std": tuple(transform.std),
    }
    clip = clip_format(source, options.clip, own, origin="torchvision's published weights")

    with _starting(source, options):
        model = get_model(name, weights=None if options.random_weights else published)
    _refuse_tokens(source, options)
    module = model.to(choose_device(options.device)).eval()
    read = reading_inputs(module, last_layer(module, source))
    return FrozenModel(source, read, clip, what=CLASSIFIER_INPUT, module=module)


def of_timm(source: str, options: ModelOptions) -> FrozenModel:
    """Return an image model of timm that reads each frame of a clip; the features are averaged over the frames."""
    import timm
    from timm.data.config import resolve_model_data_config

    name = source.removeprefix(IMAGES)
    if not timm.is_model(name):
        raise UserError(f"{source}: no model of timm{did_you_mean(name, timm.list_models())}")
    with _starting(source, options):
        model = timm.create_model(name, pretrained=not options.random_weights, num_classes=0)

    config = resolve_model_data_config(model)  # type: ignore[no-untyped-call]
    own = {
        "num_frames": IMAGE_FRAMES,
        "image_size": tuple(config["input_size"][1:]),
        "mean": tuple(config["mean"]),
        "std": tuple(config["std"]),
    }
    clip = clip_format(source, options.clip, own, origin="timm's configuration; any number of frames is averaged")
    module = model.to(choose_device(options.device)).eval()

    def read(clips: Tensor) -> Tensor:
        frames = clips.transpose(1, 2)
        return module(frames.flatten(0, 1)).unflatten(0, frames.shape[:2]).mean(1)

    _refuse_tokens(source, options)
    return FrozenModel(source, read, clip, what="its features, averaged over frames", module=module)


def last_layer(network: nn.Module, name: str) -> nn.Module:
    """Return the last linear or convolution layer of a network, in the order in which its parts are defined."""
    layers = [module for module in network.modules() if isinstance(module, LAYERS)]
    if not layers:
        raise UserError(f"{name} has no linear layer at its end; give a function from clips to features")
    return layers[-1]


def reading_inputs(network: nn.Module, layer: nn.Module) -> Callable[[Tensor], Tensor]:
    """Return a function from clips to a layer's input, averaged over all axes but the batch and the channels."""

    def read(clip: Tensor) -> Tensor:
        twin, inputs = keeping_inputs(network, layer)
        twin(clip)
        return inputs[-1]

    return read


def is_hugging_face(folder: Path) -> bool:
    """Return whether a folder is a model of transformers."""
    return folder.is_dir() and "model_type" in _content(folder / "config.json")


def of_hugging_face(folder: Path, options: ModelOptions) -> FrozenModel:
    """Return the video model in a folder that transformers saved.

    Nothing is downloaded, and no code in the folder is run.

    Raises:
        UserError: transformers is not installed, the model is no video model, or weights are missing.
    """
    name = str(folder)
    config = _content(folder / "config.json")
    preprocessor = _content(folder / "preprocessor_config.json")
    pixels = channel_pixels(StoredWeights({}, preprocessor=dict(preprocessor))) if preprocessor else None
    own: dict[str, Any] = {"num_frames": config.get("num_frames"), "image_size": config.get("image_size")}
    if pixels:
        own |= {"mean": tuple(pixels[0]), "std": tuple(pixels[1])}
    clip = clip_format(name, options.clip, own, origin="its config.json and preprocessor_config.json")

    try:
        from transformers import AutoConfig, AutoModelForVideoClassification
    except ImportError:
        raise UserError(f"{name} needs transformers, which is not installed: pip install transformers") from None
    with _starting(name, options):
        if options.random_weights:
            settings = AutoConfig.from_pretrained(folder, local_files_only=True)
            model = AutoModelForVideoClassification.from_config(settings)
        else:
            model, loaded = AutoModelForVideoClassification.from_pretrained(
                folder, local_files_only=True, output_loading_info=True
            )
            missing = sorted(key for key in loaded["missing_keys"] if not key.startswith(("classifier.", "fc_norm.")))
            if missing:
                lacks = f"lacks {len(missing)} weights, such as {missing[0]}"
                raise UserError(f"{name} {lacks}: it is not a complete model")

    module = model.to(choose_device(options.device)).eval()
    layer = last_layer(module, name)
    if options.tokens:
        base = module.base_model
        return FrozenModel(
            name,
            lambda clips: base(pixel_values=clips.transpose(1, 2)).last_hidden_state,
            clip,
            what="its tokens after the last layer",
            module=module,
        )

    class FramesFirst(nn.Module):
        """The model for clips ``(b, 3, t, height, width)``."""

        def __init__(self) -> None:
            super().__init__()
            self.model = module

        def forward(self, clips: Tensor) -> object:
            return self.model(pixel_values=clips.transpose(1, 2))

    return FrozenModel(name, reading_inputs(FramesFirst(), layer), clip, what=CLASSIFIER_INPUT, module=module)


def of_program(path: Path, options: ModelOptions) -> FrozenModel:
    """Return a program that the command ``export`` or torch.export wrote; its logits are taken as features."""
    name = str(path)
    _refuse_tokens(name, options)
    if options.random_weights:
        raise UserError(f"{name}: a program has its weights; random ones need the model's code")

    own = _content(path.with_name(EXPORTED)).get("data") or {}
    clip = clip_format(name, options.clip, own, origin=f"{EXPORTED} beside it", channels=own.get("channels", "rgb"))
    what = "its logits, since a program gives no features"
    try:
        if path.suffix == ".onnx":
            from onnxruntime import InferenceSession

            session = InferenceSession(path, providers=["CPUExecutionProvider"])
            (entry,) = session.get_inputs()

            def read(clips: Tensor) -> Tensor:
                return torch.from_numpy(session.run(None, {entry.name: clips.numpy()})[0])

            return FrozenModel(name, read, clip, what=what)
        module = torch.export.load(path).module()
    except Exception as error:  # a damaged file raises anything
        raise UserError(f"{name} cannot be read as a program: {one_line(error)[:200]}") from error
    return FrozenModel(name, module, clip, what=what, module=module)


def _refuse_tokens(name: str, options: ModelOptions) -> None:
    if options.tokens:
        raise UserError(f"{name}: its tokens are not known; in Python, give a function from clips to (B, N, D)")


@contextmanager
def _starting(name: str, options: ModelOptions) -> Any:
    """Seed random weights in a block; turn any failure to read weights into one line for the user."""
    with seeded("weights", options.seed):
        try:
            yield
        except UserError:
            raise
        except Exception as error:  # the libraries raise anything
            otherwise = "--random-weights takes it as it is before any training"
            raise UserError(f"{name}: its weights cannot be read: {one_line(error)[:200]}; {otherwise}") from error


def _content(path: Path) -> Mapping[str, Any]:
    """Return the content of a JSON file; empty without one."""
    if not path.is_file():
        return {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UserError(f"{path} cannot be read: {one_line(error)}") from error
    return content if isinstance(content, dict) else {}
