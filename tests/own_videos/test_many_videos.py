"""Test that thousands of videos are divided in seconds, and as evenly as the sizes of the classes allow."""

import time
from collections import Counter

import numpy as np
import pytest

from lit_video.own_videos.dividing import _least_unevenness, _numbered, _parts, _unevenness, assign_splits
from lit_video.own_videos.finding import OwnVideo


def long_tailed(number, classes):
    """Return videos of classes of sizes in proportion to 1 / rank, three at least."""
    weights = 1 / np.arange(1, classes + 1)
    counts = np.maximum(3, (number * weights / weights.sum()).astype(int))
    return [OwnVideo(f"{label}/{i}.mp4", f"class{label}") for label in range(classes) for i in range(counts[label])]


@pytest.mark.parametrize(("number", "classes", "seconds"), [(3_000, 100, 3.0), (30_000, 300, 18.0)])
def test_long_tailed_classes_are_divided_in_seconds(number, classes, seconds):
    videos = long_tailed(number, classes)
    start = time.process_time()
    divided, _ = assign_splits(videos, None)
    assert time.process_time() - start < seconds
    counts = Counter((video.label, video.split) for video in divided)
    for label, count in Counter(video.label for video in videos).items():
        assert abs(counts[label, "test"] - count / 5) < 1, "a fifth, to the next video"
        assert counts[label, "train"] >= 1


@pytest.mark.parametrize("sizes", [(7, 7), (3, 50, 11), (5, 5, 5), (4, 100), (3, 3, 3)])
@pytest.mark.parametrize("parts", [2, 3, 5])
def test_single_videos_are_divided_as_evenly_as_the_sizes_allow(sizes, parts):
    videos = [OwnVideo(f"{label}/{i}.mp4", str(label)) for label, count in enumerate(sizes) for i in range(count)]
    numbers = _numbered(np.array([video.label for video in videos]))
    divided = _parts(videos, None, parts, among=np.arange(len(videos)))
    assert sorted(np.concatenate(divided).tolist()) == [*range(len(videos))]
    total = sum(_unevenness(numbers, part, len(divided)) for part in divided)
    assert total == pytest.approx(_least_unevenness(numbers, len(divided)), abs=1e-6)


def test_a_few_copies_among_many_videos_are_kept_together_in_seconds():
    videos = long_tailed(3_000, 100)
    groups = [str(max(3, number)) for number in range(len(videos))]
    start = time.process_time()
    divided, _ = assign_splits(videos, groups)
    assert time.process_time() - start < 3
    assert len({video.split for video in divided[:4]}) == 1
    counts = Counter((video.label, video.split) for video in divided)
    for label, count in Counter(video.label for video in videos).items():
        assert abs(counts[label, "test"] - count / 5) <= 1


def test_many_groups_of_several_videos_stay_whole_and_even():
    videos = [OwnVideo(f"{i}.mp4", "abc"[i % 3]) for i in range(900)]
    groups = [str(number // 3 if number < 600 else number) for number in range(900)]
    divided, _ = assign_splits(videos, groups)
    assert len({*zip(groups, (video.split for video in divided), strict=True)}) == len({*groups})
    counts = Counter((video.label, video.split) for video in divided)
    assert all(abs(counts[label, "test"] - 60) <= 3 for label in "abc")
