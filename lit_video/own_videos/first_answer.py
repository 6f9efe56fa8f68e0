"""A first answer in seconds, before any training: what frozen features of the small model that comes along tell."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from lit_video.datamodules.folder import VideoList
from lit_video.inference.predict import load
from lit_video.network.aggregation import wave_features
from lit_video.network.transformer import VideoTransformer, frame_means
from lit_video.own_videos.finding import OwnVideo
from lit_video.probes.heads import Bools
from lit_video.tables.statistics import Interval, accuracy_interval
from lit_video.utils.logistic import fit_head
from lit_video.utils.parallel import with_progress
from lit_video.utils.text import natural, plural
from lit_video.video.clips import VideoRecord
from lit_video.weights.hub import DRAWN_WEIGHTS

MOST_VIDEOS = 300  # more videos change the answer little
LONGEST_READ = 30.0  # seconds after which no further video is read


@dataclass(frozen=True)
class FirstAnswer:
    """Accuracy of logistic regression on frozen features, on videos that did not train it."""

    accuracy: Interval
    tested: int  # number of these videos
    how: str  # tested videos in words, and whether they are a sample
    right: Mapping[str, list[int]]  # by fold or split: number of right and of tested videos

    def __str__(self) -> str:
        interval = ""
        if self.accuracy.bounded:
            interval = f", 95 % interval {self.accuracy.low:.0f} to {self.accuracy.high:.0f} %"
        told = f"{self.accuracy.value:.1f} % of {plural(self.tested, 'video')} are right ({self.how}{interval})"
        return f"First answer, before any training: by logistic regression on frozen features, {told}"


def first_answer(root: Path, videos: Sequence[OwnVideo], draws: Sequence[str] | None) -> FirstAnswer | None:
    """Train and test a linear classifier of frozen features; ``None`` if the videos are too few to test it.

    Features of a video are those of a probe of waves: the mean patches' mean over frames, and slow waves over time.
    Folds are tested by the others; else the training videos train, and validation videos are tested, without any the
    test videos. Of many videos some are taken, at random.

    Args:
        root: folder of the videos' paths.
        videos: readable videos with their splits or folds.
        draws: names of the videos' draws, which are never on both sides where the penalty is chosen.
    """
    order = np.random.default_rng(0).permutation(len(videos))[:MOST_VIDEOS]
    features_of = {}
    for place, features in zip(order, _features(root, [videos[place] for place in order]), strict=False):
        if features is not None:
            features_of[place] = features
    if not features_of:
        return None

    order = np.array(sorted(features_of))  # the order in which a run has the videos
    x = np.stack([features_of[place] for place in order])
    names = sorted({video.label for video in videos}, key=natural)
    labels = np.array([names.index(videos[place].label) for place in order])
    draw = np.unique([draws[place] if draws else str(place) for place in order], return_inverse=True)[1]
    splits = np.array([videos[place].split for place in order])

    tests, how = _tests(splits)
    hits = np.zeros(len(order), np.bool_)
    tested = np.zeros(len(order), np.bool_)
    for training, testing in tests:
        if len(np.unique(labels[training])) < 2 or not testing.any():
            continue
        head = fit_head(x[training], labels[training], draw[training], classes=len(names))
        hits[testing] = head.scores(x[testing]).argmax(1) == labels[testing]
        tested |= testing
    if not tested.any():
        return None

    if len(order) < len(videos):
        how = f"{how}, {len(order)} of {len(videos)} videos taken at random"
    accuracy = accuracy_interval(hits[tested], groups=draw[tested] if draws else None)
    right = {}
    for split in np.unique(splits[tested]):
        of_split = hits[tested & (splits == split)]
        right[str(split)] = [int(of_split.sum()), len(of_split)]
    return FirstAnswer(accuracy, int(tested.sum()), how, right)


def compared_in_words(trained: Mapping[str, Sequence[float]], answer: Mapping[str, Sequence[float]]) -> str:
    """Return the shares of right videos in percent, and of how many videos an answer to some of them is.

    Both arguments are those of :func:`answered_better`.
    """
    shares, counts = [], []
    for right in (trained, answer):
        counts.append(round(sum(tested for _, tested in right.values())))
        shares.append(f"{100 * sum(hits for hits, _ in right.values()) / counts[-1]:.1f} %")
    sample = "" if counts[1] == counts[0] else f" of a sample of {counts[1]} of these {counts[0]} videos"
    return f"training {shares[0]}, first answer {shares[1]}{sample}"


def answered_better(trained: Mapping[str, Sequence[float]], answer: Mapping[str, Sequence[float]]) -> list[bool]:
    """Say whether the first answer is right more often: on all folds, then for each fold on the other folds.

    So no video chooses the model that it is tested by. Both arguments hold, by fold, the numbers of right and of tested
    videos; without folds there is one entry, of the validation videos, and so one value.
    """
    chosen = []
    for left_out in (None, *trained) if len(trained) > 1 else (None,):
        shares = []
        for counts in (trained, answer):
            others = [count for fold, count in counts.items() if fold != left_out]
            shares.append(sum(right for right, _ in others) / sum(tested for _, tested in others))
        chosen.append(shares[1] > shares[0])
    return chosen


def _features(root: Path, videos: Sequence[OwnVideo]) -> Iterator[NDArray[np.float64] | None]:
    """Yield the features of each video, ``None`` for one that cannot be read, as long as there is time."""
    trained = load(DRAWN_WEIGHTS)
    network = trained.model.network
    assert isinstance(network, VideoTransformer)
    clips = VideoList([], **trained.settings, broken="report")
    began = time.monotonic()

    for video in with_progress(videos, len(videos), "first answer"):
        if time.monotonic() - began > LONGEST_READ:
            return
        batch, numbers = clips.centre_view(VideoRecord(root / video.path, 0, start=video.start, end=video.end))
        if not numbers:
            yield None
            continue
        with torch.inference_mode():
            tokens, grid = network.forward_tokens(clips.normalise(batch)["clip"])
            frames = frame_means(tokens, grid, network.norm, prefix=network.embed.prefix)[0]
        yield wave_features(frames[None])[0].double().numpy()


def _tests(splits: NDArray[np.str_]) -> tuple[list[tuple[Bools, Bools]], str]:
    """Return which videos train and which are tested, for each test, and say so in words."""
    names = [str(name) for name in np.unique(splits)]
    if "train" not in names:
        tests = [(splits != name, splits == name) for name in names]
        return tests, f"cross-validated in {len(names)} parts"
    if "val" in names:
        return [(splits == "train", splits == "val")], "validation videos"
    return [(splits == "train", splits == "test")], "test videos"
