"""Charades as released: several actions per video."""

import pytest

from lit_video.datamodules import Charades
from lit_video.errors import UserError
from tests.datamodules.conftest import read_when_prepared

HEADER = "id,subject,scene,quality,relevance,verified,script,objects,descriptions,actions,length"
TRAIN = ['46GP8,HR43,Kitchen,6,7,Yes,"A person, cooking.",food;stove,"A, B",c092 11.90 21.20;c147 0.00 12.60,24.83']
TEST = ["YSKX3,QHJ,Bedroom,7,7,Yes,A person sits.,bed,Sits.,c000 0.00 2.00,32.00", "N11GT,A,B,4,4,Yes,x,y,z,,20.00"]


def charades(root, small, train=TRAIN, test=TEST):
    (root / "Charades").mkdir()
    names = "\n".join(f"c{number:03d} Doing {number} things" for number in range(157))
    (root / "Charades" / "Charades_v1_classes.txt").write_text(names)
    for split, rows in (("train", train), ("test", test)):
        (root / "Charades" / f"Charades_v1_{split}.csv").write_text("\n".join([HEADER, *rows]))
    return Charades(root=str(root), missing="skip", **small)


def test_actions_of_any_time_are_the_labels_and_some_videos_have_none(tmp_path, video, small, monkeypatch):
    for name in ("46GP8", "YSKX3", "N11GT"):
        video(tmp_path / "Charades_v1_480" / f"{name}.mp4")
    data = charades(tmp_path, small)
    data.check()
    assert (data.num_classes, data.several_labels) == (157, True)
    labels = {r.path.stem: [c for c, there in enumerate(r.label) if there] for r in data.records("train")}
    labels |= {r.path.stem: [c for c, there in enumerate(r.label) if there] for r in data.records("test")}
    assert labels == {"46GP8": [92, 147], "YSKX3": [0], "N11GT": []}
    assert data.class_names[147] == "Doing 147 things"
    assert next(iter(data.test_dataloader()))["label"].shape == (2, 157)
    read_when_prepared(data, monkeypatch)


def test_an_unknown_action_is_reported(tmp_path, small):
    with pytest.raises(UserError, match=r"Charades_v1_train.csv, line 2, column actions: 'c157' is none of the 157"):
        charades(tmp_path, small, [TRAIN[0].replace("c147", "c157")]).check()
