"""Weights of every source in every kind of file, wrapped and cut in every way, give their program's logits."""

import random

import pytest
import torch

from lit_video.network.patches import ClipSize
from lit_video.network.timesformer import timesformer
from lit_video.network.vit import ViTSize
from lit_video.network.vivit import vivit
from lit_video.weights import sources
from lit_video.weights.loading import load_pretrained
from lit_video.weights.reading import read_weights
from tests.weights.containers import FLAT, OF_FLAX, WRAPPERS
from tests.weights.test_pretrained_hugging_face import clip_of, hf_timesformer, hf_vivit, their_logits
from tests.weights.test_pretrained_vivit import CASES, GRID, HEADS, PATCH, Scenic, flax_weights, options_of
from tests.weights.test_pretrained_xvit import MINI, loaded

# wrappers that put mappings into mappings, which torch's files hold and others do not
NESTED = {"model_state", "state_dict", "model", "scalars beside", "average alone", "average, module"}


def of_xvit(path):
    vector = torch.load(path, weights_only=True)
    weights = {key: value.double() for key, value in vector["state_dict"].items()}
    return weights, lambda tensors: loaded(vector, tensors), vector["input"].double(), vector["logits_float64"]


def of_scenic(name):
    weights, case = dict(flax_weights(**CASES[name])), CASES[name]
    clip = clip_of(6, GRID[1] * PATCH, GRID[2] * PATCH)
    options = dict(heads=HEADS, image_size=tuple(clip.shape[-2:])) | options_of(case)
    expected = Scenic(weights).logits(clip.permute(0, 2, 3, 4, 1), **case)
    return weights, lambda tensors: sources.load("scenic-vivit", tensors, **options), clip, expected


def of_transformers(model, source, clip):
    options = dict(heads=4, image_size=tuple(clip.shape[-2:]))
    weights = {key: value.clone() for key, value in model.state_dict().items()}
    return weights, lambda tensors: sources.load(source, tensors, **options), clip, their_logits(model, clip)


SHAPE = (4, 48, 16, 64, 2, 4)
SOURCES = {
    **{path.stem: lambda path=path: of_xvit(path) for path in MINI},
    **{f"scenic {name}": lambda name=name: of_scenic(name) for name in CASES if "uniform" not in name},
    **{
        f"transformers {kind}": lambda kind=kind: of_transformers(
            hf_timesformer(kind, SHAPE), "hf-timesformer", clip_of(4, 48, 48)
        )
        for kind in ("divided", "joint", "space")
    },
    "transformers vivit": lambda: of_transformers(hf_vivit(), "hf-vivit", clip_of(4, 16, 24)),
}


def save(name, weights, rng, folder):
    """The weights in a kind of file that their source may have, and the words of what was drawn."""
    flax = name.startswith("scenic")
    containers = FLAT | OF_FLAX if flax else FLAT
    wrapper, container = rng.choice(sorted(WRAPPERS)), rng.choice(sorted(containers))
    if wrapper in NESTED:
        container = rng.choice(["torch", "legacy"])
    elif flax:
        wrapper = "plain"  # what Flax writes has no such prefixes
    return containers[container](WRAPPERS[wrapper](weights), folder), f"{wrapper} in {container}"


@pytest.mark.parametrize("name", SOURCES)
def test_logits_are_those_of_the_program(name, tmp_path):
    weights, build, clip, expected = SOURCES[name]()
    rng = random.Random(name)
    for number in range(12):
        folder = tmp_path / str(number)
        folder.mkdir()
        half = rng.random() < 0.3
        stored = {key: value.half() for key, value in weights.items()} if half else weights
        path, drawn = save(name, stored, rng, folder)
        tensors = {key: value.double() for key, value in read_weights(path).tensors.items()}
        with torch.no_grad():
            actual = build(tensors)(clip)
            logits = build({key: value.double() for key, value in stored.items()})(clip) if half else expected
        torch.testing.assert_close(actual, logits, atol=1e-9, rtol=1e-9, msg=lambda text: f"{drawn}: {text}")  # noqa: B023


def video_network(name, classes):
    if "vivit" in name:
        return vivit(ViTSize(32, 2, 4, 1.5), classes, ClipSize((16, 24), 8, 4, 2)).double().eval()
    kind = name.partition(" ")[2]
    return timesformer(ViTSize(64, 2, 4, 3.0), classes, ClipSize((48, 48), 16, 4), kind).double().eval()


def bare(tensors):
    """Names of the model without its classifier, as ``TimesformerModel`` and ``VivitModel`` save them."""
    return {key.partition(".")[2]: value for key, value in tensors.items() if not key.startswith("classifier")}


def headless(tensors):
    return {key: value for key, value in tensors.items() if not key.startswith("classifier")}


@pytest.mark.parametrize("cut", [headless, bare])
@pytest.mark.parametrize("name", ["transformers divided", "transformers joint", "transformers vivit"])
def test_a_backbone_without_classifier_starts_training(name, cut, tmp_path):
    weights, build, clip, _ = SOURCES[name]()
    path = FLAT["safetensors"](cut(weights), tmp_path)
    network = video_network(name, classes=3)
    head = network.aggregate.head.weight.clone()
    left_out = load_pretrained(network, read_weights(path).tensors, fresh_head=True)
    assert left_out == "aggregate.head.bias, aggregate.head.weight"
    assert torch.equal(network.aggregate.head.weight, head)
    with torch.no_grad():
        torch.testing.assert_close(network.features(clip), build(weights).features(clip), atol=1e-10, rtol=1e-10)
    with pytest.raises(ValueError, match=r"classifier|aggregate\.head|the names are none of"):
        load_pretrained(video_network(name, classes=3), read_weights(path).tensors)


@pytest.mark.parametrize("path", MINI, ids=lambda path: path.stem)
def test_x_vit_without_its_last_layer(path):
    vector = torch.load(path, weights_only=True)
    weights = vector["state_dict"]
    last = "consensus.mlp_head.4" if any("consensus" in key for key in weights) else "new_fc"
    cut = {key: value for key, value in weights.items() if not key.startswith(last)}
    network = loaded(vector)
    assert load_pretrained(network, cut, fresh_head=True).startswith("aggregate.head")
