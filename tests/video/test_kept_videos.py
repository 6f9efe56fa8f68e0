"""Test that videos kept in memory give what decoding every time gives, in bounded memory."""

import numpy as np
import pytest

from lit_video.datamodules import TemporalSkills
from lit_video.video.decoding import DecodeError, KeptVideos, decode, frame_table
from tests.embedded import four_skills
from tests.video.test_clips_of_a_video import Counted


@pytest.fixture(scope="module")
def videos(tmp_path_factory):
    data = four_skills(tmp_path_factory.mktemp("kept"), pairs=(1, 1, 1))
    data.prepare_data()
    return [record.path for record in data.records("train")]


def test_what_finds_no_room_is_decoded_every_time(videos):
    counted = Counted()
    table = frame_table(videos[0])
    kept = KeptVideos(counted, (3 * table.count * table.height * table.width + 10) / 1e9)
    for _ in range(3):
        for path in videos[:2]:
            assert np.array_equal(kept(path, [1, 0]), decode(path, [1, 0]))
    assert [path for path, _ in counted.asked] == [videos[0], *[videos[1]] * 3]


def test_a_video_with_a_damaged_end_is_read_as_far_as_it_is_asked_for(videos):
    def damaged(path, numbers):
        if max(numbers) > 5:
            raise DecodeError(f"{path}: frames are missing")
        return decode(path, numbers)

    kept = KeptVideos(damaged, 1.0)
    assert np.array_equal(kept(videos[0], [0, 4]), decode(videos[0], [0, 4]))
    with pytest.raises(DecodeError):
        kept(videos[0], [6])


@pytest.mark.parametrize("workers", [0, 1])
def test_a_data_sets_batches_are_the_same(tmp_path, workers):
    settings = dict(pairs=(1, 1, 1), num_frames=8, image_size=16, batch_size=4, num_workers=workers, root=str(tmp_path))
    plain, kept = TemporalSkills(**settings), TemporalSkills(**settings, keep_gb=0.1)
    plain.prepare_data()
    for _ in range(2):  # decoded, then kept
        for one, other in zip(plain.train_dataloader(), kept.train_dataloader(), strict=True):
            assert one["clip"].equal(other["clip"])
            assert one["label"].equal(other["label"])


def test_negative_memory_is_refused():
    with pytest.raises(ValueError, match="keep_gb is -1"):
        TemporalSkills(keep_gb=-1)
