"""The commands of the README exist and work."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lit_video.__main__ import main
from lit_video.commands.arguments import parse_request
from lit_video.training.cli import CheckCLI
from tests.conftest import FOUR_SKILLS

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
COMMANDS = sorted(set(re.findall(r"python -m lit_video (fit [^`\n]+)", README)))


@pytest.mark.parametrize("command", COMMANDS)
def test_fit_commands_build_every_row(command, tiny, letters):
    request = parse_request(shlex.split(command.replace("DIR", str(letters)), comments=True)[1:])
    for row in request.rows:
        assert CheckCLI(request.row_args(row, 0)).model is not None


def test_the_readme_has_commands():
    assert len(COMMANDS) >= 2


@pytest.fixture(scope="module")
def copy_with_the_scheme(tmp_path_factory):
    """A copy of the code in which the README's blocks are put, as printed, at the end of the files that they name."""
    copy = tmp_path_factory.mktemp("copy")
    for name in ("lit_video", "tests/attention", "experiments"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "tests/__init__.py", "tests/conftest.py", "tests/fake_runs.py"):
        shutil.copy(ROOT / name, copy / name)
    blocks = re.findall(r"```python\n# (\S+)\n(.*?)```", README, re.DOTALL)
    assert len(blocks) == len(re.findall("```python", README)) == 3
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


def test_the_python_in_its_sentences_runs():
    """Names after ``import lit_video`` alone, imports, and the model, built without memory."""
    names = re.findall(r"`(lit_video\.[\w.]+)\(", README)
    imports = re.findall(r"`(from lit_video[\w.]* import \w+)`", README)
    (model,) = re.findall(r"`(lit_video\.modules\.XViT\([^`]*\))`", README)
    assert len(names) >= 4 and imports
    lines = ["import lit_video", *(f"assert callable({name})" for name in names), *imports, "import torch"]
    lines += ["with torch.device('meta'):", f"    {model}"]
    subprocess.run([sys.executable, "-c", "\n".join(lines)], cwd=ROOT, check=True)


@pytest.mark.parametrize("target", sorted(set(re.findall(r"make (\w[\w-]*)", README)) - {"the"}))
def test_make_targets_exist(target):
    assert re.search(rf"^{target}:.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE)


def test_the_table_is_what_the_command_prints(tiny, capsys):
    command = "table --config experiments/ablation_tw.yaml --runs benchmarks/results --format markdown"
    assert main(command.split()) == 0
    assert capsys.readouterr().out.strip() in README


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\(([^):]+)\)", README))))
def test_links_exist(link):
    assert (ROOT / link).exists()


CLUSTERS = (ROOT / "docs/clusters.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("command", re.findall(r"^(?:srun|torchrun) .* fit (--[^\n]+)", CLUSTERS, re.MULTILINE))
def test_fit_commands_for_clusters_name_one_row(command):
    assert parse_request(shlex.split(command)).single


@pytest.mark.parametrize("command", re.findall(r"^python -m lit_video (sweep [^\n]+)", CLUSTERS, re.MULTILINE))
def test_sweeps_for_clusters_are_understood(command, tmp_path, capsys):
    assert main([*shlex.split(command), "--runs", str(tmp_path), "--status"]) == 0
    assert re.search(r"(\d+) runs: \1 not started", capsys.readouterr().out)
