"""Attention maps of a trained model on a video: attention rollout, drawn over the video's frames."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import fill
from typing import Literal

import matplotlib as mpl
import numpy as np
import torch
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F
from torchvision.transforms.v2.functional import resize

from lit_video.datamodules import VideoDataModule
from lit_video.errors import OptionError, UserError
from lit_video.inference.predict import Evaluation, load, video_list
from lit_video.inference.ranking import ClassNames, best, ranked_videos
from lit_video.inference.rollout import heads_of, rollout, tubelet_frames
from lit_video.inference.videos import find_videos, own_folder
from lit_video.modules import VideoClassifier
from lit_video.network.transformer import VideoTransformer
from lit_video.utils.environment import choose_device
from lit_video.utils.figures import content_of
from lit_video.utils.text import clock
from lit_video.video.clips import VideoRecord
from lit_video.video.crops import Box
from lit_video.video.decoding import Frames

LARGEST = 480  # pixels of the longer side of a frame that is drawn
Device = Literal["cpu", "cuda"]
COLOURS = "inferno"  # perceptually uniform, also in grey and to the colour-blind
OPACITY = 0.65
ACROSS = 4  # frames in a row
PANEL = 2.6  # inches that a frame is wide
BAR_WIDTH = 1.7  # inches
OUTLINE = "#56b4e9"
BAR = "attention to a patch\n(1 = mean over the clip's patches)"


@dataclass(frozen=True)
class AttentionMaps:
    """Frames of a clip and the relevance of their patches.

    Args:
        frames: frames of the video, ``(n, height, width, 3)``.
        box: part of the frames that the model sees.
        numbers: their places in the clip.
        seconds: when they are shown in the video.
        maps: relevance of every patch of these frames, ``(n, rows, columns)``, over the box; the mean over all patches
            of the clip is 1.
        tubelets: place in the model's grid of every frame; frames of a tubelet have one map.
        lines: title and subtitles.
        heads: likewise, as seen by each head of the last layer alone, if it was asked for.
    """

    frames: Frames
    box: Box
    numbers: list[int]
    seconds: list[float]
    maps: NDArray[np.float64]
    tubelets: list[int]
    lines: list[str]
    heads: Sequence[NDArray[np.float64]] = ()

    @property
    def is_cropped(self) -> bool:
        """True if the model sees only a part of the frames."""
        return (self.box.height, self.box.width) != self.frames.shape[1:3]

    def label(self, i: int) -> str:
        """Name a frame or tubelet, and when it is shown."""
        grouped = len(set(self.tubelets)) < len(self.frames)
        place = f"tubelet {self.tubelets[i]}" if grouped else f"frame {self.numbers[i]}"
        return f"{place}, {clock(self.seconds[i], 1)}"


def attention_maps(
    ckpt: str | Path, video: str | Path, device: Device | None = None, fps: float | None = None, heads: bool = False
) -> AttentionMaps:
    """Compute attention maps of a trained model for the centre view of a video.

    Args:
        ckpt: see :func:`~lit_video.inference.predict.load`.
        video: its file; its true class is the name of its folder, if there is such a class.
        device: ``None`` for a GPU where there is one.
        fps: frames per second of a folder of pictures, given as the video.
        heads: maps of every head of the last layer as well.

    Raises:
        UserError: there is no such video, or there are several; the checkpoint is wrong or its model has no attention.
    """
    videos = find_videos(video, fps)
    if len(videos) > 1:
        raise UserError(f"{video}: {len(videos)} videos; attention is drawn of one")
    (record,), trained = videos, load(ckpt)
    if not isinstance(trained.model.network, VideoTransformer):
        family = type(trained.model).__name__
        raise OptionError("ckpt", f"{ckpt} is a {family}, which has no attention that could be drawn")
    folder, names = own_folder(record.path), trained.class_names
    label = folder if isinstance(names, list) and folder in names else None
    data = video_list(trained, [record], Evaluation(1, 1, 1, 0, device))
    maps = maps_of(trained.model.to(choose_device(device)), names, data, record, label, heads)
    (known,) = trained.saw([record])
    return replace(maps, lines=[*maps.lines, "the model was trained on this video"]) if known else maps


def maps_of(
    model: VideoClassifier,
    names: ClassNames,
    data: VideoDataModule,
    record: VideoRecord,
    label: str | None,
    heads: bool = False,
) -> AttentionMaps:
    """Compute :func:`attention_maps` for a transformer on its device; ``label`` is the true class, if known."""
    network = model.network.eval()
    assert isinstance(network, VideoTransformer)
    clip, seen = see(network, data, record)
    try:
        result = rollout(network, clip)
        each = [rollout(network, clip, True, head) for head in range(heads_of(network))] if heads else []
    except ValueError as error:
        raise UserError(str(error)) from error
    (ranked,) = ranked_videos([record.path], result.logits.float().cpu(), names, 1, model.several_labels)
    first = best(ranked.ranked)
    true = "" if label is None else f"; true class: {label}"
    share = f"{100 * result.other:.0f} % of it goes to tokens that are no patches, such as the class token"
    lines = [
        f"predicted: {first.name}, {100 * first.probability:.0f} %{true}",
        f"{record.path.name}: attention rollout from the output",
        *([share] if result.other >= 0.005 else []),
    ]
    maps, *of_heads = [_relative(one.patches)[seen.tubelets] for one in (result, *each)]
    return replace(seen, maps=maps, heads=of_heads, lines=lines)


def see(network: VideoTransformer, data: VideoDataModule, record: VideoRecord) -> tuple[Tensor, AttentionMaps]:
    """Return the centre view that the model takes, and the frames it is cut from, without relevance.

    Returns:
        The clip, ``(1, 3, t, height, width)``, on the network's device; the frames, scaled down if large.
    """
    raw, numbers = data.centre_view(record)
    if raw["broken"][0]:
        raise UserError(raw["broken"][0])
    clip = data.normalise(raw)["clip"].to(next(network.parameters()).device)
    frames = record.decode(numbers)
    height, width = frames.shape[1:3]
    (box,) = data.view(1).boxes(height, width)
    share = min(1.0, LARGEST / max(height, width))
    size = [round(height * share), round(width * share)]
    scaled = resize(torch.from_numpy(frames.copy()).permute(0, 3, 1, 2), size, antialias=True)
    top, left = round(box.top * share), round(box.left * share)
    part = min(round(box.height * share), size[0] - top), min(round(box.width * share), size[1] - left)
    tubelets = tubelet_frames(network.embed.patches, len(frames))
    pairs = sorted((frame, tubelet) for tubelet, members in enumerate(tubelets) for frame in members)
    shown, places = [frame for frame, _ in pairs], [tubelet for _, tubelet in pairs]
    seconds = [record.table().seconds_at(numbers[i]) for i in shown]
    pixels = scaled.permute(0, 2, 3, 1).numpy()[shown]
    return clip, AttentionMaps(pixels, Box(top, left, *part), shown, seconds, np.zeros((0, 0, 0)), places, [])


def label_name(record: VideoRecord, names: ClassNames) -> str:
    """Return the true class of a data set's video, or all of them for several tasks or labels."""
    if isinstance(names, dict):
        assert isinstance(record.label, tuple)
        return ", ".join(of_task[i] for of_task, i in zip(names.values(), record.label, strict=True))
    if isinstance(record.label, tuple):
        return ", ".join(name for name, there in zip(names, record.label, strict=True) if there)
    return names[record.label]


