"""Test that what is known of a network's weights is held by classifiers, and nothing is hidden on the network."""

import copy
import pickle

import torch
from torch import nn

from lit_video.modules import VideoClassifier, XViT
from lit_video.network.vit import ViTSize
from lit_video.video.trained_on import joined, trained_on

CLIP = dict(num_frames=4, image_size=16, size=ViTSize(16, 1, 2), patch_size=8)


def test_a_users_network_gets_no_attributes(tmp_path):
    """Load a state dict and a file of weights, and note training videos."""
    network = nn.Sequential(nn.Flatten(), nn.Linear(12, 4))
    names = {*vars(network)}
    model = VideoClassifier(network, num_classes=4)
    model.load_state_dict(model.state_dict())
    model.weights_record.note(trained_on([]))
    assert {*vars(network)} == names and model.weights_record.is_restored

    first = XViT(4, **CLIP)
    names = {*vars(first.network)}
    torch.save(first.network.state_dict(), tmp_path / "a.pth")
    second = XViT(4, **CLIP, weights=str(tmp_path / "a.pth"))
    second.setup("fit")
    assert second.weights_record.loaded_from == "file" and not second.weights_record.is_restored
    assert {*vars(second.network)} == names


def test_classifiers_of_one_network_share_what_is_known_of_it():
    first = XViT(4, **CLIP)
    second = VideoClassifier(first.network, num_classes=4)
    assert not second.weights_record.is_loaded
    first.load_state_dict(first.state_dict())
    assert second.weights_record is first.weights_record and second.weights_record.is_loaded
    assert len(first.network._load_state_dict_pre_hooks) == 1


def test_a_copy_begins_with_what_was_known_and_goes_on_alone():
    model = XViT(4, **CLIP)
    model.weights_record.note("AAAA" * 8 + "AAAAAAAAAAA=")
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert other.trained_on == model.trained_on != "" and not other.weights_record.is_loaded
        other.load_state_dict(other.state_dict())
        assert other.weights_record.is_loaded and not model.weights_record.is_loaded


def test_videos_are_added_to_those_that_are_known():
    record = XViT(4, **CLIP).weights_record
    one, other = ("AAAA" * 8 + ending for ending in ("AAAAAAAAAAA=", "AAAAAAAAAAE="))
    record.note(one)
    record.note(other)
    record.note("")
    assert record.trained_on == joined(one, other)
