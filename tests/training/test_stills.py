"""Test image models that are trained on stills, and trainings that start from them."""

import pytest
import torch
from safetensors.torch import load_file

from lit_video.datamodules import TemporalSkills
from lit_video.datamodules.stills import Stills
from lit_video.errors import UserError
from lit_video.modules import TimeSformer, ViViT, XViT
from lit_video.network.vit import ViTSize
from lit_video.training import stills
from lit_video.training.stills import start_from_stills, train_on_stills

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
