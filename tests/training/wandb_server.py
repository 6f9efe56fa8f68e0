"""A stand-in for the W&B server on this machine: it answers the few requests of a run or of a dashboard, or fails.

It does not show that W&B draws what it is sent.
"""

import gzip
import json
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PROJECT = {"id": "p", "name": "lit_video", "entity": {"id": "e", "name": "us"}}
VIEWER = {"id": "u", "entity": "us", "username": "us", "email": "", "flags": "{}", "teams": {"edges": []}}
MODEL = {"id": "1", "name": "mine", "entityName": "us", "createdAt": "2026-01-01T00:00:00Z"}
MODEL |= {"isBenchmark": False, "user": None}


class Answer(BaseHTTPRequestHandler):
    """``server.fault`` is what every POST gets: an HTTP status, ``hang``, or None; rows are kept by their offset.

    ``server.refusal`` is why no view of a dashboard is saved; those that were sent are in ``server.views``.
    """

    def do_GET(self):
        self.send(self.server.get, {})

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.answer(gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body)

    do_PUT = do_POST

    def answer(self, body):
        fault = self.server.fault
        if fault == "hang":
            time.sleep(100)
            return
        request = json.loads(body) if body.startswith(b"{") else {}
        self.server.requests.append((self.path, request))
        message = "no" if fault else self.server.refusal if "upsertView" in request.get("query", "") else None
        self.send(fault or 200, {"data": None, "errors": [{"message": message}]} if message else self.content(request))

    def content(self, request):
        if self.path.endswith("file_stream"):
            sent = request.get("files", {}).get("wandb-history.jsonl", {"offset": 0, "content": []})
            for line, text in enumerate(sent["content"], sent["offset"]):
                self.server.overwritten += line in self.server.history
                self.server.history[line] = json.loads(text)
            return {"exitcode": None, "limits": {}}
        query, variables = request.get("query", ""), request.get("variables") or {}
        if "RunResumeStatus" in query:
            return {"data": {"model": PROJECT | {"bucket": self.bucket()}}}
        if "UpsertBucket" in query:
            bucket = {"id": "b", "name": variables["name"], "historyLineCount": len(self.server.history)}
            return {"data": {"upsertBucket": {"bucket": bucket | {"project": PROJECT}, "inserted": True}}}
        if "CreateRunFiles" in query:
            url = f"http://127.0.0.1:{self.server.server_address[1]}/storage"
            files = [{"name": name, "uploadUrl": url} for name in variables["files"]]
            return {"data": {"createRunFiles": {"runID": "b", "uploadHeaders": [], "files": files}}}
        return {"data": self.of_a_dashboard(query, variables)}

    def of_a_dashboard(self, query, variables):
        """What saving a workspace or a report asks for; who asks, for a run too."""
        if "upsertView" in query:
            self.server.views.append(variables)
            view = {"id": "Vmlldzox", "name": variables["name"], "displayName": variables["displayName"], "spec": "{}"}
            view |= {"type": variables["type"], "description": "", "updatedAt": None}
            view["project"] = {"id": "1", "name": variables["projectName"], "entityName": variables["entityName"]}
            return {"upsertView": {"view": view, "inserted": True}}
        if "internalId" in query:
            return {"project": {"internalId": "cHJvamVjdDo3"}}
        if "models" in query:
            page = {"endCursor": None, "hasNextPage": False}
            return {"models": {"edges": [{"node": MODEL, "cursor": ""}], "pageInfo": page}}
        return {"viewer": VIEWER}

    def bucket(self):
        """What the server knows of the run: nothing, or the rows that it was sent."""
        history = self.server.history
        if not history:
            return None
        last = history[max(history)]
        tail = json.dumps([json.dumps({"_step": last["_step"], "_runtime": 1})])
        known = {"name": "x", "config": "{}", "summaryMetrics": json.dumps({"_step": last["_step"]}), "tags": []}
        known |= {"historyLineCount": len(history), "eventsLineCount": 0, "logLineCount": 0}
        return known | {"historyTail": tail, "eventsTail": "[]", "wandbConfig": json.dumps({"t": 1})}

    def send(self, status, content):
        text = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *args):
        """Say nothing."""


@contextmanager
def wandb_server(fault=None, get=200):
    """A server and, as ``url``, where it is; ``get`` is the HTTP status of its first page."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    server.daemon_threads, server.block_on_close = True, False
    server.get = get
    server.fault, server.requests, server.history, server.overwritten = fault, [], {}, 0
    server.refusal, server.views = None, []
    server.url = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
