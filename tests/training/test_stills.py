"""Test image models that are trained on stills, and trainings that start from them."""

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from timm.models.vision_transformer import VisionTransformer

from lit_video.datamodules import TemporalSkills
from lit_video.datamodules.stills import STILL_TASKS, STILLS_VERSION, Stills, draw_still
from lit_video.errors import UserError
from lit_video.modules import TimeSformer, ViViT, XViT
from lit_video.network.vit import ViTSize
from lit_video.training import stills
from lit_video.training.stills import start_from_stills, train_on_stills
from lit_video.video.batch import normalise
from lit_video.weights.reading import weights_digest

SIZE = ViTSize(16, 2, 2)


@pytest.fixture
def short(monkeypatch):
    """Image models that are trained for three steps only."""
    monkeypatch.setattr(stills, "Stills", lambda count, side: Stills(count, side, steps=3, batch_size=8))


def model(family, **settings):
    return family(
        num_classes=4,
        num_frames=4,
        image_size=32,
        size=SIZE,
        patch_size=16,
        **(settings | {"image_weights": "stills:100"}),
    )


@pytest.mark.parametrize("family", [XViT, TimeSformer, ViViT])
def test_training_starts_from_the_image_model(short, tmp_path, family):
    data, network = TemporalSkills(root=str(tmp_path)), model(family)
    start_from_stills(network, data)
    assert network.image_weights == str(next(tmp_path.glob("stills-v2-100x32-w16-l2-h2-m4-p16.safetensors")))
    network.setup("fit")
    weights = load_file(network.image_weights)
    ours = network.network.state_dict()
    assert torch.equal(ours["norm.weight"], weights["norm.weight"])
    assert torch.equal(ours["blocks.1.mlp.fc1.weight"], weights["blocks.1.mlp.fc1.weight"])
    assert weights["norm.bias"].abs().max() > 0  # trained


@pytest.mark.parametrize("depth", [2, 4])
def test_the_image_models_of_the_skills_come_with_the_package_and_read_pictures(tmp_path, monkeypatch, depth):
    monkeypatch.setattr(stills, "train_on_stills", None)
    network = XViT(num_classes=4, num_frames=4, image_size=32, size=ViTSize(48, depth, 4), patch_size=8)
    network.image_weights = "stills:24576"
    start = start_from_stills(network, TemporalSkills(root=str(tmp_path)))
    assert start == {Path(network.image_weights).stem: weights_digest(Path(network.image_weights))}
    assert not [*tmp_path.iterdir()]

    vit = VisionTransformer(32, 8, embed_dim=48, depth=depth, num_heads=4, num_classes=sum(STILL_TASKS.values()))
    vit.load_state_dict(load_file(network.image_weights))
    numbers = range(24576, 24576 + 256)  # of pictures that follow those of the training
    drawn = [draw_still(np.random.default_rng((STILLS_VERSION, number)), 32, 0.65) for number in numbers]
    pictures = torch.stack([torch.from_numpy(picture) for picture, _ in drawn])
    clips = normalise(pictures[:, None, None], 0.5, 0.5)
    labels = torch.stack([torch.from_numpy(label) for _, label in drawn])
    with torch.inference_mode():
        scores = vit.eval()(clips[:, :, 0]).split([*STILL_TASKS.values()], dim=1)

    for column, task in enumerate(STILL_TASKS):
        right = (scores[column].argmax(1) == labels[:, column]).float().mean()
        assert right > 0.7, task


def test_it_is_made_once_for_all_rows(short, tmp_path, monkeypatch):
    data = TemporalSkills(root=str(tmp_path))
    first, second = model(XViT), model(TimeSformer)
    start_from_stills(first, data)
    monkeypatch.setattr(stills, "train_on_stills", None)
    start_from_stills(second, data)
    assert first.image_weights == second.image_weights


def test_training_draws_what_it_draws_without(short, tmp_path):
    torch.manual_seed(5)
    expected = torch.rand(3)
    network, data = model(XViT), TemporalSkills(root=str(tmp_path))
    torch.manual_seed(5)
    start_from_stills(network, data)
    assert torch.initial_seed() == 5
    assert torch.equal(torch.rand(3), expected)


def test_an_image_model_is_a_function_of_its_size_and_pictures():
    one, same, other = (train_on_stills(SIZE, 16, Stills(n, 32, steps=2, batch_size=4)) for n in (100, 100, 200))
    assert torch.equal(one.norm.bias, same.norm.bias)
    assert not torch.equal(one.norm.bias, other.norm.bias)


@pytest.mark.parametrize("given", ["stills:", "stills:99", "stills:1e4"])
def test_no_number_of_pictures_is_refused(tmp_path, given):
    network = model(XViT)
    network.image_weights = given
    with pytest.raises(UserError, match=rf"^model.image_weights: {given}: expected stills:N"):
        start_from_stills(network, TemporalSkills(root=str(tmp_path)))


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UserError, match=r"^model.image_weights: cannot write"):
        start_from_stills(model(XViT), TemporalSkills(root=str(tmp_path / "file")))
