"""Test that a file of weights that was damaged or changed after it was written is refused by every reader."""

import shutil
import zipfile

import pytest
import torch

import lit_video
from lit_video.__main__ import main
from lit_video.errors import UserError
from lit_video.weights.reading import read_weights


def flip(path):
    """Change one bit in the middle of the largest part of an archive."""
    with zipfile.ZipFile(path) as archive:
        largest = max(archive.infolist(), key=lambda part: part.file_size)
    content = bytearray(path.read_bytes())
    content[largest.header_offset + 256 + largest.file_size // 2] ^= 1
    path.write_bytes(content)


def change(path):
    """Write a whole checkpoint with another weight."""
    content = torch.load(path, weights_only=True)
    content["state_dict"]["network.norm.bias"][0] += 1
    torch.save(content, path)


def compress(path):
    """Write the same archive compressed: it could unpack to a thousand times its size."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)


@pytest.fixture(params=[flip, change, compress])
def harmed(request, run, tmp_path):
    """Folder of a finished run whose checkpoint was harmed."""
    folder = shutil.copytree(run, tmp_path / "run")
    request.param(folder / "last.ckpt")
    return folder


def refused(line, harmed):
    assert str(harmed / "last.ckpt") in line
    return any(word in line for word in ("checksum", "compressed", "not those that were written"))


def test_a_harmed_checkpoint_is_refused_by_every_reader(harmed, videos, capfd):
    for read in (lit_video.load, lambda folder: read_weights(folder / "last.ckpt")):
        with pytest.raises(UserError) as error:
            read(harmed)
        assert refused(str(error.value), harmed)
    for command in (["predict", str(videos[0])], ["test"], ["export", "--to", "safetensors", "-o", str(harmed / "x")]):
        assert main([*command, "--ckpt", str(harmed)]) == 2
        (line,) = capfd.readouterr().err.splitlines()
        assert refused(line, harmed)


def test_a_checkpoint_beside_the_tested_one_is_read(run, tmp_path):
    folder = shutil.copytree(run, tmp_path / "run")
    other = shutil.copy(folder / "last.ckpt", folder / "other.ckpt")
    change(other)
    assert lit_video.load(other)


def test_a_changed_export_is_refused(checkpoint, tmp_path, capfd):
    assert main(["export", "--to", "safetensors", "--ckpt", str(checkpoint), "-o", str(tmp_path)]) == 0
    path = tmp_path / "model.safetensors"
    assert lit_video.load(path)
    content = bytearray(path.read_bytes())
    content[-100] ^= 1
    path.write_bytes(content)
    for read in (lit_video.load, read_weights):
        with pytest.raises(UserError, match="not those that were written"):
            read(path)
