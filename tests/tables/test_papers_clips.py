"""Test a clip of each of the papers' recipes, through decoding, sampling and crops, against its rule.

The rules are written anew here, from papers and loaders: frame numbers for videos of 10 s at three rates and one of
2 s, boxes of training and test in frames of 256 x 340 pixels.
"""

from fractions import Fraction
from functools import cache
from math import ceil
from typing import NamedTuple

import numpy as np
import pytest

from lit_video.experiment.cli import VideoCLI
from lit_video.video.augmentation import TrainingView
from lit_video.video.clips import ClipDataset, VideoRecord
from lit_video.video.decoding import decode
from lit_video.weights.hub import PREFIX, find
from tests.tables.experiments import EXPERIMENTS, nested, resolved
from tests.video.made import write

VIDEOS = {"25": (250, 25), "29.97": (300, Fraction(30000, 1001)), "30": (300, 30), "2s": (50, 25)}  # frames, rate
HEIGHT, WIDTH = 256, 340


class Rule(NamedTuple):
    """Frame numbers by a paper or its loader."""

    num_frames: int
    rate: int  # frames from one to the next
    clock: int | None  # frames per second that the rate counts; None for the video's own
    clips: int

    def scaled(self, fps):
        return float(fps) / self.clock if self.clock else 1.0


class Facebook(Rule):
    """PySlowFast, TimeSformer and X-ViT: get_start_end_idx and temporal_sampling."""

    def starts(self, count, fps):
        slack = max(count - self.num_frames * self.rate * self.scaled(fps), 0)
        return [slack * clip / self.clips for clip in range(self.clips)], slack

    def clip(self, start, count, fps):
        moments = np.linspace(start, start + self.num_frames * self.rate * self.scaled(fps) - 1, self.num_frames)
        return np.clip(moments, 0, count - 1).astype(int)


class Middle(Facebook):
    """The TimeSformer paper: a clip in the middle of the video, every ``rate``-th frame."""

    def starts(self, count, fps):
        _, slack = super().starts(count, fps)
        return [slack / 2], slack

    def clip(self, start, count, fps):
        moments = start + (np.arange(self.num_frames) + 0.5) * self.rate * self.scaled(fps)
        return np.clip(moments, 0, count - 1).astype(int)


class Google(Rule):
    """DMVR: sample_linspace_sequence and sample_sequence, which start a short video again; ours half a stride later."""

    def starts(self, count, fps):
        slack = max(round(count / self.scaled(fps)) - self.num_frames * self.rate, 0)
        return np.linspace(0, slack, self.clips).astype(int) * self.scaled(fps), slack * self.scaled(fps)

    def clip(self, start, count, fps):
        return (start + (np.arange(self.num_frames) + 0.5) * self.rate * self.scaled(fps)).astype(int) % count


class Segments(Rule):
    """TSN's middles of equal segments, as the X-ViT paper has them."""

    def starts(self, count, fps):
        return list(range(self.clips)), 0

    def clip(self, start, count, fps):
        return ((np.arange(self.num_frames) + 0.5) * count / self.num_frames).astype(int)


