"""Test that the X-ViT release's weights give the logits and gradients of the release's own code."""

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from benchmarks.parity import xvit
from lit_video.network.aggregation import CrossTemporalAttention
from lit_video.weights.loading import load_pretrained
from lit_video.weights.reading import StoredWeights
from lit_video.weights.settings import model_settings
from tests.float32 import assert_close_in_float32
from tests.shared import shared
from tests.weights.conftest import double

MINI = sorted((Path(__file__).resolve().parents[1] / "vectors").glob("xvit_mini_*.pt"))
LARGE = ["xvit_01_shift_ta1", "xvit_03_shift_avg", "xvit_16_T16_segments8_temb8", "xvit_19_pos_interp_64px"]


def mini(name):
    return torch.load(next(path for path in MINI if path.stem == f"xvit_mini_{name}"), weights_only=True)


def check_logits(vector):
    clip, network = vector["input"], xvit(vector)
    with torch.no_grad():
        assert_close_in_float32(network(clip), vector["logits"], network)
        later = network.double()(clip.double())
        from_double = xvit(vector, double(vector["state_dict"]))(clip.double())
    torch.testing.assert_close(later, vector["logits_float64"], atol=1e-10, rtol=0)
    torch.testing.assert_close(from_double, vector["logits_float64"], atol=1e-10, rtol=0)


@pytest.mark.parametrize("path", MINI, ids=lambda path: path.stem)
def test_logits_of_the_release(path):
    check_logits(torch.load(path, weights_only=True))


def with_classes(vector, classes):
    """Return the vector's weights with a classifier of more classes, whose further logits are zero."""
    weights = dict(vector["state_dict"])
    for key in [key for key in weights if "mlp_head.4" in key]:
        more = torch.zeros(classes - len(weights[key]), *weights[key].shape[1:])
        weights[key] = torch.cat((weights[key], more))
    return weights


def check_ratio(vector, classes, shift_div, other):
    """Check that the release's ratio is known and gives its logits, and that another one does not."""
    config, count, weights = vector["config"], vector["logits"].shape[-1], with_classes(vector, classes)
    segments = config["shift_segments"] if config["shift_segments"] < vector["input"].shape[2] else None  # one group
    changes = dict(num_classes=classes, shift_segments=segments)
    own, wrong = (xvit(vector, weights, shift_div=div, **changes) for div in (shift_div, other))
    assert model_settings(StoredWeights(weights))["ratio"] == 2 / shift_div
    with torch.no_grad():
        assert_close_in_float32(own(vector["input"])[:, :count], vector["logits"], own)
        assert (wrong(vector["input"])[:, :count] - vector["logits"]).abs().max() > 1e-2


@pytest.mark.parametrize(
    ("name", "classes", "other"), [("div8_ta1", 600, 4), ("div8_ta1", 400, 4), ("shift_ta1", 174, 8)]
)
def test_the_ratio_of_a_release_is_that_of_its_data_set(name, classes, other):
    vector = mini(name)
    check_ratio(vector, classes, vector["config"]["shift_div"], other)


@pytest.mark.shared
def test_the_ratio_of_the_release_for_kinetics():
    check_ratio(torch.load(shared(f"parity/{LARGE[2]}.pt"), weights_only=True), 600, 8, 4)


@pytest.mark.parametrize("name", LARGE)
@pytest.mark.shared
def test_logits_of_the_release_at_larger_sizes(name):
    check_logits(torch.load(shared(f"parity/{name}.pt"), weights_only=True))


@pytest.mark.parametrize("path", MINI, ids=lambda path: path.stem)
def test_gradient_norms_of_the_release(path):
    vector = torch.load(path, weights_only=True)
    network = xvit(vector).double()  # differs by the release's rounding in float32 only
    loss = F.cross_entropy(network(vector["input"].double()), vector["label"])
    loss.backward()
    assert loss.item() == pytest.approx(vector["loss"], abs=1e-5)
    names = our_names(vector)
    norms = {name: parameter.grad.norm().item() for name, parameter in network.named_parameters()}
    expected = {names[key]: norm for key, norm in vector["grad_norms"].items() if key in names}
    assert norms == pytest.approx(expected, rel=1e-4, abs=1e-6)


def our_names(vector):
    """Map the release's parameter names to ours, by loading every tensor filled with its own number."""
    numbered = {key: torch.full_like(value, i) for i, (key, value) in enumerate(vector["state_dict"].items())}
    keys = list(numbered)
    return {keys[int(p.flatten()[0])]: name for name, p in xvit(vector, numbered).named_parameters()}


@pytest.mark.parametrize("fresh_head", [False, True])
def test_a_release_s_temporal_attention_is_refused_by_a_network_with_that_of_the_paper(fresh_head):
    vector = mini("shift_ta1")
    network = xvit(vector)
    size, classes = network.size, vector["config"]["num_classes"]
    network.aggregate = CrossTemporalAttention(size.embed_dim, classes, 1, num_heads=vector["config"]["ta_heads"])
    before = {key: value.clone() for key, value in network.state_dict().items()}
    with pytest.raises(ValueError, match=r"is self, the network's is cross: set --model\.ta_attention self"):
        load_pretrained(network, vector["state_dict"], fresh_head=fresh_head)
    assert all(torch.equal(value, before[key]) for key, value in network.state_dict().items())
    with pytest.raises(ValueError, match=r"is cross, the network's is self: set --model\.ta_attention cross"):
        load_pretrained(xvit(vector), before, fresh_head=fresh_head)


@pytest.mark.parametrize("path", MINI, ids=lambda path: path.stem)
def test_x_vit_without_its_last_layer(path):
    vector = torch.load(path, weights_only=True)
    weights = vector["state_dict"]
    last = "consensus.mlp_head.4" if any("consensus" in key for key in weights) else "new_fc"
    cut = {key: value for key, value in weights.items() if not key.startswith(last)}
    assert load_pretrained(xvit(vector), cut, fresh_head=True).startswith("aggregate.head")
