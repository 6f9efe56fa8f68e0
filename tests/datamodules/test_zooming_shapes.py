"""What MovingShapes draws of growing and shrinking shapes."""

import numpy as np
import pytest

from lit_video.datamodules import MovingShapes
from lit_video.datamodules.drawing import SHAPES
from lit_video.datamodules.moving_shapes_rendering import draw_scene, render
from lit_video.video.sampling import Dense
from lit_video.video.seeding import digest
from tests.datamodules.conftest import whole


def shapes(root, **changes):
    settings = dict(pairs=(2, 1, 2), frames=8, image_size=16, batch_size=4, num_workers=0, sampling=Dense(seconds=1.0))
    return MovingShapes(root=str(root), **(settings | changes))


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    data = shapes(tmp_path_factory.mktemp("zoom"), motion="zoom")
    data.prepare_data()
    return data


def pairs_of(records):
    """(shrinking, growing) files: same shape, same file name."""
    by_place = {(record.label, record.path.name): record.path for record in records}
    return [(path, by_place[label + 1, name]) for (label, name), path in by_place.items() if label % 2 == 0]


def test_classes_are_shapes_times_motions(data):
    assert data.class_names == [f"{shape} {motion}" for shape in SHAPES for motion in ("shrinking", "growing")]


def test_shapes_grow_or_shrink_as_their_label_says(data):
    for shrinking, growing in pairs_of(data.records("test")):
        brightness = [video.astype(float).mean((1, 2, 3)) for video in (whole(shrinking), whole(growing))]
        assert brightness[0][0] > brightness[0][-1] + 5
        assert brightness[1][-1] > brightness[1][0] + 5


@pytest.mark.parametrize("shape", SHAPES)
def test_the_shape_stays_in_its_place(shape):
    scene = draw_scene(digest("stays", shape), shape, 0.0, zoom=True)
    video = render(scene).astype(float).mean(-1)
    first, last = video[0] > (video[0].max() + video[0].min()) / 2, video[-1] > (video[-1].max() + video[-1].min()) / 2
    assert last.sum() > 1.5 * first.sum()
    # the circular mean of its columns and rows does not move
    for axis, size in ((0, 48), (1, 36)):
        turns = [np.exp(2j * np.pi * np.arange(size) / size) @ mask.sum(axis) for mask in (first, last)]
        assert abs(np.angle(turns[0] / turns[1])) * size / (2 * np.pi) < 1


def test_the_two_kinds_of_motion_have_folders_of_their_own(tmp_path):
    assert shapes(tmp_path).root != shapes(tmp_path, motion="zoom").root
