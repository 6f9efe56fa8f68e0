"""Test the workspace and the report sent to W&B, with a local stand-in for its server; mistakes in one line."""

import json
import re
from pathlib import Path

import pytest
import wandb

from lit_video.__main__ import main
from lit_video.api import dashboard
from lit_video.reports.wandb import panels
from lit_video.tables.reading import read_table
from tests.conftest import ROOT
from tests.training.wandb_server import keys_of, wandb_server


@pytest.fixture(autouse=True)
def in_the_repository(monkeypatch, tmp_path):
    """Repository as the working directory, and no W&B key."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("WANDB_API_KEY", raising=False)


@pytest.fixture
def save(monkeypatch, capfd):
    """Function that saves a dashboard at a server that may refuse: exit status, sent views, printed text."""

    def run(*flags, refusal=None):
        with wandb_server() as server:
            server.refusal = refusal
            for name, value in (("BASE_URL", server.url), ("API_KEY", "k" * 40), ("ERROR_REPORTING", "false")):
                monkeypatch.setenv(f"WANDB_{name}", value)
            status = main(["dashboard", "experiments/ablation_tw.yaml", "--project", "mine", *flags])
            return status, server.views, capfd.readouterr()

    yield run
    wandb.teardown()  # wandb would keep this environment for later runs in this process


def strings(node, key):
    """Yield every value under a key, anywhere in a JSON document."""
    if isinstance(node, dict):
        yield from (value for name, value in node.items() if name == key)
        node = list(node.values())
    for part in node if isinstance(node, list) else ():
        yield from strings(part, key)


def test_saving_sends_a_workspace_and_a_report_that_look_up_the_keys_of_their_panels(save):
    status, views, printed = save()
    assert status == 0, printed.err
    assert re.findall("(\\w+): http://127.0.0.1:", printed.out) == ["workspace", "report"]
    assert {(view["entityName"], view["projectName"]) for view in views} == {("us", "mine")}, "the key's own entity"
    workspace, report = (json.loads(view["spec"]) for view in views)
    (runs,) = next(strings(report, "runSets"))
    assert runs["project"] == {"name": "mine", "entityName": "us", "id": "cHJvamVjdDo3"}
    sections = panels([read_table([Path("experiments/ablation_tw.yaml")])], "row").values()
    expected = {key for section in sections for panel in section for key in keys_of(panel)} | {"config scheme"}
    for page in (workspace, report):
        sent = {" ".join(key) for key in re.findall(r'"(config|summary):([\w/]+?)(?:\.value)?"', json.dumps(page))}
        assert {"config gmacs", "summary test/video_top1"} <= sent <= expected
        media = {f"media {key}" for keys in strings(page, "mediaKeys") for key in keys}
        assert {"media figures/confusion"} <= media <= expected


def test_a_preview_lists_every_panel_without_an_account(capsys):
    assert main(["dashboard", "experiments/ablation_tw.yaml", "--preview"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("Runs of ablation_tw at embedded, ")
    lines = printed.splitlines()
    sections = panels([read_table([Path("experiments/ablation_tw.yaml")])], "scheme")
    for name, some in sections.items():
        listed = [line for line in lines if line.startswith(f"{name}: ")]
        assert len(listed) == len(some)
        for line, panel in zip(listed, some, strict=True):
            assert all(key.split(" ", 1)[1] in line for key in keys_of(panel))


def test_a_refusal_is_reported_in_one_line(save):
    status, _, printed = save("--entity", "them", refusal="permission denied")
    assert status == 2
    errors = [line for line in printed.err.splitlines() if line.startswith("error: ")]
    assert errors and "permission denied" in errors[0]
    assert "Traceback" not in printed.err


def test_without_a_key_or_the_library_the_command_says_what_to_do(monkeypatch, capsys):
    assert main(["dashboard"]) == 2
    monkeypatch.setattr(dashboard, "find_spec", lambda name: None)
    assert main(["dashboard"]) == 2
    key, library = capsys.readouterr().err.splitlines()
    assert key.startswith("error: no W&B API key: run wandb login or set WANDB_API_KEY")
    assert "pip install 'lit_video[dashboard]'" in library
