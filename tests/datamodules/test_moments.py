"""Moments in Time as released."""

import pytest

from lit_video.datamodules import MomentsInTime
from lit_video.errors import UserError
from lit_video.video.clips import VideoRecord

LABELS = ["adult+male+singing", "blocking", "crying"]
LISTS = {"training": ["blocking/karate-id_4.mp4", "crying/a.mp4"], "validation": ["blocking/b, c.mp4", "crying/d.mp4"]}


def write(root, split, paths):
    lines = [f'"{path}",{path.partition("/")[0]},3,0' for path in paths]
    (root / f"{split}Set.csv").write_text("\n".join(lines) + "\n")


@pytest.fixture
def root(tmp_path, video):
    (tmp_path / "moments_categories.txt").write_text("blocking,1\ncrying,2\nadult+male+singing,0\n")
    for split, paths in LISTS.items():
        write(tmp_path, split, paths)
        for path in paths:
            video(tmp_path / split / path)
    return tmp_path


def moments(root, small, classes=3):
    return MomentsInTime(root=str(root), classes=classes, missing="skip", **small)


def test_the_released_layout_is_read_and_its_sizes_are_reported(root, small, load, capsys):
    data = moments(root, small)
    data.check()
    assert (data.class_names, data.num_classes) == (LABELS, 3)
    assert list(data.records("train")) == [
        VideoRecord(root / "training" / path, label) for label, path in enumerate(LISTS["training"], 1)
    ]
    assert data.records("test") == data.records("val")
    assert "list 2 videos, the release has 727,305 to 802,264" in capsys.readouterr().err
    train, test = load(data)
    assert sorted(train["label"].tolist()) == [1, 2]
    assert test["label"].tolist() == [1, 2]


def test_the_339_classes_of_the_paper_are_checked(root, small):
    with pytest.raises(UserError, match=r"moments_categories.txt has 3 classes, expected 339"):
        moments(root, small, classes=339).check()


@pytest.mark.parametrize(
    ("paths", "message"),
    [
        (["running/a.mp4"], "trainingSet.csv, line 1, column label: 'running' is none of the 3 classes"),
        (["crying/a.mp4"] * 2, "line 2, column path: crying/a.mp4 is there already, at line 1"),
        (["crying/../../../a.mp4"], "line 1, column path: .* lies outside"),
    ],
)
def test_a_wrong_row_is_reported_with_file_line_and_column(paths, message, root, small):
    write(root, "training", paths)
    with pytest.raises(UserError, match=message):
        moments(root, small).check()
