"""Test a model as Python users meet it: integer clips, features, exports, checkpoints on other data, metrics."""

import copy
import pickle
from itertools import product

import numpy as np
import pytest
import torch
from lightning import Trainer
from torch import nn
from torch.utils.data import DataLoader

import lit_video
from lit_video.errors import UserError
from lit_video.modules import ConvNet, Perceiver, TimeSformer, ViViT, XViT
from lit_video.modules.metrics import VideoAccuracy, VideoPrecision
from lit_video.network.vit import ViTSize
from tests.checkpoints import QUIET
from tests.conftest import quick_or_slow
from tests.embedded import four_skills

TOKENS = dict(num_frames=4, image_size=16, patch_size=8, size=ViTSize(16, 2, 2))
FAMILIES = {
    "xvit": lambda classes: XViT(classes, **TOKENS),
    "xvit_mean": lambda classes: XViT(classes, **TOKENS, ta_layers=0),
    "timesformer": lambda classes: TimeSformer(classes, **TOKENS),
    "timesformer_hidden": lambda classes: TimeSformer(classes, **TOKENS, hidden_head=True),
    "timesformer_probe": lambda classes: TimeSformer(classes, **TOKENS, probe="attentive"),
    "vivit_2": lambda classes: ViViT(classes, **TOKENS, variant=2),
    "vivit_2_mean": lambda classes: ViViT(classes, **TOKENS, variant=2, temporal="mean"),
    "perceiver": lambda classes: Perceiver(classes, **TOKENS, num_latents=3),
    "convnet": lambda classes: ConvNet(classes, num_frames=4, image_size=32, architecture="x3d", x3d_depth=0.5),
}


def clip_for(model):
    side = 32 if isinstance(model, ConvNet) else 16
    return torch.randn(2, 3, 4, side, side, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("name", FAMILIES)
def test_without_classes_a_model_gives_its_features_and_takes_a_classifier_again(name):
    model = FAMILIES[name](5).eval()
    clip, width = clip_for(model), model.num_features
    with torch.no_grad():
        features = model.forward_features(clip)
        model.reset_classifier(0)
        torch.testing.assert_close(model(clip), features)
        torch.testing.assert_close(model.forward_features(clip), features)
        assert model.num_features == width and model.hparams["num_classes"] == 0
        assert not [key for key in model.state_dict() if "place" in key]
        model.reset_classifier(7)
        assert model(clip).shape == (2, 7) and model.num_features == width
        bare = FAMILIES[name](0).eval()
        assert bare(clip).shape == (2, width)


# a network is traced for seconds; tests/network/test_networks_run.py compiles a transformer
COMPILED = [*product(["xvit", "timesformer", "convnet"], ["network", "in place", "model"])]


@pytest.mark.parametrize(("name", "compiled"), quick_or_slow(COMPILED, {("convnet", "network")}))
def test_features_are_the_same_after_a_compiled_call(name, compiled):
    model = FAMILIES[name](5).eval()
    clip = clip_for(model)
    with torch.no_grad():
        expected, called = model.forward_features(clip), model
        if compiled == "network":
            model.network = torch.compile(model.network, backend="eager")
        elif compiled == "in place":
            model.network.compile(backend="eager")
        else:
            called = torch.compile(model, backend="eager")
        called(clip)
        torch.testing.assert_close(called.forward_features(clip), expected)
        called(clip)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int32, torch.int64, torch.bool])
@pytest.mark.parametrize("name", FAMILIES)
def test_a_clip_of_whole_numbers_is_refused(name, dtype):
    model = FAMILIES[name](5).eval()
    clip = clip_for(model).to(dtype)
    for call in (model, model.forward_features):
        with pytest.raises(UserError, match=r"clip is (u?int|bool).*float"):
            call(clip)
    with pytest.raises(UserError, match="clip is a ndarray"):
        model(clip.numpy())
    for other in (torch.float64, torch.bfloat16):
        assert model(clip_for(model).to(other)).dtype == other


def loaders(count=4):
    clips = torch.randn(count, 3, 4, 16, 16, generator=torch.Generator().manual_seed(0))
    return DataLoader([(clip, i % 2) for i, clip in enumerate(clips)], batch_size=2)


def trainer(**settings):
    return Trainer(**{"max_epochs": 1, "accelerator": "cpu"} | QUIET | settings)


@pytest.mark.slow
@pytest.mark.parametrize("loaded", [True, False])
def test_lightning_exports_a_model_with_and_without_a_trainer(loaded, tmp_path):
    import onnxruntime

    model, run, clip = TimeSformer(2, **TOKENS), trainer(), torch.randn(2, 3, 4, 16, 16)
    run.fit(model, loaders())
    run.save_checkpoint(tmp_path / "a.ckpt")
    if loaded:
        model = TimeSformer.load_from_checkpoint(tmp_path / "a.ckpt")
    expected = model.eval()(clip).detach().numpy()
    model.to_onnx(tmp_path / "a.onnx", clip, dynamo=True)
    session = onnxruntime.InferenceSession(tmp_path / "a.onnx")
    found = session.run(None, {session.get_inputs()[0].name: clip.numpy()})[0]
    np.testing.assert_allclose(found, expected, atol=1e-4)
    traced = model.to_torchscript(method="trace", example_inputs=clip)
    np.testing.assert_allclose(traced(clip).detach().numpy(), expected, atol=1e-5)


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """A model of the skills that was trained, and the folder of its videos and its checkpoint; tests change neither."""
    root = tmp_path_factory.mktemp("doors")
    model, run = TimeSformer(8, **TOKENS), trainer()
    run.fit(model, four_skills(root))
    run.save_checkpoint(root / "a.ckpt")
    return model, root


