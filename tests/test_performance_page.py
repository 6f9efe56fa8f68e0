"""docs/performance.md is made of the stored measurements; those that are damaged or misplaced are refused."""

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
