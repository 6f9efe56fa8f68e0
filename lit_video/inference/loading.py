"""Models that are ready to classify videos, from runs and from published weights."""

from pathlib import Path

from lit_video import datamodules, modules
from lit_video.datamodules.epic_kitchens import CLASSES
from lit_video.datamodules.folder import VideoList
from lit_video.errors import UserError
from lit_video.inference.checkpoints import TrainedModel, load_trained_model
from lit_video.tables.checkpoint import find_checkpoint
from lit_video.video.batch import Classes, outputs
from lit_video.video.settings import SETTINGS, stored_settings
from lit_video.weights.hub import PREFIX, find, weights_path
from lit_video.weights.reading import read_weights
from lit_video.weights.settings import BIASES, channel_pixels, fold_pixels, number_of_classes, refuse_other_pixels


def load(source: str | Path) -> TrainedModel:
    """Load a trained model with its classes and the settings of its clips.

    Args:
        source: a run's folder, as ``finetune`` prints it, its ``last.ckpt``, or ``TABLE/ROW`` of ``runs/``; or
            ``hub:NAME``, published weights that have been fetched, with the settings of their evaluation. Classes that
            the weights do not name are called by their numbers.

    Raises:
        UserError: there is no such run, its checkpoint is wrong, or the weights have not been fetched or do not fit.
    """
    if str(source).startswith(PREFIX):
        return _released(str(source))
    return load_trained_model(find_checkpoint(str(source)))


def _released(name: str) -> TrainedModel:
    given, stored = find(name).settings, read_weights(weights_path(name))
    count = number_of_classes(stored.tensors, *BIASES) or 0
    classes: Classes = CLASSES if count == outputs(CLASSES) else count
    clips = {key: given[f"data.{key}"] for key in SETTINGS if f"data.{key}" in given}
    if sampling := clips.get("sampling"):
        kind = sampling if isinstance(sampling, dict) else {"class_path": sampling}
        clips["sampling"] = getattr(datamodules, kind["class_path"])(**kind.get("init_args", {}))
    settings = {key.removeprefix("model."): value for key, value in given.items() if key.startswith("model.")}
    size, data = {key: clips[key] for key in ("frames", "image_size")}, stored_settings(VideoList([], **clips))
    model = getattr(modules, given["model"])(classes, **size, **settings, weights=name)
    model.setup("test")
    try:
        refuse_other_pixels(data, stored)
    except ValueError as error:
        raise UserError(f"{name}: {error}") from error
    if known := channel_pixels(stored):
        fold_pixels(model.network.embed, *known, data)
    if isinstance(classes, dict):
        tasks = {task: [f"{task} {i}" for i in range(number)] for task, number in classes.items()}
        return TrainedModel(model.eval(), tasks, clips)
    names = sorted(stored.labels, key=stored.labels.__getitem__)
    return TrainedModel(model.eval(), names if len(names) == count else [f"class {i}" for i in range(count)], clips)
