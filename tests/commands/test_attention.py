"""Test the command attention: the drawn rollout, and mistakes in one line each."""

import numpy as np
import pytest

from lit_video.__main__ import main
from lit_video.inference import attention_maps as module
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
    monkeypatch.setattr(module, "picture", lambda seen: drawn.append(seen) or b"")
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
    ]


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
