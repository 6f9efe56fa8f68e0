"""Attention maps of a trained model on a video: attention rollout, drawn over the video's frames."""

from __future__ import annotations  # a signature then shows names of types, such as Count

import os
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from lit_video.errors import OptionError, UserError
from lit_video.inference.attention_picture import attention_picture, range_line
from lit_video.inference.evaluation import Evaluation
from lit_video.inference.predict import TrainedModel, load, video_list
from lit_video.inference.ranking import ranked_videos
from lit_video.inference.rollout import Rollout, rollout, tubelet_frames
from lit_video.inference.videos import find_videos
from lit_video.network.transformer import VideoTransformer
from lit_video.utils.arguments import Positive, refuse_wrong_values
from lit_video.utils.environment import choose_device
from lit_video.utils.files import write_bytes, writing
from lit_video.utils.shown import Part, Shown
from lit_video.video.augmentation import EvaluationViews
from lit_video.video.clips import VideoRecord
from lit_video.video.decoding import Frames


@dataclass(frozen=True, repr=False)
class AttentionMaps(Shown):
    """``n`` frames of a clip, and the relevance of their patches."""

    frames: Frames  # the model's crop at the video's resolution, (n, height, width, 3)
    numbers: list[int]  # indices of the frames in the clip
    seconds: list[float]  # timestamps of the frames in the video
    maps: NDArray[np.float64]  # relevance of every patch of these frames, (n, rows, columns); mean 1 over the clip
    tubelets: list[int]  # index of every frame's tubelet; frames of a tubelet share a map
    lines: list[str]  # title and subtitles

    def label(self, i: int) -> str:
        """Return the name and timestamp of a frame or tubelet."""
        name = f"frame {self.numbers[i]}"
        if len({*self.tubelets}) < len(self.frames):
            name = f"tubelet {self.tubelets[i]}"
        return f"{name}, {self.seconds[i]:.1f} s"

    def write(self, path: str | Path) -> Path:
        """Write the picture of the maps as ``.png``."""
        with writing("--output", Path(path)):
            write_bytes(Path(path), self.picture())
        return Path(path)

    def picture(self) -> bytes:
        """Return the picture of the maps as the content of a PNG file; all such pictures have one scale of colours."""
        labels = [self.label(i) for i in range(len(self.frames))]
        return attention_picture(self.frames, self.maps, labels, title=self.lines)

    def parts(self) -> Sequence[Part]:
        """Return title and subtitles."""
        return ["\n".join(self.lines)]

    def _repr_html_(self) -> str:
        content = b64encode(self.picture()).decode()
        return f'<img alt="{escape(self.lines[0])}" src="data:image/png;base64,{content}">'


def attention_maps(
    ckpt: str | Path,
    video: str | Path,
    device: Literal["cpu", "cuda"] | None = None,
    *,
    fps: Positive | None = None,
) -> AttentionMaps:
    """Compute where a trained model looks in a video.

    The maps are the attention rollout from the classifier's input back to the patches of every frame, for the centre
    view.

    Args:
        ckpt: a run's folder or checkpoint, see :func:`~lit_video.inference.predict.load`.
        video: path of one video; the name of its folder is taken for the true class, if the model has that class.
        device: device to compute on; ``None`` for a GPU if there is one.
        fps: frame rate, if the video is a folder of pictures.

    Raises:
        UserError: the path holds no video or several; the checkpoint is wrong, or its model has no attention.
    """
    refuse_wrong_values(attention_maps, locals())
    records = find_videos(video, fps)
    if len(records) > 1:
        raise UserError(f"{video}: {len(records)} videos; attention is drawn for one")

    record = records[0]
    trained = load(ckpt)
    model = trained.model.to(choose_device(device))
    network = model.network
    if not isinstance(network, VideoTransformer):
        raise OptionError("ckpt", f"{ckpt} is a {type(model).__name__}, which has no attention that could be drawn")

    data = video_list(trained, [record], Evaluation(clips=1, crops=1, batch=1, workers=0, device=device))
    raw, clip_frames = data.centre_view(record)
    if raw["broken"][0]:
        raise UserError(raw["broken"][0])

    try:
        clip = data.normalise(raw)["clip"]
        result = rollout(network, clip.to(next(network.parameters()).device))
    except ValueError as error:
        raise UserError(str(error)) from error

    drawn_frames: list[int] = []  # numbers of the frames that the network uses
    tubelets: list[int] = []
    for tubelet, frames in enumerate(tubelet_frames(network.embed.patches, len(clip_frames))):
        drawn_frames += frames
        tubelets += [tubelet] * len(frames)

    relevance = result.patches.double().cpu()
    total = max(float(relevance.sum()), 1e-12)
    maps: NDArray[np.float64] = (relevance * (relevance.numel() / total)).numpy()  # their mean is 1
    video_frames = [clip_frames[frame] for frame in drawn_frames]
    pixels = record.decode(clip_frames)[drawn_frames]
    return AttentionMaps(
        frames=_cropped(pixels, data.view(1)),
        numbers=drawn_frames,
        seconds=[record.table().seconds_at(frame) for frame in video_frames],
        maps=maps[tubelets],
        tubelets=tubelets,
        lines=[*_title(trained, record, result), range_line(maps)],
    )


def _cropped(frames: Frames, view: EvaluationViews) -> Frames:
    """Cut the crop that the model sees from frames at the video's resolution."""
    (box,) = view.boxes(*frames.shape[1:3])
    rows = slice(box.top, box.top + box.height)
    columns = slice(box.left, box.left + box.width)
    return frames[:, rows, columns]


def _title(trained: TrainedModel, record: VideoRecord, result: Rollout) -> list[str]:
    """Return the lines above the picture: the prediction, the video, and what a reader must know of the maps."""
    logits = result.logits.float().cpu()
    several_labels = trained.model.several_labels
    (video,) = ranked_videos([record.path], logits, trained.class_names, top=1, several_labels=several_labels)
    *_, most_probable = video.ranked.values()  # with several tasks, the last are combinations of their classes
    prediction = f"predicted: {most_probable[0].name}, {100 * most_probable[0].probability:.0f} %"

    folder = Path(os.path.abspath(record.path)).parent.name
    if isinstance(trained.class_names, list) and folder in trained.class_names:
        prediction += f"; true class: {folder}"

    lines = [prediction, f"{record.path.name}: attention rollout from the output"]
    if result.other >= 0.005:
        lines.append(f"{100 * result.other:.0f} % goes to tokens that are no patches, such as the class token")
    if trained.saw([record]) == [True]:
        lines.append("the model was trained on this video")
    return lines
