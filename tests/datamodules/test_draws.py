"""Test which test videos of a data set are one draw for statistics."""

import numpy as np
import pytest

from lit_video.datamodules import EpicKitchens100, TemporalSkills, VideoCSV
from lit_video.errors import UserError
from lit_video.runs.predictions import Draws
from tests.datamodules.test_released import DIVING, EPIC, UCF

ROWS = """\
path,label,take,who
a/1.mp4,walk,1,Ann
a/2.mp4,sit,1,Ann
b/1.mp4,walk,2,Bo
b/2.mp4,sit,2,Ann
b/3.mp4,sit,2,Bo
"""
SEGMENTS = """\
path,label,take,start,end
a/1.mp4,walk,1,,
a/2.mp4,sit,1,,
b/1.mp4,walk,2,0,1
b/1.mp4,sit,2,1,2
b/2.mp4,sit,2,,
"""


@pytest.fixture
def listed(tmp_path, video, small):
    """Function that opens a table of five videos with a column ``who``."""
    for name in ("a/1", "a/2", "b/1", "b/2", "b/3"):
        video(tmp_path / f"{name}.mp4")

    def opened(text=ROWS, **changes):
        (tmp_path / "train.csv").write_text(text)
        split = dict(split_column="take", train_values=[1], val_values=[2])
        return VideoCSV(root=str(tmp_path), **(small | split | changes))

    return opened


def test_videos_of_one_value_of_the_draw_column_are_one_draw(listed):
    assert listed().draws("test") is None, "every video is a file of its own"
    assert listed(draw_column="who").draws("test") == Draws("who", np.array([1, 0, 1]))
    assert listed(draw_column="take").draws("test").count == 1


def test_a_video_that_is_missing_has_no_draw(listed, tmp_path):
    data = listed(draw_column="who", missing="skip")
    (tmp_path / "b/2.mp4").unlink()
    assert data.draws("test").number.tolist() == [0, 0], "two videos of Bo are left"


def test_the_draw_column_must_be_in_the_table_and_filled_in(listed):
    with pytest.raises(UserError, match="speaker"):
        listed(draw_column="speaker").draws("test")
    with pytest.raises(UserError, match="column who"):
        listed(ROWS.replace("2,Ann", "2,"), draw_column="who").draws("test")


def test_segments_of_one_file_are_one_draw(listed):
    draws = listed(SEGMENTS).draws("test")
    assert (draws.kind, draws.number.tolist()) == ("recording", [0, 0, 1])


def test_a_video_and_its_reverse_are_one_draw(tmp_path):
    data = TemporalSkills(root=str(tmp_path), pairs=(1, 1, 3), skills=("drift", "zoom"), num_frames=8, image_size=16)
    data.prepare_data()
    draws, records = data.draws("test"), data.records("test")
    assert (draws.kind, draws.count, len(records)) == ("pair", 6, 12)
    for number in range(6):
        first, second = (records[i] for i in np.flatnonzero(draws.number == number))
        assert first.path.stem == second.path.stem
        assert {first.label, second.label} in ({0, 1}, {2, 3}), "both directions of one skill"


@pytest.mark.parametrize(("release", "kind"), [(UCF, "group"), (DIVING, "recording"), (EPIC, "person")])
def test_releases_know_their_draws_by_the_names_of_their_videos(release, kind, tmp_path, video, small):
    data = release.open(tmp_path, video, small)
    names = data.draw_names("val")
    assert data.draw_kind == kind
    assert len(names) == len(data.records("val"))
    for name, path in zip(names, data.records("val").paths, strict=True):
        assert name in path and (isinstance(data, EpicKitchens100) or len(name) < len(path) - 4)


def test_draws_are_kept_with_predictions_in_the_order_of_the_videos():
    draws = Draws.of_names("person", ["b", "a", "b"])
    assert draws.number.tolist() == [1, 0, 1] and draws.count == 2
    assert draws.of(np.array([2, 1])).number.tolist() == [1, 0]
    assert draws != Draws("speaker", draws.number)
