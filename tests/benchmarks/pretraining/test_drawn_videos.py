"""Test the data set of drawn videos: determinism, workers, resumption, settings, batches."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from benchmarks.pretraining.drawn.catalogue import MOTIONS
from benchmarks.pretraining.drawn.video import TASKS
from benchmarks.pretraining.drawn_videos import DrawnVideos

pytestmark = pytest.mark.slow  # hundreds, of code that no command of the package runs

SMALL = dict(num_frames=4, image_size=16, batch_size=4, num_workers=0, epoch_length=10, val_length=6)


def epoch(number=0, **changes):
    """Return the training batches of an epoch."""
    data = DrawnVideos(**(SMALL | changes))
    loader = data.train_dataloader()
    loader.sampler.set_epoch(number)
    return list(loader)


def same(one, other):
    return len(one) == len(other) and all(
        torch.equal(a[name], b[name]) for a, b in zip(one, other, strict=True) for name in ("clip", "label", "key")
    )


def test_a_video_depends_on_seed_epoch_and_index_alone():
    first = epoch()
    torch.manual_seed(5)
    np.random.seed(5)
    assert same(epoch(), first)
    assert same(epoch(num_workers=2), first)
    clips = {batch["clip"].numpy().tobytes() for batch in first + epoch(1) + epoch(seed=1)}
    assert len(clips) == 6


def test_an_epoch_resumes_where_it_stopped():
    data = DrawnVideos(**SMALL)
    data.load_state_dict({"epoch": 0, "seen": 4})
    assert same(list(data.train_dataloader()), epoch()[1:])


def test_validation_videos_are_the_same_in_every_epoch_and_no_training_videos():
    data = DrawnVideos(**SMALL)
    loader = data.val_dataloader()
    first = list(loader)
    loader.sampler.set_epoch(3)
    assert all(torch.equal(a["clip"], b["clip"]) for a, b in zip(first, loader, strict=True))
    assert torch.cat([batch["video"] for batch in first]).tolist() == list(range(6))
    train = {clip.numpy().tobytes() for batch in epoch() for clip in batch["clip"]}
    assert not train & {clip.numpy().tobytes() for batch in first for clip in batch["clip"]}


def test_a_video_stands_beside_its_frames_backwards_with_the_labels_that_turn():
    whole = {"epoch_length": 12}
    plain = {
        int(index): clip for batch in epoch(**whole) for index, clip in zip(batch["video"], batch["clip"], strict=True)
    }
    tasks = list(TASKS)
    for batch in epoch(**whole, paired=True):
        for place in range(0, 4, 2):
            film, backwards = batch["clip"][place], batch["clip"][place + 1]
            assert torch.equal(film, plain[int(batch["video"][place])])
            assert torch.equal(backwards, film.flip(1))

            label, reversed_label = (
                dict(zip(tasks, batch["label"][i].tolist(), strict=True)) for i in (place, place + 1)
            )
            motion = TASKS["motion"][label["motion"]]
            assert TASKS["motion"][reversed_label["motion"]] == MOTIONS[motion].reverse
            assert all(label[task] == reversed_label[task] for task in ("form", "texture", "hue"))


def test_the_first_epochs_show_the_motions_of_the_lesson():
    lesson = ("moves right", "moves left")
    numbers = {TASKS["motion"].index(name) for name in lesson}
    of_epoch = [
        {int(label[0]) for batch in epoch(number, lesson=lesson, lesson_epochs=2) for label in batch["label"]}
        for number in range(3)
    ]
    assert of_epoch[0] | of_epoch[1] == numbers
    assert of_epoch[2] - numbers
    validated = DrawnVideos(**SMALL, lesson=lesson, lesson_epochs=2).val_dataloader()
    plain = DrawnVideos(**SMALL).val_dataloader()
    assert all(torch.equal(a["clip"], b["clip"]) for a, b in zip(validated, plain, strict=True))


@pytest.mark.parametrize("training", [True, False])
def test_a_batch_is_normalised_with_a_target_for_each_task(training):
    data = DrawnVideos(**SMALL)
    data.trainer = SimpleNamespace(training=training)
    raw = epoch()[0]
    batch = data.on_after_batch_transfer(raw, 0)
    assert batch["clip"].shape == (4, 3, 4, 16, 16)
    assert -1 <= batch["clip"].min() < batch["clip"].max() <= 1
    classes = sum(data.num_classes.values())
    assert batch["target"].shape == ((4, classes) if training else (4, len(TASKS)))


def test_motions_can_be_chosen_and_keep_their_numbers():
    chosen = ("grows", "shrinks")
    batches = epoch(motions=chosen)
    numbers = {int(number) for batch in batches for number in batch["label"][:, 0]}
    assert numbers == {list(MOTIONS).index(name) for name in chosen}


def test_a_label_has_the_tasks_that_are_asked_for_and_the_videos_stay_the_same():
    batches = epoch(tasks=("form", "motion"))
    numbers = torch.cat([batch["label"] for batch in batches])
    every = torch.cat([batch["label"] for batch in epoch()])
    assert torch.equal(numbers, every[:, [list(TASKS).index("form"), 0]])
    assert DrawnVideos(tasks=("form", "motion")).num_classes == {"form": 14, "motion": 219}
    assert all(torch.equal(a["clip"], b["clip"]) for a, b in zip(batches, epoch(), strict=True))


@pytest.mark.parametrize("tasks", [(), ("motion", "motion"), ("sound",)])
def test_no_task_a_task_twice_and_an_unknown_one_are_refused(tasks):
    with pytest.raises((ValueError, TypeError), match="tasks"):
        DrawnVideos(tasks=tasks)


def test_opposites_are_each_other_played_backwards():
    data = DrawnVideos(**SMALL)
    names = data.class_names["motion"]
    pairs = {(names[one], names[other]) for one, other in data.opposites}
    assert ("moves right", "moves left") in pairs
    assert ("one wave to the head", "one wave to the tail") in pairs
    assert len(pairs) > 90


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("image_size", 50),
        ("image_size", 8),
        ("num_frames", 1),
        ("motions", ["flies"]),
        ("motions", []),
        ("motions", ["grows", "grows"]),
        ("moving_camera", 1.5),
        ("degradation", -0.1),
        ("epoch_length", 0),
        ("std", 0.0),
        ("lesson", ["flies"]),
        ("lesson_epochs", 1),
    ],
)
def test_a_wrong_setting_is_refused_by_name(setting, value):
    with pytest.raises(ValueError, match=setting):
        DrawnVideos(**(SMALL | {setting: value}))


def test_pairs_fill_batches_and_epochs():
    for change in ({"batch_size": 3}, {"epoch_length": 9}):
        with pytest.raises(ValueError, match="even"):
            DrawnVideos(**(SMALL | change), paired=True)


def test_a_batch_has_the_mean_flow_of_its_patches_if_it_is_asked_for():
    data = DrawnVideos(**SMALL, flow=8)
    raw = next(iter(data.train_dataloader()))
    assert torch.equal(raw["clip"], epoch()[0]["clip"])
    assert raw["flow"].shape == (4, 4, 3, 2, 2)
    data.trainer = SimpleNamespace(training=True)
    assert torch.equal(data.on_after_batch_transfer(raw, 0)["flow"], raw["flow"])


def test_patches_of_the_flow_divide_the_picture():
    with pytest.raises(ValueError, match="flow is 5"):
        DrawnVideos(**SMALL, flow=5)
