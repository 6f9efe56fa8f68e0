"""Test features of a frozen backbone: computed once, with the results of clips, shared by folds, and resumed."""

import numpy as np
import pytest
import torch
from lightning import Trainer

from lit_video.datamodules import VideoCSV
from lit_video.datamodules.features import RANDOM, Features
from lit_video.errors import UserError
from lit_video.inference.predict import load
from lit_video.modules import XViT
from lit_video.modules.optimization import Optimization
from lit_video.network.vit import ViTSize
from lit_video.video.augmentation import Augmentation
from lit_video.video.sampling import Segments
from tests.checkpoints import QUIET

CLIPS = dict(num_frames=4, image_size=16)
MODEL = CLIPS | dict(size=ViTSize(16, 2, 2), patch_size=8)
PLAIN = Augmentation(crop="whole", flip=0.5, policy="none", random_erasing=0.0, label_smoothing=0.1)
CROPPED = Augmentation(flip=0.5, policy="none", random_erasing=0.0, label_smoothing=0.1)
VIDEOS = 16  # 8 of them train


@pytest.fixture
def data(letters, tmp_path):
    """Function that returns videos of two letters: one repetition trains, the other validates and tests."""

    def make(train=1, **changes):
        split = dict(train="labels.csv", split_column="repetition", train_values=[train], val_values=[3 - train])
        given = dict(batch_size=4, num_workers=0, test_crops=1, views="whole", augmentation=PLAIN) | split | CLIPS
        return VideoCSV(root=str(letters), **given | {"features": str(tmp_path / "features")} | changes)

    return make


@pytest.fixture
def model(tmp_path):
    torch.manual_seed(0)
    torch.save(XViT(2, **MODEL).network.state_dict(), tmp_path / "start.pth")

    def make(**changes):
        torch.manual_seed(1)
        given = dict(weights=str(tmp_path / "start.pth"), freeze="backbone", probe="attentive") | changes
        built = XViT(2, **MODEL, **given, optimization=Optimization("adamw", lr=1e-3))
        built.clips = []
        built.network.embed.register_forward_hook(lambda _, clips, out: built.clips.append(len(clips[0])))
        return built

    return make


def trainer(epochs=1):
    return Trainer(max_epochs=epochs, **QUIET)


def fit(model, data, epochs=1):
    run = trainer(epochs)
    run.fit(model, data)
    return run


@pytest.mark.parametrize(
    ("probe", "views", "passes"),
    [("attentive", {}, 4), ("frames", {}, 4), (None, dict(views="even", augmentation=CROPPED, test_clips=2), 6)],
)
def test_a_video_goes_through_the_backbone_once_and_the_test_is_that_of_its_clips(
    probe, views, passes, data, model, tmp_path
):
    probed, kept = model(probe=probe), data(**views)
    run = fit(probed, kept, epochs=2)
    run.test(probed, kept, verbose=False)
    assert sum(probed.clips) == VIDEOS * passes
    run.save_checkpoint(tmp_path / "probed.ckpt")
    whole = load(tmp_path / "probed.ckpt").model
    trainer().test(whole, data(**views, features=None), verbose=False)
    (logits, target), (again, same) = (each.test_accuracy.per_task()[""] for each in (probed, whole))
    torch.testing.assert_close(again, logits, atol=2e-3, rtol=2e-3)
    assert torch.equal(target, same) and len(logits) == 8
    start = model().network.state_dict() | torch.load(tmp_path / "start.pth")
    assert all(torch.equal(v, start[k]) for k, v in whole.network.state_dict().items() if not k.startswith("aggregate"))


def test_tests_in_other_orders_are_of_clips(data, model):
    """Features are of frames as they are: those of reversed frames are another video's."""
    probed, kept = model(), data(test_orders=("reversed", "static"))
    run = fit(probed, kept)
    run.test(probed, kept, verbose=False)
    (forward, _) = probed.test_accuracy.per_task()[""]
    before = sum(probed.clips)
    for order in kept.test_orders:
        kept.order = order
        run.test(probed, kept, verbose=False)
        (logits, _) = probed.test_accuracy.per_task()[""]
        trainer().test(probed, data(features=None, order=order), verbose=False)
        (expected, _) = probed.test_accuracy.per_task()[""]
        torch.testing.assert_close(logits, expected)
        assert not torch.allclose(logits, forward, atol=1e-3)
    assert sum(probed.clips) - before == 2 * 2 * 8, "8 test videos, once for each of the tests"


def test_folds_and_later_runs_share_them_and_a_stopped_pass_goes_on(data, model, tmp_path, monkeypatch):
    first, write = model(), Features._write
    done = []

    def stopped(*given):
        if len(done) == 5:
            raise OSError("stopped")
        done.append(write(*given))

    monkeypatch.setattr(Features, "_write", stopped)
    with pytest.raises(OSError, match="stopped"):
        fit(first, data())
    monkeypatch.undo()
    passes = []
    for train in (1, 2):
        passes += [model()]
        fit(passes[-1], data(train))
    counts = [sum(each.clips) // (1 + RANDOM) for each in (first, *passes)]
    assert counts == [5, VIDEOS - 5, 0]
    views = [np.load(path) for path in (tmp_path / "features").rglob("*.npy")]
    file = next((tmp_path / "features").rglob("*.npy"))
    file.write_bytes(file.read_bytes()[:-1])  # a damaged file is written again
    fit(passes[-1], data())
    assert sum(passes[-1].clips) == 1 + RANDOM
    assert {(each.dtype, each.shape) for each in views} == {(np.dtype(np.float16), (1 + RANDOM, 20, 16))}


def test_other_clips_or_weights_are_other_features(data, model, tmp_path):
    fit(model(), data())
    torch.save(XViT(2, **MODEL).network.state_dict(), tmp_path / "other.pth")
    changes = [{"mean": 0.4}, {"sampling": Segments()}, {"augmentation": CROPPED, "views": "even"}]
    for weights, change in [({}, each) for each in changes] + [({"weights": str(tmp_path / "other.pth")}, {})]:
        other = model(**weights)
        fit(other, data(**change))
        assert sum(other.clips) == VIDEOS * (1 + RANDOM)


def test_what_features_cannot_do_is_refused(data, model):
    with pytest.raises(UserError, match=r"data\.features: needs a frozen backbone; set model\.freeze: backbone"):
        fit(model(freeze=None), data())
    erased = {"augmentation": Augmentation(crop="whole", random_erasing=0.5)}
    for change in ({"order": "reversed"}, {"broken": "skip"}, erased):
        with pytest.raises(ValueError, match=r"features are computed from unchanged videos: leave out .*erasing"):
            data(**change)


def test_features_that_are_larger_than_float16_holds_are_left_out_as_told(data, model, tmp_path):
    start = XViT(2, **MODEL).network.state_dict()
    torch.save(start | {"norm.weight": 1e6 * start["norm.weight"]}, tmp_path / "large.pth")
    with pytest.raises(UserError, match=r"not finite in float16; leave out data\.features"):
        fit(model(weights=str(tmp_path / "large.pth")), data())
    fit(model(weights=str(tmp_path / "large.pth")), data(features=None))
