"""Test that docs/a_row.md names what a run reaches, in this order."""

import re
from pathlib import Path

import pytest

import lit_video
from benchmarks.walk import traced
from lit_video.__main__ import main
from tests.conftest import ROOT

PAGE = (ROOT / "docs/a_row.md").read_text(encoding="utf-8")
PACKAGE = Path(lit_video.__file__).parent


@pytest.mark.slow
def test_its_steps_are_those_of_a_run_in_their_order(tiny, tmp_path):
    steps = re.findall(r"^\d+\. `(lit_video/[\w/]+\.py)`: `([\w.]+)`", PAGE, re.MULTILINE)
    row = ["--config", "tests/small/ablation_tw.yaml", "--row", "tw1", "--runs", str(tmp_path)]

    reached, _ = traced(lambda: main(["fit", *row, *tiny, "--trainer.max_epochs=1", "--trainer.logger=false"]), PACKAGE)

    assert [*tmp_path.rglob("predictions.npz")], "the run has no result"
    assert [step for step in steps if step not in reached] == []
    assert steps == sorted(steps, key=reached.index)


def test_its_picture_names_steps():
    picture = PAGE.split("```")[1]
    names = re.findall(r"^[ │├└─]*([\w.]+) ", picture, re.MULTILINE)
    text = PAGE.replace(picture, "")

    assert len(names) > 10
    assert [name for name in names if f"`{name.rpartition('.')[2]}" not in text] == []
