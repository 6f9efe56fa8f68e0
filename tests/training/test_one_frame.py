"""Test the head on single frames: its features, and that it learns from training videos alone."""

import numpy as np
import pytest
import torch
from lightning import Trainer

from lit_video.datamodules import VideoCSV
from lit_video.datamodules.drawing import encode
from lit_video.engine import frame_features
from lit_video.engine.frame_features import FrameFeatures
from lit_video.modules import XViT
from lit_video.network.vit import ViTSize
from lit_video.training.one_frame import frame_head
from tests.checkpoints import QUIET

CLIPS = dict(num_frames=4, image_size=16)
COLOURS = ("red", "green", "blue")
SPLITS = {"train": 8, "test": 4}  # videos of a class


@pytest.fixture(scope="module")
def colours(tmp_path_factory):
    """Table of videos whose every frame has the colour of its class, with noise; one test video is damaged."""
    root = tmp_path_factory.mktemp("colours")
    rng = np.random.default_rng(0)
    lines = ["path,label,split"]
    for split, videos in SPLITS.items():
        for number, label in enumerate(COLOURS):
            for i in range(videos):
                clip = rng.normal(80, 20, (6, 16, 16, 3))
                clip[..., number] += 60
                name = f"{label}{split}{i}.mp4"
                encode(root / name, clip.clip(0, 255).astype(np.uint8), 6)
                lines.append(f"{name},{label},{split}")
    (root / "redtest1.mp4").write_bytes(b"no video")
    (root / "labels.csv").write_text("\n".join(lines))
    return root


def parts(colours, **changes):
    """Return a trainer that keeps features, a model with random weights, and the data set."""
    torch.manual_seed(0)
    model = XViT(3, **CLIPS, size=ViTSize(16, 1, 2), patch_size=8)
    split = dict(train="labels.csv", split_column="split", train_values=["train"], val_values=["test"])
    settings = dict(batch_size=4, num_workers=0, test_clips=2, test_crops=1, broken="report") | split | CLIPS
    data = VideoCSV(root=str(colours), **settings | changes)
    features = FrameFeatures()
    return Trainer(**QUIET, callbacks=[features]), model, data, features


def with_head(colours, **changes):
    """Test one repeated frame and the head; return the head, the features and the data set."""
    trainer, model, data, features = parts(colours, **changes)
    data.order = "static"
    trainer.test(model, data, verbose=False)
    head = frame_head(trainer, model, data, checkpoint=None, features=features)
    return head, features, model, data


def test_a_head_on_frames_of_a_model_tells_what_single_frames_show(colours):
    head, features, model, data = with_head(colours)
    assert head.video.tolist() == [i for i in range(12) if i != 1], "the damaged video is left out"
    assert head.hits().mean() > 0.9
    assert head.tasks[""].classes == sorted(COLOURS)
    assert data.order == "static"
    assert len(features.of_split["train"].video) == 24

    model.eval()
    with torch.no_grad():
        by_hand = [model.forward_features(data.normalise(batch)["clip"]) for batch in data.test_dataloader()]
    means = torch.cat(by_hand).unflatten(0, (12, 2)).mean(1)[head.video]
    np.testing.assert_allclose(features.of_split["test"].features, means, atol=1e-5)


def test_frames_in_their_own_order_leave_no_features_and_hooks_are_gone(colours):
    trainer, model, data, features = parts(colours)
    trainer.test(model, data, verbose=False)
    assert not features.of_split and frame_head(trainer, model, data, checkpoint=None, features=features) is None
    data.order = "static"
    trainer.test(model, data, verbose=False)
    assert not any(module._forward_pre_hooks for module in model.network.modules())


def test_labels_of_test_videos_change_nothing_but_what_is_right(colours, tmp_path):
    text = (colours / "labels.csv").read_text()
    lines = [line.replace(",blue,test", ",green,test") for line in text.splitlines()]
    (colours / "other.csv").write_text("\n".join(lines))
    first, *_ = with_head(colours)
    second, *_ = with_head(colours, train="other.csv")
    assert (first.tasks[""].predicted == second.tasks[""].predicted).all()
    assert (first.tasks[""].target != second.tasks[""].target).sum() == 4


def test_a_head_that_would_take_long_is_left_out_with_a_line(colours, monkeypatch, capsys):
    monkeypatch.setattr(frame_features, "LEAST_SECONDS", 0.0)
    monkeypatch.setattr(frame_features, "MOST_TESTS", 1)
    head, features, *_ = with_head(colours)
    assert head is None and "train" not in features.of_split
    assert "24 training videos" in capsys.readouterr().out


def test_without_a_known_last_layer_there_is_no_head(colours):
    trainer, model, data, features = parts(colours)
    model.network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.LazyLinear(3))
    model(torch.zeros(1, 3, 4, 16, 16))
    data.order = "static"
    trainer.test(model, data, verbose=False)
    assert frame_head(trainer, model, data, checkpoint=None, features=features) is None
