"""Decoding on a GPU: refused in one line where it does not work, and compared with PyAV."""

import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from benchmarks import decode_device
from lit_video.benchmark.clip_decoders import cut
from lit_video.datamodules import VideoFolder
from lit_video.video.decoding import DecodeError, decode, decoder, torchcodec
from tests.video.bad_files import write


@pytest.fixture(autouse=True)
def checked_again():
    torchcodec.check_cuda.cache_clear()


@pytest.fixture
def gpu_without_nvdec(monkeypatch):
    class VideoDecoder:
        def __init__(self, path, **settings):
            if settings.get("device") == "cuda":
                raise RuntimeError("Unsupported device: cuda\nmore")

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setitem(sys.modules, "torchcodec", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "torchcodec.decoders", SimpleNamespace(VideoDecoder=VideoDecoder))


def test_without_a_gpu_it_is_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match="decode_device is cuda, but torch finds no CUDA device here: set"):
        torchcodec.check_cuda()


def test_without_nvdec_it_is_refused_with_the_reason(gpu_without_nvdec):
    with pytest.raises(
        ValueError, match=r"cannot decode on the GPU \(Unsupported device: cuda\): install its CUDA build"
    ):
        decoder("torchcodec", "cuda")
    assert decoder("torchcodec") is torchcodec.decode


def test_pyav_has_no_gpu_and_workers_neither(tmp_path):
    with pytest.raises(ValueError, match="decode_device is cuda, which decoder pyav has not: set decoder torchcodec"):
        VideoFolder(str(tmp_path), decode_device="cuda", num_workers=0)
    with pytest.raises(ValueError, match="num_workers is 2, but forked workers cannot use the GPU: set num_workers 0"):
        VideoFolder(str(tmp_path), decode_device="cuda", decoder="torchcodec")


def test_differences_are_those_of_the_pixels(tmp_path):
    write(tmp_path / "0.mp4", frames=24)
    clips = [cut(tmp_path / "0.mp4", "stride 2", 4, share) for share in (0.0, 0.5)]
    assert decode_device.difference(clips, decode) == {"largest": 0, "mean": 0.0, "within one level": True}

    def other(path, numbers):
        frames = decode(path, numbers).copy()
        frames[0, 0, 0, 0] ^= 0b100
        return frames

    found = decode_device.difference(clips, other)
    assert found["largest"] == 4 and not found["within one level"]
    assert found["mean"] == pytest.approx(4 / np.prod(decode(tmp_path / "0.mp4", range(4)).shape), abs=1e-4)

    def broken(path, numbers):
        raise DecodeError("no picture")

    assert decode_device.difference(clips, broken) == {"error": "no picture"}
    assert "shape" in decode_device.difference(clips, lambda path, numbers: decode(path, numbers)[:, :8])["error"]


def test_the_command_measures_every_kind(monkeypatch, tmp_path, capsys):
    given = ["decode_device", "--decoder", "pyav", "--device", "cpu", "--small", "-o", str(tmp_path / "out.json")]
    monkeypatch.setattr(sys, "argv", given)
    assert decode_device.main() == 0
    rows = json.loads((tmp_path / "out.json").read_text())["rows"]
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == rows
    assert len(rows) == 2 and all(row["largest"] == 0 and row["clips/s"]["pyav on cpu"] > 0 for row in rows)
    monkeypatch.setattr(sys, "argv", ["decode_device", "--decoder", "pyav", "--device", "cuda"])
    assert decode_device.main() == 2
    assert capsys.readouterr().err == (
        "error: decode_device is cuda, which decoder pyav has not: set decoder torchcodec\n"
    )
