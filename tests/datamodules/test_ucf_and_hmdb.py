"""UCF-101 and HMDB-51 as released, three splits each."""

import pytest

from lit_video.datamodules import (
    HMDB51,
    UCF101,
    Diving48,
    EpicKitchens100,
    HowTo100MTasks,
    Kinetics400,
    Kinetics600,
    SomethingV2,
)
from lit_video.errors import UserError
from lit_video.video.clips import VideoRecord

ACTIONS = [f"Action{i:03d}" for i in range(101)]
DEEDS = [f"deed_{i:02d}" for i in range(51)]


@pytest.fixture
def ucf(tmp_path, video):
    lists = tmp_path / "ucfTrainTestlist"
    lists.mkdir()
    (lists / "classInd.txt").write_text("".join(f"{i + 1} {name}\r\n" for i, name in enumerate(ACTIONS)))
    for split in (1, 2, 3):
        names = {part: [f"{ACTIONS[i]}/v_{part}_g0{split}_c0{i}.avi" for i in (0, 1)] for part in ("train", "test")}
        train = "".join(f"{name} {i + 1}\n" for i, name in enumerate(names["train"]))
        (lists / f"trainlist0{split}.txt").write_text(train)
        (lists / f"testlist0{split}.txt").write_text("".join(f"{name}\n" for name in names["test"]))
        for name in names["train"] + names["test"]:
            video(tmp_path / "UCF-101" / name)
    return tmp_path


@pytest.fixture
def hmdb(tmp_path, video):
    lists = tmp_path / "testTrainMulti_7030_splits"
    lists.mkdir()
    for name in DEEDS:
        for split in (1, 2, 3):
            uses = [(f"{name}!one;#({split})_u.avi", 1), (f"{name}_two.avi", 2), ("other.avi", 0)]
            (lists / f"{name}_test_split{split}.txt").write_text("".join(f"{file} {use} \n" for file, use in uses))
            if name in DEEDS[:2]:
                for file, _ in uses:
                    video(tmp_path / "hmdb51_org" / name / file)
    return tmp_path


@pytest.mark.parametrize("split", [1, 2, 3])
def test_each_split_of_ucf_101_is_read_and_its_sizes_are_reported(ucf, small, load, capsys, split):
    data = UCF101(root=str(ucf), split=split, missing="skip", **small)
    data.check()
    assert data.class_names == ACTIONS
    first = ucf / "UCF-101" / "Action000" / f"v_train_g0{split}_c00.avi"
    assert data.records("train")[0] == VideoRecord(first, 0)
    assert data.records("val") == data.records("test") != data.records("train")
    train, test = {1: ("9,537", "3,783"), 2: ("9,586", "3,734"), 3: ("9,624", "3,696")}[split]
    printed = capsys.readouterr().err.splitlines()
    assert f"list 2 videos, the release has {train};" in printed[0]
    assert f"list 2 videos, the release has {test};" in printed[1]
    train, test = load(data)
    assert sorted(train["label"].tolist()) == test["label"].tolist() == [0, 1]


@pytest.mark.parametrize("split", [1, 2, 3])
def test_each_split_of_hmdb_51_is_read_and_its_sizes_are_reported(hmdb, small, load, capsys, split):
    data = HMDB51(root=str(hmdb), split=split, missing="skip", **small)
    data.check()
    assert data.class_names == DEEDS
    first = hmdb / "hmdb51_org" / "deed_00" / f"deed_00!one;#({split})_u.avi"
    assert data.records("train")[0] == VideoRecord(first, 0)
    assert data.records("val")[1] == VideoRecord(hmdb / "hmdb51_org" / "deed_01" / "deed_01_two.avi", 1)
    printed = capsys.readouterr().err
    assert "49 of 51 train videos are missing" in printed
    assert "list 51 videos, the release has 3,570" in printed
    assert "list 51 videos, the release has 1,530" in printed
    train, test = load(data)
    assert sorted(train["label"].tolist()) == test["label"].tolist() == [0, 1]


RELEASED = {UCF101: 101, HMDB51: 51, Kinetics400: 400, Kinetics600: 600, SomethingV2: 174, Diving48: 48}
RELEASED |= {HowTo100MTasks: 1059, EpicKitchens100: {"verb": 97, "noun": 300}}


@pytest.mark.parametrize("data_set", RELEASED, ids=lambda data_set: data_set.__name__)
def test_the_classes_of_every_release_are_counted_without_the_data(data_set, tmp_path):
    assert data_set(root=str(tmp_path / "absent")).num_classes == RELEASED[data_set]


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("classInd", "101 Action100", "", "classInd.txt has 100 classes, expected 101"),
        ("testlist01", "Action001/v_test_g01_c01", "Action000/v_test_g01_c00", "line 2, column path: .* at line 1"),
    ],
)
def test_wrong_lists_of_ucf_101_are_reported(ucf, small, name, old, new, message):
    path = ucf / "ucfTrainTestlist" / f"{name}.txt"
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(UserError, match=message):
        UCF101(root=str(ucf), missing="skip", **small).check()


def test_wrong_lists_of_hmdb_51_are_reported(hmdb, small):
    path = hmdb / "testTrainMulti_7030_splits" / "deed_05_test_split1.txt"
    path.write_text("a.avi 3\n")
    with pytest.raises(UserError, match=r"split1.txt, line 1, column use: is '3', expected a whole number from 0 to 2"):
        HMDB51(root=str(hmdb), missing="skip", **small).check()
    path.unlink()
    with pytest.raises(UserError, match="testTrainMulti_7030_splits has 50 classes, expected 51"):
        HMDB51(root=str(hmdb), missing="skip", **small).check()
