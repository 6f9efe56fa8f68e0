"""Diving-48 V2 as released."""

import json

import pytest

from lit_video.datamodules import Diving48
from lit_video.errors import UserError
from lit_video.video.clips import VideoRecord

VOCABULARY = [["Back", f"{i}5som", "05Twis", "FREE"] for i in range(48)]
LISTS = {
    split: [
        {"vid_name": f"{split}_8Vy3dlHg2w_0000{i}", "label": label, "start_frame": 0, "end_frame": 20}
        for i, label in enumerate((7, 47))
    ]
    for split in ("train", "test")
}


@pytest.fixture
def root(tmp_path, video):
    (tmp_path / "Diving48_vocab.json").write_text(json.dumps(VOCABULARY))
    for split, entries in LISTS.items():
        (tmp_path / f"Diving48_V2_{split}.json").write_text(json.dumps(entries))
        for entry in entries:
            video(tmp_path / "rgb" / f"{entry['vid_name']}.mp4")
    return tmp_path


def diving(root, small):
    return Diving48(root=str(root), missing="skip", **small)


def test_the_released_layout_is_read_and_its_sizes_are_reported(root, small, load, capsys):
    data = diving(root, small)
    data.check()
    assert data.records("train")[1] == VideoRecord(root / "rgb" / "train_8Vy3dlHg2w_00001.mp4", 47)
    assert data.records("val") == data.records("test") != data.records("train")
    assert data.class_names[47] == "Back 475som 05Twis FREE"
    printed = capsys.readouterr().err
    assert "list 2 videos, the release has 15,027" in printed
    assert "list 2 videos, the release has 1,970" in printed
    train, test = load(data)
    assert sorted(train["label"].tolist()) == [7, 47]
    assert test["label"].tolist() == [7, 47]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("Diving48_vocab.json", VOCABULARY[:47], "Diving48_vocab.json has 47 classes, expected 48"),
        ("Diving48_V2_test.json", [{"vid_name": "a", "label": 48}], "test.json, entry 1, column label: is '48', exp"),
        ("Diving48_V2_train.json", [{"id": "1", "template": "A"}], "train.json, entry 1 has no 'vid_name'"),
        (
            "Diving48_V2_train.json",
            [{"vid_name": str(i), "label": 1} for i in range(15_028)],
            "list 15,028 videos, the",
        ),
    ],
)
def test_wrong_files_are_reported(root, small, name, content, message):
    (root / name).write_text(json.dumps(content))
    data = diving(root, small)
    if "15,028" in message:
        for i in range(15_028):
            data.folders.names(root / "rgb").add(f"{i}.mp4")
    with pytest.raises(UserError, match=message):
        _ = data.class_names
        data.check()
