"""Saving at W&B, against a stand-in for its server on this machine: what is sent, and how a refusal is reported.

The stand-in answers the few queries of the library; these tests do not show that W&B draws what it is sent.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from lit_video.__main__ import main
from tests.conftest import ROOT

VIEWER = {"id": "1", "entity": "us", "username": "us", "email": "", "flags": "{}", "teams": {"edges": []}}


class StandIn(BaseHTTPRequestHandler):
    """Answers with what the query asks for, and remembers the views that it is given."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        request = json.loads(body) if body.startswith(b"{") else {"query": ""}
        query, variables = request["query"], request.get("variables") or {}
        answer = {"data": self.answer(query, variables)}
        if "upsertView" in query and self.server.refusal:
            answer = {"data": None, "errors": [{"message": self.server.refusal}]}
        text = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def answer(self, query, variables):
        if "upsertView" in query:
            self.server.views.append(variables)
            view = {"id": "Vmlldzox", "name": variables["name"], "displayName": variables["displayName"], "spec": "{}"}
            view |= {"type": variables["type"], "description": "", "updatedAt": None}
            view["project"] = {"id": "1", "name": variables["projectName"], "entityName": variables["entityName"]}
            return {"upsertView": {"view": view, "inserted": True}}
        if "viewer" in query:
            return {"viewer": VIEWER}
        if "internalId" in query:
            return {"project": {"internalId": "cHJvamVjdDo3"}}
        if "models" in query:
            node = {
                "id": "1",
                "name": "mine",
                "entityName": "us",
                "createdAt": "2026-01-01T00:00:00Z",
                "isBenchmark": False,
                "user": None,
            }
            page = {"endCursor": None, "hasNextPage": False}
            return {"models": {"edges": [{"node": node, "cursor": ""}], "pageInfo": page}}
        return {}

    def log_message(self, *args):
        """Say nothing."""


@pytest.fixture
def server():
    server = ThreadingHTTPServer(("127.0.0.1", 0), StandIn)
    server.views, server.refusal = [], None
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def save(server, tmp_path, monkeypatch, capfd):
    """Save a dashboard: the exit status, what is printed, and the lines of errors."""

    def run(*flags):
        monkeypatch.chdir(ROOT)
        address = f"http://127.0.0.1:{server.server_address[1]}"
        for name, value in (("BASE_URL", address), ("API_KEY", "k" * 40), ("ERROR_REPORTING", "false")):
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
