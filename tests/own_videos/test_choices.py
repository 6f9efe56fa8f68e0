"""Test the settings that are chosen for videos and machine, each with its reason."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from lit_video.datamodules.probe import VideoInfo
from lit_video.engine.step_times import Pace
from lit_video.errors import UserError
from lit_video.own_videos.budget import (
    Effort,
    duration_in_words,
    epochs_needed,
    length,
    most_epochs,
    other_orders,
    steps_needed,
    too_short,
)
from lit_video.own_videos.choices import Machine, as_lines, choose, crop_less, main_lines, mirroring, nested, sizes
from lit_video.own_videos.plan import refuse_much_longer
from lit_video.own_videos.starts import SCRATCH, SCRATCH_XVIT, Start

SMALL = Start("hub:small", "XViT", {"size": {"embed_dim": 96, "depth": 4, "num_heads": 4}}, {})
LAPTOP, SERVER = Machine(0.0, 16.0, 4), Machine(80.0, 128.0, 16)


def video(seconds=2.0, frames=50, width=320, height=240):
    return VideoInfo("a.mp4", seconds=seconds, frames=frames, width=width, height=height)


def settings(*videos, decoded=0.1, classes=("walk", "sit"), training=400, machine=LAPTOP, start=SCRATCH):
    videos = videos or [video()]
    size = sizes(videos, training, machine, start=start)[-1]
    return nested(
        choose(
            videos,
            decoded=decoded,
            pixels=(0.41, 0.234),
            mirroring=mirroring(classes),
            training=training,
            machine=machine,
            start=start,
            size=size,
        )
    )


@pytest.mark.parametrize(("classes", "flip"), [(("walk", "sit"), 0.5), (("turn_L", "turn_R"), 0.0)])
def test_mirroring_and_its_reason_are_in_the_plan(classes, flip):
    assert settings(classes=classes)["data"]["augmentation"]["flip"] == flip
    lines = as_lines(
        choose(
            [video()],
            decoded=0.1,
            pixels=(0.5, 0.5),
            mirroring=mirroring(classes),
            training=40,
            machine=LAPTOP,
            start=SCRATCH,
            size=(16, 32),
        )
    )
    (line,) = [line for line in lines if line.startswith("data.augmentation")]
    assert line.endswith(mirroring(classes).reason)


def test_short_videos_are_shown_whole_and_long_ones_in_parts():
    assert settings(video(3.0))["data"]["sampling"]["class_path"] == "Segments"
    long = settings(video(100.0))["data"]
    assert long["sampling"] == {"class_path": "Dense", "init_args": {"seconds": 4.0}}
    assert long["test_clips"] == 4


def test_frames_pixels_memory_and_the_start_of_few_videos():
    assert settings(video(frames=12))["data"]["num_frames"] == 8
    assert settings(video(frames=30))["data"]["num_frames"] == 16
    assert (settings()["data"]["mean"], settings()["data"]["std"]) == (0.41, 0.23)
    small, large = settings(), settings(decoded=93.0)
    assert (small["data"]["keep_gb"] > 0, small["data"]["num_workers"]) == (True, 0)
    assert (large["data"]["keep_gb"], large["data"]["num_workers"]) == (0.0, 3)
    few = settings(training=50)
    assert few["model"]["image_weights"].startswith("stills:") and "mean" not in few["data"]
    assert all("image_weights" not in other["model"] for other in (small, settings(training=50, machine=SERVER)))


@pytest.mark.parametrize(
    ("width", "height", "workers", "said"), [(320, 240, 3, ""), (7680, 4320, 2, "1.6 GB"), (11648, 8736, 1, "4.9 GB")]
)
def test_large_pictures_are_decoded_by_as_many_processes_as_have_room_and_said(width, height, workers, said):
    large = [video(width=width, height=height)]
    assert settings(*large, decoded=93.0)["data"]["num_workers"] == workers
    chosen = choose(
        large,
        decoded=93.0,
        pixels=None,
        mirroring=mirroring(("a", "b")),
        training=400,
        machine=LAPTOP,
        start=SCRATCH,
        size=(16, 48),
    )
    lines = [line for line in main_lines(chosen) if line.startswith("decoding processes")]
    assert len(lines) == bool(said) and said in " ".join(lines)


def test_convolutions_come_first_on_a_cpu_unless_the_scheme_is_named():
    by_name = settings(start=SCRATCH_XVIT)["model"]
    assert by_name["embedding"].endswith("StemEmbedding")
    assert "embedding" not in settings(start=SCRATCH)["model"]
    assert "embedding" not in settings(start=SCRATCH_XVIT, machine=SERVER)["model"]  # not tried at its size


def test_weights_bring_their_settings_and_a_recipe_of_fine_tuning():
    clips = {"num_frames": 8, "image_size": 224, "mean": 0.45, "std": 0.225}
    start = Start("hub:x", "TimeSformer", {"attention_type": "divided"}, clips)
    chosen = settings(machine=SERVER, start=start)
    assert {key: chosen["data"][key] for key in clips} == clips
    assert chosen["model"]["weights"] == "hub:x"
    assert chosen["model"]["optimization"]["optimizer"] == "adamw"
    assert chosen["model"]["optimization"]["layer_decay"] == 0.75
    narrower = settings(start=replace(start, settings={"size": {"embed_dim": 256, "depth": 4, "num_heads": 4}}))
    assert [one["model"]["optimization"]["lr"] for one in (chosen, narrower)] == [1e-4, 3e-4]
    small = settings(start=replace(start, settings={"size": {"embed_dim": 96, "depth": 4, "num_heads": 4}}))
    assert small["model"]["optimization"] == settings()["model"]["optimization"]
    assert chosen["trainer"]["precision"] == "bf16-mixed"
    assert "size" not in chosen["model"]


@pytest.mark.parametrize(
    ("videos", "training", "machine", "start", "expected"),
    [
        ([video()], 400, LAPTOP, SCRATCH, [(8, 48), (16, 48), (16, 72), (16, 96), (16, 120)]),
        (
            [video(width=80, height=60), video(), video(width=99, height=77)],
            400,
            LAPTOP,
            SCRATCH,
            [(8, 48), (16, 48), (16, 72)],
        ),
        ([video(frames=12, width=32, height=24)], 400, LAPTOP, SCRATCH, [(8, 48)]),
        ([video()], 50, LAPTOP, SCRATCH, [(16, 32)]),
        ([video(frames=12)], 400, SERVER, SCRATCH, [(8, 112)]),
        ([video()], 400, LAPTOP, Start("hub:x", "XViT", {}, {"image_size": 224}), [(16, 32)]),
    ],
)
def test_the_sizes_to_choose_from_are_what_the_videos_have(videos, training, machine, start, expected):
    assert [*sizes(videos, training, machine, start=start)] == expected
    for size in expected:
        choices = choose(
            videos,
            decoded=0.1,
            pixels=None,
            mirroring=mirroring(("a", "b")),
            training=training,
            machine=machine,
            start=start,
            size=size,
        )
        chosen = nested(choices)
        assert chosen["data"]["image_size"] == (224 if start.weights else size[1])
        assert start.weights or size[1] % chosen["model"]["patch_size"] == 0
        less = nested(crop_less(choices))["data"]["augmentation"].get("short_side")
        short_side = [size[1], pytest.approx(size[1] / 0.9, abs=0.01)]
        assert less == (None if start.weights or size[1] in (32, 112) else short_side)


def effort(rate, training, *, validated=0, runs=1, **facts):
    """Return the effort of runs that only make steps of a clip, ``rate`` in a second, unless facts add more."""
    times = {"start": 0.0, "first_read": 0.0, "view": 0.0, "other_view": 0.0, "stage": 0.0}
    pace = Pace(step=1 / rate, **times | {key: facts.pop(key) for key in times if key in facts})
    plain = {"at_once": 1, "batch": 1, "videos": 0, "tested": 0, "views": 1}
    return Effort(pace=pace, trainings=[training // runs] * runs, validated=validated, **plain | facts)


@pytest.mark.parametrize(
    ("rate", "minutes", "said"), [(1, 1, "17 minutes, not the 1"), (10, 2, "1.7 minutes"), (1e5, 0.1, "0.1 minutes")]
)
def test_the_time_that_training_takes_is_said_before_it_starts(rate, minutes, said):
    line = duration_in_words(effort(rate, 100), 10, minutes=minutes)
    assert line.startswith(f"This takes about {said}") and ("--minutes" in line) == ("not" in said)
    told = "Fewer or shorter videos, or a GPU, take less" in line
    assert told == ("not" in said) and "not the" not in duration_in_words(effort(rate, 1), 10, minutes=minutes)


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({}, 40),  # ten epochs of 40 clips, ten in a second
        ({"batch": 16}, 2),  # a last batch that is not full is left out
        ({"start": 3.0}, 43),
        ({"videos": 60, "first_read": 0.5}, 70),
        ({"before": 7.0}, 47),
        ({"validated": 5, "view": 0.1}, 40 + 10 * 5 * 0.1 + 40 * 0.1),  # a validation an epoch, and the training videos
        ({"tested": 8, "view": 0.5, "views": 2}, 40 + (8 + 40) * 2 * 0.5),
        ({"tested": 8, "orders": 3, "other_view": 0.5}, 40 + (3 * 8 + 40) * 0.5),  # and the head on single frames
        ({"tested": 8, "orders": 3, "other_view": 2.0}, 40 + 3 * 8 * 2 + 40 * 2),
        ({"tested": 8, "orders": 3, "other_view": 2.0, "training": 200}, 200 + 3 * 8 * 2),  # a head that takes too long
        ({"stage": 1.0}, 42),  # the test, and that of the training videos
        ({"runs": 4, "start": 5.0}, 60),
        ({"runs": 4, "start": 5.0, "at_once": 3}, 30),  # two rounds of runs
    ],
)
def test_a_plan_counts_all_that_its_runs_do(facts, expected):
    assert effort(10, facts.pop("training", 40), **facts).seconds(10) == pytest.approx(expected)


@pytest.mark.parametrize("seconds", [1.0, 100.0, 3600.0])
def test_the_most_epochs_fit_into_the_time_and_one_more_does_not(seconds):
    work = effort(100, 400, validated=80, view=0.004, start=5.0)
    most = work.epochs(seconds)
    assert work.seconds(most) <= seconds or most == 0
    assert work.seconds(most + 1) > seconds


@pytest.mark.parametrize(
    ("views", "seconds", "minutes", "tested"),
    [(30, 0.01, 0.01, True), (1000, 0.02, 0.1, True), (1000, 0.03, 0.1, False), (1000, 0.03, 10, True)],
)
def test_the_tests_in_other_orders_are_left_out_if_they_take_long(views, seconds, minutes, tested):
    choice = other_orders(views, seconds, minutes)
    assert choice.key == "data.test_orders" and bool(choice.value) == tested
    assert f"{3 * views * seconds:.0f} s" in choice.reason
    assert ("--data.test_orders" in choice.reason) != tested


def test_epochs_follow_from_speed_and_time():
    for rate, training, epochs, every in ((70, 420, 100, 4), (1000, 50, 200, 8), (5, 1000, 10, 1)):
        chosen = nested(length(effort(rate, training, validated=1), 10.0, most=200))["trainer"]
        assert (chosen["max_epochs"], chosen["check_val_every_n_epoch"]) == (epochs, every)
        assert [one["class_path"] for one in chosen["callbacks"]] == ["ModelCheckpoint"], "the schedule is not cut"


@pytest.mark.parametrize(("minutes", "epochs"), [(0.01, 10), (1.0, 50), (10.0, 200)])
def test_the_reason_for_the_epochs_adds_up_and_nothing_chooses_without_validation(minutes, epochs):
    """Divide clips in the given time by clips per epoch; the reason names a bound that was met."""
    chosen = length(effort(100, 120, runs=6), minutes, most=200)
    reason = chosen[0].reason
    assert chosen[0].value == epochs and "callbacks" not in nested(chosen)["trainer"]
    assert "6 trainings, 100 clips/s" in reason
    assert ("the minimum" in reason, "the most" in reason) == (epochs == 10, epochs == 200)
    assert f"{int(50 * minutes)} fit in " in reason


@pytest.mark.parametrize(
    ("start", "videos", "needed", "most"),
    [(SCRATCH, 320, 25, 200), (SCRATCH, 100, 80, 400), (SMALL, 320, 8, 200), (SMALL, 8, 200, 200)],
)
def test_needed_epochs_have_the_needed_steps_but_are_no_more_than_ever_chosen(start, videos, needed, most):
    assert epochs_needed(start, videos, 16) == needed
    assert most_epochs(start, videos, 16) == most


def test_too_few_minutes_are_said_with_those_that_would_do():
    work = effort(1.0, 320)  # 24 epochs take 7,680 s
    assert "about 24 epochs" in too_short(work, 24, minutes=10.0)
    assert too_short(work, 24, minutes=10.0).endswith("give --minutes 128 and another --output")
    assert too_short(work, 24, minutes=128.0) == ""
    assert "about 200 epochs" in too_short(effort(0.01, 320), 200, minutes=10.0)
    assert too_short(work, 0, minutes=0.001) == ""  # not known


def test_weights_need_fewer_steps_than_a_training_from_scratch():
    assert 0 < steps_needed(SMALL) < steps_needed(SCRATCH)
    assert steps_needed(replace(SMALL, probe="frames")) == 0  # not known
    assert steps_needed(Start("hub:x", "XViT", {"size": "B"}, {})) == 0


def test_a_training_that_takes_much_longer_than_the_users_minutes_is_asked_for():
    chosen = SimpleNamespace(seconds=38.2 * 60)
    with pytest.raises(UserError, match=r"^--minutes 4: .* about 39 minutes here; give --minutes 39, or fewer"):
        refuse_much_longer(chosen, 4.0)
    for minutes in (39.0, 34.0, 0.5, None):
        refuse_much_longer(chosen, minutes)
