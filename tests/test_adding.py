"""The example of docs/adding.md, taken as it is printed, makes a scheme."""

import re
import sys
from types import ModuleType

import torch

from lit_video.modules import TimeSformer
from lit_video.network.timesformer import SCHEMES
from lit_video.network.vit import ViTSize
from tests.attention import scheme_cases
from tests.attention.test_scheme_oracles import test_equals_its_index_sets_written_as_loops as equals_loops
from tests.conftest import ROOT

PAGE = (ROOT / "docs/adding.md").read_text()
BLOCKS = re.findall(r"```python\n# (\S+)\n(.*?)```", PAGE, re.DOTALL)


def test_the_example_of_a_scheme_equals_its_index_sets_written_as_loops(monkeypatch):
    assert len(BLOCKS) == len(re.findall("```python", PAGE)) == 3
    module, cases = ModuleType("lit_video.attention.even_frames"), dict(vars(scheme_cases))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(scheme_cases.CASES, "even_frames", None)  # taken away again
    monkeypatch.setitem(SCHEMES, "even_frames", None)
    for (_, code), names in zip(BLOCKS, (vars(module), {"SCHEMES": SCHEMES}, cases), strict=True):
        exec(code, names)
    equals_loops("even_frames", scheme_cases.CASES["even_frames"].grid)
    model = TimeSformer(5, 4, 16, ViTSize(16, 1, 2), 8, attention="even_frames")
    assert model(torch.zeros(2, 3, 4, 16, 16)).shape == (2, 5)
