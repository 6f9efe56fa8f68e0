"""Models on videos as they come."""

from lit_video.modules import VideoClassifier
from lit_video.network.streaming import Stream
from lit_video.network.transformer import VideoTransformer


def stream(model: VideoClassifier | VideoTransformer) -> Stream:
    """Feed videos to a causal X-ViT frame by frame: logits after every frame, at the cost of one frame.

    Args:
        model: trained with ``causal`` and ``positions: space``, in eval mode.

    Returns:
        A function of the next frames that remembers what it needs of the past: see
        :class:`~lit_video.network.streaming.Stream`, which says what the logits are.

    Raises:
        ValueError: the model cannot stream; the message says why.
    """
    network = model.network if isinstance(model, VideoClassifier) else model
    if not isinstance(network, VideoTransformer):
        raise ValueError(f"this model cannot stream: {type(network).__name__} is no X-ViT with causal true")
    return Stream(network)
