"""A video through a trained model, and what the model attends to in it: attention rollout over its frames."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from torch import Tensor

from lit_video.errors import OptionError, UserError
from lit_video.inference.checkpoints import TrainedModel, load_trained_model
from lit_video.inference.options import Evaluation
from lit_video.inference.predict import find_videos, unlabelled, video_list
from lit_video.inference.ranking import RankedVideo, ranked_videos
from lit_video.network.transformer import VideoTransformer
from lit_video.utils.environment import choose_device
from lit_video.video.batch import RawBatch
from lit_video.visual.attention_picture import AttentionMaps
from lit_video.visual.rollout import Rollout, rollout, tubelet_frames


def attention_maps(
    ckpt: str | Path,
    video: str | Path,
    token: Sequence[int] | None = None,
    last_layer: bool = False,
    device: Literal["cpu", "cuda"] | None = None,
) -> AttentionMaps:
    """What a trained model attends to in the centre view of a video.

    Args:
        ckpt: a run's ``last.ckpt``.
        video: its file.
        token: frame, row and column of a patch of the last layer, to follow attention from there instead of from what
            is classified.
        last_layer: follow it through the last layer of the encoder only.
        device: ``None`` for a GPU where there is one.

    Raises:
        UserError: the video cannot be read, the checkpoint is wrong or its model has no attention, or ``token`` is no
            patch.
    """
    if token is not None and len(token) != 3:
        raise OptionError("token", f"is {token}, expected frame, row and column of a patch")
    path, trained = _one_video(video), load_trained_model(Path(ckpt))
    if not isinstance(network := trained.model.network, VideoTransformer):
        family = type(trained.model).__name__
        raise OptionError("ckpt", f"{ckpt} is a {family}, which has no attention that could be drawn")
    raw, clip = _centre_view(trained, path, Evaluation(1, 1, 1, 0, device))
    try:
        result = rollout(network.to(clip.device), clip, token, last_layer)
    except ValueError as error:
        raise OptionError("token" if token is not None else "ckpt", error) from error
    prediction = ranked_videos([path], result.logits.float().cpu(), trained.class_names, top=1)[0]
    return maps_over_frames(network, result, raw["clip"][0, 0], prediction, _subtitle(token, last_layer), token)


def _one_video(video: str | Path) -> Path:
    videos = find_videos(video)
    if len(videos) > 1:
        raise UserError(f"{video}: {len(videos)} videos; attention is drawn of one")
    return videos[0]


def _centre_view(trained: TrainedModel, video: Path, evaluation: Evaluation) -> tuple[RawBatch, Tensor]:
    """The clip as it is read, and as the model takes it, ``(1, 3, t, side, side)``."""
    on, data = choose_device(evaluation.device), video_list(trained, unlabelled([video]), evaluation)
    (raw,) = data.test_dataloader()
    if raw["broken"][0]:
        raise UserError(raw["broken"][0])
    return raw, data.on_after_batch_transfer(raw, 0)["clip"].to(on)


def _subtitle(token: Sequence[int] | None, last_layer: bool) -> str:
    """What is drawn, in words."""
    start = "the output" if token is None else "patch {},{},{}".format(*token)
    return f"attention rollout from {start}" + (", last layer only" if last_layer else "")


def maps_over_frames(
    network: VideoTransformer,
    result: Rollout,
    frames: Tensor,
    prediction: RankedVideo,
    subtitle: str,
    start: Sequence[int] | None = None,
) -> AttentionMaps:
    """A rollout beside the frames ``(t, 3, height, width)`` that it is of, with the predicted class."""
    best = prediction.lines()[0].split("%", 1)
    tubelets = tubelet_frames(network.embed.patches, len(frames))
    pairs = sorted((frame, tubelet) for tubelet, members in enumerate(tubelets) for frame in members)
    numbers, places = [frame for frame, _ in pairs], [tubelet for _, tubelet in pairs]
    pixels = frames[numbers].permute(0, 2, 3, 1).numpy()
    maps = result.patches.double().cpu() * result.patches.numel()
    lines = [f"{best[1].strip()}, {best[0].strip()} %   {prediction.path.name}", subtitle]
    return AttentionMaps(pixels, numbers, maps[places].numpy(), places, brightest(maps, start), lines)


def brightest(maps: Tensor, start: Sequence[int] | None) -> float:
    """Largest relevance of ``(t, h, w)`` without that of the start, which keeps most of it by the residuals."""
    others = maps.clone()
    if start is not None:
        others[tuple(start)] = 0
    return max(float(others.max()), 1e-12)
