"""Downloads from a server on this machine: whole, interrupted and gone on with, refused, or not there."""

import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from lit_video.__main__ import main
from lit_video.commands import weights as weights  # before a test replaces the table
from lit_video.errors import UserError
from lit_video.weights.hub import Release, fetch, find, releases, weights_path

CONTENT = bytes(range(256)) * 20_000


class Server(BaseHTTPRequestHandler):
    """Sends a file, or a part of it; cuts the connection or refuses when its server says so."""

    def do_GET(self):
        self.server.asked.append(self.headers.get("Range"))
        content, start = self.server.content, 0
        if self.server.status >= 400:
            self.send_error(self.server.status)
            return
        asked = self.headers.get("Range") if self.server.ranges else None
        if asked:
            start = int(asked.removeprefix("bytes=").rstrip("-"))
            if start >= len(content):
                self.send_error(416)
                return
        self.send_response(206 if asked else 200)
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        stop = start + self.server.cut if self.server.cut else None
        self.wfile.write(content[start:stop])

    def log_message(self, *args):
        pass


@pytest.fixture
def server(tmp_path, monkeypatch):
    monkeypatch.setenv("LIT_VIDEO_DATA", str(tmp_path))
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    server.content, server.cut, server.status, server.ranges, server.asked = CONTENT, 0, 200, True, []
    threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def release(server, sha256=None):
    address = f"http://127.0.0.1:{server.server_port}/folder/weights.pyth?dl=1"
    return Release("name", {}, address, None, {}, sha256)


def quiet(here, total):
    pass


def test_a_file_is_fetched_once(server):
    seen = []
    place = fetch(release(server), lambda here, total: seen.append((here, total)))
    assert place.name == "weights.pyth"
    assert place.read_bytes() == CONTENT
    assert seen[-1] == (len(CONTENT), len(CONTENT))
    assert fetch(release(server), quiet) == place
    assert server.asked == [None]
    assert [path.name for path in place.parent.iterdir()] == ["weights.pyth"]


@pytest.mark.parametrize("ranges", [True, False])
def test_what_was_begun_goes_on(server, ranges):
    server.ranges, server.cut = ranges, 1_500_000
    with pytest.raises(UserError, match=f"name: the connection ended after 1500000 of {len(CONTENT)} bytes"):
        fetch(release(server), quiet)
    server.cut = 0
    assert fetch(release(server), quiet).read_bytes() == CONTENT
    assert server.asked == [None, "bytes=1500000-"]


def test_what_was_whole_but_not_yet_named_is_fetched_again(server):
    place = release(server).place
    place.parent.mkdir(parents=True)
    place.with_name("weights.pyth.part").write_bytes(CONTENT)
    assert fetch(release(server), quiet).read_bytes() == CONTENT


def test_the_digest_is_that_of_the_file(server):
    right = hashlib.sha256(CONTENT).hexdigest()
    with pytest.raises(UserError, match=r"name: its SHA-256 is .*, expected 0000"):
        fetch(release(server, "0" * 64), quiet)
    assert not list(release(server).place.parent.iterdir())
    assert fetch(release(server, right), quiet).read_bytes() == CONTENT


def test_a_page_is_no_file(server):
    server.content = b"\n<!DOCTYPE html><html>Sign in</html>"
    with pytest.raises(UserError, match="name: the server sent a page, not a file; download http://127"):
        fetch(release(server), quiet)
    assert not release(server).place.exists()


@pytest.mark.parametrize("status", [403, 404, 503])
def test_a_server_that_refuses_is_a_line(server, status):
    server.status = status
    with pytest.raises(UserError, match=rf"name: HTTP Error {status}: .*; download http://127.* and put it at"):
        fetch(release(server), quiet)


def test_without_a_network_it_is_said_what_to_download_and_where_to_put_it(server):
    server.shutdown()
    server.server_close()
    with pytest.raises(
        UserError, match=r"name: .*[Rr]efused.*; download http://127\S+ on another machine and put it at /"
    ):
        fetch(release(server), quiet)


@pytest.mark.parametrize("name", ["timesformer-k400", "hf-vivit-b-k400"])
def test_offline_nothing_is_asked_for(name, server, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(UserError, match=f"{name}: HF_HUB_OFFLINE is set; download .* and put it at"):
        fetch(releases()[name], quiet)
    assert server.asked == []


def test_the_command_says_how_far_it_is(server, monkeypatch, capsys):
    monkeypatch.setattr("lit_video.weights.hub.releases", lambda: {"name": release(server)})
    assert main(["weights", "fetch", "name"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[-2:] == ["name: 5 of 5 MB", f"name: {release(server).place}"]
    assert main(["weights", "fetch", "another"]) == 2
    assert "hub:NAME" not in capsys.readouterr().err


def test_weights_that_are_not_here_are_named_with_their_command(tmp_path, monkeypatch):
    monkeypatch.setenv("LIT_VIDEO_DATA", str(tmp_path))
    with pytest.raises(
        UserError, match=r"has not been fetched: python -m lit_video weights fetch vivit-b-k400; or down"
    ):
        weights_path("hub:vivit-b-k400")
    with pytest.raises(UserError, match="hub:nothing: no such weights; python -m lit_video weights lists them"):
        weights_path("hub:nothing")
    place = find("hub:vivit-b-k400").place
    place.parent.mkdir(parents=True)
    place.touch()
    assert weights_path("hub:vivit-b-k400") == place
    assert str(weights_path("some/file.pyth")) == "some/file.pyth"


def test_any_repository_of_hugging_face_has_a_place(tmp_path, monkeypatch):
    monkeypatch.setenv("LIT_VIDEO_DATA", str(tmp_path))
    assert find("hub:timm/vit_base_patch16_224.augreg_in21k").place.name == "timm--vit_base_patch16_224.augreg_in21k"
    with pytest.raises(UserError, match=r"fetch timm/vit_tiny; or download the files of huggingface\.co/timm/vit_tiny"):
        weights_path("hub:timm/vit_tiny")
