"""Causal models on streams: a prediction after every frame."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

from lit_video.errors import OptionError
from lit_video.inference.predict import Evaluation, TrainedModel, load, video_list
from lit_video.inference.ranking import Ranked, ranked_videos
from lit_video.modules import VideoClassifier
from lit_video.modules.metrics import video_logits, view_scores
from lit_video.network.streaming import CANNOT, Stream
from lit_video.network.transformer import VideoTransformer
from lit_video.utils.environment import choose_device
from lit_video.video.batch import normalise
from lit_video.video.clips import VideoRecord
from lit_video.video.decoding import FrameTable
from lit_video.video.sampling import DenseStride, Sampling

ONE_FRAME = FrameTable(range(1), Fraction(1), range(1), 1, Fraction(1), 1, 1)


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


Moments = Iterator[tuple[float, dict[str, list[Ranked]]]]


def stream_predictor(
    trained: TrainedModel, evaluation: Evaluation, top: int = 1, rate: float | None = None
) -> Callable[[VideoRecord], Moments]:
    """Predict videos while they are decoded, with the clip settings of the model's checkpoint.

    Frames come at ``rate`` per second, else as in a clip, resized and cropped as in the test; the logits of several
    crops are averaged, and the ``top`` classes named.

    Returns:
        A function of a video to what is predicted after each of its frames: when that is shown, in seconds from the
        first one, and the best classes. It raises DecodeError where the video cannot be read on.

    Raises:
        UserError: the model cannot stream; or its clips have no rate, and none is given.
    """
    sampling: Sampling = trained.settings["sampling"] if rate is None else DenseStride(1, fps=rate)
    device = choose_device(evaluation.device)
    try:
        logits_after = stream(trained.model.to(device))
    except ValueError as error:
        raise OptionError("ckpt", error) from error
    try:
        sampling.stream_numbers(ONE_FRAME, trained.settings["frames"])
    except ValueError as error:
        raise OptionError("rate", f"{error}: give one, in frames per second") from error

    model = trained.model

    def predict(record: VideoRecord) -> Moments:
        data = video_list(trained, [record], evaluation)
        view = data.view(data.test_crops)
        table = record.table()
        numbers = sampling.stream_numbers(table, data.frames)
        logits_after.reset()
        for number, image in zip(numbers, record.decode_in_order(numbers), strict=True):
            crops = normalise(view(image[None])[None].to(device), data.mean, data.std, data.channels)
            scores = view_scores(logits_after(crops).float(), model.view_average, model.num_classes)
            logits = video_logits(scores.mean(0), model.view_average).cpu()
            (ranked,) = ranked_videos([record.path], logits, trained.class_names, top, model.several_labels)
            yield table.seconds_at(number), ranked.ranked

    return predict
