"""Test downloads from a server on this machine: whole, interrupted, or not there."""

import threading
from contextlib import nullcontext
from dataclasses import replace
from hashlib import sha256
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from urllib.request import HTTPSHandler

import pytest

from lit_video.errors import UserError
from lit_video.weights.hub import Release, download, fetch, find, releases, weights_path

CONTENT = bytes(range(256)) * 20_000


class Server(BaseHTTPRequestHandler):
    """Handler that sends a file, a part of it, or a new address."""

    def do_GET(self):
        self.server.asked += 1
        if self.path == self.server.moved:
            self.send_response(302)
            self.send_header("Location", f"http://127.0.0.1:{self.server.server_port}/elsewhere")
            return self.end_headers()
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.server.content)))
        self.end_headers()
        self.wfile.write(self.server.content[: self.server.cut])

    def log_message(self, *args):
        pass


@pytest.fixture
def server(tmp_path, monkeypatch):
    monkeypatch.setenv("LIT_VIDEO_DATA", str(tmp_path))
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    server.content, server.cut, server.asked, server.moved = CONTENT, None, 0, None
    threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def release(server):
    address = f"http://127.0.0.1:{server.server_port}/folder/weights.pyth?dl=1"
    return Release("name", {}, address, None, {})


def test_a_file_is_fetched_once(server):
    place = fetch(release(server))
    assert place.name == "weights.pyth"
    assert place.read_bytes() == CONTENT
    assert fetch(release(server)) == place
    assert server.asked == 1
    assert sorted(path.name for path in place.parent.iterdir()) == ["weights.pyth", "weights.pyth.sha256"]


def test_a_published_checksum_is_compared(server):
    right = sha256(CONTENT).hexdigest()
    assert fetch(replace(release(server), sha256=right)).read_bytes() == CONTENT
    release(server).place.unlink()
    with pytest.raises(UserError, match=f"name: .*{right}.*{'0' * 64}"):
        fetch(replace(release(server), sha256="0" * 64))
    assert not release(server).place.exists()


def test_the_first_download_is_recorded_where_no_checksum_is_published(server, caplog):
    place = fetch(release(server))
    record = place.with_name("weights.pyth.sha256")
    assert record.read_text() == f"{sha256(CONTENT).hexdigest()}  weights.pyth\n"
    assert str(record) in caplog.text
    place.unlink()
    assert fetch(release(server)).read_bytes() == CONTENT  # equal to the first
    place.unlink()
    server.content = CONTENT[::-1]
    with pytest.raises(UserError, match=r"name: .*weights\.pyth\.sha256"):
        fetch(release(server))
    assert not place.exists()


@pytest.mark.parametrize("names", ["its", "another"])
def test_files_of_hugging_face_have_the_checksum_that_it_names(names, tmp_path, monkeypatch):
    digest = sha256(CONTENT if names == "its" else b"").hexdigest()
    files = [
        SimpleNamespace(rfilename="model.safetensors", size=1, lfs=SimpleNamespace(sha256=digest)),
        SimpleNamespace(rfilename="config.json", size=1, lfs=None),
        SimpleNamespace(rfilename="README.md", size=1, lfs=SimpleNamespace(sha256="not downloaded")),
    ]
    answer = SimpleNamespace(siblings=files, card_data=None)
    monkeypatch.setattr("huggingface_hub.HfApi.model_info", lambda *_, **options: answer)

    def write(*_: object, local_dir, **options):
        local_dir.mkdir()
        (local_dir / "model.safetensors").write_bytes(CONTENT)

    monkeypatch.setattr("huggingface_hub.snapshot_download", write)
    with nullcontext() if names == "its" else pytest.raises(OSError, match=r"model\.safetensors"):
        download("owner/name", tmp_path / "folder")


def test_https_is_never_left_for_http(server, monkeypatch):
    server.moved = "/folder/weights.pyth?dl=1"
    assert fetch(release(server)).read_bytes() == CONTENT
    release(server).place.unlink()
    monkeypatch.setattr(HTTPSHandler, "https_open", lambda self, request: self.do_open(HTTPConnection, request))
    with pytest.raises(UserError, match=r"name: the server refers from https to http://127\.0\.0\.1"):
        fetch(replace(release(server), address=release(server).address.replace("http:", "https:")))
    assert not release(server).place.exists()


def test_what_was_cut_is_fetched_again(server):
    server.cut = 1_500_000
    with pytest.raises(UserError, match=f"name: the connection ended after 1500000 of {len(CONTENT)} bytes"):
        fetch(release(server))
    assert not release(server).place.exists()
    server.cut = None
    assert fetch(release(server)).read_bytes() == CONTENT


def test_a_page_is_no_file(server):
    server.content = b"\n<!DOCTYPE html><html>Sign in</html>"
    with pytest.raises(UserError, match="name: the server sent a page, not a file; download http://127"):
        fetch(release(server))
    assert not release(server).place.exists()


def test_without_a_network_it_is_said_what_to_download_and_where_to_put_it(server):
    server.shutdown()
    server.server_close()
    with pytest.raises(
        UserError, match=r"name: .*[Rr]efused.*; download http://127\S+ on another machine and put it at /"
    ):
        fetch(release(server))


@pytest.mark.parametrize("name", ["timesformer-k400", "hf-vivit-b-k400"])
def test_offline_nothing_is_asked_for(name, server, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(UserError, match=f"{name}: HF_HUB_OFFLINE is set; download .* and put it at"):
        fetch(releases()[name])
    assert server.asked == 0


def test_weights_that_are_not_here_are_named_with_their_command(tmp_path, monkeypatch):
    monkeypatch.setenv("LIT_VIDEO_DATA", str(tmp_path))
    with pytest.raises(UserError, match=r"has not been fetched: lit_video weights fetch vivit-b-k400; or down"):
        weights_path("hub:vivit-b-k400")
    with pytest.raises(UserError, match="hub:nothing: no such weights; lit_video weights lists them"):
        weights_path("hub:nothing")
    place = find("hub:vivit-b-k400").place
    place.parent.mkdir(parents=True)
    place.touch()
    assert weights_path("hub:vivit-b-k400") == place
    assert str(weights_path("some/file.pyth")) == "some/file.pyth"