class SharedBorders(Segments):
    """Something-Something v2 in X-ViT's and TimeSformer's releases: middles of segments, then their first frames."""

    def clip(self, start, count, fps):
        borders = np.round((count - 1) / self.num_frames * np.arange(self.num_frames + 1)).astype(int)  # halves to even
        return ((borders[:-1] + borders[1:]) // 2, borders[:-1])[start]


class Covering(Segments):
    """HowTo100M: clips of 8.5 s cover the video; two clips cover 10 s, each tested half of the times."""

    def clip(self, start, count, fps):
        clip, video = 8.533, count / float(fps)
        begin = max(video - clip, 0) if start >= self.clips / 2 else 0
        moments = begin + (np.arange(self.num_frames) + 0.5) * clip / self.num_frames
        return np.minimum(moments * float(fps), count - 1).astype(int)


# table, row, scale and recipe, or published weights; the rule of frames; the side of training crops and the range of
# short sides; the side of test crops, the short side and their number
CLIPS = {
    ("timesformer_k400", "base", "k400", "released"): (Facebook(8, 32, 30, 1), (224, 256, 320), (224, 224, 3)),
    ("timesformer_k400", "l", "k400", "released"): (Facebook(96, 4, 30, 1), (224, 256, 320), (224, 224, 3)),
    ("timesformer_k400", "hr", "k600", "released"): (Facebook(16, 16, 30, 1), (448, 448, 512), (448, 448, 3)),
    ("timesformer_k400", "base", "k400", "paper"): (Middle(8, 32, 30, 1), (224, 256, 320), (224, 224, 3)),
    ("timesformer_k400", "hr", "k400", "paper"): (Middle(16, 16, 30, 1), (448, 448, 512), (448, 448, 3)),
    ("vivit_models", "model1", "k400", "paper"): (Google(32, 2, 25, 4), (224, 230.4, 340.48), (224, 256, 1)),
    ("vivit_models", "model2", "k400", "released"): (Google(32, 2, 25, 4), (224, 230.4, 340.48), (224, 256, 3)),
    ("vivit_models", "model1", "epic100", "paper"): (Google(32, 2, None, 4), (224, 230.4, 340.48), (224, 256, 1)),
    ("xvit_ssv2", "vivit_l", "ssv2", "released"): (Google(32, 1, None, 4), (256, 259.2, 383.04), (256, 288, 3)),
    ("xvit_k400", "x16_1", "k400", "released"): (Facebook(16, 16, None, 1), None, (224, 224, 3)),
    ("xvit_k400", "x8_2", "k400", "released"): (Facebook(8, 32, None, 2), None, (224, 224, 3)),
    ("xvit_k400", "x16_1", "k400", "paper"): (Middle(16, 16, 30, 1), (224, 230.4, 332.8), (224, 224, 3)),
    ("timesformer_cnns", "slowfast", "k400", "released"): (Facebook(32, 2, 30, 10), (224, 256, 320), (256, 256, 3)),
    ("timesformer_cnns", "i3d", "k400", "released"): (Facebook(8, 8, 30, 10), (224, 256, 320), (256, 256, 3)),
    ("xvit_k600", "x3d_xl", "k600", "borrowed"): (Facebook(16, 5, 30, 10), (312, 356, 446), (356, 356, 3)),
    ("xvit_ssv2", "x8", "ssv2", "paper"): (Segments(8, 0, None, 1), (224, 230.4, 332.8), (224, 224, 3)),
    ("xvit_epic", "x16", "epic100", "paper"): (Segments(16, 0, None, 1), (224, 230.4, 332.8), (224, 224, 3)),
    ("xvit_ssv2", "x16", "ssv2", "released"): (SharedBorders(16, 0, None, 2), (224, 256, 320), (224, 224, 3)),
    ("timesformer_ssv2", "hr", "ssv2", "released"): (SharedBorders(16, 0, None, 1), (448, 448, 512), (448, 448, 3)),
    ("timesformer_diving48", "base", "diving48", "paper"): (Segments(8, 0, None, 1), (224, 256, 320), (224, 224, 3)),
    ("timesformer_data_share", "slowfast100", "ssv2", "released"): (
        SharedBorders(64, 0, None, 1),
        (224, 256, 320),
        (256, 256, 1),
    ),
    ("timesformer_long_video", "frames8", "howto100m", "paper"): (
        Covering(8, 0, None, 48),
        (224, 256, 320),
        (224, 224, 3),
    ),
    ("hub:timesformer-k400",): (Facebook(8, 32, 30, 1), None, (224, 224, 3)),
    ("hub:timesformer-l-k600",): (Facebook(96, 4, 30, 1), None, (224, 224, 3)),
    ("hub:timesformer-ssv2",): (SharedBorders(8, 0, None, 1), None, (224, 224, 3)),
    ("hub:vivit-b-k400",): (Google(32, 2, 25, 4), None, (224, 256, 3)),
    ("hub:vivit-l-fe-epic",): (Google(32, 1, None, 4), None, (224, 256, 1)),
    ("hub:xvit-b-k600",): (Facebook(16, 16, None, 1), None, (224, 224, 3)),
    ("hub:xvit-b-ssv2",): (SharedBorders(16, 0, None, 2), None, (224, 224, 3)),
}


@pytest.fixture(scope="module")
def videos(tmp_path_factory):
    folder = tmp_path_factory.mktemp("papers")
    for name, (frames, fps) in VIDEOS.items():
        write(folder / f"{name}.mp4", num_frames=frames, fps=fps, height=64, width=80, time_base=1 / Fraction(fps))
    return folder


@cache
def data_of(table, row=None, scale=None, recipe=None):
    if table.startswith(PREFIX):
        return VideoCLI(nested(find(table).settings | {"data.root": "/data"})).build("meta").datamodule
    files = (EXPERIMENTS / f"{table}.yaml", EXPERIMENTS / f"scale/{scale}.yaml")
    return resolved(row, *files, recipe=None if recipe == "borrowed" else recipe).datamodule


def decoded(data, path, view, clips, item):
    """Return the frame numbers of a clip; a video's first and last clip are decoded too."""
    numbers = []

    def recorded(file, wanted):
        numbers.extend(wanted)
        return decode(file, wanted)

    how = {"decode": recorded, "short": data.short}
    dataset = ClipDataset([VideoRecord(path, 0)], data.sampling, data.num_frames, view=view, seed=0, clips=clips, **how)
    if clips and item[1] not in (0, clips - 1):
        return np.array(dataset.numbers(dataset.records[0], item[1]))
    clip = dataset[item]["clip"]
    assert clip.shape[:3] == (view.crops, data.num_frames, 3) and clip.shape[3:] == view.size
    return np.array(numbers)


# rows whose rule of frames is that of another row here, with other numbers
ALIKE = {
    ("timesformer_k400", "l", "k400", "released"),
    ("timesformer_k400", "hr", "k600", "released"),
    ("timesformer_k400", "hr", "k400", "paper"),
    ("vivit_models", "model1", "k400", "paper"),
    ("xvit_k400", "x16_1", "k400", "released"),
    ("xvit_k400", "x16_1", "k400", "paper"),
    ("timesformer_cnns", "i3d", "k400", "released"),
    ("xvit_epic", "x16", "epic100", "paper"),
    ("timesformer_ssv2", "hr", "ssv2", "released"),
    ("timesformer_diving48", "base", "diving48", "paper"),
    ("hub:timesformer-l-k600",),
    ("hub:timesformer-ssv2",),
    ("hub:xvit-b-k600",),
}
CASES = [pytest.param(case, id="-".join(case), marks=pytest.mark.slow if case in ALIKE else ()) for case in CLIPS]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", VIDEOS)
def test_frames_are_those_of_the_authors_rule(case, name, videos):
    rule, (count, fps), path = CLIPS[case][0], VIDEOS[name], videos / f"{name}.mp4"
    data = data_of(*case)
    starts, slack = rule.starts(count, fps)
    assert (data.num_frames, data.test_clips) == (rule.num_frames, len(starts))
    for clip, start in enumerate(starts):
        numbers = decoded(data, path, data.view(data.test_crops), len(starts), (0, clip))
        # ties: ours takes the frame nearer to the middle of the video; the authors' loaders use float32
        apart = np.abs(numbers - rule.clip(start, count, fps))
        assert np.minimum(apart, count - apart).max() <= 1, clip
        exact = type(rule) in (Facebook, SharedBorders)
        assert not exact or (apart == 0).mean() > 0.9, clip
    drawn = (
        [data.sampling.numbers(VideoRecord(path, 0).table(), data.num_frames)[0] for _ in range(60)] if slack else []
    )
    first = rule.clip(0, count, fps)[0]
    assert not drawn or (first <= min(drawn) < first + slack / 4 and slack * 0.75 < max(drawn) <= first + slack + 1)


@pytest.mark.parametrize("case", [case for case in CASES if CLIPS[case.values[0]][1]])
def test_training_crops_are_those_of_the_papers_short_sides(case, videos):
    side, low, high = CLIPS[case][1]
    data = data_of(*case)
    train = TrainingView(data.augmentation, data.image_size)
    assert train.size == (side, side)
    boxes = np.array([train.box(HEIGHT, WIDTH) for _ in range(1500)])
    for shares in (boxes[:, 2] / HEIGHT, boxes[:, 3] / HEIGHT):
        assert np.abs([shares.min() - side / high, shares.max() - side / low]).max() < 0.012
    stretched = case[0].startswith("vivit") or case[1].startswith("vivit")
    assert (boxes[:, 2] != boxes[:, 3]).any() == stretched
    assert not stretched or abs(np.corrcoef(boxes[:, 2], boxes[:, 3])[0, 1]) < 0.1
    room = (HEIGHT, WIDTH) - boxes[:, 2:]
    assert (boxes[:, :2] >= 0).all() and (boxes[:, :2] <= room).all()
    decoded(data, videos / "30.mp4", train, None, (0, 0))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("height", "width"), [(HEIGHT, WIDTH), (WIDTH, HEIGHT), (240, 320)])
def test_test_crops_are_those_of_the_authors_rule(case, height, width):
    side, short, crops = CLIPS[case][2]
    data = data_of(*case)
    view = data.view(data.test_crops)
    assert (view.size, view.crops) == ((side, side), crops)
    scale = short / min(height, width)
    tall, wide = int(height * scale) - side, int(width * scale) - side  # room, after the resize
    steps = [0, 0.5, 1] if crops == 3 else [0.5]
    places = [(ceil(tall / 2), ceil(wide * s)) if width >= height else (ceil(tall * s), ceil(wide / 2)) for s in steps]
    expected = np.array([(top, left, side, side) for top, left in places]) / scale
    assert np.abs(view.boxes(height, width) - expected).max() <= 1
