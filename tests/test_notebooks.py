"""Test that the notebooks run from top to bottom, show pictures, and are kept without outputs."""

import ast
import os
import re
import runpy
from importlib import import_module
from inspect import signature

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from tests.conftest import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
PICTURES = {  # the smallest number of pictures
    "1_attention_schemes": 4,
    "2_video_to_prediction": 2,
    "3_reading_a_table": 6,
    "4_train_a_row_in_python": 1,
    "5_everything_in_python": 1,
}

strip = runpy.run_path(str(ROOT / "notebooks" / "strip_outputs.py"))["main"]
every_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


@pytest.mark.slow
@every_notebook
def test_it_runs_from_top_to_bottom(path, data_root, tmp_path, monkeypatch):
    monkeypatch.setenv("LIT_VIDEO_DATA", str(data_root))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": tmp_path}})
    try:
        client.execute()
    except CellExecutionError as error:
        pytest.fail(f"{path.name}: {error}", pytrace=False)  # holds the cell's source and its traceback
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    shown = [kind for output in outputs for kind in output.get("data", {}) if kind.startswith("image/")]
    assert len(shown) >= PICTURES[path.stem]
    errors = "".join(output.text for output in outputs if output.output_type == "stream" and output.name == "stderr")
    assert "Warning" not in errors


@every_notebook
def test_it_is_kept_without_outputs_and_places(path):
    assert not re.search(r"/(home|tmp|root|work|Users|mnt)\b", path.read_text())
    assert strip([str(path)]) == 0


@every_notebook
def test_calls_fit_the_signatures(path):
    """Check in a moment what the run of a notebook checks in minutes: that its calls of this package are possible."""
    cells = [cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    tree = ast.parse("\n".join(line for cell in cells for line in cell.splitlines() if not line.startswith("%")))
    names = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module.startswith("lit_video"):
            for alias in node.names:
                names[alias.asname or alias.name] = getattr(import_module(node.module), alias.name)

    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
            splats = any(isinstance(argument, ast.Starred) for argument in node.args)
            if splats or any(keyword.arg is None for keyword in node.keywords):
                continue
            keywords = {keyword.arg: None for keyword in node.keywords}
            signature(names[node.func.id]).bind(*node.args, **keywords)
