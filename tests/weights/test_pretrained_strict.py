"""Test that every source refuses weights with a missing, additional or misshapen key, and names the key."""

from pathlib import Path

import pytest
import torch

from benchmarks.parity import xvit
from lit_video.weights.loading import load_pretrained
from tests.weights.test_pretrained_hugging_face import FACEBOOK, hf_timesformer, hf_vivit, loaded, renamed
from tests.weights.test_pretrained_videomae import authors, ours, theirs
from tests.weights.test_pretrained_vivit import HEADS, WIDTH, flax_weights, load

# frames, side of the image, side of a patch, width, layers, heads
SHAPE = (3, 12, 4, WIDTH, 2, HEADS)


def release_of_xvit(name):
    """Return a network and its weights, without ``new_fc``, which temporal attention does not use."""
    vector = torch.load(Path(__file__).parents[1] / f"vectors/xvit_mini_{name}.pt", weights_only=True)
    weights = {key: v for key, v in vector["state_dict"].items() if name == "shift_avg" or not key.startswith("new_fc")}
    return xvit(vector), weights


def timesformer(of_authors):
    model = hf_timesformer("divided", SHAPE)
    return loaded(model), renamed(model.state_dict(), FACEBOOK) if of_authors else model.state_dict()


def scenic():
    weights = flax_weights(model=1, pool="token")
    return load(weights, 1), dict(weights)


def hugging_face_s_vivit():
    model = hf_vivit(image_size=(8, 12), tubelet_size=(2, 4, 4))
    return loaded(model), model.state_dict()


# a network and its weights
SOURCES = {
    "xvit": lambda: release_of_xvit("shift_ta1"),
    "xvit averaging": lambda: release_of_xvit("shift_avg"),
    "timesformer": lambda: timesformer(of_authors=True),
    "hf-timesformer": lambda: timesformer(of_authors=False),
    "hf-vivit": hugging_face_s_vivit,
    "scenic-vivit": scenic,
    "videomae": lambda: (ours(), authors(theirs().state_dict())),
}


def places(network, weights):
    """Return our parameter of each key, found by loading every tensor filled with its own number."""
    numbered = {key: torch.full_like(value, i) for i, (key, value) in enumerate(weights.items(), 1)}
    keys, name_of = [None, *weights], {}  # VideoMAE's keys have no bias: zeros
    load_pretrained(network, numbered)
    for name, parameter in network.named_parameters():
        for value in parameter.unique().tolist():
            name_of[keys[int(value)]] = name.replace(".qkv.", ".")
    name_of.pop(None, None)
    return name_of


def refused(network, weights):
    """Return why weights are refused, and check that nothing has been changed."""
    before = {key: value.clone() for key, value in network.state_dict().items()}
    with pytest.raises(ValueError) as raised:
        load_pretrained(network, weights)
    assert all(torch.equal(value, before[key]) for key, value in network.state_dict().items())
    return str(raised.value)


def names(message, place, key):
    stem, _, leaf = place.rpartition(".")
    return (stem in message and leaf in message) or key == "cls"


@pytest.mark.parametrize("source", SOURCES)
def test_every_key_is_needed_and_has_its_shape(source):
    network, weights = SOURCES[source]()
    place_of = places(network, weights)
    assert place_of.keys() == weights.keys()
    for key, place in place_of.items():
        missing = {name: value for name, value in weights.items() if name != key}
        assert names(refused(network, missing), place, key), key
        wide = torch.cat((weights[key], weights[key]), dim=-1)
        assert names(refused(network, weights | {key: wide}), place, key), key
        if weights[key].ndim > 1:
            refused(network, weights | {key: weights[key].flatten()})


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("key", ["epoch", "blocks.0.mlp.fc1.scale", "Transformer/encoderblock_0/extra/kernel"])
def test_every_unknown_key_is_named(source, key):
    network, weights = SOURCES[source]()
    assert key in refused(network, weights | {key: torch.zeros(3)})


def test_heads_that_the_kernels_refute_are_named():
    network, weights = scenic()
    kernel = "Transformer/encoderblock_0/MultiHeadDotProductAttention_0/query/kernel"
    other = weights | {kernel: weights[kernel].reshape(WIDTH, 2, -1)}
    assert f"num_heads is {HEADS}, but {kernel}" in refused(network, other)


def test_positions_of_another_grid_whose_number_does_not_say_it_are_refused():
    """Refuse positions of a frame, or of a clip, whose number fits no grid."""
    model = hf_timesformer("divided", SHAPE)
    key = "timesformer.embeddings.position_embeddings"
    weights = model.state_dict() | {key: torch.zeros(1, 1 + 6, WIDTH, dtype=torch.float64)}
    loaded(model, weights, image_size=(8, 12))
    assert "6 stored positions are neither those of 3 x 3 patches nor a square" in refused(loaded(model), weights)
    network, weights = scenic()
    key = "Transformer/posembed_input/pos_embedding"
    for cells in (0, 5, 7, 20):  # the grid is 3 x 2 x 3
        assert "stored positions are neither" in refused(
            network, weights | {key: weights[key][:, :1].repeat(1, 1 + cells, 1)}
        )


@pytest.mark.parametrize(("weights", "first"), [({}, None), ({"network.head": torch.zeros(1)}, "head")])
def test_names_of_no_source_are_refused(weights, first):
    with pytest.raises(ValueError, match=f"none of hf-timesformer, .*; the first is {first};"):
        load_pretrained(release_of_xvit("shift_avg")[0], weights)
