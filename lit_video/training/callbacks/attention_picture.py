"""Keeps a picture of what a trained model attends to in its run's folder."""

import math
from pathlib import Path

from lit_video.datamodules import VideoDataModule
from lit_video.errors import UserError
from lit_video.inference.attention_maps import label_name, maps_over_frames, see, titles
from lit_video.inference.attention_picture import picture
from lit_video.inference.ranking import ranked_videos
from lit_video.inference.rollout import rollout
from lit_video.modules import VideoClassifier
from lit_video.network.transformer import VideoTransformer
from lit_video.utils.clip_shape import height_and_width
from lit_video.utils.files import write_bytes
from lit_video.video.decoding import DecodeError

# the rollout holds a square matrix of the tokens for every layer; for longer clips there is the command `attention`
MOST_PATCHES = 8 * 14 * 14


def record_attention(model: VideoClassifier, data: VideoDataModule, run_dir: Path) -> None:
    """Write ``attention.png``: the rollout in the first test video; nothing of a CNN or of a clip with many patches.

    Of a scheme that the rollout does not support there is no picture; the run goes on.
    """
    network = model.network
    if not isinstance(network, VideoTransformer):
        return
    if math.prod(network.embed.patches.grid(data.frames, *height_and_width(data.image_size))) > MOST_PATCHES:
        return
    record = data.records("test")[0]
    try:
        seen = see(data, record, next(network.parameters()).device)
        attention = rollout(network.eval(), seen.clip)
    except (DecodeError, UserError):
        return  # the test has listed it
    except ValueError as error:
        print(f"{run_dir / 'attention.png'}: not drawn, {error}", flush=True)
        return
    ranked = ranked_videos([record.path], attention.logits.float().cpu(), data.class_names, top=1)[0]
    lines = titles(ranked, label_name(record, data.class_names), "attention rollout in the first test video")
    write_bytes(run_dir / "attention.png", picture(maps_over_frames(network, attention, seen, lines)))
