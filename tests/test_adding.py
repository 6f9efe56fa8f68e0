"""Test that the example of docs/adding.md makes a scheme exactly as printed."""

import re
import sys

import torch

from lit_video.modules import TimeSformer
from lit_video.network.vit import ViTSize
from lit_video.schemes.contract import check_contract
from lit_video.schemes.own_classes import import_scheme
from tests.attention import scheme_cases
from tests.attention.test_scheme_oracles import test_equals_its_index_sets_written_as_loops as equals_loops
from tests.conftest import ROOT

PAGE = (ROOT / "docs/adding.md").read_text().partition("## A data set")[0]
BLOCKS = dict(re.findall(r"```python\n# (\S+)\n(.*?)```", PAGE, re.DOTALL))


def test_the_example_of_a_scheme_equals_its_index_sets_written_as_loops(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    monkeypatch.setitem(scheme_cases.CASES, "even_frames", None)  # removed after the test
    (tmp_path / "my_scheme.py").write_text(BLOCKS["my_scheme.py"])
    name = import_scheme(str(tmp_path / "my_scheme.py"))
    exec(BLOCKS["tests/attention/scheme_cases.py"], dict(vars(scheme_cases)))
    case = scheme_cases.CASES["even_frames"]
    assert name == "my_scheme.EvenFrames" and not check_contract(case.factory).faults
    equals_loops("even_frames", case.grid, scheme_cases.HEADS)
    model = TimeSformer(5, 4, 16, size=ViTSize(16, 1, 2), patch_size=8, attention_type=name)
    assert model(torch.zeros(2, 3, 4, 16, 16)).shape == (2, 5)
