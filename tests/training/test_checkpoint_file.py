"""Test that a checkpoint's file is complete or absent, and that the one before is kept until then."""

import errno
import os
import signal

import pytest
import torch

from lit_video.engine.checkpoints import (
    RUN_KEY,
    CheckpointFile,
    Checkpoints,
    damage,
    usable_checkpoint,
    write_checkpoint,
)


def content(step):
    return {"state_dict": {"weight": torch.full((4000,), float(step))}, "global_step": step, RUN_KEY: {}}


def stored_step(path):
    return torch.load(path, weights_only=True)["global_step"]


class KillOnWrite:
    """Object that kills its process, like ``kill -9``, when it is written."""

    def __reduce__(self):
        os.kill(os.getpid(), signal.SIGKILL)


def test_a_process_killed_while_it_writes_leaves_the_checkpoint_before(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "another file system"))
    path = tmp_path / "run/last.ckpt"
    path.parent.mkdir()
    write_checkpoint(content(1), path)
    if (child := os.fork()) == 0:
        try:
            write_checkpoint(content(2) | {"x": KillOnWrite()}, path)
        finally:
            os._exit(0)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
    assert stored_step(path) == 1 and not damage(path)
    assert sorted(p.name for p in path.parent.iterdir()) == [".last.ckpt.part", "last.ckpt"]
    write_checkpoint(content(3), path)
    assert stored_step(path) == 3
    assert not (path.parent / ".last.ckpt.part").exists()


def test_a_write_that_the_disk_refuses_keeps_the_checkpoint_before_and_is_reported(tmp_path, monkeypatch):
    file, path = CheckpointFile(), tmp_path / "last.ckpt"
    file.save_checkpoint(content(1), path)
    file.flush()

    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(os, "fsync", full)
    file.save_checkpoint(content(2), path)
    with pytest.raises(OSError, match="No space left"):
        file.save_checkpoint(content(3), path)
    assert stored_step(path) == 1
    assert [p.name for p in tmp_path.iterdir()] == ["last.ckpt"]


def test_what_is_written_in_the_background_is_what_was_given(tmp_path):
    file, path = CheckpointFile(), tmp_path / "last.ckpt"
    given = content(1)
    file.save_checkpoint(given, path)
    given["state_dict"]["weight"].zero_()  # training goes on
    assert file.load_checkpoint(path)["state_dict"]["weight"].eq(1).all()
    assert file.waited > 0


def test_the_seconds_spent_on_checkpoints_go_on_when_a_run_resumes(tmp_path):
    before, after = CheckpointFile(), CheckpointFile()
    before.waited = 7.0
    parts = {"run_dir": tmp_path, "every": 30.0, "max_time": None, "stops": None, "finite": None, "record": {}}
    state = Checkpoints(file=before, **parts).state_dict()
    Checkpoints(file=after, **parts).load_state_dict(state)
    assert after.waited == 7.0


HARM = {
    "truncated": lambda data: data[: len(data) // 2],
    "empty": lambda data: b"",
    "garbage": lambda data: b"garbage" * 100,
    "a flipped bit": lambda data: data[:9000] + bytes([data[9000] ^ 1]) + data[9001:],
}


@pytest.mark.parametrize("harm", HARM.values(), ids=HARM.keys())
def test_a_damaged_checkpoint_is_set_aside(harm, tmp_path, capsys):
    last = tmp_path / "last.ckpt"
    write_checkpoint(content(1), last)
    assert usable_checkpoint(tmp_path, owner=True) == last
    damaged = harm(last.read_bytes())
    last.write_bytes(damaged)
    assert usable_checkpoint(tmp_path, owner=False) is None and last.exists()
    assert usable_checkpoint(tmp_path, owner=True) is None
    printed = capsys.readouterr().out
    assert f"going on from {last}" in printed and "last.ckpt: damaged (" in printed
    assert printed.endswith("; renamed to last.damaged.ckpt, training starts over\n")
    assert (tmp_path / "last.damaged.ckpt").read_bytes() == damaged
