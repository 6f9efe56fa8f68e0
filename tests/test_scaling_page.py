"""docs/scaling.md: up to date with what is stored, an estimate until a GPU is measured; its check of two processes."""

import json
import shutil
import subprocess
import sys
from importlib import util

import pytest

from tests.conftest import ROOT

SCALING = ROOT / "benchmarks" / "scaling"
RESULTS = ROOT / "benchmarks" / "results"


def write(*args):
    command = [sys.executable, SCALING, "write", *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


@pytest.fixture
def stored(tmp_path):
    """A copy of the stored measurements."""
    shutil.copytree(RESULTS / "scaling", tmp_path / "results" / "scaling")
    return tmp_path / "results"


def test_the_page_is_up_to_date():
    done = write("--check")
    assert (done.returncode, done.stderr) == (0, "")
    for name in ("gpus", "data"):
        assert f"(scaling_{name}.svg)" in (ROOT / "docs/scaling.md").read_text(encoding="utf-8")
        assert (ROOT / f"docs/scaling_{name}.svg").exists()


def test_another_measurement_puts_it_out_of_date(stored):
    path = stored / "scaling" / "clips.json"
    clips = json.loads(path.read_text())
    clips["rows"][0]["cpu_seconds"]["ViViT-L"] *= 2
    path.write_text(json.dumps(clips))
    done = write("--check", "--results", stored)
    assert done.returncode == 1
    assert "out of date; run python benchmarks/scaling write" in done.stdout


def test_a_missing_measurement_is_named(stored):
    (stored / "scaling" / "processes.json").write_text("{")
    done = write("--check", "--results", stored)
    assert done.returncode != 0
    assert done.stderr.count("\n") == 1
    assert "processes.json: not there, or damaged; python benchmarks/scaling measure processes" in done.stderr


def test_a_measured_gpu_takes_the_place_of_the_estimate(stored, tmp_path):
    counts = json.loads((stored / "scaling/counts.json").read_text())["models"]
    rows = [{"model": name, "batch": batch, "train_seconds": 0.5 + 0.25 * batch} for name in counts for batch in (8, 1)]
    (stored / "gpu").mkdir()
    (stored / "gpu/training.json").write_text(json.dumps({"gpu": True, "device": "NVIDIA H200", "rows": rows}))
    page = tmp_path / "plan.md"
    assert write("--results", stored, "-o", page, "--price", "2").returncode == 0
    text = page.read_text(encoding="utf-8")
    assert "measured on NVIDIA H200" in text
    assert "estimate" not in text.replace('say "estimate"', "")
    # 8 clips in 2.5 seconds, and 240,000 clips at that rate: 20.8 hours, 30 times, at 2 an hour
    assert "| 3.2 | 750.0 |" in text
    assert "| 1 | 128 x 1 | 3.2 | 20.8 | 625 | 1250 | 100 % |" in text
    assert (tmp_path / "plan_gpus.svg").read_text(encoding="utf-8").startswith("<svg")
    # measured on another kind of GPU than is planned for
    assert write("--results", stored, "-o", page, "--gpu", "A100").returncode == 0
    assert "no GPU has been measured yet" in page.read_text(encoding="utf-8")


def test_two_processes_are_compared_in_the_quiet_rounds():
    spec = util.spec_from_file_location("scaling_check", SCALING / "check.py")
    check = util.module_from_spec(spec)
    sys.modules[spec.name] = check  # where its dataclasses look themselves up
    spec.loader.exec_module(check)
    seconds = {"one": [1, 9, 9], "two apart": [2, 9, 9], "two": [3, 99, 99]}
    seconds |= {"two apart, accumulated": [4, 9, 9], "two, accumulated": [5, 99, 99]}
    # 1 GB/s and no latency: 100 million parameters are 400 MB
    reduces = [{"bytes": size, "seconds": [size / 1e9, 9, 99]} for size in (10**6, 10**8)]
    stored = {"seconds": seconds, "all_reduce": reduces, "parameters": 10**8}
    quiet = check.quiet(stored)
    assert quiet.rounds == (0,)
    assert quiet.ratio("two apart", "one") == 2
    two, accumulated = quiet.checks()
    assert (two.predicted, two.measured) == (pytest.approx(2.4 / 2), 1.5)
    assert (accumulated.predicted, accumulated.measured) == (pytest.approx(4.4 / 4), 1.25)
