"""Test imports: light commands load nothing heavy, no circles; pyproject.toml has the contract of packages."""

import ast
import re
import subprocess
import sys
import tomllib
from graphlib import TopologicalSorter
from importlib.metadata import packages_distributions

import grimp
import pytest

from tests.conftest import EXPERIMENTS, ROOT

PACKAGE = ROOT / "lit_video"

HEAVY = """
import sys
def loaded(*names):
    return {"torch", "lightning", "matplotlib", "av", "scipy", *names} & sys.modules.keys()
"""
IMPORTS = """
import lit_video
assert not loaded("wandb", "numpy", "yaml"), loaded("wandb", "numpy", "yaml")
import pkgutil
from importlib import import_module
from lit_video import __main__, api, commands, reports, runs, tables
packages = (runs, tables, api, commands, reports)
names = [m.name for p in packages for m in pkgutil.walk_packages(p.__path__, f"{p.__name__}.")]
assert len(names) > 25, names
for name in names:
    import_module(name)
    assert not loaded(), (name, loaded())
    # workspaces and reports are made with W&B's own classes
    assert "lit_video.reports.wandb" in sys.modules or not loaded("wandb"), name
"""
COMMANDS = """
import shlex
from lit_video.__main__ import main
for line in sys.argv[1].splitlines():
    expected, *command = shlex.split(line)
    try:
        status = main(command)
    except SystemExit as stop:  # --help
        status = stop.code
    assert status == int(expected), (line, status)
    # intervals and ranks of results wait for SciPy, for a second; a report draws too
    results = {"scipy", "scipy.stats"} if "benchmarks/results" in command else set()
    allowed = {"report": {"matplotlib", "scipy", "scipy.stats"}, "table": results}
    assert not loaded("scipy.stats") - allowed.get(command[0], set()), (line, loaded("scipy.stats"))
"""


def test_light_commands_load_nothing_heavy(fake_runs, tiny, tmp_path):
    """Import every module of commands, runs, tables and reports, and run commands without a model, in one process."""
    lines = f"""\
0 --help
0 --version
0 predict --help
2 predict --ckpt x y --top 0
0 attention --help
2 data
0 data check --help
0 data prepare --help
0 table --config experiments/ablation_tw.yaml --runs {tmp_path}
0 table --config experiments/ablation_tw.yaml --runs benchmarks/results
0 report {fake_runs} -o {tmp_path / "x.html"} --experiments {EXPERIMENTS}"""
    command = [sys.executable, "-c", HEAVY + IMPORTS + COMMANDS, lines]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for text in ("--ckpt", "--top", "--decode", "--short-side", "t_w = 1"):
        assert text in done.stdout


def test_no_modules_import_each_other_in_a_circle():
    graph = grimp.build_graph("lit_video", cache_dir=None)
    TopologicalSorter({name: graph.find_modules_directly_imported_by(name) for name in graph.modules}).prepare()


@pytest.mark.parametrize("module", sorted(path.stem for path in (PACKAGE / "utils").glob("[a-z]*.py")))
def test_utils_are_used_by_two_packages_or_more(module):
    name = f"lit_video.utils.{module} import"
    users = {path.relative_to(PACKAGE).parts[0] for path in PACKAGE.rglob("*.py") if name in path.read_text()}
    assert len(users - {"utils"}) >= 2 or users == {"__init__.py"}  # the whole package


def test_libraries_that_are_imported_are_declared():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].values()
    lines = [*project["dependencies"], *(line for extra in extras for line in extra)]
    declared = {re.split(r"[>=\[]", line)[0].lower().replace("-", "_") for line in lines}
    nodes = [node for path in PACKAGE.rglob("*.py") for node in ast.walk(ast.parse(path.read_text()))]
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
    packages, installed = {name.partition(".")[0] for name in names}, packages_distributions()
    used = {name: {each.lower().replace("-", "_") for each in installed.get(name, [])} for name in packages}
    missing = {name for name, of in used.items() if of and not of & declared}
    assert not missing
