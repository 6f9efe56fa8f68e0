"""Test that one model serves many threads, that its copies are its equals, and that nothing is left on it."""

import copy
import io
import pickle
from concurrent.futures import ThreadPoolExecutor
from itertools import chain

import pytest
import torch
from lightning import Trainer
from torch import nn
from torch.utils.data import DataLoader

from lit_video.errors import UserError
from lit_video.inference.rollout import rollout
from lit_video.modules import Perceiver, VideoClassifier, XViT
from lit_video.network.aggregation import keeping_inputs
from lit_video.probes.last_layer import last_layer, reading_inputs
from tests.checkpoints import QUIET
from tests.modules.test_python_doors import FAMILIES, TOKENS, clip_for


class Deep(nn.Module):
    """Network that is not of the package."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv3d(3, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool3d(1), nn.Flatten())
        self.last = nn.ModuleDict({"classes": nn.Linear(4, 5)})

    def forward(self, clip):
        return self.last["classes"](self.body(clip))


class Scaled(XViT):
    """Model whose ``forward`` the user has changed."""

    def forward(self, clip):
        return super().forward(3 * clip)


MODELS = {
    **{name: lambda name=name: FAMILIES[name](5).eval() for name in FAMILIES},
    "xvit_frames": lambda: XViT(5, **TOKENS, probe="frames").eval(),
    "overridden": lambda: Scaled(5, **TOKENS).eval(),
}


def asked_by_threads(function, clips):
    """Call a function on each clip many times, in eight threads at once; return the shares of wrong answers."""
    expected = [function(clip) for clip in clips]

    def ask(number):
        with torch.no_grad():
            return torch.equal(function(clips[number % len(clips)]), expected[number % len(clips)])

    with ThreadPoolExecutor(8) as pool:
        return [*pool.map(ask, range(8 * len(clips)))].count(False)


@pytest.mark.parametrize("name", MODELS)
def test_each_thread_gets_the_features_of_its_own_clip(name):
    model = MODELS[name]()
    clips = [clip_for(model)[:1] * (1 + number) for number in range(6)]
    before = {id(module): dict(vars(module)) for module in model.modules()}
    with torch.no_grad():
        assert not asked_by_threads(model.forward_features, clips)
        features = model.forward_features(clips[1])
        logits = model.forward_head(features)
    assert len(features) == 1
    torch.testing.assert_close(logits, model(clips[1]), atol=1e-4, rtol=1e-4)
    assert all(vars(module) == before[id(module)] for module in model.modules())


def test_each_thread_gets_the_inputs_of_the_last_layer_of_a_network_of_others():
    network = Deep().eval()
    read = reading_inputs(network, last_layer(network, "deep"))
    clips = [torch.randn(1, 3, 4, 8, 8) for _ in range(6)]
    with torch.no_grad():
        assert not asked_by_threads(read, clips)
        torch.testing.assert_close(read(clips[0]), network.body(clips[0]))
        twin, inputs = keeping_inputs(network, network.body[0])
        torch.testing.assert_close(twin(clips[0]), network(clips[0]))
    assert len(inputs) == 1 and inputs[0].shape == (1, 3)


def test_logits_of_other_threads_do_not_change_while_attention_is_drawn():
    model = XViT(5, **TOKENS).eval()
    clip = clip_for(model)[:1]
    with torch.no_grad():
        expected = model(clip)
        embedded, place = [], model.network.embed
        before = dict(vars(place))
    with ThreadPoolExecutor(2) as pool:
        drawn = [pool.submit(rollout, model.network, clip) for _ in range(20)]
        while not all(one.done() for one in drawn):
            with torch.no_grad():
                embedded.append(torch.equal(model(clip), expected))
    assert all(embedded) and vars(place) == before
    assert all(torch.equal(one.result().patches, drawn[0].result().patches) for one in drawn)


def test_gradients_flow_through_features_to_the_shared_weights():
    model = Perceiver(5, **TOKENS, num_latents=3)
    model.forward_features(clip_for(model)).sum().backward()
    head = {id(parameter) for parameter in model.get_classifier().parameters()}
    assert all((parameter.grad is None) == (id(parameter) in head) for parameter in model.parameters())


def whole(network):
    file = io.BytesIO()
    torch.save(network, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


def by_hand(network):
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.1)
    return network


COPIES = {
    "itself": lambda network: network,
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
    "pickle": lambda network: pickle.loads(pickle.dumps(network)),
    "torch.save": whole,
    "AveragedModel": lambda network: torch.optim.swa_utils.AveragedModel(network).module,
    "by hand": by_hand,
}


def loader():
    return DataLoader([(torch.randn(3, 4, 16, 16), i % 4) for i in range(4)], batch_size=2)


@pytest.mark.parametrize("loaded", [True, False])
@pytest.mark.parametrize("name", COPIES)
def test_a_network_that_the_user_gives_may_be_frozen_in_any_copy(name, loaded):
    network = XViT(4, **TOKENS).network
    if loaded:
        network.load_state_dict(XViT(4, **TOKENS).network.state_dict())
    model = VideoClassifier(COPIES[name](network), num_classes=4, freeze="backbone")
    assert model.weights_record.is_loaded == loaded, "what is known travels"
    Trainer(max_epochs=1, **QUIET).fit(model, loader())


@pytest.mark.parametrize("name", ["itself", "deepcopy", "pickle", "torch.save"])
def test_weights_that_a_family_has_drawn_are_not_frozen_in_any_copy(name):
    model = COPIES[name](XViT(4, **TOKENS, freeze="backbone"))
    with pytest.raises(UserError, match="would freeze random weights"):
        Trainer(max_epochs=1, **QUIET).fit(model, loader())
    model.load_state_dict(XViT(4, **TOKENS).state_dict())
    copied = COPIES[name](model)
    Trainer(max_epochs=1, **QUIET).fit(copied, loader())
    assert all(not parameter.requires_grad for parameter in chain(copied.network.blocks.parameters()))
