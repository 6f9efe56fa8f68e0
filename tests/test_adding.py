"""The example of docs/adding.md, taken as it is printed, makes a scheme."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from tests.conftest import FOUR_SKILLS, ROOT

PAGE = (ROOT / "docs/adding.md").read_text()


@pytest.fixture(scope="module")
def copy_with_the_scheme(tmp_path_factory):
    """A copy of the code in which the page's blocks are put, as printed, at the end of the files that they name."""
    copy = tmp_path_factory.mktemp("copy")
    for name in ("lit_video", "tests/attention", "experiments"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "tests/__init__.py", "tests/conftest.py", "tests/fake_runs.py"):
        shutil.copy(ROOT / name, copy / name)
    blocks = re.findall(r"```python\n# (\S+)\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) == len(re.findall("```python", PAGE)) == 3
    for name, code in blocks:
        with (copy / name).open("a", encoding="utf-8") as file:
            file.write(f"\n\n{code}")
    return copy


def python(copy, *args):
    command = [sys.executable, *map(str, args)]
    done = subprocess.run(command, cwd=copy, env=os.environ | {"PYTHONPATH": str(copy)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_example_of_a_scheme_passes_the_tests_of_schemes(copy_with_the_scheme):
    command = ["-m", "pytest", "-q", "-o", "addopts=", "-p", "no:cacheprovider", "tests/attention", "-k", "even_frames"]
    output = python(copy_with_the_scheme, *command)
    assert int(re.search(r"(\d+) passed", output)[1]) >= 8


def test_the_example_of_a_scheme_trains_from_the_command_line(copy_with_the_scheme, tiny, tmp_path):
    flags = [*tiny, "--data.image_size=32", "--model.attention=even_frames", "--trainer.fast_dev_run=true"]
    flags += [FOUR_SKILLS, "--model.image_weights=null"]
    table = "experiments/timesformer_positions.yaml"
    command = ["-m", "lit_video", "fit", "--config", table, "--row", "space_time", "--runs", tmp_path]
    python(copy_with_the_scheme, *command, *flags)
