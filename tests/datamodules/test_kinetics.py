"""Kinetics in the layouts that disks hold."""

import pytest

from lit_video.datamodules import Kinetics400, Kinetics600, Kinetics700
from lit_video.errors import UserError

HEADER = "label,youtube_id,time_start,time_end,split,is_cc"
LABELS = [f"{i:03d} massaging person's head" if i % 2 else f"{i:03d} air drumming" for i in range(700)]


def lines(split, classes):
    return [f'"{label}",{split}{i:08d},{i},{i + 10},{split},0' for i, label in enumerate(LABELS[:classes])]


def write(root, split, rows, name=None):
    path = root / "annotations" / f"{name or split}.csv"
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join([HEADER, *rows]) + "\n")
    return path


def released(root, video, classes=400, folder=lambda label: "", endings=(".mp4", ".mp4")):
    """The annotations of all classes, videos of the first two."""
    for split in ("train", "val"):
        write(root, split, lines(split, classes))
        for i, ending in enumerate(endings):
            video(root / split / folder(LABELS[i]) / f"{split}{i:08d}_{i:06d}_{i + 10:06d}{ending}")
    return root


@pytest.mark.parametrize(("data_set", "classes"), [(Kinetics400, 400), (Kinetics600, 600), (Kinetics700, 700)])
def test_a_release_is_read_and_what_is_missing_is_reported_in_one_line_per_split(
    data_set, classes, tmp_path, video, small, load, capsys
):
    data = data_set(root=str(released(tmp_path, video, classes)), missing="skip", **small)
    assert data.num_classes == classes
    data.check()
    assert data.class_names == LABELS[:classes]
    assert [record.label for record in data.records("train")] == [0, 1]
    assert data.records("test") == data.records("val")
    assert data.video_counts["train"] == {"listed": classes, "used": 2}
    shown = capsys.readouterr().err.splitlines()
    assert f"{classes - 2} of {classes} train videos are missing" in shown[0]
    assert f"{data_set.__name__}: the train annotations in {tmp_path} list {classes} videos, the release" in shown[2]
    train, test = load(data)
    assert sorted(train["label"].tolist()) == [0, 1]
    assert test["label"].tolist() == [0, 1]


@pytest.mark.parametrize("spelling", [lambda label: label, lambda label: label.replace(" ", "_")])
def test_folders_by_label_and_other_containers_are_found(tmp_path, video, small, spelling):
    data = Kinetics400(root=str(released(tmp_path, video, 400, spelling, (".mkv", ".webm"))), missing="skip", **small)
    paths = [record.path for record in data.records("train")]
    assert [path.suffix for path in paths] == [".mkv", ".webm"]
    assert all(path.parent.name == spelling(LABELS[i]) and path.exists() for i, path in enumerate(paths))


def test_the_list_of_kinetics_600_may_be_called_validate(tmp_path, video, small):
    root = released(tmp_path, video, 600)
    rows = [line.replace(",val,", ",validate,") for line in lines("val", 600)]
    (root / "annotations" / "val.csv").unlink()
    write(root, "val", rows, "validate")
    assert len(Kinetics600(root=str(root), missing="skip", **small).records("val")) == 2


def test_videos_that_are_all_missing_are_reported(tmp_path, video, small):
    root = released(tmp_path, video, endings=())
    with pytest.raises(UserError, match=r"400 of 400 train videos are missing .* nothing is left"):
        Kinetics400(root=str(root), missing="skip", **small).check()


def swapped(old, new):
    return lambda rows: [row.replace(old, new) for row in rows]


WRONG = {
    "kinetics 600": ("train", lambda rows: lines("train", 600), "train.csv has 600 classes, expected 400"),
    "mixed splits": ("val", lambda rows: lines("train", 400), "val.csv, line 2, column split: is train, expected val"),
    "unknown label": (
        "val",
        swapped('"007 massaging', '"007 sawing'),
        "val.csv, line 9, column label: .*007 sawing person.* none of the 400 classes",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_row_is_reported_with_file_line_and_column(what, tmp_path, video, small):
    split, change, message = WRONG[what]
    root = released(tmp_path, video)
    write(root, split, change(lines(split, 400)))
    with pytest.raises(UserError, match=message):
        Kinetics400(root=str(root), missing="skip", **small).check()
