import os

import pytest

from lit_video.errors import UserError
from lit_video.launching.local import gpus, places


@pytest.fixture
def four_gpus(tmp_path, monkeypatch):
    program = tmp_path / "nvidia-smi"
    lines = "".join(
        f"echo 'GPU {i}: H200 (UUID: GPU-{i})'; echo '  MIG 1g.18gb Device 0: (UUID: MIG-{i})';" for i in range(4)
    )
    program.write_text(f"#!/bin/sh\n{lines}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


def visible(*args):
    return [place.environment["CUDA_VISIBLE_DEVICES"] for place in places(*args)]


def test_gpus_are_shared_out(four_gpus):
    assert visible(None, None) == ["0", "1", "2", "3"]
    assert visible(None, 2) == ["0,1", "2,3"]
    assert visible(None, 3) == ["0,1,2"]
    assert visible(2, None) == ["0", "1"]
    with pytest.raises(UserError, match="--gpus-per-run 8: this machine has 4 GPUs"):
        places(None, 8)


@pytest.mark.parametrize(("given", "found"), [("2,5", ["2", "5"]), ("GPU-a", ["GPU-a"]), ("", []), ("0,-1,1", ["0"])])
def test_only_the_gpus_that_the_process_may_use(given, found, four_gpus, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", given)
    assert gpus() == found


def test_without_a_gpu_jobs_share_the_cores(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.delenv("OMP_NUM_THREADS")
    cores = len(os.sched_getaffinity(0))
    assert [place.environment for place in places(None, None)] == [{}]
    assert [place.environment for place in places(2, None)] == [{"OMP_NUM_THREADS": str(max(1, cores // 2))}] * 2
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    assert [place.environment for place in places(2, None)] == [{}] * 2
