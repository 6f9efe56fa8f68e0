"""The command attention: pictures of what the model attends to, the frames that heads read, mistakes in a line each."""

import io
from pathlib import Path

import numpy as np
import pytest
import torch
from lightning import Trainer
from PIL import Image

from lit_video.__main__ import main
from lit_video.datamodules import MovingShapes
from lit_video.inference.checkpoints import load_trained_model
from lit_video.inference.overlay import pictures
from lit_video.modules import ConvNet, Perceiver, TimeSformer, ViViT, XViT
from lit_video.network.vit import ViTSize
from lit_video.visual import attention_picture
from lit_video.visual.attention_picture import AttentionMaps, moving, overlaid, picture
from lit_video.visual.heads_picture import Layers, layers
from lit_video.visual.rollout import rollout

ROOT = Path(__file__).parents[2]
CLIPS = dict(pairs=(2, 1, 1), frames=4, image_size=32, batch_size=4, num_workers=0)
SIZE = ViTSize(16, 2, 2)
MODELS = {
    "xvit": lambda: XViT(8, 4, 32, SIZE, 8),
    "tubelets": lambda: ViViT(8, 4, 32, SIZE, 8, tubelet=2),
    "sampled": lambda: ViViT(8, 4, 32, SIZE, 8, tubelet=1, sampled_frames=2, variant=3),
    "divided": lambda: TimeSformer(8, 4, 32, SIZE, 8),
    "exact": lambda: XViT(8, 4, 32, SIZE, 8, exact=True),
    "perceiver": lambda: Perceiver(8, 4, 32, SIZE, 8, latents=4),
    "convnet": lambda: ConvNet(8, 4, 32, "c2d", width=8),
}


@pytest.fixture(scope="module")
def checkpoints(root, tmp_path_factory):
    """Checkpoints of several families, untrained, made once each."""
    folder = tmp_path_factory.mktemp("checkpoints")

    def make(name):
        path = folder / f"{name}.ckpt"
        if not path.exists():
            quiet = dict(logger=False, enable_progress_bar=False, enable_model_summary=False)
            trainer = Trainer(max_steps=1, accelerator="cpu", enable_checkpointing=False, **quiet)
            torch.manual_seed(0)
            trainer.fit(MODELS[name](), MovingShapes(root=str(root), **CLIPS))
            trainer.save_checkpoint(path)
        return path

    return make


@pytest.fixture(scope="module")
def videos(root, checkpoints):
    checkpoints("xvit")
    return sorted(root.glob("*/test/*/*.mp4"))


def attention(*args):
    return main(["attention", *map(str, args)])


def one_line(capsys):
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1, lines
    return lines[0]


# attention


@pytest.mark.parametrize("name", [name for name in MODELS if name != "convnet"])
def test_a_picture_of_every_family(name, checkpoints, videos, tmp_path):
    assert attention(videos[0], "--ckpt", checkpoints(name), "-o", tmp_path / "a.png") == 0
    with Image.open(tmp_path / "a.png") as image:
        assert image.size[0] > 800
        assert len(set(image.convert("RGB").getdata())) > 500
    assert [path.name for path in tmp_path.iterdir()] == ["a.png"]


