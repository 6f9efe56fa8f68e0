"""Test that ``config.json`` is compared with the network where shapes show nothing, and its labels with classes."""

from contextlib import nullcontext
from types import SimpleNamespace

import pytest
from transformers import TimesformerConfig, VivitConfig

from lit_video.modules.starting_weights import StartingWeights, WeightsRecord
from lit_video.network.embedding import ClipSize
from lit_video.network.timesformer import timesformer
from lit_video.network.vit import ViTSize
from lit_video.network.vivit import vivit
from lit_video.weights.hugging_face import check_config, check_labels
from lit_video.weights.reading import StoredWeights

SIZE, CLIP = ViTSize(16, 1, 4), ClipSize((16, 16), 8, 4, tubelet_size=2)
TIMESFORMER, VIVIT = timesformer(SIZE, 3, ClipSize((16, 16), 8, 4)), vivit(SIZE, 3, CLIP)
DEFAULTS = {
    "timesformer": (TIMESFORMER, TimesformerConfig(num_attention_heads=4).to_dict()),
    "vivit": (VIVIT, VivitConfig(num_attention_heads=4).to_dict()),
}


@pytest.mark.parametrize("name", DEFAULTS)
def test_what_transformers_computes_by_default_is_computed_here(name):
    network, config = DEFAULTS[name]
    check_config(config, network)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("timesformer", {"hidden_act": "relu"}, "hidden_act is relu, this network computes gelu"),
        ("vivit", {"hidden_act": "gelu"}, "hidden_act is gelu, this network computes gelu_fast"),
        ("timesformer", {"layer_norm_eps": 1e-3}, "layer_norm_eps is 0.001, this network has 1e-06"),
        ("vivit", {"num_attention_heads": 2}, "num_attention_heads is 2, here 4; set --model.size"),
    ],
)
def test_another_function_is_refused(name, change, message):
    network, config = DEFAULTS[name]
    with pytest.raises(ValueError, match=message):
        check_config(config | change, network)


def test_classes_of_another_order_are_refused():
    for labels in ({"0": "Abseiling", "1": "air-drumming"}, {"0": "abseiling", "1": "another"}, {"5": "yoga"}):
        check_labels(StoredWeights({}, {"id2label": labels}).labels[""], ["abseiling", "air drumming"])
    with pytest.raises(ValueError, match=r"'abseiling' is class 1 of the weights and class 0 of the data"):
        check_labels({"air_drumming": 0, "Abseiling": 1}, ["abseiling", "air drumming"])


def test_classes_of_our_own_checkpoints_are_those_of_the_data_in_every_task():
    stored = {"verb": ["C", "C#"], "noun": ["-1", "0", "1"]}  # letters and digits alone do not tell them apart
    changes = {"": {}, "'C#' is class 1 of": {"verb": ["C#", "C"]}, "'2' is class unknown": {"noun": ["-1", "0", "2"]}}
    for expected, change in changes.items():
        data = SimpleNamespace(class_names=stored | change)
        start = StartingWeights(VIVIT, WeightsRecord(), {}, data=data)
        with pytest.raises(ValueError, match=expected) if expected else nullcontext():
            start._check_labels(StoredWeights({}, class_names=stored), whole=True)
