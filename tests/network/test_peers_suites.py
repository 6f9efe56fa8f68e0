"""Test every network for what the suites of timm, torchvision and transformers expect of theirs.

Other files test each for the rest: that all parameters learn (``test_networks_run.py``, ``test_convnet.py``), that
checkpointing, compilers and exporters change no number.
"""

import copy
import pickle

import pytest
import torch

from lit_video.modules import VideoClassifier
from tests.conftest import quick_or_slow
from tests.modules.test_convnet import SMALL, small
from tests.network.test_networks_run import CLASSES, NETWORKS, build, clip_of

every_network = pytest.mark.parametrize("name", [*NETWORKS, *quick_or_slow(SMALL, {"slowfast", "x3d"})])


def made(name):
    """Return a network with random weights, and a batch of two clips."""
    if name in SMALL:
        return small(name).eval(), clip_of(8, 32, 32)
    return build(name, drop_path_rate=0.4), clip_of()


def storages(network):
    return {value.data_ptr() for value in network.state_dict().values() if value.numel()}


def loaded(network):
    """Return a copy whose numbers were lost, and are those of a file again."""
    other = copy.deepcopy(network)
    with torch.no_grad():
        for value in other.state_dict().values():
            value.zero_()
    other.load_state_dict(network.state_dict(), strict=True)
    return other


COPIES = [copy.deepcopy, lambda network: pickle.loads(pickle.dumps(network)), loaded]


@every_network
def test_a_copy_computes_the_same_with_weights_of_its_own(name):
    network, clip = made(name)
    with torch.no_grad():
        expected = network(clip)
        for made_of in COPIES:
            other = made_of(network)
            assert torch.equal(other(clip), expected)
            assert not storages(other) & storages(network)
            for parameter in other.parameters():
                parameter.add_(1)
        assert torch.equal(network(clip), expected)


@every_network
def test_training_leaves_nothing_behind_but_weights(name):
    network, clip = made(name)
    given, before = clip.clone(), copy.deepcopy(network.state_dict())
    with torch.no_grad():
        expected = network(clip)
        assert torch.equal(network(clip), expected)
    for mode in (True, False):
        assert {module.training for module in network.train(mode).modules()} == {mode}
    network.train()(clip).sum().backward()
    network.zero_grad(set_to_none=True)
    network.load_state_dict(before)
    with torch.no_grad():
        assert torch.equal(network.eval()(clip), expected)
    assert torch.equal(clip, given), "a network does not write into its clip"


@every_network
def test_a_clip_has_gradients_of_its_own_logits_alone(name):
    network, clip = made(name)
    network(clip.requires_grad_())[0].square().sum().backward()
    assert clip.grad[0].any() and not clip.grad[1].any()


@every_network
def test_a_clip_may_lie_in_memory_in_any_order(name):
    network, clip = made(name)
    layouts = {
        "frames first": clip.transpose(1, 2).contiguous().transpose(1, 2),
        "colours last": clip.contiguous(memory_format=torch.channels_last_3d),
        "every second number": torch.stack([clip, -clip], dim=-1)[..., 0],
    }
    with torch.no_grad():
        expected = network(clip)
        for layout, other in layouts.items():
            torch.testing.assert_close(network(other), expected, atol=1e-4, rtol=1e-4, msg=layout)
        one = network(clip[:1])
        torch.testing.assert_close(network(clip[:1].expand(3, -1, -1, -1, -1)), one.expand(3, -1), atol=1e-4, rtol=1e-4)
        # PyTorch refuses the format of three axes for weights of two, such as those of patches
        last = network.to(memory_format=torch.channels_last_3d if name in SMALL else torch.channels_last)
        torch.testing.assert_close(last(layouts["colours last"]), expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@every_network
def test_logits_of_sixteen_bits_are_near_those_of_more(name, dtype):
    network, clip = made(name)
    with torch.no_grad():
        expected = network(clip)
        with torch.autocast("cpu", dtype):
            mixed = network(clip)
        whole = network.to(dtype)(clip.to(dtype))
    assert whole.dtype == dtype
    for logits in (mixed.float(), whole.float()):
        assert (logits - expected).abs().max() < 0.1 * expected.abs().max()


@every_network
def test_the_classifier_of_any_network_is_found_and_replaced(name):
    network, clip = made(name)
    model = VideoClassifier(network, num_classes=CLASSES).eval()
    with torch.no_grad():
        features, logits = model.forward_features(clip), model(clip)
        assert features.shape == (2, model.num_features) and logits.shape == (2, CLASSES)
        torch.testing.assert_close(model.forward_head(features), logits)
        assert model.get_classifier().out_features == CLASSES
        model.reset_classifier(3)
        assert model(clip).shape == (2, 3)
        torch.testing.assert_close(model.forward_features(clip), features)
        model.reset_classifier(0)
        torch.testing.assert_close(model(clip), features)
