"""Completion in the shell, asked as bash asks after the line of docs/recipes.md, without torch."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import argcomplete
import pytest

from tests.conftest import ROOT

EXPECTED = {
    "lit_video fi": {"finetune", "fit"},
    "lit_video data ": {"--help", "check", "prepare"},
    "lit_video fit --re": {"--recipe", "--reuse"},
    "lit_video fit --config experiments/ablation_t": {"experiments/ablation_ta.yaml", "experiments/ablation_tw.yaml"},
    "lit_video table --format j": {"json"},
    "lit_video nothing --": {"--help", "--version"},
    "python -m lit_video fit --see": {"--seeds"},
}
PROGRAM = """\
# PYTHON_ARGCOMPLETE_OK
import sys
sys.modules["torch"] = None
from lit_video.__main__ import run
run()
"""


@pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")
@pytest.mark.parametrize("typed", EXPECTED)
def test_a_line_is_completed(typed, tmp_path):
    (line,) = [line for line in (ROOT / "docs/recipes.md").read_text().splitlines() if line.startswith("eval ")]
    words = typed.split(" ")
    command = tmp_path / "lit_video"  # as pip makes it, and torch cannot be imported
    command.write_text(f"#!{sys.executable}\n{PROGRAM}")
    command.chmod(0o755)
    script = f"""{line}
COMP_WORDS=({shlex.join(words)}) COMP_CWORD={len(words) - 1} COMP_LINE='{typed}' COMP_TYPE=9
COMP_POINT=${{#COMP_LINE}}
_python_argcomplete_global {words[0]} 2>/dev/null
echo "${{COMPREPLY[*]}}"
"""
    package = Path(argcomplete.__file__).parents[1]
    places = [tmp_path, Path(sys.executable).parent, package / "bin"]
    path = os.pathsep.join([*map(str, places), os.environ["PATH"]])
    environment = os.environ | {"PATH": path, "PYTHONPATH": os.pathsep.join([str(ROOT), str(package)])}
    done = subprocess.run(["bash", "-c", script], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert set(done.stdout.split()) == EXPECTED[typed], done.stderr
