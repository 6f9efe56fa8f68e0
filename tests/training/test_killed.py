"""A killed training leaves nothing behind."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from filelock import FileLock, Timeout

from lit_video.tables.results import CURVES
from tests.conftest import ROOT

SHM = Path("/dev/shm")


def children(pid):
    """The processes that a process started and that live."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]


def descendants(pid):
    """All processes below one: workers, W&B's service and its children."""
    below = []
    for child in children(pid):
        below += [child, *descendants(child)]
    return below


def alive(pid):
    """Whether a process runs; one that ended and waits for its parent does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_until(happened, seconds):
    """Wait for something; whether it happened in time."""
    end = time.monotonic() + seconds
    while not (done := happened()) and time.monotonic() < end:
        time.sleep(0.2)
    return done


@pytest.mark.slow
def test_a_training_killed_with_workers_and_wandb_leaves_no_process_lock_or_shared_memory(table, tiny, tmp_path):
    run_dir = tmp_path / "runs/two/default/second/seed0"
    flags = [*tiny, "--data.num_workers=2", "--trainer.max_epochs=10000"]
    command = ["-m", "lit_video", "fit", "--config", table[0], "--row=second", "--runs", tmp_path / "runs", *flags]
    before = set(SHM.iterdir())
    run = subprocess.Popen([sys.executable, *map(str, command)], cwd=ROOT, stdout=subprocess.DEVNULL)
    try:
        assert wait_until((run_dir / CURVES).exists, 120), "the first epoch"
        below = descendants(run.pid)
        names = [Path(f"/proc/{pid}/comm").read_text().strip() for pid in below]
        assert len(below) >= 5 and any("wandb" in name or "gpu_stats" in name for name in names), names
        with pytest.raises(Timeout), FileLock(run_dir / "lock", timeout=0):
            pass
    finally:
        run.send_signal(signal.SIGKILL)
        run.wait()
    assert wait_until(lambda: not any(map(alive, below)), 30), [pid for pid in below if alive(pid)]
    with FileLock(run_dir / "lock", timeout=0):
        pass
    assert {path for path in set(SHM.iterdir()) - before if path.name.startswith(("torch_", "sem.", "psm_"))} == set()
