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
from lit_video.inference.predict import load
from lit_video.inference.rollout import rollout
from lit_video.modules import Perceiver, VideoClassifier, XViT
from lit_video.network.aggregation import keeping_inputs
from lit_video.network.vit import ViTSize
from lit_video.probes.sources import last_layer, reading_inputs
from tests.checkpoints import QUIET, untrained
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


class Adapter(nn.Module):
    """A layer with an update of low rank, like PEFT's: no ``nn.Linear``, with the attributes of one."""

    def __init__(self, base):
        super().__init__()
        self.base_layer = base
        self.in_features, self.out_features = base.in_features, base.out_features
        self.down = nn.Linear(base.in_features, 1, bias=False)
        self.up = nn.Linear(1, base.out_features, bias=False)

    @property
    def weight(self):
        return self.base_layer.weight

    def forward(self, x):
        return self.base_layer(x) + self.up(self.down(x))


class Copies(nn.Module):
    """A part and the copy of it that is trained, like PEFT's ``modules_to_save``."""

    def __init__(self, part):
        super().__init__()
        self.original_module = part
        self.modules_to_save = nn.ModuleDict({"default": copy.deepcopy(part)})
        self.active_adapters = ["default"]

    def forward(self, x):
        return self.modules_to_save["default"](x)


class Base(nn.Module):
    def __init__(self, network):
        super().__init__()
        self.model = network

    def forward(self, clip):
        return self.model(clip)


class Adapted(nn.Module):
    """A network with adapters in it, like a ``PeftModel``."""

    def __init__(self, network):
        super().__init__()
        self.base_model = Base(network)

    def get_base_model(self):
        return self.base_model.model

    def forward(self, clip):
        return self.get_base_model()(2 * clip)


def with_adapter(network):
    names = {
        name for name, part in network.named_modules() if part is network.get_classifier() or name.endswith(".fc1")
    }
    for name in names:
        network.set_submodule(name, Adapter(network.get_submodule(name)))
    return Adapted(network)


def with_copy(network):
    network.aggregate.head = Copies(network.aggregate.head)
    return Adapted(network)


WRAPPERS = {
    "adapters": with_adapter,
    "a copied head": with_copy,
    "compiled": lambda network: torch.compile(network, backend="eager"),
    "compiled adapters": lambda network: torch.compile(with_adapter(network), backend="eager"),
    "average": torch.optim.swa_utils.AveragedModel,
    "parallel": nn.DataParallel,
}


def slow_if(condition):
    return [pytest.mark.slow] if condition else []


@pytest.mark.parametrize(
    "wrapper", [pytest.param(name, marks=slow_if(name.startswith("compiled"))) for name in WRAPPERS]
)
@pytest.mark.parametrize("name", ["xvit", "timesformer", "perceiver"])
def test_a_wrapped_network_has_features_a_classifier_and_positions(name, wrapper):
    model = FAMILIES[name](5).eval()
    width, clip = model.num_features, clip_for(model)
    model.network = WRAPPERS[wrapper](model.network).eval()
    with torch.no_grad():
        features = model.forward_features(clip)
        torch.testing.assert_close(model.forward_head(features), model(clip), atol=1e-5, rtol=1e-5)
        assert features.shape == (2, width) and model.num_features == width
        assert not asked_by_threads(model.forward_features, [clip[:1], clip[1:]])
        model.reset_classifier(3)
        assert model(clip).shape == (2, 3)
    assert model._has_positions_in_time
    model.set_grad_checkpointing(True)
    assert {part.checkpointing for part in model.modules() if hasattr(part, "checkpointing")} == {"block"}


def test_a_checkpoint_with_adapters_is_refused_with_the_cure(tmp_path):
    model = XViT(4, **TOKENS)
    model.network.blocks[0].mlp.fc1 = Adapter(model.network.blocks[0].mlp.fc1)
    untrained(model, tmp_path / "adapted.ckpt", ["a", "b", "c", "d"], num_frames=4, image_size=16)
    with pytest.raises(UserError, match=r"holds adapters; save it after .*merge_and_unload"):
        load(tmp_path / "adapted.ckpt")

    model.network.blocks[0].mlp.fc1 = model.network.blocks[0].mlp.fc1.base_layer  # as after merge_and_unload
    untrained(model, tmp_path / "merged.ckpt", ["a", "b", "c", "d"], num_frames=4, image_size=16)
    assert load(tmp_path / "merged.ckpt").class_names == ["a", "b", "c", "d"]


def test_a_model_may_be_built_while_another_thread_reads_a_small_checkpoint(tmp_path):
    untrained(XViT(4, **TOKENS), tmp_path / "small.ckpt", ["a", "b", "c", "d"], num_frames=4, image_size=16)

    def build(number):
        if number % 2:
            return load(tmp_path / "small.ckpt")
        return XViT(4, num_frames=4, image_size=16, patch_size=8, size=ViTSize(256, 4, 2))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(build, range(12)))
