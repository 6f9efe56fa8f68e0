"""Test the wheel in an environment of its own, outside of the repository, with run-time dependencies only.

``make wheel-test PYTHON=python3.13``: needs the package index and 6 GB; ``WHEEL_PYTHON`` is the interpreter.
"""

import os
import subprocess
import sys
import zipfile

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.wheel
COMMANDS = {
    "fit --config ablation_tw --config scale/embedded_wide --print-config": "class_path: lit_video.modules.XViT",
    f"table --config ablation_tw --runs {ROOT / 'benchmarks/results'}": "t_w = 1",
    "cost --config ablation_tw": "t_w = 2",
    "weights": "timesformer-k400",
    "doctor": "problems: 0",
    "sweep skills causal --status": "not started",
}


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Interpreter of the environment, a folder to work in, and the wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    python = os.environ.get("WHEEL_PYTHON") or sys.executable
    subprocess.run([python, "-m", "venv", folder / "env"], check=True)
    pip = [folder / "env/bin/python", "-m", "pip", "--quiet", "--disable-pip-version-check", "--no-cache-dir"]
    subprocess.run(["git", "clone", "--quiet", ROOT, folder / "clone"], check=True)
    subprocess.run([*pip, "wheel", "--no-deps", folder / "clone", "-w", folder / "dist"], check=True)
    (wheel,) = (folder / "dist").glob("*.whl")
    subprocess.run([*pip, "install", wheel, "-c", ROOT / "constraints.txt"], check=True)
    (folder / "work").mkdir()
    return folder / "env/bin/python", folder / "work", wheel


def test_the_wheel_has_every_file_that_is_no_code(installed):
    names = zipfile.ZipFile(installed[2]).namelist()
    given = [path for path in ROOT.glob("experiments/**/*.yaml")]
    assert {f"lit_video/{path.relative_to(ROOT)}" for path in given} <= {*names} and "lit_video/py.typed" in names
    assert not [name for name in names if name.startswith("tests")]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_runs_outside_of_the_repository(command, installed):
    python, work, _ = installed
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    environment = kept | {"HOME": str(work), "LIT_VIDEO_DATA": str(work / "data"), "WANDB_MODE": "offline"}
    line = [python, "-m", "lit_video", *command.split()]
    done = subprocess.run(line, cwd=work, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert COMMANDS[command] in done.stdout
    assert str(ROOT / "lit_video") not in done.stdout + done.stderr
