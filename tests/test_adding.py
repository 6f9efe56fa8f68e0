"""The example of docs/adding.md, taken as it is printed, makes a scheme."""

import os
import re
import shutil
import subprocess
import sys
from types import ModuleType

import pytest
import torch

from lit_video.modules import TimeSformer
from lit_video.network.timesformer import SCHEMES
from lit_video.network.vit import ViTSize
from tests.attention import scheme_cases
from tests.attention.test_scheme_oracles import test_equals_its_index_sets_written_as_loops as equals_loops
from tests.conftest import FOUR_SKILLS, ROOT

PAGE = (ROOT / "docs/adding.md").read_text()
BLOCKS = re.findall(r"```python\n# (\S+)\n(.*?)```", PAGE, re.DOTALL)


def test_the_example_of_a_scheme_equals_its_index_sets_written_as_loops(monkeypatch):
    """The page's blocks in this process; the slow tests put them into a copy, run all tests of schemes, and train."""
    module, cases = ModuleType("lit_video.attention.even_frames"), dict(vars(scheme_cases))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(scheme_cases.CASES, "even_frames", None)  # taken away again
    monkeypatch.setitem(SCHEMES, "even_frames", None)
    for (_, code), names in zip(BLOCKS, (vars(module), {"SCHEMES": SCHEMES}, cases), strict=True):
        exec(code, names)
    equals_loops("even_frames", scheme_cases.CASES["even_frames"].grid)
    model = TimeSformer(5, 4, 16, ViTSize(16, 1, 2), 8, attention="even_frames")
    assert model(torch.zeros(2, 3, 4, 16, 16)).shape == (2, 5)


@pytest.fixture(scope="module")
def copy_with_the_scheme(tmp_path_factory):
    """A copy of the code in which the page's blocks are put, as printed, at the end of the files that they name."""
    copy = tmp_path_factory.mktemp("copy")
    for name in ("lit_video", "tests/attention", "experiments"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "tests/__init__.py", "tests/conftest.py", "tests/fake_runs.py"):
        shutil.copy(ROOT / name, copy / name)
    assert len(BLOCKS) == len(re.findall("```python", PAGE)) == 3
    for name, code in BLOCKS:
        with (copy / name).open("a", encoding="utf-8") as file:
            file.write(f"\n\n{code}")
    return copy


def python(copy, *args):
    command = [sys.executable, *map(str, args)]
    done = subprocess.run(command, cwd=copy, env=os.environ | {"PYTHONPATH": str(copy)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_example_of_a_scheme_passes_the_tests_of_schemes(copy_with_the_scheme):
    command = ["-m", "pytest", "-q", "-o", "addopts=", "-p", "no:cacheprovider", "tests/attention", "-k", "even_frames"]
    output = python(copy_with_the_scheme, *command)
    assert int(re.search(r"(\d+) passed", output)[1]) >= 8


@pytest.mark.slow
def test_the_example_of_a_scheme_trains_from_the_command_line(copy_with_the_scheme, tiny, tmp_path):
    flags = [*tiny, "--data.image_size=32", "--model.attention=even_frames", "--trainer.fast_dev_run=true"]
    flags += [FOUR_SKILLS, "--model.image_weights=null"]
    table = "experiments/timesformer_positions.yaml"
    command = ["-m", "lit_video", "fit", "--config", table, "--row", "space_time", "--runs", tmp_path]
    python(copy_with_the_scheme, *command, *flags)
