"""Causal models on streams: a prediction after every frame."""

from pathlib import Path

from lit_video.inference.predict import load
from lit_video.modules import VideoClassifier
from lit_video.network.streaming import CANNOT, Stream
from lit_video.network.transformer import VideoTransformer


def stream(model: VideoClassifier | VideoTransformer | str | Path) -> Stream:
    """Feed videos to a causal X-ViT frame by frame: logits after every frame, at the cost of one frame.

    Args:
        model: trained with ``causal: true`` and ``positions: space``, in eval mode; or a run, see
            :func:`~lit_video.inference.predict.load`.

    Returns:
        A function of the next frames, ``(b, 3, t, height, width)``, float, normalised, to the logits after each of
        them, ``(b, t, classes)``, see :class:`~lit_video.network.streaming.Stream`; ``reset()`` begins new videos.

    Raises:
        ValueError: the model cannot stream.
        UserError: the checkpoint is wrong.
    """
    if isinstance(model, str | Path):
        model = load(model).model
    network = model.network if isinstance(model, VideoClassifier) else model
    if not isinstance(network, VideoTransformer):
        raise ValueError(CANNOT)
    return Stream(network)
