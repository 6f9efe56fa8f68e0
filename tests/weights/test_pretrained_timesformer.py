"""Test that the TimeSformer release's weights give the logits of the authors' own code.

The vectors hold random weights and the logits that facebookresearch/TimeSformer computed with them in float32. Its code
knows S, ST and T+S only: L+G and T+W+H were never released.
"""

import pytest
import torch

from benchmarks.parity import ATTENTION, VECTORS, authors_timesformer
from lit_video.weights.loading import load_pretrained
from tests.float32 import assert_close_in_float32
from tests.weights.conftest import double

NAMES = ["divided", "joint", "space_only"]


def vector_of(name):
    return torch.load(VECTORS / f"fb_timesformer_{name}.pt", weights_only=True)


@pytest.mark.parametrize("name", NAMES)
def test_logits_of_the_release(name):
    vector = vector_of(name)
    network = authors_timesformer(vector)
    exact = authors_timesformer(vector, double(vector["state_dict"]))
    clip = vector["input"]
    with torch.no_grad():
        assert_close_in_float32(network(clip), vector["logits"], network)
        # the release's own rounding in float32 was measured when the vector was made
        rounding = 2 * vector["config"]["float32_noise_vs_float64"]
        torch.testing.assert_close(exact(clip.double()).float(), vector["logits"], atol=rounding, rtol=0)


@pytest.mark.parametrize("name", NAMES)
def test_every_tensor_of_the_release_counts(name):
    """Load each tensor as zeros once: no tensor of the release is left aside."""
    vector = vector_of(name)
    weights = double(vector["state_dict"])
    clip = vector["input"][:1].double()
    network = authors_timesformer(vector, weights)
    with torch.no_grad():
        expected = network(clip)
        for key in weights:
            load_pretrained(network, weights | {key: torch.zeros_like(weights[key])}, source="timesformer")
            assert (network(clip) - expected).abs().max() > 1e-4, key


def test_all_schemes_of_the_authors_code_are_tested():
    assert {vector_of(name)["config"]["attention_type"] for name in NAMES} == set(ATTENTION)
