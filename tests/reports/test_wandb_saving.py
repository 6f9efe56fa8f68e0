"""Saving at W&B, against a stand-in for its server on this machine: what is sent, and how a refusal is reported."""

import json

import pytest

from lit_video.__main__ import main
from tests.conftest import ROOT
from tests.training.wandb_server import wandb_server


@pytest.fixture
def server():
    with wandb_server() as server:
        yield server


@pytest.fixture
def save(server, tmp_path, monkeypatch, capfd):
    """Save a dashboard: the exit status, what is printed, and the lines of errors."""

    def run(*flags):
        monkeypatch.chdir(ROOT)
        for name, value in (("BASE_URL", server.url), ("API_KEY", "k" * 40), ("ERROR_REPORTING", "false")):
            monkeypatch.setenv(f"WANDB_{name}", value)
        monkeypatch.setenv("HOME", str(tmp_path))
        status = main(["dashboard", "--table", "ablation_tw", "--project", "mine", *flags])
        printed = capfd.readouterr()
        return status, printed.out, printed.err

    return run


def without_ids(node):
    """A specification without the names that are new for each."""
    if isinstance(node, dict):
        return {key: without_ids(value) for key, value in node.items() if key not in {"id", "__id__", "ref"}}
    return [without_ids(part) for part in node] if isinstance(node, list) else node


def test_what_is_sent_is_what_the_dry_run_writes_with_the_project_in_every_set_of_runs(server, save, tmp_path):
    status, out, errors = save()
    assert status == 0, errors
    flags = ["--table", "ablation_tw", "--project", "mine", "-o", str(tmp_path / "dry")]
    assert main(["dashboard", "--dry-run", *flags]) == 0
    assert len(server.views) == 2
    for name, sent in zip(("workspace", "report"), server.views, strict=True):
        assert (sent["entityName"], sent["projectName"]) == ("us", "mine"), "the key's own entity"
        spec = json.loads(sent["spec"])
        if name == "report":
            (runs,) = (run for block in spec["blocks"] for run in block.get("metadata", {}).get("runSets", []))
            assert runs.pop("project") == {"name": "mine", "entityName": "us", "id": "cHJvamVjdDo3"}
        written = json.loads((tmp_path / "dry" / f"{name}.json").read_text())["spec"]
        assert without_ids(spec) == without_ids(written)
        assert f"{name}: http://127.0.0.1:" in out


def test_a_refusal_is_reported_in_one_line(server, save):
    server.refusal = "permission denied"
    status, _, printed = save("--entity", "them")
    assert status == 2
    errors = [line for line in printed.splitlines() if line.startswith("error: ")]
    assert errors and "permission denied" in errors[0]
    assert "Traceback" not in printed
