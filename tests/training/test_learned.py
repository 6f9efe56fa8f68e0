"""Test the accuracy on training videos at the end of training, and what a result records of the task's needs."""

import pytest

from lit_video.__main__ import main
from lit_video.datamodules import Augmentation, Dense, TemporalSkills
from lit_video.datamodules.base import SOME
from lit_video.datamodules.floors import smallest_distance
from lit_video.runs.folder import read_finished
from lit_video.video.clips import VideoRecord, some_of
from tests.video.made import write


def skills(root, **changes):
    settings = dict(pairs=(2, 1, 1), num_frames=8, image_size=16, batch_size=4, num_workers=0, test_crops=1)
    return TemporalSkills(root=str(root), **(settings | changes))


def test_some_videos_are_always_the_same_and_follow_no_pattern_of_the_list():
    records = [VideoRecord(f"{i}.mp4", i % 8) for i in range(4096)]
    some = some_of(records, 512)
    assert some == some_of(records, 512) and len(some) == 512
    assert [record.path for record in some] == sorted((record.path for record in some), key=lambda p: int(p[:-4]))
    counts = [sum(record.label == label for record in some) for label in range(8)]
    assert min(counts) > 40, "every class of a list that alternates is there"
    assert some_of(records[:100], 512) == records[:100]


def test_training_videos_are_tested_with_the_views_of_the_test_and_without_augmentation(tmp_path, monkeypatch):
    data = skills(tmp_path, augmentation=Augmentation(random_erasing=1.0))
    data.prepare_data()
    batches = list(data.test_loader("train"))
    videos = sum(len(batch["video"]) for batch in batches)
    assert videos == len(data.records("train")) == 2 * 2 * 8
    again = list(data.test_loader("train"))
    assert all((one["clip"] == other["clip"]).all() for one, other in zip(batches, again, strict=True))
    monkeypatch.setattr(data, "sample_size", 5)
    assert sum(len(batch["video"]) for batch in data.test_loader("train")) == 5


def test_as_many_training_films_are_tested_as_fresh_ones(tmp_path):
    assert skills(tmp_path).sample_size == SOME == 512
    assert skills(tmp_path, fresh=1).sample_size == SOME
    assert skills(tmp_path, fresh=256).sample_size == 2 * 256 * 8


def test_a_run_records_how_many_training_videos_it_has_right_and_the_test_stays_its_own(table, tiny, tmp_path):
    flags = ["--data.test_orders=[reversed]", "--trainer.logger=false", "--data.skills=[drift]", "--data.pairs=[4,1,2]"]
    quick = [flag for flag in tiny if not flag.startswith("--data.pairs")]
    command = ["fit", "--config", str(table[0]), "--row", "second", "--runs", str(tmp_path), *quick, *flags]
    assert main(command) == 0
    result = read_finished(tmp_path / "two/default/second/seed0").result
    assert result.test_videos == 4 and result.test_broken == 0
    assert result.metrics["train/video_top1"] * 8 / 100 in range(9), "of eight training videos"
    assert result.metrics["test/video_top1"] in (0.0, 25.0, 50.0, 75.0, 100.0)
    assert 0 < result.steps_shown <= 1 and result.needed_reach == 1 and result.sees_near is False


@pytest.mark.parametrize(
    ("changes", "shown", "reach"),
    [
        (dict(skills=("order1", "order3")), 1.0, 7),  # events 1 apart stand 7 apart where a film of 8 steps wraps
        (dict(skills=("order3",)), 1.0, 5),
        (dict(skills=("drift", "zoom")), 1.0, 1),
        (dict(skills=("order3",), length=16, sampling=Dense(seconds=1.0)), 0.5, None),  # 8 neighbouring steps: never 13
        (
            dict(skills=("order3",), length=16, num_frames=16, frames_per_step=2),
            1.0,
            9,
        ),  # last frame of a step to first
    ],
)
def test_what_a_task_needs_follows_from_its_events_and_its_clips(changes, shown, reach, tmp_path):
    found = skills(tmp_path, **changes).needs()
    assert (found.steps_shown, found.reach) == (shown, reach)


def test_the_smallest_distance_is_that_of_any_clip():
    assert smallest_distance([[0, 1, 2, 3], [0, 0, 3, 3]], 3) == 1
    assert smallest_distance([[0, 2, 4]], 3) is None


def test_a_run_without_test_videos_does_not_take_training_videos_for_its_test(table, tiny, tmp_path):
    """Train on a table without validation and test: nothing was tested, but the training videos are counted."""
    lines = ["path,label,take"]
    for name in ("sit0", "sit1", "walk0", "walk1"):
        write(tmp_path / f"{name}.mp4", "libx264", num_frames=20, fps=10, height=32, width=32, form="mp4")
        lines.append(f"{name}.mp4,{name[:-1]},1")
    (tmp_path / "train.csv").write_text("\n".join(lines))
    data = ["--data=VideoCSV", f"--data.root={tmp_path}", "--data.split_column=take", "--data.train_values=[1]"]
    data += ["--data.val_values=[]", "--trainer.logger=false"]
    quick = [flag for flag in tiny if "pairs" not in flag and "check_val" not in flag]
    command = ["fit", "--config", str(table[0]), "--row", "second", "--runs", str(tmp_path / "runs")]
    assert main([*command, *quick, *data]) == 0
    run = tmp_path / "runs/two/default/second/seed0"
    assert set(read_finished(run).result.metrics) == {"train/video_top1"}
    assert not (run / "predictions.npz").exists()
