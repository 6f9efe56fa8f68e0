import errno
from pathlib import Path

import pytest
import torch

from lit_video.__main__ import main
from lit_video.errors import RunFailed
from lit_video.tables import status
from lit_video.training.run_end import failures, write_end


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"),
        OSError(errno.ENOMEM, "Cannot allocate memory"),  # a loader's worker cannot be forked
        RuntimeError("[enforce fail at alloc_cpu.cpp:117] DefaultCPUAllocator: can't allocate memory: you tried"),
        RuntimeError("could not create a primitive"),  # oneDNN's
        RuntimeError("can't start new thread"),
        RuntimeError("std::bad_alloc"),
    ],
)
def test_full_memory_is_said_in_a_line(error):
    with pytest.raises(RunFailed, match=r"^out of memory; give a smaller --data.batch_size"), failures():
        raise error


@pytest.mark.parametrize(
    "said",
    [
        "unable to resize file </torch_17957_2411658907_0> to the right size: File too large (27)",
        "unable to allocate shared memory(shm) for file </torch_1_2_3>: No space left on device (28)",
    ],
)
def test_a_worker_without_room_for_its_clips_is_a_line(said):
    with pytest.raises(RunFailed, match=r"^shared memory: unable to (resize|allocate) .*; make /dev/shm"), failures():
        raise RuntimeError(
            f"Caught RuntimeError in DataLoader worker process 0.\nTraceback\n  at\nRuntimeError: {said}"
        )


@pytest.mark.parametrize(
    "error",
    [
        ConnectionResetError(104, "Connection reset by peer"),
        EOFError(),
        torch.distributed.DistNetworkError("Failed to recv, got 0 bytes. Connection was likely closed."),
        RuntimeError("[../gloo/transport/tcp/pair.cc:525] Read error [127.0.0.1]:1234: Connection closed by peer"),
    ],
)
def test_a_process_that_dies_while_it_sends_is_a_line(error):
    with pytest.raises(RunFailed, match=r"^another process of this run died; the same command"), failures():
        raise error


def test_other_errors_stay_what_they_are():
    for error in (RuntimeError("could not create a file"), OSError(errno.ENOSPC, "No space left on device")):
        with pytest.raises(type(error), match=str(error.args[-1])), failures():
            raise error


def test_memory_that_ends_while_an_end_is_written_down_adds_no_traceback(tmp_path, monkeypatch, capsys):
    def full(*args, **kwargs):
        raise MemoryError

    monkeypatch.setattr(status, "update_run", full)
    monkeypatch.setattr(Path, "read_text", full)
    write_end(tmp_path, "failed", "no memory")
    monkeypatch.setattr("lit_video.commands.cost.run", full)
    assert main(["cost"]) == 1
    assert capsys.readouterr().err == "error: out of memory\n"
