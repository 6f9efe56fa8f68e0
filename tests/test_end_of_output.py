"""Test that what surrounds a run is blamed in one line: its output, folder, lock, working directory, warnings."""

import os
import shutil
import sys
import warnings
from contextlib import contextmanager, redirect_stdout

import pytest

from lit_video.__main__ import main
from lit_video.errors import UserError
from lit_video.runs.folder import update_record
from lit_video.runs.lock import owned
from lit_video.training.run_end import failures
from lit_video.utils.startup import set_up_process


@contextmanager
def output(descriptor):
    """Let standard output be a file that cannot be written."""
    with open(descriptor, "w") as file, redirect_stdout(file):
        yield
        os.dup2(os.open(os.devnull, os.O_WRONLY), file.fileno())  # closing writes once more


def test_a_full_disk_behind_the_output_is_not_the_runs(tmp_path):
    with output("/dev/full"), pytest.raises(UserError, match="output"), owned(tmp_path / "run", "row"), failures():
        print("epoch 1", flush=True)


def test_a_closed_output_is_no_process_that_died(tmp_path):
    reader, writer = os.pipe()
    os.close(reader)
    with output(writer), pytest.raises(BrokenPipeError), owned(tmp_path / "run", "row"), failures():
        print("epoch 1", flush=True)


def test_a_folder_that_was_removed_is_named(tmp_path):
    with pytest.raises(UserError, match="run"), owned(tmp_path / "run", "row"):
        shutil.rmtree(tmp_path / "run")
        update_record(tmp_path / "run", state=None)


def test_another_file_that_is_missing_is_not_the_runs(tmp_path):
    with pytest.raises(FileNotFoundError), owned(tmp_path / "run", "row"):
        (tmp_path / "labels.csv").read_text()


def test_a_lock_that_is_a_link_is_named(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run/lock").symlink_to(tmp_path / "lock")
    with pytest.raises(UserError, match="lock"), owned(tmp_path / "run", "row"):
        pass
    assert not (tmp_path / "lock").exists()


def test_a_deleted_working_directory_is_said(tmp_path, monkeypatch, capsys):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert main(["table", "ablation_tw"]) == 2
    assert "working directory" in capsys.readouterr().err


def test_warnings_of_libraries_end_no_command(monkeypatch):
    monkeypatch.setattr(sys, "warnoptions", ["error"])
    monkeypatch.setenv("PYTHONWARNINGS", "error")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        set_up_process()
        with pytest.warns(DeprecationWarning):
            warnings.warn("old", DeprecationWarning, stacklevel=1)
    assert "PYTHONWARNINGS" not in os.environ
