"""Test a share of the training videos: of every class, nested, pairs kept; the test keeps its videos."""

from collections import Counter
from pathlib import Path

import pytest

from lit_video.datamodules.folder import VideoList
from lit_video.video.clips import VideoRecord, share_of
from tests.embedded import four_skills


def records(*counts):
    return [VideoRecord(Path(f"{label}/{i}.mp4"), label) for label, count in enumerate(counts) for i in range(count)]


def test_every_class_gives_its_share_rounded_up():
    kept = share_of(records(100, 10, 1), 0.25)
    assert Counter(record.label for record in kept) == {0: 25, 1: 3, 2: 1}
    assert share_of(records(7, 3), 1.0) == records(7, 3)


def test_a_larger_share_holds_a_smaller_one_and_is_no_mere_beginning():
    every = records(40, 40)
    smaller, larger = (share_of(every, share) for share in (0.25, 0.5))
    assert set(smaller) < set(larger) < set(every)
    assert larger != [record for record in every if int(record.path.stem) < 20]
    assert larger == sorted(larger, key=every.index)


def test_classes_listed_in_pairs_keep_pairs_and_the_test_its_videos():
    data = VideoList(records(8, 8, 8), train_share=0.5)
    places = [[r.path.stem for r in data._expected("train") if r.label == label] for label in range(3)]
    assert places == 3 * [places[0]] and len(places[0]) == 4
    assert data._expected("test") == data.listed


@pytest.mark.parametrize("share", [0, -1, 1.5])
def test_no_share_is_refused(share, tmp_path):
    with pytest.raises(ValueError, match="train_share is"):
        four_skills(tmp_path, train_share=share)
