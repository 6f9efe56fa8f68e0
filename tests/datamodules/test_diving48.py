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


def test_wrong_files_are_reported(root, small):
    (root / "Diving48_vocab.json").write_text(json.dumps(VOCABULARY[:47]))
    with pytest.raises(UserError, match=r"Diving48_vocab.json has 47 classes, expected 48"):
        _ = diving(root, small).class_names
    entries = [{"vid_name": LISTS["train"][0]["vid_name"], "label": 7}]
    for content, message in (
        ([{"vid_name": "a", "label": 48}], "train.json, entry 1, column label: is '48', exp"),
        ([{"id": "1", "template": "A"}], "train.json, entry 1 has no 'vid_name'"),
        (entries + [{"vid_name": str(i), "label": 1} for i in range(15_027)], "list 15,028 videos, the"),
    ):
        (root / "Diving48_V2_train.json").write_text(json.dumps(content))
        with pytest.raises(UserError, match=message):
            diving(root, small).check()
