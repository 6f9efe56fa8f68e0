"""The digest of a checkpoint is of its content, and a file that is none is refused."""

import shutil

import pytest
import torch

from lit_video.utils.checkpoint_digest import checkpoint_digest


def test_the_digest_is_of_the_content_and_not_of_the_name(tmp_path):
    content = {"state_dict": {"weight": torch.arange(6.0)}, "step": 3}
    for name in ("last.ckpt", "other.ckpt"):
        torch.save(content, tmp_path / name)
    shutil.copy(tmp_path / "last.ckpt", tmp_path / "copy.ckpt")
    assert len({checkpoint_digest(tmp_path / name) for name in ("last.ckpt", "other.ckpt", "copy.ckpt")}) == 1


@pytest.mark.parametrize("change", [lambda c: c["state_dict"]["weight"].add_(1e-3), lambda c: c.update(step=4)])
def test_another_weight_or_step_is_another_digest(tmp_path, change):
    content = {"state_dict": {"weight": torch.arange(6.0)}, "step": 3}
    torch.save(content, tmp_path / "first.ckpt")
    change(content)
    torch.save(content, tmp_path / "second.ckpt")
    assert checkpoint_digest(tmp_path / "first.ckpt") != checkpoint_digest(tmp_path / "second.ckpt")


def test_a_file_that_is_no_checkpoint_is_refused(tmp_path):
    path = tmp_path / "last.ckpt"
    torch.save({"weight": torch.arange(1000.0)}, path)
    whole = path.read_bytes()
    for damaged in (b"", b"garbage", whole[:-100], whole[: len(whole) // 2]):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"last\.ckpt: no checkpoint"):
            checkpoint_digest(path)
