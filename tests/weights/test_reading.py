"""Test that every kind of file gives its tensors, or one clear line, and that nothing in it is run."""

import os
import pickle
from fractions import Fraction

import pytest
import torch

from lit_video.errors import UserError
from lit_video.modules import XViT
from lit_video.modules.optimization import Optimization, optimization_of
from lit_video.network.vit import ViTSize, vit_size
from lit_video.weights.reading import read_weights
from tests.weights.containers import FLAT, OF_FLAX, WRAPPERS, save_folder

TENSORS = {"stem.weight": torch.randn(3, 2), "stem.bias": torch.randn(3), "norm.weight": torch.ones(3)}
NORM = "Transformer/encoder_norm/scale"
OF_SCENIC = {"embedding/kernel": torch.randn(3, 2), NORM: torch.ones(3), "cls": torch.ones(1)}


def equal(stored, expected):
    assert stored.tensors.keys() == expected.keys()
    for name, value in expected.items():
        assert stored.tensors[name].dtype == value.dtype
        assert torch.equal(stored.tensors[name], value)


@pytest.mark.parametrize(
    ("save", "dtype"),
    [(name, dtype) for name in FLAT for dtype in (torch.float32, torch.float16, torch.float64, torch.bfloat16)],
)
def test_every_container_gives_its_tensors_and_keeps_their_dtype(save, dtype, tmp_path):
    tensors = {name: value.to(dtype) for name, value in TENSORS.items()}
    equal(read_weights(FLAT[save](tensors, tmp_path)), tensors)


@pytest.mark.parametrize("wrap", WRAPPERS.values(), ids=WRAPPERS)
@pytest.mark.parametrize("save", [FLAT["torch"], FLAT["legacy"]])
def test_wrappers_and_prefixes_are_taken_off(save, wrap, tmp_path):
    equal(read_weights(save(wrap(TENSORS), tmp_path)), TENSORS)


@pytest.mark.parametrize(
    ("save", "dtype"),
    [(name, dtype) for name in OF_FLAX for dtype in (torch.float32, torch.float16, torch.bfloat16)],
)
def test_flax_s_trees_become_names_with_slashes(save, dtype, tmp_path):
    tensors = {name: value.to(dtype) for name, value in OF_SCENIC.items()}
    equal(read_weights(OF_FLAX[save](tensors, tmp_path)), tensors)


def test_of_two_sets_the_average_is_taken_unless_the_other_is_asked_for(tmp_path):
    average = {name: value + 1 for name, value in TENSORS.items()}
    torch.save({"state_dict": TENSORS, "state_dict_ema": average}, tmp_path / "both.pth")
    line = "read the moving average (state_dict_ema), one of two sets; --model.weights_ema false reads the other"
    for chosen, expected, words in (
        (None, average, line),
        (True, average, line),
        (False, TENSORS, "read the weights, one of two sets; --model.weights_ema true reads the other"),
    ):
        stored = read_weights(tmp_path / "both.pth", chosen)
        equal(stored, expected)
        assert stored.choice == words


@pytest.mark.parametrize(
    ("content", "average", "message"),
    [
        ({"state_dict": TENSORS}, True, "weights_ema is true, and it holds no moving average"),
        ({"model_ema": TENSORS}, False, r"weights_ema is false, and it holds the moving average alone \(model_ema\)"),
    ],
)
def test_a_set_that_is_not_there_is_not_replaced_by_the_other(content, average, message, tmp_path):
    torch.save(content, tmp_path / "one.pth")
    with pytest.raises(UserError, match=message):
        read_weights(tmp_path / "one.pth", average)


def test_a_folder_s_configuration_is_read_with_it(tmp_path):
    assert read_weights(save_folder(TENSORS, tmp_path)).config == {"architectures": ["Model"]}
    assert read_weights(tmp_path / "model.safetensors").config == {}
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(UserError, match=r"config\.json cannot be read"):
        read_weights(tmp_path)


def test_a_run_s_folder_is_read_as_its_checkpoint(tmp_path):
    torch.save(TENSORS, tmp_path / "last.ckpt")
    assert read_weights(tmp_path).tensors.keys() == TENSORS.keys()


def test_a_folder_without_weights_is_refused(tmp_path):
    with pytest.raises(UserError, match=r"holds no weights: expected one of model\.safetensors"):
        read_weights(tmp_path)


class RunsCode:
    """Object that makes a folder when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize("place", ["beside", "among"])
def test_code_in_a_file_is_refused_and_not_run(place, legacy, tmp_path):
    code = RunsCode(str(tmp_path / "trace"))
    content = {"model": TENSORS, "cfg": code} if place == "beside" else {"head.weight": code}
    torch.save(content, tmp_path / "code.pth", _use_new_zipfile_serialization=not legacy)
    with pytest.raises(UserError, match=r"code\.pth cannot be read as weights: it holds \w+\.mkdir, .* nothing .* run"):
        read_weights(tmp_path / "code.pth")
    (tmp_path / "plain.pth").write_bytes(pickle.dumps({"head.weight": code}))
    with pytest.raises(UserError, match=r"plain\.pth cannot be read as weights: ."):
        read_weights(tmp_path / "plain.pth")
    assert not (tmp_path / "trace").exists()


@pytest.mark.parametrize("other", [torch.nn.Linear(2, 2), {"model": TENSORS, "best": Fraction(1)}])
def test_a_whole_model_and_objects_of_other_programs_are_refused_by_name(other, tmp_path):
    torch.save(other, tmp_path / "model.pth")
    with pytest.raises(UserError, match=r"it holds (torch\.nn|fractions)\.\S+, not tensors alone, .* save the"):
        read_weights(tmp_path / "model.pth")


def test_settings_of_a_model_that_was_built_in_python_are_read_beside_its_weights(tmp_path):
    hparams = dict(XViT(5, 4, 16, size=ViTSize(16, 2, 4), optimization=Optimization("adamw")).hparams)
    torch.save({"state_dict": TENSORS, "hyper_parameters": hparams, "lit_video": {"data": {}}}, tmp_path / "a.ckpt")
    stored = read_weights(tmp_path / "a.ckpt")
    equal(stored, TENSORS)
    assert vit_size(stored.model["size"]) == ViTSize(16, 2, 4)
    assert optimization_of(stored.model["optimization"]) == Optimization("adamw")


@pytest.mark.parametrize("content", [[torch.zeros(2)], {"epoch": 3}, {}, torch.zeros(2), {"a": torch.zeros(2), "b": 3}])
def test_a_file_without_a_state_dict_is_refused(content, tmp_path):
    torch.save(content, tmp_path / "other.pth")
    with pytest.raises(UserError, match=r"other\.pth cannot be read as weights: it holds no state dict"):
        read_weights(tmp_path / "other.pth")


@pytest.mark.parametrize("content", [b"", b"not weights at all", b"\x81", b"PK\x03\x04", b"\x80\x02}q"])
@pytest.mark.parametrize("name", ["weights.pth", "weights.safetensors", "checkpoint", "weights.msgpack"])
def test_a_damaged_file_is_refused_in_a_line(name, content, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=f"{name} cannot be read as weights: .") as refusal:
        read_weights(tmp_path / name)
    assert "\n" not in str(refusal.value)
    assert "weights_only" not in str(refusal.value)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(UserError, match=r"nowhere\.pth does not exist"):
        read_weights(tmp_path / "nowhere.pth")
    os.mkfifo(tmp_path / "pipe.pth")  # reading would wait for a writer for ever
    with pytest.raises(UserError, match=r"pipe\.pth does not exist, or is no plain file"):
        read_weights(tmp_path / "pipe.pth")
