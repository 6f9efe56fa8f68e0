"""The main job as users run it: minutes, so run by make test-slow."""

import os
import signal
import subprocess
import sys
import time

import pytest

from lit_video.tables.results import read_result
from lit_video.tables.run_files import has_result

pytestmark = pytest.mark.slow


def fit(table, runs, *flags, **kwargs):
    command = [sys.executable, "-m", "lit_video", "fit", "--config", table, "--runs", runs, *flags]
    return subprocess.Popen(list(map(str, command)), **kwargs)


def test_a_table_killed_in_its_second_row_ends_as_if_it_had_not_been(table, tiny, tmp_path):
    # long enough to be killed in the middle of an epoch, with workers that fetch ahead and all random augmentation
    flags = ["--checkpoint_every=0.5", "--data.pairs=[16,1,4]", "--data.num_workers=2", "--data.augmentation.mixup=0.4"]
    flags = [flag for flag in tiny if "pairs" not in flag and "workers" not in flag] + flags
    flags += ["--data.augmentation.policy=rand", "--model.drop_path=0.1", "--trainer.max_epochs=12"]
    assert fit(table[0], tmp_path / "whole", *flags).wait() == 0
    process = fit(table[0], tmp_path / "killed", *flags, start_new_session=True)
    first, second = (tmp_path / "killed/two/default" / row / "seed0" for row in ("first", "second"))
    while not (second / "last.ckpt").exists():
        assert process.poll() is None, "the table ended before it could be killed"
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert not has_result(second)
    before = (first / "run.json").stat().st_mtime_ns
    done = fit(table[0], tmp_path / "killed", *flags, stdout=subprocess.PIPE, text=True)
    output, _ = done.communicate()
    assert done.returncode == 0
    assert "1 of 2 runs are finished, skipped" in output
    assert f"going on from {second / 'last.ckpt'}" in (second / "log.txt").read_text()
    assert (first / "run.json").stat().st_mtime_ns == before
    results = [read_result(tmp_path / f"{n}/two/default/second/seed0") for n in ("killed", "whole")]
    assert results[0]["metrics"] == results[1]["metrics"]
    assert results[0]["steps"] == results[1]["steps"] == 12 * 128 // 4


def test_the_demo_shows_what_a_window_is_worth(tiny, tmp_path, monkeypatch):
    monkeypatch.setenv("LIT_VIDEO_DATA", str(tmp_path / "data"))
    assert fit("experiments/ablation_tw.yaml", tmp_path, "--jobs", "2").wait() == 0
    rows = ("tw0", "tw1", "tw2", "tw2_boundary")
    results = [read_result(tmp_path / f"ablation_tw/embedded/{r}/seed0") for r in rows]
    top1 = {row: result["metrics"]["test/video_top1"] for row, result in zip(rows, results, strict=True)}
    assert 25 <= top1["tw0"] <= 37.5, "order-blind: what is seen, and one of two directions"
    assert top1["tw1"] >= top1["tw0"] + 25
    assert len({result["params"] for result in results}) == len({result["gmacs"] for result in results}) == 1
