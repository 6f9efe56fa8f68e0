"""Test that docs/scaling.md is the output of docs/scripts/scaling_page.py for stored counts and measurements."""

import sys
from argparse import Namespace
from runpy import run_path

import pytest

from lit_video.errors import UserError
from tests.conftest import ROOT

SCRIPT = ROOT / "docs/scripts/scaling_page.py"
SCALING = run_path(str(SCRIPT))
GIVEN = Namespace(tflops=1.0, share=0.5, bandwidth=1.0, operator=10e-6)


def test_the_page_is_up_to_date(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["scaling_page.py", "--check"])
    assert SCALING["main"]() == 0

    other = tmp_path / "page.md"
    other.write_text("another\n")
    monkeypatch.setattr(sys, "argv", ["scaling_page.py", "--check", "-o", str(other)])
    assert SCALING["main"]() == 1


def test_a_step_by_hand():
    row = {"macs": 10**9, "global_batch": 8, "parameters": 10**8, "operators": 1000}
    assert SCALING["step"](row, 1, GIVEN) == pytest.approx(6 * 8 / 500)
    assert SCALING["step"](row, 4, GIVEN) == pytest.approx(6 * 2 / 500 + 1.5 * 0.4)
    assert SCALING["step"](row | {"operators": 10**4}, 8, GIVEN) == pytest.approx(0.1 + 1.75 * 0.4)


def test_where_a_step_waits_for_its_operators():
    row = {"macs": 10**9, "global_batch": 64, "operators": 1000, "share": 0.5}  # 0.768 s of products on one GPU
    given = Namespace(tflops=1.0, share=None, operator=0.1e-3)
    assert SCALING["starting"](row, given) == 8


def test_a_measurement_of_another_kind_is_refused(tmp_path, monkeypatch):
    for file in (ROOT / "benchmarks/results/gpu").glob("*.json"):
        (tmp_path / file.name).write_text(file.read_text().replace("NVIDIA H200", f"GPU of {file.stem}"))
    monkeypatch.setitem(SCALING["measured"].__globals__, "GPU", tmp_path)
    with pytest.raises(UserError, match=r"long.json: its device is GPU of long, expected GPU of model_bf16"):
        SCALING["measured"]({}, 1.0)
