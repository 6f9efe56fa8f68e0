"""timm's image ViT, as a video model that averages over frames."""

from collections.abc import Mapping

from torch import Tensor

from lit_video.attention import Space
from lit_video.network.aggregation import TemporalMean
from lit_video.network.embedding import FrameEmbedding
from lit_video.network.positions import Positions
from lit_video.network.readout import frame_tokens
from lit_video.network.transformer import VideoTransformer
from lit_video.network.vit import encoder
from lit_video.weights.mapping import TIMM, classes_of, fill, frame_clip, rename, size_of, without_prefix


def load_timm_vit(state_dict: Mapping[str, Tensor], *, heads: int, image_size: tuple[int, int]) -> VideoTransformer:
    """Timm's ``VisionTransformer`` with a class token, on every frame alone; the frames' logits are averaged.

    Positions of another grid are resized bicubically, as timm does.
    """
    renamed = rename(without_prefix(state_dict, "module.", "model."), TIMM)
    size = size_of(renamed, heads)
    clip = frame_clip(renamed, image_size, 1)
    embed = FrameEmbedding(clip.patches(size.width), 1, clip.image_size, Positions("space"))
    blocks = encoder(size, lambda i: Space(size.width, size.heads))
    head = TemporalMean(size.width, classes_of(renamed))
    return fill(VideoTransformer(embed, blocks, frame_tokens, head), renamed)
