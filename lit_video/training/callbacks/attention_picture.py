"""Keeps a picture of where a trained model looks in its run's folder."""

from __future__ import annotations

import math
from pathlib import Path

from lit_video.datamodules import VideoDataModule
from lit_video.inference.ranking import ranked_videos
from lit_video.modules import VideoClassifier
from lit_video.network.transformer import VideoTransformer
from lit_video.utils.files import write_bytes
from lit_video.visual.attention_maps import maps_over_frames
from lit_video.visual.attention_picture import picture
from lit_video.visual.rollout import rollout

# the rollout holds a square matrix of the tokens for every layer: of longer clips, the command `attention` draws it
MOST_PATCHES = 8 * 14 * 14


def record_attention(model: VideoClassifier, data: VideoDataModule, run_dir: Path) -> None:
    """Write ``attention.png``: the rollout in the first test video; nothing of a CNN or of a clip with many patches.

    A scheme that the rollout does not know costs the picture, never the run's result.
    """
    network = model.network
    if not isinstance(network, VideoTransformer):
        return
    if math.prod(network.embed.patches.grid(data.frames, data.image_size, data.image_size)) > MOST_PATCHES:
        return
    raw = data.first_test_clip()
    if raw["broken"][0]:
        return
    clip = data.on_after_batch_transfer(raw, 0)["clip"].to(next(network.parameters()).device)
    try:
        found = rollout(network.eval(), clip)
    except ValueError as error:
        print(f"{run_dir / 'attention.png'}: not drawn, {error}", flush=True)
        return
    video = data.records("test")[0].path
    guess = ranked_videos([video], found.logits.float().cpu(), data.class_names, top=1)[0]
    shown = maps_over_frames(network, found, raw["clip"][0, 0], guess, "attention rollout in the first test video")
    write_bytes(run_dir / "attention.png", picture(shown))
