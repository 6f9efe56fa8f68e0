"""The command attention: pictures of what the model attends to, mistakes in a line each."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image

from lit_video.__main__ import main
from lit_video.inference import attention_maps as module
from lit_video.inference.attention_maps import AttentionMaps, attention_maps, overlaid, see
from lit_video.inference.predict import Evaluation, load, video_list
from lit_video.inference.rollout import rollout
from lit_video.inference.videos import find_videos
from lit_video.modules import ConvNet, Perceiver, TimeSformer, ViViT, XViT
from lit_video.network.vit import ViTSize
from lit_video.video.crops import Box
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
    assert np.array_equal(seen.frames, decode(videos[0], numbers))
    table = frame_table(videos[0])
    assert seen.seconds == [float(i * table.seconds / table.count) for i in numbers]
    assert seen.box == Box(0, 8, 32, 16) and seen.is_cropped
    expected = result.patches.numpy() / result.patches.mean().item()  # over the patches: 1 is reached
    np.testing.assert_allclose(seen.maps, expected[[0, 0, 1, 1]], rtol=1e-5)
    assert (seen.numbers, seen.tubelets) == ([0, 1, 2, 3], [0, 0, 1, 1])
    share, best = result.logits.softmax(1).max(1)
    assert seen.lines == [
        f"predicted: {loaded.class_names[best]}, {100 * float(share):.0f} %; true class: {videos[0].parent.name}",
        f"{videos[0].name}: attention rollout from the output",
        *([f"{100 * result.other:.0f} % of it goes to tokens that are no patches, such as the class token"]),
    ]


def maps_of(frames=3, side=8, box=None):
    rng = np.random.default_rng(0)
    maps = np.zeros((frames, 2, 2))
    maps[1, 0, 1] = 4.0
    pixels = rng.integers(0, 255, (frames, side, side, 3)).astype(np.uint8)
    numbers, seconds = list(range(frames)), [0.5 * i for i in range(frames)]
    box = box or Box(0, 0, side, side)
    return AttentionMaps(pixels, box, numbers, seconds, maps, numbers, ["a class, 50 %", "words"])


def test_maps_lie_over_their_frames_and_what_the_model_sees_and_the_rest_is_grey():
    seen = maps_of(side=32)
    bright = overlaid(replace(seen, frames=seen.frames * 0), seen.maps, 4.0).sum(-1)
    assert bright[0].max() == bright[2].max() == bright[1, 26:, :6].max() == bright.min()
    assert bright[1, :4, 28:].min() > 3 * 100
    seen = maps_of(side=32, box=Box(4, 10, 20, 20))
    over = overlaid(seen, seen.maps, 4.0)
    outside = np.ones((32, 32), bool)
    outside[4:24, 10:30] = False
    grey = over[:, outside]
    assert (grey == grey[..., :1]).all() and grey.max() < 100  # of dark grey
    assert over[1, 4:8, 26:30].mean() > over[1, 4:8, 10:14].mean() + 60


# heads


@pytest.mark.parametrize("name", quick_or_slow(["xvit", "divided", "exact"], {"xvit"}))
def test_heads_of_a_video_are_drawn_one_by_one_on_one_scale(name, checkpoints, videos, tmp_path, monkeypatch):
    drawn, real = [], module.content_of
    monkeypatch.setattr(module, "content_of", lambda figure: drawn.append(figure) or real(figure))
    assert attention(videos[0], "--ckpt", checkpoints(name), "--heads", "-o", tmp_path / "h.png") == 0
    (figure,) = drawn
    panels = [axes for axes in figure.axes if axes.images]
    assert len(panels) == 4 * 4  # frames, their maps of all layers, those of two heads
    names = [axes.get_title("left") for axes in panels[4::4]]
    assert names == ["all layers", "head 0 of the last layer", "head 1 of the last layer"]
    loaded, (record,) = load(checkpoints(name)), find_videos(videos[0])
    heads = attention_maps(checkpoints(name), videos[0], "cpu", heads=True).heads
    data = video_list(loaded, [record], Evaluation(1, 1, 1, 0))
    expected = rollout(
        loaded.model.network, see(loaded.model.network, data, record)[0], last_layer=True, head=1
    ).patches
    np.testing.assert_allclose(heads[1], (expected / expected.mean()).numpy(), rtol=1e-4)
    assert len(heads) == 2 and np.abs(heads[0] - heads[1]).max() > 1e-3


# mistakes


def test_wrong_flags_of_attention_are_reported(checkpoints, videos, tmp_path, capsys):
    text = tmp_path / "text.mp4"
    text.write_text("no video")
    ckpt = ["--ckpt", checkpoints("xvit")]
    checkpoints("convnet"), checkpoints("perceiver")
    capsys.readouterr()  # making them may warn
    out = ["-o", tmp_path / "a.png"]
    for args, message in (
        ([*ckpt, text], "text.mp4: Invalid data"),
        ([*ckpt, videos[0].parents[1]], "8 videos; attention is drawn of one"),
        (["--ckpt", checkpoints("convnet"), videos[0]], "is a ConvNet, which has no attention"),
        (
            ["--heads", "--ckpt", checkpoints("perceiver"), videos[0]],
            "the last layer holds latents, whose heads read no patches",
        ),
    ):
        assert attention(*args, *out) == 2, args
        assert message in one_line(capsys)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["text.mp4"]
