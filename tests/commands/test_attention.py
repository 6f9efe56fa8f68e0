"""Test the command attention: the drawn rollout, and mistakes in one line each."""

import numpy as np
import pytest

from lit_video.__main__ import main
from lit_video.inference.attention_maps import AttentionMaps, overlay_maps, range_line
from lit_video.inference.predict import load
from lit_video.inference.rollout import rollout
from lit_video.modules import ConvNet, ViViT
from lit_video.network.vit import ViTSize
from lit_video.video.decoding import decode, frame_table
from tests.checkpoints import trained, untrained
from tests.commands.conftest import one_line
from tests.embedded import four_skills

CLIP = (32, 16)  # height and width: a part of each square video


@pytest.fixture(scope="module")
def tubelets(root, tmp_path_factory):
    """Checkpoint of a model with tubelets of two frames."""
    model = ViViT(8, 4, CLIP, size=ViTSize(16, 2, 2), patch_size=8, tubelet_size=2)
    return trained(model, four_skills(root, image_size=CLIP), tmp_path_factory.mktemp("tubelets") / "last.ckpt")


@pytest.fixture(scope="module")
def videos(root, tubelets):
    return sorted(root.glob("*/test/*/*.mp4"))


def attention(*args):
    return main(["attention", *map(str, args)])


def test_what_is_drawn_is_the_rollout_of_the_centre_view(tubelets, videos, tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(AttentionMaps, "picture", lambda seen: drawn.append(seen) or b"")
    assert attention(videos[0], "--ckpt", tubelets, "-o", tmp_path / "a.png") == 0
    (seen,) = drawn
    loaded = load(tubelets)
    data = four_skills(videos[0].parents[3], image_size=CLIP, batch_size=1, test_crops=1)
    records = [record.path for record in data.records("test")]
    raw = list(data.test_dataloader())[records.index(videos[0])]
    batch = data.normalise(raw)
    result = rollout(loaded.model.network, batch["clip"])
    numbers = data._dataset(data.records("test"), None, clips=1).numbers(
        data.records("test")[records.index(videos[0])], 0
    )
    assert np.array_equal(seen.frames, decode(videos[0], numbers)[:, :, 8:24])
    table = frame_table(videos[0])
    assert seen.seconds == [float(i * table.seconds / table.count) for i in numbers]
    expected = result.patches.numpy() / result.patches.mean().item()  # relative to the mean patch
    np.testing.assert_allclose(seen.maps, expected[[0, 0, 1, 1]], rtol=1e-5)
    assert (seen.numbers, seen.tubelets) == ([0, 1, 2, 3], [0, 0, 1, 1])
    share, best = result.logits.softmax(1).max(1)
    assert seen.lines == [
        f"predicted: {loaded.class_names[best]}, {100 * float(share):.0f} %; true class: {videos[0].parent.name}",
        f"{videos[0].name}: attention rollout from the output",
        *([f"{100 * result.other:.0f} % goes to tokens that are no patches, such as the class token"]),
        range_line(expected),
    ]


def test_patches_have_one_colour_each_on_a_scale_that_other_videos_share():
    frames = np.full((1, 24, 30, 3), 100, np.uint8)
    maps = np.array([[[0.5, 1, 1], [1, 1, 2.5]]])
    drawn = overlay_maps(frames, maps)
    for row, column in np.ndindex(2, 3):
        patch = drawn[0, row * 12 : (row + 1) * 12, column * 10 : (column + 1) * 10]
        assert (patch == patch[0, 0]).all(), "a patch is one colour, up to its border"
    grey = drawn[0, 0, 10, 0]
    assert (drawn[0, 0, 10:] == grey).all() and grey > 100, "an even share has no colour, on a ground that is not black"
    assert drawn[0, 0, 0, 2] > drawn[0, 0, 0, 0], "less is blue"
    assert drawn[0, 12, 20, 0] > drawn[0, 12, 20, 2], "more is orange"

    other = overlay_maps(frames, np.array([[[2.5, 8, 0], [1, 1, 1]]]))
    assert (other[0, 0, 0] == drawn[0, 12, 20]).all(), "the same share, the same colour, whatever else is in the clip"
    even = overlay_maps(frames, np.array([[[1.05, 0.95, 1.0]]]))
    assert abs(even.astype(int) - int(grey)).max() <= 6, "an almost even map does not glow"


def test_how_even_a_map_is_stands_in_words():
    assert range_line(np.array([0.9, 1.1])).startswith("almost even")
    assert not range_line(np.array([0.2, 3.0])).startswith("almost even")


def test_wrong_flags_of_attention_are_reported(tubelets, videos, tmp_path, capsys):
    text = tmp_path / "text.mp4"
    text.write_text("no video")
    model = ConvNet(2, 4, CLIP, architecture="c2d", width=8)
    convnet = untrained(model, tmp_path / "convnet.ckpt", ["a", "b"], num_frames=4, image_size=CLIP)
    for args, message in (
        (["--ckpt", tubelets, text], "text.mp4: Invalid data"),
        (["--ckpt", tubelets, videos[0].parents[1]], "8 videos; attention is drawn for one"),
        (["--ckpt", convnet, videos[0]], "is a ConvNet, which has no attention"),
    ):
        assert attention(*args, "-o", tmp_path / "a.png") == 2, args
        assert message in one_line(capsys)
    assert not (tmp_path / "a.png").exists()
