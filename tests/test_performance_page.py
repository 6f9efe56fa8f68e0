"""Test that docs/performance.md is made of the stored measurements, and that wrong or damaged ones are refused."""

import json
import shutil

import pytest

from benchmarks.performance import main, page
from lit_video.errors import UserError
from tests.conftest import ROOT

RESULTS = ROOT / "benchmarks" / "results"


def test_the_page_is_up_to_date(capsys):
    assert main(["--check"]) == 0, capsys.readouterr().out


def test_measurements_of_a_cpu_and_damaged_ones_are_refused(tmp_path):
    shutil.copytree(RESULTS / "cpu", tmp_path / "cpu")
    (tmp_path / "gpu").mkdir()
    file = tmp_path / "gpu" / "model_bf16.json"
    facts = {"command": "python -m benchmarks.model", "commit": "abc", "device": "AMD EPYC, 2 threads"}
    file.write_text(json.dumps(facts | {"rows": []}))
    with pytest.raises(UserError, match=r"model_bf16\.json: made on AMD EPYC, 2 threads, no GPU"):
        page(tmp_path)
    file.write_text("{")
    with pytest.raises(UserError, match=r"model_bf16\.json: damaged"):
        page(tmp_path)


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        *(("model_bf16", key, value) for key, value in (("dtype", "fp32"), ("size", "S"), ("frames", 16))),
        *(("model_fp32", key, value) for key, value in (("device", "NVIDIA A100"), ("batch", 8))),
        ("compile", "command", "python -m benchmarks.long"),
    ],
)
def test_measurements_of_another_script_setting_or_device_are_refused(name, key, value, tmp_path):
    shutil.copytree(RESULTS / "gpu", tmp_path / "gpu")
    file = tmp_path / "gpu" / f"{name}.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {key: value}))
    with pytest.raises(UserError, match=rf"{name}\.json: (its {key} is|made by) .*{value}"):
        page(tmp_path)
