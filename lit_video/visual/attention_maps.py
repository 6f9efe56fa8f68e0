"""What ``attention`` does: a video through a trained model, and the attention rollout over its frames."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path

from torch import Tensor

from lit_video.errors import UserError
from lit_video.inference.checkpoints import TrainedModel, load_trained_model
from lit_video.inference.predict import device, find_videos, own_videos
from lit_video.inference.ranking import RankedVideo, predictions
from lit_video.modules import VideoClassifier
from lit_video.network.transformer import VideoTransformer
from lit_video.utils.files import write_bytes
from lit_video.visual.attention_picture import AttentionMaps, moving, picture
from lit_video.visual.formats import MOVING
from lit_video.visual.moving_picture import encoded
from lit_video.visual.rollout import Rollout, rollout, tubelet_frames


def draw_attention(asked: Namespace) -> int:
    """Draw what the command line asks for (see ``attention --help``).

    Raises:
        UserError: a flag, the video or the checkpoint is wrong, or the model has no attention.
    """
    videos = find_videos([asked.video])
    if len(videos) > 1:
        raise UserError(f"{asked.video}: {len(videos)} videos; attention is drawn of one")
    trained = load_trained_model(asked.ckpt)
    maps = compute_attention_maps(trained, require_attention(trained.model, asked.ckpt), videos[0], asked)
    if asked.output.suffix.lower() in MOVING:
        content = encoded(moving(maps), asked.output.suffix.lower())
    else:
        content = picture(maps)
    try:
        write_bytes(asked.output, content)
    except OSError as error:
        raise UserError(f"--output {asked.output}: {error.strerror}") from error
    print(f"wrote {asked.output}", file=sys.stderr)
    return 0


def require_attention(model: VideoClassifier, path: Path) -> VideoTransformer:
    """The network, which must have attention.

    Raises:
        UserError: it has none.
    """
    if not isinstance(model.network, VideoTransformer):
        raise UserError(f"--ckpt: {path} is a {type(model).__name__}, which has no attention that could be drawn")
    return model.network


def subtitle(asked: Namespace) -> str:
    """What is drawn, in words."""
    start = "the output" if asked.token is None else "patch {},{},{}".format(*asked.token)
    return f"attention rollout from {start}" + (", last layer only" if asked.layers == "last" else "")


def compute_attention_maps(
    trained: TrainedModel, network: VideoTransformer, video: Path, asked: Namespace
) -> AttentionMaps:
    """The centre view of a video, and the rollout in it.

    Raises:
        UserError: the video cannot be read, or ``--token`` is no patch.
    """
    on = device(asked.device)
    data = own_videos(trained, [video], Namespace(clips=1, crops=1, batch=1, workers=0))
    (raw,) = data.test_dataloader()
    if raw["broken"][0]:
        raise UserError(raw["broken"][0])
    clip = data.on_after_batch_transfer(raw, 0)["clip"].to(on)
    network.to(on)
    try:
        found = rollout(network, clip, asked.token, asked.layers == "last")
    except ValueError as error:
        raise UserError(f"--token: {error}" if asked.token else f"--ckpt: {error}") from error
    guess = predictions([video], found.logits.float().cpu(), trained.class_names, top=1)[0]
    return attention_maps(network, found, raw["clip"][0, 0], guess, subtitle(asked), asked.token)


def attention_maps(
    network: VideoTransformer,
    found: Rollout,
    frames: Tensor,
    guess: RankedVideo,
    subtitle: str,
    start: tuple[int, int, int] | None = None,
) -> AttentionMaps:
    """A rollout beside the frames ``(t, 3, height, width)`` that it was made of, and what they were taken for."""
    best = guess.lines()[0].split("%", 1)
    tubelets = tubelet_frames(network.embed.patches, len(frames))
    seen = sorted((frame, number) for number, numbers in enumerate(tubelets) for frame in numbers)
    numbers, places = [frame for frame, _ in seen], [number for _, number in seen]
    pixels = frames[numbers].permute(0, 2, 3, 1).numpy()
    maps = found.patches.double().cpu() * found.patches.numel()
    lines = [f"{best[1].strip()}, {best[0].strip()} %   {guess.path.name}", subtitle]
    return AttentionMaps(pixels, numbers, maps[places].numpy(), places, brightest(maps, start), lines)


def brightest(maps: Tensor, start: tuple[int, int, int] | None) -> float:
    """Largest relevance ``(t, h, w)``; but for the patch that it starts from, which keeps most of it by residuals."""
    others = maps.clone()
    if start is not None:
        others[start] = 0
    return max(float(others.max()), 1e-12)
