"""Test the end of a failed run: one line for each failure that can happen to any run."""

import errno
import fcntl
from types import SimpleNamespace

import pytest
import torch

from lit_video.engine.checkpoints import Stopped
from lit_video.errors import RunFailed, RunStopped, UserError
from lit_video.runs.folder import read_status
from lit_video.runs.history import History
from lit_video.runs.lock import owned
from lit_video.runs.record import Identity
from lit_video.training import run as run_module
from lit_video.training.run_end import failures

MEMORY = "out of memory; give a smaller --data.batch_size"
SHARED = "shared memory: unable to "
DIED = "another process of this run died; the same command"


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"), MEMORY),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), MEMORY),  # a loader's worker cannot be forked
        (RuntimeError("could not create a primitive"), MEMORY),  # oneDNN's
        (RuntimeError("Traceback\nRuntimeError: unable to resize file </torch_1> to the right size"), SHARED),
        (torch.distributed.DistNetworkError("Failed to recv, got 0 bytes. Connection was likely closed."), DIED),
        (RuntimeError("[gloo/transport/tcp/pair.cc:525] Read error [127.0.0.1]:1: Connection closed by peer"), DIED),
    ],
)
def test_what_can_happen_to_any_run_is_a_line(error, line):
    with pytest.raises(RunFailed) as raised, failures():
        raise error
    assert str(raised.value).startswith(line) and "\n" not in str(raised.value)


def test_other_errors_stay_what_they_are():
    for error in (RuntimeError("could not create a file"), OSError(errno.ENOSPC, "No space left on device")):
        with pytest.raises(type(error), match=str(error.args[-1])), failures():
            raise error


def test_a_disk_without_locks_is_one_line(tmp_path, monkeypatch):
    def flock(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.raises(UserError, match=r"--runs: .* \(No locks available\)"), owned(tmp_path, "x"):
        pass


def test_of_several_processes_the_first_alone_has_the_exit_status_of_a_stop(tmp_path, monkeypatch):
    def stop(*_):
        raise Stopped("SIGUSR1", 3, 8)

    monkeypatch.setattr(run_module, "_train_and_test", stop)
    spec = SimpleNamespace(run=SimpleNamespace(label="r", folder=tmp_path))
    run_module._to_the_end(spec, None)
    assert read_status(tmp_path) is None

    with pytest.raises(RunStopped) as stopped:
        run_module._to_the_end(spec, None, History(Identity({})))
    assert stopped.value.status == 75
    assert read_status(tmp_path).state == "preempted"
