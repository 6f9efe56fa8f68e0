"""docs/performance.md: what is stored, nothing typed in, and "not run" for all that no GPU has measured."""

import json
import shutil

import pytest

from benchmarks.performance import main, page
from lit_video.errors import UserError
from tests.conftest import ROOT

RESULTS = ROOT / "benchmarks" / "results"
FACTS = {"command": "python -m benchmarks.model", "commit": "abc", "device": "NVIDIA H100"}


@pytest.fixture
def stored(tmp_path):
    """A copy of the stored measurements, without those of a GPU."""
    shutil.copytree(RESULTS / "cpu", tmp_path / "cpu")
    (tmp_path / "gpu").mkdir()
    return tmp_path


def store(folder, name, rows, **facts):
    content = FACTS | {"repeats": 2, "rounds": 2, "size": "B", "image_size": 224, "batch": 8, "dtype": "bf16"}
    (folder / "gpu" / f"{name}.json").write_text(json.dumps(content | {"rows": rows} | facts))


def measured(model, seconds, memory=100, **more):
    row = {"name": model, "frames": 8, "params": 1, "macs": 10**9, "train_memory": memory, "forward_seconds": 1.0}
    row |= {"forward_clips_per_second": 8.0, "train_seconds": seconds, "train_clips_per_second": 8 / seconds}
    return row | {"forward_of_peak": 0.5, "train_of_peak": 0.625} | more


def test_the_page_is_up_to_date(capsys):
    assert main(["--check"]) == 0, capsys.readouterr().out


def test_the_page_is_of_what_is_stored_and_says_what_was_not_run(stored, capsys):
    (stored / "cpu" / "long.json").unlink()
    assert main(["--check", "--results", str(stored)]) == 1
    assert "out of date; run python -m benchmarks.performance" in capsys.readouterr().out
    for line in (
        "No GPU has been measured yet.",
        "Parity with the released code: not run.",
        "## Long clips\n\nnot run",
    ):
        assert line in page(stored)


def test_what_a_gpu_measured_is_shown(stored):
    rows = [
        measured("spatial-only", 1.0),
        measured("X-ViT", 1.01, memory=101, against="spatial-only", forward_ratio=1.0, train_ratio=0.987, note="one"),
        {"name": "HF T+S", "left_out": "transformers is not installed"},
    ]
    store(stored, "model_bf16", rows)
    store(stored, "model_fp32", [measured("X-ViT", 3.03)])
    layers = [{"name": "window 1", "forward_seconds": 0.00125, "forward_ratio": 1 / 1.125}]
    store(stored, "mixing", layers, rounds=15, side=14)
    rows = [{"within": not i, "fp32_relative": 1e-6 * (i + 1), "bf16_relative": 0.1} for i in range(2)]
    store(stored, "parity", rows, tolerance="1e-5")
    text = page(stored)
    for line in (
        "| X-ViT | 8 | 1 | 1.000 | 8 | 50 % | 1.010 | 7.92 | 62 % | 0.00 GiB | spatial-only | 1.00 | 0.99 |  |",
        "- HF T+S: left out: transformers is not installed",
        "- X-ViT: one",
        "**ViT-B/16, 8 x 224, batch 8, bf16, NVIDIA H100, medians of 15;",
        "| window 1 | 1.250 | 1.125 |",
        "Parity with the released code: 1 of 2 within 1e-5; largest 2e-06, 10.0%; NVIDIA H100, commit abc.",
    ):
        assert line in text


def test_measurements_of_a_cpu_and_damaged_ones_are_refused(stored):
    store(stored, "model_bf16", [measured("X-ViT", 1.0)], device="AMD EPYC, 2 threads")
    with pytest.raises(UserError, match=r"model_bf16\.json: made on AMD EPYC, 2 threads, no GPU"):
        page(stored)
    (stored / "gpu" / "model_bf16.json").write_text("{")
    with pytest.raises(UserError, match=r"model_bf16\.json: damaged"):
        page(stored)