def test_an_example_passes_a_data_module_s_hooks_unchanged(learned):
    model, _ = learned
    clip = torch.randn(2, 3, 4, 16, 16)
    assert torch.equal(model._apply_batch_transfer_handler(model._on_before_batch_transfer(clip)), clip)
    traced = model.eval().to_torchscript(method="trace", example_inputs=clip)
    torch.testing.assert_close(traced(clip), model(clip), atol=1e-5, rtol=1e-5)


# every door with another mean and with other classes; pixels are compared as a whole
DOORS = ("load_from_checkpoint", "ckpt_path", "weights", "after fit")
OPENED = [*product(DOORS, [dict(mean=0.4), "classes"]), ("ckpt_path", dict(std=0.3)), ("weights", dict(channels="bgr"))]


def opened(door, model, path):
    """Return a model behind a door, and what its Trainer is given besides."""
    if door == "load_from_checkpoint":
        return TimeSformer.load_from_checkpoint(path), {}
    if door == "ckpt_path":
        return TimeSformer(8, **TOKENS), dict(ckpt_path=path)
    if door == "weights":
        return TimeSformer(8, **TOKENS, weights=str(path)), {}
    return model, {}


def used(command, model, data, given):
    """Run a command of a Trainer on a copy of a model."""
    quiet = {} if command == "predict" else {"verbose": False}
    return getattr(trainer(), command)(copy.deepcopy(model), datamodule=data, **given, **quiet)


@pytest.mark.parametrize(("door", "change"), OPENED)
def test_a_model_knows_its_classes_and_pixels_however_it_was_loaded(door, change, learned):
    model, root = learned
    other = four_skills(root) if change == "classes" else four_skills(root, **change)
    if change == "classes":
        names = list(other.class_names)
        kind = type("OtherSkills", (type(other),), {"class_names": property(lambda self: names[::-1])})
        other.__class__ = kind
    behind, given = opened(door, model, root / "a.ckpt")
    for command in ("validate", "test", "predict"):
        with pytest.raises(UserError, match=r"pixels|is class"):
            used(command, behind, other, given)


@pytest.mark.parametrize("door", DOORS)
def test_a_model_takes_the_data_of_its_training_however_it_was_loaded(door, learned):
    model, root = learned
    behind, given = opened(door, model, root / "a.ckpt")
    for command in ("validate", "test", "predict"):
        assert used(command, behind, four_skills(root), given)


def test_new_classes_are_trained_after_a_new_classifier(learned, tmp_path):
    _, root = learned
    other = four_skills(tmp_path, skills=("zoom", "drift"))
    again = TimeSformer.load_from_checkpoint(root / "a.ckpt")
    again.reset_classifier(4)
    run = trainer()
    run.fit(again, other)
    run.test(again, other, verbose=False)


def test_float_frames_are_refused_by_the_transform_of_a_loaded_model(learned):
    _, root = learned
    loaded = lit_video.load(root / "a.ckpt")
    frames = np.full((4, 32, 32, 3), 255, np.uint8)
    assert loaded.transform(frames).max() == 1
    for wrong in (frames / 255.0, frames.astype(np.float32), frames.astype(np.int64), frames[0], frames.tolist()):
        with pytest.raises(UserError, match=r"frames are .* expected uint8"):
            loaded.transform(wrong)


@pytest.mark.parametrize("metric", [VideoAccuracy, VideoPrecision])
def test_a_metric_is_one_of_torchmetrics(metric):
    empty = metric()
    assert empty.compute()["videos"] == 0 and empty.compute()["top1"].isnan()
    torch.manual_seed(0)
    logits, video, view = torch.randn(6, 3), torch.arange(6), torch.zeros(6, dtype=torch.long)
    target = torch.tensor([0, 1, 2, 0, 1, 2])
    if metric is VideoPrecision:
        target = nn.functional.one_hot(target, 3)
    whole, first, second = metric(), metric(), metric()
    whole.update(logits, target, video=video, view=view)
    first.update(logits[:4], target[:4], video=video[:4], view=view[:4])
    second.update(logits[4:], target[4:], video=video[4:], view=view[4:])
    first.merge_state(second)
    expected = whole.compute()
    for found in (first, pickle.loads(pickle.dumps(whole)), copy.deepcopy(whole)):
        for name, value in found.compute().items():
            torch.testing.assert_close(value, expected[name])
    whole.reset()
    assert whole.compute()["videos"] == 0


def test_videos_that_share_a_number_are_refused():
    logits, view = torch.eye(4), torch.zeros(4, dtype=torch.long)
    labels = VideoAccuracy()
    labels.update(logits, torch.arange(4), video=torch.tensor([0, 0, 1, 1]), view=torch.tensor([0, 1, 0, 1]))
    with pytest.raises(UserError, match="video 0 "):
        labels.compute()
    restarts = VideoAccuracy()
    for part in (logits, logits.flip(1)):
        restarts.update(part, torch.zeros(4, dtype=torch.long), video=torch.arange(4), view=view)
    with pytest.raises(UserError, match="video 0 "):
        restarts.compute()
    padded = VideoAccuracy()  # the last clip twice, equal within the rounding of another batch
    padded.update(logits, torch.arange(4), video=torch.arange(4), view=view)
    padded.update(logits[3:] + 1e-3, torch.tensor([3]), video=torch.tensor([3]), view=view[:1])
    assert padded.compute()["videos"] == 4 and padded.compute()["top1"] == 100
