"""Test that data prepare says what its copies gain before it makes all of them."""

import re
from pathlib import Path

import pytest

from lit_video.__main__ import main
from lit_video.datamodules import preparation
from lit_video.datamodules.preparation import CLIPS_PER_VIDEO, NUM_FRAMES, SAMPLE, Speed, clips_of, sample_of
from lit_video.video.decoding import frame_table
from tests.video.made import write

LINE = r"a clip of 8 frames takes ([\d.]+) ms of a core to read, ([\d.]+) ms from SRC \((\d) videos? measured\): (.*)"


@pytest.mark.parametrize(
    ("source", "prepared", "said"),
    [(0.03, 0.01, "3.0 x as fast"), (0.0102, 0.01, "no faster"), (0.01, 0.02, "no faster")],
)
def test_a_copy_that_is_no_faster_is_called_so_with_a_way_out(source, prepared, said):
    line = str(Speed(source, prepared, 3))
    found = re.fullmatch(LINE, line)
    assert [float(found[1]), float(found[2])] == pytest.approx([1000 * prepared, 1000 * source])
    assert found[4].startswith(said)
    assert ("--preset" in line) == (said == "no faster")


def test_some_videos_of_all_parts_of_a_folder_are_measured(tmp_path, capsys, monkeypatch):
    (tmp_path / "src").mkdir()
    for number in range(7):
        write(tmp_path / f"src/{number}.avi", codec="mpeg4", options={"g": "12"}, num_frames=30, comment=str(number))
    (tmp_path / "src/3.avi").write_bytes(b"broken")
    read = []
    decode = preparation.decode
    monkeypatch.setattr(preparation, "decode", lambda path, clip: read.append(path) or decode(path, clip))

    assert main(["data", "prepare", str(tmp_path / "src"), str(tmp_path / "dst")]) == 1
    first, *_ = capsys.readouterr().out.splitlines()
    assert re.fullmatch(LINE, first)[3] == "3"
    names = [Path(name) for name in ("0", "2", "4")]
    expected = {tmp_path / f"src/{name}.avi" for name in names} | {tmp_path / f"dst/{name}.mp4" for name in names}
    assert set(read) == expected and len(read) == len(expected) * CLIPS_PER_VIDEO

    assert main(["data", "prepare", str(tmp_path / "src"), str(tmp_path / "dst")]) == 1
    assert not re.match(LINE, capsys.readouterr().out)  # nothing is left to decide


@pytest.mark.parametrize("count", [1, 5, 8, 30, 100])
def test_clips_cover_a_video_and_stay_in_it(tmp_path, count):
    path = tmp_path / "a.mp4"
    write(path, num_frames=count)
    clips = clips_of(path)
    assert frame_table(path).count == count
    assert len(clips) == CLIPS_PER_VIDEO and {len(clip) for clip in clips} == {NUM_FRAMES}
    assert clips[0][0] == 0 and max(map(max, clips)) < count
    assert count < NUM_FRAMES or clips[-1][-1] == count - 1


def test_a_sample_has_few_jobs_of_any_number():
    jobs = [(Path(str(i)), Path(str(i))) for i in range(100)]
    assert [len(sample_of(jobs[:number])) for number in (1, 2, 3, 4, 100)] == [1, 2, 3, 3, SAMPLE]
