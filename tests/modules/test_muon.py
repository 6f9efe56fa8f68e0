"""Test that matrices are updated together as timm's Muon updates them one by one, in float32 on a CPU."""

import copy
from functools import partial

import pytest
import torch
from timm.optim import muon as timm_muon
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.optim.lr_scheduler import LambdaLR

from lit_video.modules import muon
from lit_video.modules.muon import StackedMuon


class Layers(nn.Module):
    """Matrices of equal and of other shapes, convolutions, and parameters that Muon leaves to AdamW."""

    def __init__(self):
        super().__init__()
        self.equal = nn.ModuleList(nn.Linear(8, 24) for _ in range(3))
        self.turned = nn.ModuleList(nn.Linear(24, 8) for _ in range(2))
        self.convolution = nn.Conv3d(3, 24, (2, 4, 4))
        self.flattens_to_equal = nn.Conv2d(2, 24, 2)
        self.too_narrow = nn.Linear(8, 2)
        self.unused = nn.Linear(8, 24)
        self.norm = nn.LayerNorm(8)


@pytest.fixture
def layers():
    torch.manual_seed(0)
    return Layers()


def groups(network):
    """Return parameter groups at two rates, with and without decay."""
    parameters = list(network.parameters())
    matrices = [parameter for parameter in parameters if parameter.ndim > 1]
    return [
        {"params": matrices[:2], "lr": 0.02, "weight_decay": 0.3, "use_fallback": False},
        {"params": matrices[2:], "lr": 0.01, "weight_decay": 0.1, "use_fallback": False},
        {"params": [parameter for parameter in parameters if parameter.ndim == 1], "use_fallback": True},
    ]


def give_gradients(network, step):
    """Give every used layer gradients that depend on the step alone."""
    generator = torch.Generator().manual_seed(step)
    for name, parameter in network.named_parameters():
        if not name.startswith("unused"):
            parameter.grad = torch.randn(parameter.shape, generator=generator)


def test_stacked_matrices_are_updated_as_one_by_one_in_float32(layers, monkeypatch):
    in_float32 = partial(timm_muon.zeropower_via_newtonschulz, dtype=torch.float32)
    monkeypatch.setattr(timm_muon, "zeropower_via_newtonschulz", in_float32)
    other = copy.deepcopy(layers)
    start = copy.deepcopy(layers.state_dict())
    stacked = StackedMuon(groups(layers), lr=0.01)
    one_by_one = timm_muon.Muon(groups(other), lr=0.01, nesterov=True)

    for step in range(4):
        for network, optimizer in ((layers, stacked), (other, one_by_one)):
            give_gradients(network, step)
            optimizer.step()

    for name, parameter in layers.state_dict().items():
        torch.testing.assert_close(parameter, other.state_dict()[name], rtol=0, atol=1e-5, msg=name)
        assert torch.equal(parameter, start[name]) == name.startswith("unused"), name

    ours = stacked.state_dict()
    theirs = one_by_one.state_dict()
    assert ours["param_groups"] == theirs["param_groups"]
    assert {key: set(state) for key, state in ours["state"].items()} == {
        key: set(state) for key, state in theirs["state"].items()
    }
    assert {key: state["use_muon"] for key, state in ours["state"].items()} == {
        key: state["use_muon"] for key, state in theirs["state"].items()
    }


def test_an_optimizer_goes_on_from_its_state_to_the_bit(layers):
    whole = StackedMuon(groups(layers), lr=0.01)
    for step in range(2):
        give_gradients(layers, step)
        whole.step()
    other = copy.deepcopy(layers)
    resumed = StackedMuon(groups(other), lr=0.5)
    resumed.load_state_dict(copy.deepcopy(whole.state_dict()))
    for network, optimizer in ((layers, whole), (other, resumed)):
        give_gradients(network, 2)
        optimizer.step()
    assert all(torch.equal(a, b) for a, b in zip(layers.parameters(), other.parameters(), strict=True))


def test_hooks_closures_and_schedules_work_once_per_step(layers):
    timm_muon.Muon(groups(copy.deepcopy(layers)))  # PyTorch adds hooks to a class at its first optimizer
    optimizer = StackedMuon(groups(layers), lr=0.01)
    schedule = LambdaLR(optimizer, lambda step: 0.5**step)
    calls = []
    optimizer.register_step_pre_hook(lambda *_: calls.append("before"))
    optimizer.register_step_post_hook(lambda *_: calls.append("after"))

    def closure():
        assert torch.is_grad_enabled()
        calls.append("closure")
        give_gradients(layers, 0)
        return 3.0

    assert optimizer.step(closure) == 3.0
    schedule.step()
    assert calls == ["before", "closure", "after"]
    assert [group["lr"] for group in optimizer.param_groups] == [0.01, 0.005, 0.005]
    assert sum(len(group["params"]) for group in optimizer.param_groups) == len([*layers.parameters()])


@pytest.mark.parametrize(("device", "dtype"), [("cpu", torch.float32), ("cuda", torch.bfloat16)])
def test_each_shape_is_one_product_in_the_devices_type(device, dtype, monkeypatch):
    products = []

    def record(updates, *arguments, **settings):
        products.append((tuple(updates.shape), settings["dtype"]))
        return updates

    monkeypatch.setattr(muon, "zeropower_via_newtonschulz", record)
    with FakeTensorMode(), torch.device(device):
        network = Layers()
        matrices = [value for name, value in network.named_parameters() if value.ndim > 1 and "narrow" not in name]
        for parameter in matrices:
            parameter.grad = torch.ones_like(parameter)
        StackedMuon([{"params": matrices}], lr=0.01).step()
    shapes = [(5, 24, 8), (2, 8, 24), (1, 24, 96)]
    assert products == [(shape, dtype) for shape in shapes]
