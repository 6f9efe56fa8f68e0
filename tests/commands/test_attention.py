"""The command attention: pictures of what the model attends to, mistakes in a line each."""

import numpy as np
import pytest
import torch
from PIL import Image

from lit_video.__main__ import main
from lit_video.inference import attention_maps as module
from lit_video.inference.predict import load
from lit_video.inference.rollout import rollout
from lit_video.modules import ConvNet, Perceiver, TimeSformer, ViViT, XViT
from lit_video.network.vit import ViTSize
from lit_video.video.decoding import decode, frame_table
from tests.checkpoints import trained
from tests.commands.conftest import one_line
from tests.conftest import quick_or_slow
from tests.embedded import four_skills

CLIP = (32, 16)  # of square videos a part
CLIPS = dict(image_size=CLIP)
SIZE = ViTSize(16, 2, 2)
MODELS = {
    "xvit": lambda: XViT(8, 4, CLIP, SIZE, 8),
    "tubelets": lambda: ViViT(8, 4, CLIP, SIZE, 8, tubelet=2),
    "sampled": lambda: ViViT(8, 4, CLIP, SIZE, 8, tubelet=1, sampled_frames=2, variant=3),
    "divided": lambda: TimeSformer(8, 4, CLIP, SIZE, 8),
    "exact": lambda: XViT(8, 4, CLIP, SIZE, 8, exact=True),
    "perceiver": lambda: Perceiver(8, 4, CLIP, SIZE, 8, latents=4),
    "convnet": lambda: ConvNet(8, 4, CLIP, "c2d", width=8),
}


@pytest.fixture(scope="module")
def checkpoints(root, tmp_path_factory):
    """Checkpoints of several families, untrained, made once each."""
    folder = tmp_path_factory.mktemp("checkpoints")

    def make(name):
        path = folder / f"{name}.ckpt"
        if not path.exists():
            torch.manual_seed(0)
            trained(MODELS[name](), four_skills(root, **CLIPS), path)
        return path

    return make


@pytest.fixture(scope="module")
def videos(root, checkpoints):
    checkpoints("xvit")
    return sorted(root.glob("*/test/*/*.mp4"))


def attention(*args):
    return main(["attention", *map(str, args)])


# attention


@pytest.mark.parametrize(
    "name", quick_or_slow([name for name in MODELS if name != "convnet"], {"tubelets", "perceiver"})
)
def test_a_picture_of_every_family(name, checkpoints, videos, tmp_path):
    assert attention(videos[0], "--ckpt", checkpoints(name), "-o", tmp_path / "a.png") == 0
    with Image.open(tmp_path / "a.png") as image:
        assert image.size[0] > 800
        assert len(set(image.convert("RGB").getdata())) > 500
    assert [path.name for path in tmp_path.iterdir()] == ["a.png"]


def test_what_is_drawn_is_the_rollout_of_the_centre_view(checkpoints, videos, tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(module, "picture", lambda seen: drawn.append(seen) or b"")
    assert attention(videos[0], "--ckpt", checkpoints("tubelets"), "-o", tmp_path / "a.png") == 0
    (seen,) = drawn
    loaded = load(checkpoints("tubelets"))
    data = four_skills(videos[0].parents[3], **CLIPS, batch_size=1, test_crops=1)
    records = [record.path for record in data.records("test")]
    raw = list(data.test_dataloader())[records.index(videos[0])]
    batch = data.normalise(raw)
    result = rollout(loaded.model.network, batch["clip"])
    numbers = data._dataset(data.records("test"), None, 1).numbers(data.records("test")[records.index(videos[0])], 0)
    assert np.array_equal(seen.frames, decode(videos[0], numbers)[:, :, 8:24])
    table = frame_table(videos[0])
    assert seen.seconds == [float(i * table.seconds / table.count) for i in numbers]
    expected = result.patches.numpy() / result.patches.mean().item()  # over the patches: 1 is reached
    np.testing.assert_allclose(seen.maps, expected[[0, 0, 1, 1]], rtol=1e-5)
    assert (seen.numbers, seen.tubelets) == ([0, 1, 2, 3], [0, 0, 1, 1])
    share, best = result.logits.softmax(1).max(1)
    assert seen.lines == [
        f"predicted: {loaded.class_names[best]}, {100 * float(share):.0f} %; true class: {videos[0].parent.name}",
        f"{videos[0].name}: attention rollout from the output",
        *([f"{100 * result.other:.0f} % of it goes to tokens that are no patches, such as the class token"]),
    ]


# mistakes


def test_wrong_flags_of_attention_are_reported(checkpoints, videos, tmp_path, capsys):
    text = tmp_path / "text.mp4"
    text.write_text("no video")
    ckpt = ["--ckpt", checkpoints("xvit")]
    checkpoints("convnet")
    capsys.readouterr()  # making them may warn
    out = ["-o", tmp_path / "a.png"]
    for args, message in (
        ([*ckpt, text], "text.mp4: Invalid data"),
        ([*ckpt, videos[0].parents[1]], "8 videos; attention is drawn of one"),
        (["--ckpt", checkpoints("convnet"), videos[0]], "is a ConvNet, which has no attention"),
    ):
        assert attention(*args, *out) == 2, args
        assert message in one_line(capsys)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["text.mp4"]
