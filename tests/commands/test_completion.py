"""Completion in the shell, asked as bash asks."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import argcomplete
import pytest

from tests.conftest import ROOT

# a process for every line, without torch, whose import fails
ASK = """
import os, sys
sys.modules["torch"] = None
from lit_video.__main__ import run
for number, line in enumerate(sys.stdin.read().splitlines()):
    if os.fork() == 0:
        os.environ |= {"COMP_LINE": line, "COMP_POINT": str(len(line)), "_ARGCOMPLETE": "1"}
        os.environ["_ARGCOMPLETE_STDOUT_FILENAME"] = str(number)
        run()
        os._exit(0)
    assert os.wait()[1] == 0, line
"""


@pytest.fixture(scope="module")
def completed(tmp_path_factory):
    """What completes lines that are typed after ``lit_video``."""
    folder = tmp_path_factory.mktemp("completed")
    (folder / "experiments").symlink_to(ROOT / "experiments")
    lines = "\n".join(f"lit_video {typed}" for typed in LINES)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    subprocess.run([sys.executable, "-c", ASK], cwd=folder, env=environment, input=lines, text=True, check=True)
    answers = [folder / str(number) for number in range(len(LINES))]
    words = [answer.read_text().split("\013") if answer.exists() else [] for answer in answers]
    return {typed: {word.strip() for word in some} - {""} for typed, some in zip(LINES, words, strict=True)}


EXPECTED = {
    "fi": {"finetune", "fit"},
    "data ": {"--help", "check", "prepare", "stats"},
    "fit --re": {"--recipe", "--reuse"},
    "fit --config experiments/ablation_t": {"experiments/ablation_ta.yaml", "experiments/ablation_tw.yaml"},
    "table --format j": {"json"},
    "nothing --": {"--help", "--version"},
}
EVERY = "fit --"
LINES = [*EXPECTED, EVERY]


@pytest.mark.parametrize("typed", EXPECTED)
def test_a_line_is_completed(typed, completed):
    assert completed[typed] == EXPECTED[typed]


def test_options_that_only_describe_are_not_offered(completed):
    assert {"--config", "--row", "--seeds", "--runs", "--recipe", "--jobs", "--reuse"} <= completed[EVERY]
    assert all("X" not in option and " " not in option for option in completed[EVERY])


@pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")
@pytest.mark.parametrize("typed", ["lit_video", "python -m lit_video"])
def test_the_line_of_the_readme_switches_it_on(typed, tmp_path):
    (line,) = [line for line in (ROOT / "README.md").read_text().splitlines() if line.startswith("eval ")]
    line = line.partition("#")[0]
    words = [*typed.split(), "fit", "--see"]
    command = tmp_path / "lit_video"  # as pip makes it
    command.write_text(f"#!{sys.executable}\n# PYTHON_ARGCOMPLETE_OK\nfrom lit_video.__main__ import run\nrun()\n")
    command.chmod(0o755)
    script = f"""{line}
COMP_WORDS=({" ".join(words)}) COMP_CWORD={len(words) - 1} COMP_LINE='{" ".join(words)}' COMP_TYPE=9
COMP_POINT=${{#COMP_LINE}}
_python_argcomplete_global {words[0]} 2>/dev/null
echo "answer: ${{COMPREPLY[*]}}"
"""
    package = Path(argcomplete.__file__).parents[1]
    places = [tmp_path, Path(sys.executable).parent, package / "bin"]
    path = os.pathsep.join([*map(str, places), os.environ["PATH"]])
    environment = os.environ | {"PATH": path, "PYTHONPATH": os.pathsep.join([str(ROOT), str(package)])}
    done = subprocess.run(["bash", "-c", script], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.stdout.strip() == "answer: --seeds", done.stderr
