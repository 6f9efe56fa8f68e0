"""Test that stills show what their labels say."""

import numpy as np
import torch

from lit_video.datamodules.drawing import SHAPES
from lit_video.datamodules.stills import NUM_PLACES, NUM_TURNS, STILL_TASKS, Stills, draw_still
from lit_video.utils.classes import per_task


def drawn(count=60):
    return [draw_still(np.random.default_rng((1, i)), 32, 0.0) for i in range(count)]


def test_the_figure_is_where_the_label_says_and_of_its_tone():
    for picture, (_, column, row, _, _, tone) in drawn():
        picture = picture.astype(float).mean(0)
        figure = np.abs(picture - np.median(picture)) > 40
        assert (picture[figure].mean() > np.median(picture)) == tone
        for axis, place in ((0, column), (1, row)):
            turns = np.exp(2j * np.pi * (np.arange(32) + 0.0) / 32) @ figure.sum(axis)
            centre = np.angle(turns) % (2 * np.pi) / (2 * np.pi) * NUM_PLACES
            away = (centre - (place + 0.5) + NUM_PLACES / 2) % NUM_PLACES - NUM_PLACES / 2
            assert abs(away) < 1


def test_every_label_is_drawn_and_only_bars_have_a_turn():
    labels = np.array([label for _, label in drawn(400)])
    for column, classes in enumerate(STILL_TASKS.values()):
        assert set(labels[:, column]) == set(range(classes))
    bars = labels[:, 0] == SHAPES.index("bars")
    assert (labels[bars, 4] < NUM_TURNS).all()
    assert (labels[~bars, 4] == NUM_TURNS).all()


def test_any_number_of_pictures_makes_as_many_steps_and_the_same_ones_again():
    one, again = (list(Stills(count=100, side=16, steps=5, batch_size=8).train_dataloader()) for _ in range(2))
    assert len(one) == 5
    for batch, same in zip(one, again, strict=True):
        assert batch["clip"].shape == (8, 3, 1, 16, 16) and batch["clip"].abs().max() <= 1
        assert all(torch.equal(target.sum(1), torch.ones(8)) for target in per_task(batch["target"], STILL_TASKS))
        assert torch.equal(batch["clip"], same["clip"])
        assert torch.equal(batch["target"], same["target"])
