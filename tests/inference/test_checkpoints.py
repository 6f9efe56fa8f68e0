"""Test that classes that a checkpoint names are searched among the known ones, never imported."""

import sys

import pytest
import torch

from lit_video.__main__ import main
from lit_video.inference.predict import load
from lit_video.modules import XViT
from lit_video.utils.class_paths import known_class

# Python's own module that prints a poem when it is imported
ZEN = {"class_path": "this.Zen", "init_args": {}}
DENSE = "lit_video.video.sampling.Dense"


@pytest.fixture
def changed(checkpoint, tmp_path):
    """Function that writes a run's checkpoint with changed content."""

    def write(change):
        content = torch.load(checkpoint, weights_only=True)
        change(content)
        torch.save(content, tmp_path / "changed.ckpt")
        return tmp_path / "changed.ckpt"

    return write


@pytest.fixture(autouse=True)
def nothing_imported(monkeypatch):
    monkeypatch.delitem(sys.modules, "this", raising=False)
    yield
    assert "this" not in sys.modules


def sampling(stored):
    return lambda content: content["lit_video"]["data"].update(sampling=stored)


def setting(**stored):
    return lambda content: content["hyper_parameters"].update(stored)


def shared_memory(content):
    """Name a large size, and store a weight of 10**12 values that share one number by a stride of 0."""
    content["hyper_parameters"].update(size={"embed_dim": 4800, "depth": 4, "num_heads": 3})
    content["state_dict"]["network.norm.weight"] = torch.zeros(1).expand(10**12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (sampling(ZEN), "this.Zen is no Sampling of lit_video"),
        (sampling({"class_path": DENSE, "init_args": {"seconds": ZEN}}), "seconds is "),
        (sampling({"class_path": DENSE, "init_args": {"seconds": 1.0, "x": ZEN}}), "argument 'x'"),
        (sampling({"class_path": "lit_video.video.sampling.Sampling", "init_args": {}}), "abstract class Sampling"),
        (lambda content: content["lit_video"].update(model="this.Zen"), "this.Zen is no VideoClassifier of lit_video"),
        (setting(optimization=ZEN), "argument 'class_path'"),
        (setting(num_classes=ZEN), "is no checkpoint of a VideoClassifier"),
        (setting(size={"embed_dim": 48, "depth": 10**12, "num_heads": 3}), "depth is 1000000000000, expected"),
        (shared_memory, "size is larger than that of the weights in the checkpoint"),
        (lambda content: content["lit_video"]["data"].update(num_frames=10**9), "clips' pixels is "),
    ],
)
def test_no_module_that_a_checkpoint_names_is_imported(change, message, changed, videos, capsys):
    assert main(["predict", "--ckpt", str(changed(change)), str(videos[0])]) == 2
    printed = capsys.readouterr()
    (line,) = printed.err.strip().splitlines()
    assert line.startswith("error: --ckpt: ") and message in line
    assert printed.out == ""


def test_a_checkpoint_cannot_choose_who_builds_its_model(changed):
    path = changed(setting(_instantiator="this.Zen", _class_path="this.Zen"))
    assert type(load(path).model) is XViT


def test_a_class_of_the_same_name_elsewhere_is_another():
    class Base:
        pass

    ours, mine = (type("Same", (Base,), {"__module__": module}) for module in ("lit_video.some", "mine"))
    assert known_class(Base, "lit_video.some.Same") is ours
    assert known_class(Base, "mine.Same") is mine
    with pytest.raises(ValueError, match=r"this\.Same is no Base of lit_video"):
        known_class(Base, "this.Same")
