"""A long training does not grow, and a killed one leaves nothing behind."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from filelock import FileLock, Timeout

from lit_video.tables.results import CURVES
from tests.conftest import ROOT
from tests.training.growth_script import children

EPOCHS, WARM_UP = 20, 6  # allocators and caches fill in the first epochs
# a clip of 8 x 3 x 32 x 32 bytes is 0.1 MB: keeping one of the 64 training clips of an epoch passes the first bound,
# two of a worker's 32 the second. Measured: 0.002, and 0.1 in workers (2 to 3 KB per video): PyAV 18.1 alone loses
# 0.2 KB of native memory with every video that it decodes, our decoding 0.6 KB; the rest is not explained
MAIN, WORKER = 0.1, 0.2  # MB per epoch
# every block above 16 KB gets pages of its own and gives them back: otherwise what is kept fills holes first
EXACT = {"MALLOC_MMAP_THRESHOLD_": "16384", "MALLOC_TRIM_THRESHOLD_": "0"}
FLAGS = ["--trainer.logger=false", "--data.num_workers=2", "--data.image_size=32", "--data.frames=8"]
SHM = Path("/dev/shm")


def slope(values):
    """Growth per epoch after the warm-up: a line fitted by least squares."""
    return float(np.polyfit(np.arange(len(values)), values, 1)[0])


@pytest.mark.slow
def test_memory_and_open_files_do_not_grow_in_twenty_epochs_with_two_workers(table, tiny, tmp_path):
    out = tmp_path / "samples.jsonl"
    flags = [*tiny, *FLAGS, "--data.pairs=[8,1,1]", f"--trainer.max_epochs={EPOCHS}"]
    command = [sys.executable, "-m", "tests.training.growth_script", out, table[0], tmp_path / "runs", *flags]
    environment = os.environ | EXACT
    done = subprocess.run(
        list(map(str, command)), cwd=ROOT, env=environment, capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stderr[-2000:]
    samples = [json.loads(line) for line in out.read_text().splitlines()][WARM_UP:]
    assert len(samples) == EPOCHS - WARM_UP
    processes = {len(sample) for sample in samples}
    assert processes == {1 + 2 + 2}, "this process, two workers for training and two for validation, from first to last"
    for i in range(processes.pop()):
        values = [sample[i]["written"] for sample in samples]
        print(f"process {i}: {values[0]:.1f} to {values[-1]:.1f} MB, {slope(values):+.4f} MB per epoch")
        assert slope(values) < (WORKER if i else MAIN), (i, values)
        files = [sample[i]["files"] for sample in samples]
        print(f"process {i}: {files[0]} to {files[-1]} open files")
        assert max(files) == files[0], (i, files)


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
