"""Test the comparison of starts: what is trained on, and that no test video is used to choose."""

import csv

import numpy as np
import pytest

from benchmarks.starts import PARTS, arguments_of, floor, gain, table_of_videos
from lit_video.datamodules.drawing import encode
from lit_video.errors import UserError


@pytest.fixture
def videos(tmp_path):
    """Tables of the three sets, each row once."""
    rows = {
        "utd_mhad": [("person", f"s0{number}") for number in range(1, 9)],
        "avletters": [("repetition", number) for number in "123"],
        "room_actions": [("recording", f"{day}_1") for day in ("20200626", "20200628", "20200701")],
    }
    for name, values in rows.items():
        (tmp_path / name).mkdir()
        lines = [["path", "label", values[0][0]]]
        lines += [[f"{label}{i}_{value}.mp4", label, value] for label in "ab" for i in "123" for _, value in values]
        with (tmp_path / name / "labels.csv").open("w", newline="") as file:
            csv.writer(file).writerows(lines)
    return tmp_path


def table(part, name, videos, seed=0):
    """Return the rows of a set: (file name, split or none)."""
    file = videos / "table.csv"
    table_of_videos(part, name, videos=videos, seed=seed, file=file)
    with file.open(newline="") as content:
        return [(row["path"].rpartition("/")[2], row.get("split")) for row in csv.DictReader(content)]


def test_trials_and_test_share_no_tested_video(videos):
    tested = {
        part: {
            path
            for name in ("utd_mhad s01", "utd_mhad s07", "utd_mhad", "avletters")
            if name in PARTS[part]
            for path, split in table(part, name, videos)
            if split == "test"
        }
        for part in PARTS
    }
    assert all(tested.values()) and not tested["trials"] & tested["test"]


def test_trials_see_no_video_of_the_test(videos):
    held = {
        path for name in ("utd_mhad", "avletters") for path, split in table("test", name, videos) if split == "test"
    }
    seen = {path for name in PARTS["trials"] for path, _ in table("trials", name, videos)}
    assert not seen & held
    assert len(table("trials", "room_actions", videos)) == 12 < len(table("test", "room_actions", videos))


def test_few_clips_are_drawn_by_the_seed_and_tested_on_all(videos):
    whole = table("trials", "utd_mhad s07", videos)
    one = table("trials", "utd_mhad s07 2", videos)
    assert [split for _, split in one].count("train") == 4
    assert {path for path, split in one if split == "test"} == {path for path, split in whole if split == "test"}
    assert table("trials", "utd_mhad s07 2", videos, seed=0) == one != table("trials", "utd_mhad s07 2", videos, seed=1)


@pytest.mark.parametrize(("name", "reason"), [("utd_mhd s07", "utd_mhad s07"), ("room_actions 4", "cross-validated")])
def test_a_set_that_does_not_exist_is_refused(name, reason, videos):
    with pytest.raises(UserError, match=reason):
        table("trials", name, videos)


def test_a_start_is_known_or_a_released_trial(tmp_path):
    with pytest.raises(UserError, match=r"'scrath' \(did you mean scratch\?\); for a trial"):
        arguments_of("scrath", None)
    with pytest.raises(UserError, match="no file"):
        arguments_of("small", tmp_path)
    (tmp_path / "small").mkdir()
    file = tmp_path / "small/model.safetensors"
    file.touch()
    assert arguments_of("small", tmp_path)["weights"] == str(file)
    read_out = arguments_of("small, mean patch", tmp_path)
    assert read_out["weights"] == str(file)
    assert read_out["settings"]["model"]["readout"] == "benchmarks.pretraining.targets.MeanPatch"


def test_the_floor_tells_classes_by_pixels_and_leaves_whole_recordings_out(tmp_path, monkeypatch):
    monkeypatch.setattr("benchmarks.floors.SIDE", 4)  # pixels of a side, so that a regression takes no second
    tone = {"dark": 40, "bright": 200}
    rows = []
    for recording in range(6):
        for label, value in tone.items():
            path = tmp_path / f"{label}{recording}.mp4"
            encode(path, np.full((4, 32, 32, 3), value, np.uint8), 10)
            rows.append([str(path), label, str(recording)])
    table = tmp_path / "videos.csv"
    with table.open("w", newline="") as file:
        csv.writer(file).writerows([["path", "label", "recording"], *rows])
    assert floor(table)["top1"] == 100
    with table.open("w", newline="") as file:
        splits = [[path, label, "train" if recording < "3" else "test"] for path, label, recording in rows]
        csv.writer(file).writerows([["path", "label", "split"], *splits])
    found = floor(table)
    assert found["top1"] == 100
    assert found["said"] == "100.0 % of 6 test videos are right"


def test_a_gain_counts_the_seeds_that_all_sets_and_both_starts_have():
    top1 = {
        ("a", "old"): [10, 20, 30],
        ("a", "new"): [12, 24, 36],
        ("b", "old"): [50, 50, 50, 9],
        ("b", "new"): [52, 54, 56, 99],
    }
    results = [
        {"set": name, "start": start, "seed": seed, "top1": value}
        for (name, start), values in top1.items()
        for seed, value in enumerate(values)
    ]
    # differences 2, 4 and 6: deviation 2, times 4.303 / sqrt(3)
    assert gain(results, ["a", "b"], "new", "old") == "+4.0 [-1.0, +9.0]"
