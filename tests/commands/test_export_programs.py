"""Test that exported programs of every family compute the same for any batch size, without this package."""

import json
import subprocess
import sys

import pytest
import torch

import lit_video
from lit_video.__main__ import main
from lit_video.errors import UserError
from lit_video.inference import export as programs
from lit_video.inference.predict import load
from lit_video.weights.loading import load_pretrained
from lit_video.weights.reading import read_weights
from tests.inference.colours import trained

ROWS = {
    "xvit": ("ablation_tw", "tw1"),
    "divided": ("timesformer_schemes", "divided"),
    "vivit": ("vivit_models", "model2"),
}
WITHOUT_US = """
import sys, torch
sys.modules["lit_video"] = None
program = torch.export.load(sys.argv[1]).module()
torch.save(program(torch.load(sys.argv[2])), sys.argv[3])
"""


@pytest.fixture(params=["divided", *(pytest.param(row, marks=pytest.mark.slow) for row in ("xvit", "vivit"))])
def checkpoint(request, fitted):
    return fitted(*ROWS[request.param], "--data.image_size=32") / "last.ckpt"


@pytest.fixture(scope="module")
def colours(tmp_path_factory):
    return trained(tmp_path_factory.mktemp("colours"))


def clip_of(count):
    return torch.randn(count, 3, 4, 32, 32, generator=torch.Generator().manual_seed(count))


def exported(kind, checkpoint, tmp_path, capsys):
    """Export a checkpoint; return the folder, a clip, and its logits."""
    clip = clip_of(5)
    with torch.no_grad():
        expected = load(checkpoint).model.network(clip)
    assert main(["export", "--to", kind, "--ckpt", str(checkpoint), "-o", str(tmp_path / "out")]) == 0
    assert "its logits differ by" in capsys.readouterr().out
    return tmp_path / "out", clip, expected


def test_weights_and_settings_are_those_of_the_checkpoint(checkpoint, tmp_path, capsys):
    folder, clip, expected = exported("safetensors", checkpoint, tmp_path, capsys)
    network = load(checkpoint).model.network
    for parameter in network.parameters():
        torch.nn.init.zeros_(parameter)
    load_pretrained(network, read_weights(folder / "model.safetensors").tensors)
    with torch.no_grad():
        assert torch.equal(network(clip), expected)
    settings = json.loads((folder / "settings.json").read_text())
    assert settings["data"]["num_frames"] == 4
    assert len(settings["class_names"]) == expected.shape[1]
    (folder / "settings.json").write_text("[]")
    with pytest.raises(UserError, match="is no export of lit_video"):
        lit_video.load(folder)


@pytest.mark.slow
def test_a_program_of_pytorch_computes_the_same_without_this_package(checkpoint, tmp_path, capsys):
    folder, clip, expected = exported("pt2", checkpoint, tmp_path, capsys)
    torch.save(clip, tmp_path / "clip.pt")
    paths = [str(folder / "model.pt2"), str(tmp_path / "clip.pt"), str(tmp_path / "logits.pt")]
    subprocess.run([sys.executable, "-c", WITHOUT_US, *paths], check=True)
    torch.testing.assert_close(torch.load(paths[2]), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.slow
def test_a_program_of_onnx_computes_the_same(checkpoint, tmp_path, capsys):
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    folder, clip, expected = exported("onnx", checkpoint, tmp_path, capsys)
    logits = runtime.InferenceSession(folder / "model.onnx").run(["logits"], {"clip": clip.numpy()})[0]
    torch.testing.assert_close(torch.from_numpy(logits), expected, atol=1e-5, rtol=1e-5)


def test_a_temperature_is_applied_once(colours, tmp_path):
    content = torch.load(colours, weights_only=True)
    content["lit_video"]["temperature"] = 2.0
    torch.save(content, tmp_path / "warm.ckpt")
    out = tmp_path / "out"
    assert main(["export", "--to", "safetensors", "--ckpt", str(tmp_path / "warm.ckpt"), "-o", str(out)]) == 0
    warm, back = (lit_video.load(path).model.network.state_dict() for path in (tmp_path / "warm.ckpt", out))
    assert all(torch.equal(warm[name], back[name]) for name in warm)


def test_a_program_whose_logits_are_no_numbers_for_one_batch_is_not_kept(colours, tmp_path, monkeypatch, capsys):
    def writer(network, clip, path):
        path.touch()
        return lambda batch: network(batch) * (torch.nan if len(batch) == 3 else 1)

    monkeypatch.setitem(programs.WRITERS, "pt2", writer)
    assert main(["export", "--to", "pt2", "--ckpt", str(colours), "-o", str(tmp_path / "out")]) == 2
    assert "program deleted: its logits differ by nan of the largest logit" in capsys.readouterr().err
    assert not (tmp_path / "out/model.pt2").exists()
