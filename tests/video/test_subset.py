"""A share of the training videos: of every class, nested, pairs kept; the rest of a run as before."""

from collections import Counter
from pathlib import Path

import pytest

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


def test_the_embedded_data_set_keeps_its_pairs(tmp_path):
    data = four_skills(tmp_path, pairs=(8, 1, 1), train_share=0.5)
    for path in (path for _, pair in data._jobs() for path in pair):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    listed = {str(record.path): i for i, record in enumerate(data.records("train"))}
    kept = {listed[str(record.path)] for record in data._expected("train")}
    assert len(kept) == len(listed) // 2
    by_class = {}
    for index in listed.values():
        by_class.setdefault(data.records("train")[index].label, []).append(index)
    for left, right in ((0, 1), (2, 3), (4, 5), (6, 7)):
        assert [i in kept for i in by_class[left]] == [i in kept for i in by_class[right]]
    assert len(data._expected("test")) == len(data.records("test"))


@pytest.mark.parametrize("share", [0, -1, 1.5])
def test_no_share_is_refused(share, tmp_path):
    with pytest.raises(ValueError, match="train_share is"):
        four_skills(tmp_path, train_share=share)
