"""Test that files in somebody else's run folder are read only if they are plain files of a sensible size."""

import os
import signal
from itertools import product

import pytest

from lit_video.__main__ import main
from lit_video.runs.folder import read_record, run_folders, update_record
from lit_video.runs.predictions import MISTAKE_COLUMNS
from lit_video.runs.record import Status
from tests.conftest import quick_or_slow

SECRET = "the key of somebody's server"
FILES = ("run.json", "curves.csv", "predictions.npz", "mistakes.csv", "mistakes.jpg", "../../table.yaml")


@pytest.fixture(autouse=True)
def no_waiting():
    """End a test that waits for a pipe."""
    signal.alarm(60)
    yield
    signal.alarm(0)


def linked(path, secret):
    path.symlink_to(secret)


def piped(path, secret):
    os.mkfifo(path)


def huge(path, secret):
    """Make a file of 4 GB that takes no space."""
    with path.open("wb") as file:
        file.truncate(1 << 32)


@pytest.fixture
def secret(tmp_path):
    path = tmp_path / "secret"
    path.write_text(SECRET)
    return path


HARMED = [*product(FILES, [linked, piped, huge])]
QUICK = {*product(FILES, [linked]), *product(["run.json"], [piped, huge])}


@pytest.mark.parametrize(("name", "harm"), quick_or_slow(HARMED, QUICK))
def test_only_plain_files_are_read(name, harm, fake_runs, secret, tmp_path, capsys):
    folder = run_folders(fake_runs)[0]
    (folder / "mistakes.csv").write_text(",".join(MISTAKE_COLUMNS) + "\na.mp4,x,y,0.9,\n")
    (folder / "mistakes.jpg").write_bytes(b"picture")
    path = folder / name
    path.unlink(missing_ok=True)
    harm(path, secret)

    commands = [
        ["table", "timesformer_schemes", "--runs", str(fake_runs)],
        ["report", str(fake_runs), "-o", str(tmp_path / "page.html")],
        ["pack", str(fake_runs), "-o", str(tmp_path / "packs")],
    ]
    for command in commands:
        main(command)
        captured = capsys.readouterr()
        assert SECRET not in captured.out + captured.err and "Traceback" not in captured.err
        assert all(path.name in line for line in captured.err.splitlines() if line.startswith("error: "))
    written = [*tmp_path.glob("page.html"), *tmp_path.glob("packs/*")]
    assert all(SECRET.encode() not in file.read_bytes() for file in written)


def test_nothing_is_written_through_a_link(fake_runs, secret):
    folder = run_folders(fake_runs)[0]
    (folder / ".run.json.part").symlink_to(secret)
    update_record(folder, state=Status("training"))
    assert secret.read_text() == SECRET
    assert read_record(folder).state.state == "training"
