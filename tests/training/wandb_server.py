"""A stand-in for W&B's server that answers the few requests of a run or a dashboard, or fails; it draws nothing."""

import gzip
import json
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import wandb_workspaces.reports.v2 as wr

PROJECT = {"id": "p", "name": "lit_video", "entity": {"id": "e", "name": "us"}}
VIEWER = {"id": "u", "entity": "us", "username": "us", "email": "", "flags": "{}", "teams": {"edges": []}}
MODEL = {"id": "1", "name": "mine", "entityName": "us", "createdAt": "2026-01-01T00:00:00Z", "isBenchmark": False}


class Answer(BaseHTTPRequestHandler):
    """``server.fault`` is what every POST gets: an HTTP status, ``hang``, or None; rows are kept by their offset.

    ``server.refusal`` is why no view of a dashboard is saved; those that were sent are in ``server.views``.
    """

    def do_GET(self):
        self.send(self.server.get, {})

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body
        if self.server.fault == "hang":
            time.sleep(100)
            return
        request = json.loads(body) if body.startswith(b"{") else {}
        self.server.requests.append(request)
        refusal = self.server.refusal if "upsertView" in request.get("query", "") else None
        if message := "no" if self.server.fault else refusal:
            self.send(self.server.fault or 200, {"data": None, "errors": [{"message": message}]})
        elif self.path.endswith("file_stream"):
            self.keep(request.get("files", {}).get("wandb-history.jsonl", {"offset": 0, "content": []}))
            self.send(200, {"exitcode": None, "limits": {}})
        else:
            self.send(200, {"data": self.data(request.get("query", ""), request.get("variables") or {})})

    do_PUT = do_POST

    def keep(self, sent):
        for line, text in enumerate(sent["content"], sent["offset"]):
            self.server.overwritten += line in self.server.history
            self.server.history[line] = json.loads(text)

    def data(self, query, variables):
        if "RunResumeStatus" in query:
            return {"model": PROJECT | {"bucket": self.bucket()}}
        if "UpsertBucket" in query:
            bucket = {"id": "b", "name": variables["name"], "historyLineCount": len(self.server.history)}
            return {"upsertBucket": {"bucket": bucket | {"project": PROJECT}, "inserted": True}}
        if "CreateRunFiles" in query:
            url = f"http://127.0.0.1:{self.server.server_address[1]}/storage"
            files = [{"name": name, "uploadUrl": url} for name in variables["files"]]
            return {"createRunFiles": {"runID": "b", "uploadHeaders": [], "files": files}}
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

    def bucket(self):
        """What the server knows of the run: nothing, or the rows that it was sent."""
        history = self.server.history
        if not history:
            return None
        last = {"_step": history[max(history)]["_step"]}
        known = {"name": "x", "config": "{}", "summaryMetrics": json.dumps(last), "tags": [], "eventsTail": "[]"}
        known |= {"historyLineCount": len(history), "eventsLineCount": 0, "logLineCount": 0}
        return known | {"historyTail": json.dumps([json.dumps(last | {"_runtime": 1})]), "wandbConfig": '{"t": 1}'}

    def send(self, status, content):
        text = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *args):
        """Say nothing."""


@contextmanager
def wandb_server(fault=None, get=200):
    """A server and, as ``url``, where it is; ``get`` is the HTTP status of its pages."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    server.daemon_threads, server.block_on_close = True, False
    server.get, server.fault, server.refusal = get, fault, None
    server.requests, server.history, server.overwritten, server.views = [], {}, 0, []
    server.url = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def keys_of(panel):
    """Keys that a panel looks up in runs: ``config KEY``, ``summary KEY``, ``metric KEY`` (in both), ``media KEY``."""
    kinds = {wr.Config: "config", wr.SummaryMetric: "summary", wr.Metric: "metric", str: "media"}
    keys = []
    for name in ("x", "y", "metrics", "columns", "groupby", "media_keys", "table_name"):
        value = getattr(panel, name, None) or []
        for part in value if isinstance(value, list | tuple) else [value]:
            key = getattr(part, "metric", part)  # a column's metric
            keys.append(f"{kinds[type(key)]} {getattr(key, 'name', key)}")
    return keys
