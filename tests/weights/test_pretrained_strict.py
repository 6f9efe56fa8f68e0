"""No source loads weights that lack a key, have one too many or of another shape: the error names it."""

from pathlib import Path

import pytest
import torch

from lit_video.weights import loading
from tests.weights.test_pretrained_hugging_face import FACEBOOK, hf_timesformer, hf_vivit, renamed
from tests.weights.test_pretrained_vivit import HEADS, WIDTH, flax_weights

# frames, side of the image, side of a patch, width, layers, heads
SHAPE = (3, 12, 4, WIDTH, 2, HEADS)


def xvit(name):
    path = Path(__file__).resolve().parents[1] / f"vectors/xvit_mini_{name}.pt"
    return torch.load(path, weights_only=True)["state_dict"]


WEIGHTS = {
    # temporal attention leaves new_fc unused
    "xvit": lambda: {key: value for key, value in xvit("shift_ta1").items() if not key.startswith("new_fc.")},
    "xvit averaging": lambda: xvit("shift_avg"),
    "timesformer": lambda: renamed(hf_timesformer("divided", SHAPE).state_dict(), FACEBOOK, "model."),
    "hf-timesformer": lambda: hf_timesformer("divided", SHAPE).state_dict(),
    "hf-vivit": lambda: hf_vivit(image_size=(8, 12), tubelet=(2, 4, 4)).state_dict(),
    "scenic-vivit": lambda: dict(flax_weights(model=1, pool="token")),
}
IMAGE_SIZES = dict.fromkeys(WEIGHTS, 12) | {"xvit": 16, "hf-vivit": (8, 12), "scenic-vivit": (8, 12)}


def load(source, weights, **changes):
    source = source.partition(" ")[0]
    return loading.load(source, weights, **dict(heads=HEADS, image_size=IMAGE_SIZES[source]) | changes)


def places(source, weights):
    """What each key becomes, seen by loading every tensor filled with its own number; a query's place for its key."""
    numbered = {key: torch.full_like(value, i) for i, (key, value) in enumerate(weights.items())}
    keys, name_of = list(weights), {}
    for name, parameter in load(source, numbered).named_parameters():
        for value in parameter.unique().tolist():
            name_of[keys[int(value)]] = name.replace(".qkv.", ".")
    return name_of


@pytest.mark.parametrize("source", WEIGHTS)
def test_every_key_has_a_place(source):
    weights = WEIGHTS[source]()
    assert places(source, weights).keys() == weights.keys()


@pytest.mark.parametrize("source", WEIGHTS)
def test_every_missing_key_is_named(source):
    weights = WEIGHTS[source]()
    for key, place in places(source, weights).items():
        with pytest.raises(ValueError) as raised:
            load(source, {name: value for name, value in weights.items() if name != key})
        stem, _, leaf = place.rpartition(".")
        assert (stem in str(raised.value) and leaf in str(raised.value)) or key == "cls", key


@pytest.mark.parametrize("source", WEIGHTS)
@pytest.mark.parametrize(
    "key", ["epoch", "blocks.0.mlp.fc1.scale", "Transformer/encoderblock_0/extra/kernel", "vivit.pooler"]
)
def test_every_unknown_key_is_named(source, key):
    weights = WEIGHTS[source]()
    if source == "timesformer":
        key = f"model.{key}"
    with pytest.raises(ValueError, match=key.removeprefix("model.").replace(".", r"\.")):
        load(source, weights | {key: torch.zeros(3)})


@pytest.mark.parametrize("source", WEIGHTS)
def test_every_wrongly_shaped_tensor_is_named(source):
    weights = WEIGHTS[source]()
    for key, place in places(source, weights).items():
        with pytest.raises(ValueError) as raised:
            load(source, weights | {key: torch.cat((weights[key], weights[key]), dim=-1)})
        # widths, the patch and the classes are read from these: the error names the tensors that disagree with them
        telling = ("blocks.0.mlp.norm.weight", "embed.patches.proj.weight", "aggregate.head.weight")
        stem, _, leaf = place.rpartition(".")
        assert (stem in str(raised.value) and leaf in str(raised.value)) or place in telling, key


@pytest.mark.parametrize("source", WEIGHTS)
def test_a_tensor_with_too_few_axes_is_refused(source):
    weights = WEIGHTS[source]()
    for key, value in weights.items():
        if value.ndim > 1:
            with pytest.raises(ValueError):
                load(source, weights | {key: value.flatten()})


@pytest.mark.parametrize("source", WEIGHTS)
def test_heads_that_do_not_divide_the_width_are_named(source):
    with pytest.raises(ValueError, match=r"heads (is )?3"):
        load(source, WEIGHTS[source](), heads=3)


def test_heads_that_the_kernels_refute_are_named():
    with pytest.raises(ValueError, match="heads"):
        load("scenic-vivit", WEIGHTS["scenic-vivit"](), heads=2)


@pytest.mark.parametrize("source", WEIGHTS)
def test_an_image_size_that_the_patch_does_not_divide_is_named(source):
    with pytest.raises(ValueError, match="14"):
        load(source, WEIGHTS[source](), image_size=(8, 14))


@pytest.mark.parametrize("source", ["hf-vivit", "scenic-vivit"])
def test_an_image_size_that_the_joint_positions_do_not_fit_is_named(source):
    with pytest.raises(ValueError, match=r"image_size \(20, 4\): 1[28] stored positions"):
        load(source, WEIGHTS[source](), image_size=(20, 4))


@pytest.mark.parametrize("source", ["timesformer", "hf-timesformer"])
def test_positions_that_are_neither_a_square_nor_the_image_s_are_refused(source):
    weights = WEIGHTS[source]()
    key = next(key for key in weights if key.endswith(("pos_embed", "position_embeddings")))
    weights[key] = torch.zeros(1, 1 + 6, WIDTH, dtype=weights[key].dtype)
    assert load(source, weights, image_size=(8, 12)).embed.grid[1:] == (2, 3)
    with pytest.raises(ValueError, match="6 stored positions are neither"):
        load(source, weights)


@pytest.mark.parametrize("source", WEIGHTS)
def test_the_names_show_the_source(source):
    assert loading.detect(WEIGHTS[source]()) == source.partition(" ")[0]


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({}, "the first is None$"),
        ({"network.head": torch.zeros(1)}, r"the first is network\.head$"),
        ({"patch_embed.proj.weight": torch.zeros(1)}, r"an image model's belong in model\.image_weights$"),
    ],
)
def test_names_of_no_source_are_refused(weights, message):
    with pytest.raises(ValueError, match=f"none of hf-timesformer, .*; {message}"):
        loading.detect(weights)
