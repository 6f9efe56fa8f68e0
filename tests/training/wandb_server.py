"""Stand-in for W&B's server that answers the few requests of a dashboard, or refuses."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import wandb_workspaces.reports.v2 as wr

PROJECT = {"id": "p", "name": "lit_video", "entity": {"id": "e", "name": "us"}}
VIEWER = {"id": "u", "entity": "us", "username": "us", "email": "", "flags": "{}", "teams": {"edges": []}}
MODEL = {"id": "1", "name": "mine", "entityName": "us", "createdAt": "2026-01-01T00:00:00Z", "isBenchmark": False}


class Answer(BaseHTTPRequestHandler):
    """Handler that keeps the views of a dashboard in ``server.views``, or refuses them with ``server.refusal``."""

    def do_GET(self):
        self.send(self.server.get, {})

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        if self.server.refusal and "upsertView" in request["query"]:
            self.send(200, {"data": None, "errors": [{"message": self.server.refusal}]})
        else:
            self.send(200, {"data": self.data(request["query"], request.get("variables") or {})})

    def data(self, query, variables):
        if "upsertView" in query:
            self.server.views.append(variables)
            view = {key: variables[key] for key in ("name", "displayName", "type")}
            view |= {"id": "Vmlldzox", "spec": "{}", "description": "", "updatedAt": None}
            view["project"] = {"id": "1", "name": variables["projectName"], "entityName": variables["entityName"]}
            return {"upsertView": {"view": view, "inserted": True}}
        if "internalId" in query:
            return {"project": {"internalId": "cHJvamVjdDo3"}}
        if "models" in query:
            page = {"endCursor": None, "hasNextPage": False}
            return {"models": {"edges": [{"node": MODEL | {"user": None}, "cursor": ""}], "pageInfo": page}}
        return {"viewer": VIEWER}

    def send(self, status, content):
        text = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *args):
        """Say nothing."""


@contextmanager
def wandb_server(get=200):
    """Run a server at its ``url``; ``get`` is the HTTP status of its pages."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    server.daemon_threads, server.block_on_close = True, False
    server.get, server.refusal, server.views = get, None, []
    server.url = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def keys_of(panel):
    """Return the keys that a panel looks up: ``config KEY``, ``summary KEY``, ``metric KEY`` (both), ``media KEY``."""
    kinds = {wr.Config: "config", wr.SummaryMetric: "summary", wr.Metric: "metric", str: "media"}
    keys = []
    for name in ("x", "y", "metrics", "columns", "groupby", "media_keys", "table_name"):
        value = getattr(panel, name, None) or []
        for part in value if isinstance(value, list | tuple) else [value]:
            key = getattr(part, "metric", part)  # a column's metric
            keys.append(f"{kinds[type(key)]} {getattr(key, 'name', key)}")
    return keys
