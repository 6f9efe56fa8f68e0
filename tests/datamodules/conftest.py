"""Fixtures of the data modules' tests: small real videos, and batches of them."""

import shutil
from copy import copy

import pytest
import torch

from lit_video.__main__ import main
from lit_video.datamodules import preparation
from lit_video.datamodules.annotated import Folders
from lit_video.datamodules.records import print_once
from lit_video.video.decoding import decode, frame_table
from lit_video.video.sampling import Dense
from tests.video.made import write


@pytest.fixture(autouse=True)
def print_again():
    """Reset of ``print_once``, so that every test sees its messages."""
    print_once.__wrapped__.cache_clear()


@pytest.fixture(scope="session")
def video(tmp_path_factory):
    """Function that writes a video of 20 frames and 2 s to a path."""
    folder = tmp_path_factory.mktemp("originals")

    def put(path):
        original = folder / f"video{path.suffix}"
        if not original.exists():
            codec = {".avi": "mpeg4", ".webm": "libvpx"}.get(path.suffix, "libx264")
            form = {".mp4": "mp4", ".mkv": "matroska"}.get(path.suffix.lower(), path.suffix[1:])
            write(original, codec, options={"g": "12"}, num_frames=20, fps=10, height=32, width=32, form=form)
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(original, path)
        return path

    return put


@pytest.fixture(scope="session")
def small():
    """Settings of a data set that decodes fast."""
    return dict(num_frames=4, image_size=16, batch_size=2, num_workers=0, sampling=Dense(seconds=0.5), test_crops=1)


def copy_file(source, target, _):
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, target)


def read_when_prepared(data, patch):
    """Check that a copy by ``data prepare``, its encoder left out, is read by the same class with the same labels."""
    root = data.data_root()
    dst = root.with_name(f"{root.name} prepared")
    patch.setattr(preparation, "reencode", copy_file)
    assert main(["data", "prepare", str(root), str(dst)]) == 0
    again = copy(data)
    again.root, again.folders, again._listed, again._records = dst, Folders(), {}, {}
    for split in ("train", "test"):
        old, new = data.records(split), again.records(split)
        assert [one.path.relative_to(dst).with_suffix("") for one in new] == [
            one.path.relative_to(root).with_suffix("") for one in old
        ]
        assert [one.label for one in new] == [one.label for one in old] and all(one.path.is_file() for one in new)


@pytest.fixture
def load(monkeypatch):
    """Function that checks and returns one batch of the training loader and one of the test loader."""

    def batches(data):
        read_when_prepared(data, monkeypatch)
        pair = [next(iter(data.train_dataloader())), next(iter(data.test_dataloader()))]
        for batch in pair:
            assert batch["clip"].shape == (2, 1, 4, 3, 16, 16)
            assert batch["clip"].dtype == torch.uint8
            assert batch["broken"] == ["", ""]
            assert batch["clip"].float().std() > 0
        return pair

    return batches


def whole(path):
    """Decode all frames of a video."""
    return decode(path, range(frame_table(path).count))
