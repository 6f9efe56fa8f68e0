"""Test the strips of frames beside a test's mistakes: several moments of a video, enlarged, at its proportions."""

import numpy as np

from lit_video.engine.predictions import film_strip
from lit_video.runs.predictions import STRIP_HEIGHT, STRIP_WIDTH
from lit_video.video.clips import VideoRecord
from tests.video import made


def strip_of(path, **times):
    return np.asarray(film_strip(VideoRecord(path, 0, **times)))


def columns_with_a_picture(strip):
    return (strip.max((0, 2)) > 40).sum()


def test_motion_shows_and_a_small_video_fills_the_strip(tmp_path):
    made.write(tmp_path / "a.mp4", "libx264", num_frames=20, fps=10, height=32, width=32)
    strip = strip_of(tmp_path / "a.mp4")
    assert strip.shape == (STRIP_HEIGHT, STRIP_WIDTH, 3)
    first, last = strip[:, 7:97], strip[:, -97:-7]  # five frames of 90 pixels with gaps of 4, in the middle of 480
    assert np.abs(first.astype(int) - last).mean() > 5, "the strip goes from the first frame to the last"
    assert columns_with_a_picture(strip) > 0.8 * STRIP_WIDTH


def test_other_proportions_and_files(tmp_path):
    made.write(tmp_path / "wide.mp4", "libx264", num_frames=6, fps=10, height=16, width=96)
    made.write(tmp_path / "one.mp4", "libx264", num_frames=1, fps=10, height=64, width=32)
    assert columns_with_a_picture(strip_of(tmp_path / "wide.mp4")) > 0.8 * STRIP_WIDTH
    assert 0 < columns_with_a_picture(strip_of(tmp_path / "one.mp4")) <= 45, "one frame stands alone"
    (tmp_path / "text.mp4").write_text("no video")
    assert (strip_of(tmp_path / "text.mp4") == 128).all()
