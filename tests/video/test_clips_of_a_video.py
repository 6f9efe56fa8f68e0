"""Test that the clips of a test video are decoded at once, and equal each clip alone."""

import pytest
import torch
from torch.utils.data import DataLoader

from lit_video.video import clips as module
from lit_video.video.augmentation import EvaluationViews
from lit_video.video.clips import ClipDataset, VideoRecord
from lit_video.video.decoding import DecodeError, decode
from lit_video.video.loading import EvaluationSampler
from lit_video.video.sampling import DenseStride
from tests.video.made import write


@pytest.fixture(scope="module")
def videos(tmp_path_factory):
    folder = tmp_path_factory.mktemp("videos")
    for i in range(3):
        write(folder / f"{i}.mp4", num_frames=40 + i)
    return [VideoRecord(folder / f"{i}.mp4", i) for i in range(3)]


class Counted:
    """Decoder that keeps the videos and frames of all requests; some frames are damaged."""

    def __init__(self, damaged=()):
        self.asked, self.damaged = [], damaged

    def __call__(self, path, numbers):
        self.asked.append((path, list(numbers)))
        if bad := set(numbers).intersection(self.damaged):
            raise DecodeError(f"{path}: frames {sorted(bad)} damaged")
        return decode(path, numbers)


def samples(videos, counted, batch_size=12, workers=0, order="forward", **changes):
    view = EvaluationViews(3, 16)
    fail = changes.get("fail", True)
    dataset = ClipDataset(videos, DenseStride(3), 4, view=view, seed=0, clips=4, order=order, fail=fail, decode=counted)
    sampler = EvaluationSampler(len(dataset))
    batches = list(DataLoader(dataset, batch_size=batch_size, sampler=sampler, num_workers=workers))
    alone = [dataset[0, i] for i in range(len(dataset))]
    return batches, alone


@pytest.mark.parametrize("order", ["forward", "shuffled"])
@pytest.mark.parametrize("batch_size", [4, 5])
def test_a_video_is_decoded_once_for_all_its_views_of_a_batch(videos, batch_size, order):
    counted = Counted()
    batches, alone = samples(videos, counted, batch_size, order=order)
    asked = counted.asked[: -len(alone)]
    assert len(asked) == {4: 3, 5: 5}[batch_size]
    assert all(numbers == sorted(set(numbers)) for _, numbers in asked[:1])
    together = [clip for batch in batches for clip in batch["clip"]]
    assert all(torch.equal(clip, sample["clip"]) for clip, sample in zip(together, alone, strict=True))
    assert torch.cat([batch["first_view"] for batch in batches]).tolist() == [0, 3, 6, 9] * 3


def test_a_damaged_frame_breaks_the_clips_that_need_it_and_no_others(videos):
    counted = Counted(damaged=[39])
    batches, alone = samples(videos, counted, fail=False)
    broken = [reason for batch in batches for reason in batch["broken"]]
    assert broken == [sample["broken"] for sample in alone]
    assert 0 < sum(map(bool, broken)) <= 3
    with pytest.raises(DecodeError, match=r"frames \[39\] damaged"):
        samples(videos, counted)


def test_what_does_not_fit_into_memory_together_is_decoded_clip_by_clip(videos, monkeypatch):
    monkeypatch.setattr(module, "MOST_DECODED_BYTES", 48 * 64 * 3 * 4)
    counted = Counted()
    batches, alone = samples(videos, counted)
    assert len(counted.asked) == 24
    together = [clip for batch in batches for clip in batch["clip"]]
    assert all(torch.equal(clip, sample["clip"]) for clip, sample in zip(together, alone, strict=True))
