"""HowTo100M tasks: classes are the tasks with enough videos."""

import pytest

from lit_video.datamodules import HowTo100MTasks
from lit_video.datamodules.howto100m import in_training
from lit_video.errors import UserError

HEADER = "video_id,category_1,category_2,rank,task_id"
TASKS = {"52907": 6, "109057": 6, "7": 3}  # task: videos


def rows():
    return [
        f"{task}v{i:02d},Cars & Other Vehicles,Motorcycles,{i},{task}"
        for task, count in TASKS.items()
        for i in range(count)
    ]


@pytest.fixture
def root(tmp_path, video):
    (tmp_path / "HowTo100M_v1.csv").write_text("\n".join([HEADER, *rows()]))
    (tmp_path / "task_ids.csv").write_text("7\tBoil Eggs\n52907\tRide, Safely\n109057\tMake Pancakes\n")
    for row in rows():
        video(tmp_path / "videos" / f"{row.split(',')[0]}.webm")
    return tmp_path


def howto(root, small, **changes):
    settings = dict(classes=2, least_videos=5, missing="skip", test_clips=4)
    return HowTo100MTasks(root=str(root), **(small | settings | changes))


def test_tasks_with_enough_videos_are_the_classes(root, small, load):
    data = howto(root, small)
    data.check()
    assert data.class_names == ["Ride, Safely", "Make Pancakes"]
    paths = {split: [record.path.name for record in data.records(split)] for split in ("train", "val")}
    assert sorted(paths["train"] + paths["val"]) == sorted(
        f"{t}v{i:02d}.webm" for t in ("52907", "109057") for i in range(6)
    )
    assert all(
        in_training(name.removesuffix(".webm")) == (split == "train") for split in paths for name in paths[split]
    )
    assert data.records("test") == data.records("val")
    load(data)


def test_85_of_120_videos_are_for_training():
    share = sum(in_training(f"video{i}") for i in range(20_000)) / 20_000
    assert share == pytest.approx(85 / 120, abs=0.015)


def test_a_video_of_two_tasks_belongs_to_the_one_that_ranks_it_first(root, small):
    extra = ["52907v03,A,B,99,109057", "109057v05,A,B,0,52907"]
    (root / "HowTo100M_v1.csv").write_text("\n".join([HEADER, *rows(), *extra]))
    data = howto(root, small)
    label = {record.path.stem: record.label for split in ("train", "val") for record in data.records(split)}
    assert (label["52907v03"], label["109057v05"]) == (0, 0)


def test_the_1059_tasks_of_the_paper_are_checked(root, small):
    with pytest.raises(UserError, match=r"data.classes: .*HowTo100M_v1.csv has 3 tasks of at least 3 videos, not 1059"):
        howto(root, small, classes=1059, least_videos=3).check()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("HowTo100M_v1.csv", f"{HEADER}\na,A,B,x,7\n", "HowTo100M_v1.csv, line 2, column rank: is 'x', expected"),
        ("task_ids.csv", "7\tBoil Eggs\n", "task_ids.csv does not name task 52907"),
    ],
)
def test_wrong_files_are_reported(root, small, name, text, message):
    (root / name).write_text(text)
    data = howto(root, small)
    with pytest.raises(UserError, match=message):
        data.check()
        _ = data.class_names
