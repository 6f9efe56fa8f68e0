"""Test released checkpoints in networks of their own grid or another, and refusals that change nothing."""

from typing import get_args

import pytest
import torch

from benchmarks.parity import VECTORS
from lit_video.modules import TimeSformer, ViViT
from lit_video.network.embedding import ClipSize
from lit_video.network.vit import ViTSize
from lit_video.network.vivit import vivit
from lit_video.weights.hugging_face import export_hf_timesformer, export_hf_vivit
from lit_video.weights.loading import SOURCES, SourceName, load_pretrained
from lit_video.weights.reading import read_weights
from lit_video.weights.settings import pixel_settings, refuse_other_settings
from tests.weights.conftest import double
from tests.weights.test_pretrained_hugging_face import FACEBOOK, randomised, renamed

SCENIC = ["m1_token", "m2_token", "m3_space_time", "m4"]

pytestmark = pytest.mark.usefixtures("in_float64")


def network_of(kind, classes=5):
    torch.manual_seed(1)
    common = dict(num_classes=classes, num_frames=4, image_size=32, size=ViTSize(16, 2, 4), patch_size=8)
    if kind == "vivit_1":
        return ViViT(**common).network.eval()
    return TimeSformer(**common, attention_type=kind.partition("_")[2]).network.eval()


def authors_names(network):
    return renamed(export_hf_timesformer(network), FACEBOOK, "model.")


# source, the network that it is made from, names of the source
CASES = {
    "hf-timesformer": ("timesformer_divided", export_hf_timesformer),
    "hf-timesformer joint": ("timesformer_joint", export_hf_timesformer),
    "hf-timesformer space": ("timesformer_space", export_hf_timesformer),
    "timesformer": ("timesformer_divided", authors_names),
    "timesformer joint": ("timesformer_joint", authors_names),
    "timesformer space": ("timesformer_space", authors_names),
    "hf-vivit": ("vivit_1", export_hf_vivit),
}


def released(name, **options):
    kind, names = CASES[name]
    return kind, names(randomised(network_of(kind, **options)))


@pytest.mark.parametrize("frames", [4, 6])
@pytest.mark.parametrize("name", SCENIC)
def test_the_release_of_vivit_in_a_network_of_its_frames_and_of_others(name, frames):
    path = VECTORS / f"scenic_vivit_{name}.pt"
    weights, clip = double(torch.load(path, weights_only=True)["state_dict"]), torch.randn(2, 3, frames, 32, 48)
    network = vivit(
        ViTSize(64, 2, 4), 10, ClipSize((32, 48), 16, frames, tubelet_size=2), variant=int(name[1]), temporal_depth=1
    ).eval()
    assert load_pretrained(network, weights) == ""
    own = vivit(
        ViTSize(64, 2, 4), 10, ClipSize((32, 48), 16, 8, tubelet_size=2), variant=int(name[1]), temporal_depth=1
    ).eval()
    load_pretrained(own, weights)
    with torch.no_grad():
        logits = network(clip)
        torch.testing.assert_close(logits, own(clip), atol=1e-10, rtol=1e-10)
    assert (logits[0] - logits[1]).abs().max() > 0.01


def snapshot(network):
    return {key: value.clone() for key, value in network.state_dict().items()}


def changed(network, before):
    return {key for key, value in network.state_dict().items() if not torch.equal(value, before[key])}


@pytest.mark.parametrize("name", CASES)
def test_a_classifier_of_other_classes_is_left_out_or_refused(name):
    kind, weights = released(name, classes=7)
    network = network_of(kind)
    before = snapshot(network)
    with pytest.raises(ValueError, match=r"aggregate\.head\.weight is \(5, 16\) here, \(7, 16\) in the file"):
        load_pretrained(network, weights)
    assert changed(network, before) == set()
    head = {"aggregate.head.weight", "aggregate.head.bias"}
    assert {*load_pretrained(network, weights, fresh_head=True).split(", ")} == head
    assert changed(network, before) == before.keys() - head


@pytest.mark.parametrize(
    ("kind", "name", "message"),
    [
        ("timesformer_joint", "timesformer", r"no place for blocks\.0\.scheme\.time_attn"),
        ("timesformer_joint", "hf-timesformer space", r"lacks embed\.temp_embed"),
        # equal names: a table of positions over space and time, and one of frames
        ("vivit_1", "hf-timesformer space", "its table of positions is of one frame, the network's is of"),
        ("timesformer_space", "hf-vivit", "its table of positions is of space and time, the network's is of one frame"),
    ],
)
def test_a_checkpoint_of_another_kind_is_refused(kind, name, message):
    network = network_of(kind)
    before = snapshot(network)
    with pytest.raises(ValueError, match=message):
        load_pretrained(network, released(name)[1])
    assert changed(network, before) == set()


def test_names_of_an_image_model_are_timesformer_s_where_that_is_said(tmp_path):
    """Name the source for attention in space alone, so that the release's pixels are known."""
    _, weights = released("timesformer space")
    torch.save(weights, tmp_path / "a.pyth")
    assert pixel_settings(read_weights(tmp_path / "a.pyth")) == {}
    named = read_weights(tmp_path / "a.pyth", named="timesformer")
    assert pixel_settings(named) == {"mean": 0.45, "std": 0.225}
    with pytest.raises(ValueError, match="it is of another kind of model: set --model TimeSformer"):
        refuse_other_settings({"family": "XViT"}, named)
    with pytest.raises(ValueError, match=r"lacks blocks\.0\.scheme\.time_attn"):
        load_pretrained(network_of("timesformer_divided"), weights, source="timesformer")
    with pytest.raises(ValueError, match=r"belong in model\.image_weights"):
        load_pretrained(network_of("timesformer_divided"), weights)
    assert get_args(SourceName) == (*SOURCES,)