def test_what_is_drawn_is_the_rollout_of_the_centre_view(checkpoints, videos, tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(attention_picture, "picture", lambda seen: drawn.append(seen) or b"")
    assert attention(videos[0], "--ckpt", checkpoints("tubelets"), "-o", tmp_path / "a.png") == 0
    (seen,) = drawn
    loaded = load_trained_model(checkpoints("tubelets"))
    data = MovingShapes(root=str(videos[0].parents[3]), **CLIPS | {"batch_size": 1}, test_clips=1, test_crops=1)
    records = [record.path for record in data.records("test")]
    raw = list(data.test_dataloader())[records.index(videos[0])]
    batch = data.on_after_batch_transfer(raw, 0)
    result = rollout(loaded.model.network, batch["clip"])
    assert np.array_equal(seen.frames, raw["clip"][0, 0].permute(0, 2, 3, 1).numpy())
    expected = result.patches.numpy() * 32
    np.testing.assert_allclose(seen.maps, expected[[0, 0, 1, 1]], rtol=1e-5)
    assert (seen.numbers, seen.tubelets) == ([0, 1, 2, 3], [0, 0, 1, 1])
    assert seen.top == pytest.approx(expected.max(), rel=1e-5)
    share, best = result.logits.softmax(1).max(1)
    assert seen.lines == [
        f"{loaded.class_names[best]}, {100 * float(share):.0f} %   {videos[0].name}",
        "attention rollout from the output",
    ]


def test_flags_choose_layers_and_where_to_start(checkpoints, videos, tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(attention_picture, "picture", lambda seen: drawn.append(seen) or b"")
    for flags in ([], ["--layers", "last"], ["--token", "1,2,3"]):
        assert attention(videos[0], "--ckpt", checkpoints("divided"), *flags, "-o", tmp_path / "a.png") == 0
    every, last, patch = drawn
    assert np.abs(every.maps - last.maps).max() > 1e-3
    assert last.lines[1] == "attention rollout from the output, last layer only"
    assert np.unravel_index(patch.maps.argmax(), patch.maps.shape) == (1, 2, 3)
    assert patch.top == np.sort(patch.maps.ravel())[-2]
    assert patch.lines[1] == "attention rollout from patch 1,2,3"


def test_frames_that_are_not_sampled_are_not_shown(checkpoints, videos, tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(attention_picture, "picture", lambda seen: drawn.append(seen) or b"")
    assert attention(videos[0], "--ckpt", checkpoints("sampled"), "-o", tmp_path / "a.png") == 0
    assert drawn[0].numbers == [1, 3]
    assert drawn[0].frames.shape[0] == drawn[0].maps.shape[0] == 2


@pytest.mark.parametrize("ending", ["gif", "mp4"])
def test_moving_pictures_hold_the_frames(ending, checkpoints, videos, tmp_path):
    path = tmp_path / f"a.{ending}"
    assert attention(videos[0], "--ckpt", checkpoints("xvit"), "-o", path) == 0
    if ending == "mp4":
        images = [image for image, *_ in pictures(path)]
    else:
        with Image.open(path) as file:
            images = [np.asarray((file.seek(i), file.convert("RGB"))[1]) for i in range(file.n_frames)]
    assert len(images) == 4
    assert images[0].shape[1] == 448  # 32 pixels seven times, twice
    source = next(pictures(videos[0]))[0]
    assert abs(images[0][:224, :224].mean() - source.mean()) < 25


def maps_of(frames=3, side=8):
    rng = np.random.default_rng(0)
    maps = np.zeros((frames, 2, 2))
    maps[1, 0, 1] = 4.0
    pixels = rng.integers(0, 255, (frames, side, side, 3)).astype(np.uint8)
    return AttentionMaps(pixels, list(range(frames)), maps, list(range(frames)), 4.0, ["a class, 50 %", "words"])


def test_maps_lie_over_their_frames_and_places():
    seen = maps_of(side=32)
    bright = overlaid(seen.frames * 0, seen.maps, seen.top).sum(-1)
    assert bright[0].max() == bright[2].max() == bright[1, 26:, :6].max() == bright.min()
    assert bright[1, :4, 28:].min() > 3 * 100


def test_pairs_are_the_frame_and_its_map():
    seen = maps_of(side=300)
    shown = moving(seen)
    assert [image.shape[1] for image in shown] == [600] * 3
    assert len(shown[0]) % 2 == 0
    assert np.array_equal(shown[2][:300, :300], seen.frames[2])
    assert np.array_equal(shown[1][:300, 300:], overlaid(seen.frames, seen.maps, 4.0)[1])


def test_many_frames_fill_several_rows():
    sizes = [Image.open(io.BytesIO(picture(maps_of(n)))).size for n in (8, 9)]
    assert sizes[0][0] == sizes[1][0]
    assert sizes[1][1] > 1.6 * sizes[0][1]


# heads


def test_heads_of_a_checkpoint_and_of_a_row(checkpoints, tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    assert attention("--heads", "--ckpt", checkpoints("xvit"), "-o", tmp_path / "one.png") == 0
    row = ["--config", "experiments/ablation_tw.yaml", "--row", "tw2"]
    assert attention("--heads", *row, "-o", tmp_path / "two.svg") == 0
    text = (tmp_path / "two.svg").read_text()
    assert text.startswith("<?xml")
    assert text.count("#e6550d") >= 4  # t+2, in each of four heads
    assert Image.open(tmp_path / "one.png").size[0] > 500


def test_layers_that_read_alike_are_drawn_together():
    groups = layers(XViT(8, 4, 32, ViTSize(16, 6, 2), 8, layers="odd", scope="full"), "x")
    assert [group.numbers for group in groups] == [[1, 3, 5], [2, 4, 6]]
    assert [group.title for group in groups] == ["layers 1, 3, 5: nothing moves", "layers 2, 4, 6: keys and values"]
    assert groups[1].offsets.tolist() == [[1] * 4 + [-1] * 4, [0] * 8]
    assert Layers([1, 2, 3, 5], groups[0].offsets, ("x",)).title == "layers 1–3, 5: input"


# mistakes


def test_wrong_flags_of_attention_are_reported(checkpoints, videos, tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    text = tmp_path / "text.mp4"
    text.write_text("no video")
    ckpt = ["--ckpt", checkpoints("xvit")]
    checkpoints("convnet"), checkpoints("divided"), checkpoints("exact"), checkpoints("perceiver")
    capsys.readouterr()  # making them may warn
    out = ["-o", tmp_path / "a.png"]
    for args, message in (
        ([*ckpt, tmp_path / "none.mp4"], "none.mp4: no such file or folder"),
        ([*ckpt, text], "text.mp4: Invalid data"),
        ([*ckpt, tmp_path / "empty"], "empty: holds no video"),
        ([*ckpt, videos[0].parents[1]], "8 videos; attention is drawn of one"),
        ([*ckpt], "give a video (or --heads)"),
        ([videos[0]], "--ckpt: give a run's last.ckpt"),
        ([*ckpt, videos[0], "--token", "1,2"], "--token: is 1,2, expected frame, row and column"),
        ([*ckpt, videos[0], "--token", "4,0,0"], "--token: 4,0,0 is no patch; frames, rows and columns count from 0"),
        (["--ckpt", checkpoints("perceiver"), videos[0], "--token", "0,0,0"], "--token: the last layer holds latents"),
        ([*ckpt, videos[0], "--layers", "first"], "--layers: invalid choice"),
        ([*ckpt, videos[0], "--row", "tw1"], "--config, --row: are for --heads"),
        (["--ckpt", checkpoints("convnet"), videos[0]], "is a ConvNet, which has no attention"),
        (
            ["--heads", "--ckpt", checkpoints("divided")],
            "TimeSformer; only the heads of an XViT read channels of",
        ),
        (["--heads", "--ckpt", checkpoints("convnet")], "is a ConvNet; only the heads"),
        (["--heads", "--ckpt", checkpoints("exact")], "attends its window exactly"),
        (["--heads"], "--heads: give either --ckpt"),
        (["--heads", *ckpt, videos[0]], "--heads: is about the model alone"),
        (["--heads", "--config", "x.yaml"], "--heads: --config and --row belong together"),
    ):
        assert attention(*args, *out) == 2, args
        assert message in one_line(capsys)
    for ending, flags in ((".jpg", [videos[0]]), ("", [videos[0]]), (".gif", ["--heads"])):
        assert attention(*ckpt, *flags, "-o", tmp_path / f"a{ending}") == 2
        assert "ends in none of .png" in one_line(capsys)
    assert attention(*ckpt, videos[0], "-o", tmp_path / "nowhere" / "a.png") == 2
    assert "no such folder" in one_line(capsys)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "text.mp4"]