def _relative(patches: Tensor) -> NDArray[np.float64]:
    """Relevance of patches as multiples of their mean."""
    patches = patches.double().cpu()
    return (patches * (patches.numel() / max(float(patches.sum()), 1e-12))).numpy()


def overlaid(attention: AttentionMaps, maps: NDArray[np.float64], top: float) -> Frames:
    """Draw maps over grey frames; relevance of ``top`` and more is brightest, unseen parts are dark."""
    box, grey = attention.box, attention.frames.mean(-1, keepdims=True) / 255
    smooth = F.interpolate(
        torch.from_numpy(maps)[:, None], size=(box.height, box.width), mode="bilinear", align_corners=False
    )[:, 0]
    heat = mpl.colormaps[COLOURS](smooth.numpy() / top)[..., :3]
    over = np.repeat((1 - OPACITY) * grey, 3, axis=-1)
    inside = np.s_[:, box.top : box.top + box.height, box.left : box.left + box.width]
    over[inside] += OPACITY * heat
    return np.round(255 * over).astype(np.uint8)


def picture(attention: AttentionMaps) -> bytes:
    """Draw a PNG: rows of frames, below each the same frames with their maps, and a colour bar.

    With heads there is one row of some frames, and below it one of each kind of maps, on one scale.
    """
    kinds = [attention.maps, *attention.heads]
    top = max(*(float(maps.max()) for maps in kinds), 1e-12)
    count, across = len(attention.frames), min(len(attention.frames), ACROSS)
    shown = [(2 * i + 1) * count // (2 * across) for i in range(across)] if attention.heads else range(count)
    layers = [attention.frames, *(overlaid(attention, maps, top) for maps in kinds)]
    rows = [(layer, shown[i : i + across]) for i in range(0, len(shown), across) for layer in range(len(layers))]
    height, width = attention.frames.shape[1:3]
    size = (max(PANEL * across + BAR_WIDTH, 6.0), len(rows) * (PANEL * height / width + 0.15) + 1)  # room for a title
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(len(rows), across, squeeze=False)
    for panels, (layer, places) in zip(axes, rows, strict=True):
        for panel, i in zip(panels, places, strict=False):
            panel.imshow(layers[layer][i])
            if not layer:
                panel.set_title(attention.label(i), fontsize=8, pad=2)
            if attention.is_cropped:
                box = attention.box
                corner = (box.left - 0.5, box.top - 0.5)
                panel.add_patch(Rectangle(corner, box.width, box.height, fill=False, edgecolor=OUTLINE, linewidth=1.5))
        if attention.heads and layer:
            name = f"head {layer - 2} of the last layer" if layer > 1 else "all layers"
            panels[0].set_title(name, fontsize=8, pad=2, loc="left")
    for panel in axes.flat:
        panel.axis("off")
    lines = [*attention.lines, *(["outlined: what the model sees of the frame"] if attention.is_cropped else [])]
    figure.suptitle("\n".join(fill(line, int(12 * size[0])) for line in lines), fontsize=10)
    bar = figure.colorbar(ScalarMappable(Normalize(0, top), COLOURS), ax=axes, shrink=0.8, aspect=30)
    bar.set_label(BAR, fontsize=8)
    bar.ax.tick_params(labelsize=8)
    return content_of(figure)
