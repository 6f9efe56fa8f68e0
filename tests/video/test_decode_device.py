"""Decoding on a GPU: refused in one line where it does not work, and compared with PyAV."""

import sys
from types import SimpleNamespace

import pytest
import torch

from lit_video.datamodules import VideoFolder
from lit_video.video.decoding import decoder, torchcodec


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
