"""Disks, data sets and limits of a process: what the line says of each problem, and what to do."""

import errno
import os
import resource
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

from lit_video.diagnosis import data_sets, limits, storage
from tests.diagnosis.fakes import GB, disk, only, raising


@pytest.mark.parametrize(
    ("gigabytes", "system", "level", "advice"),
    [
        (0.5, "ext4", "problem", "another --runs"),
        (5, "ext4", "warning", "enough for small models"),
        (500, "ext4", "ok", ""),
        (500, "nfs4", "warning", "keep data and TMPDIR on a local disk"),
        (500, "tmpfs", "warning", "gone after a restart"),
        (500, "overlay", "warning", "of a container"),
    ],
)
def test_space_and_kind_of_the_runs_folder(monkeypatch, tmp_path, gigabytes, system, level, advice):
    disk(monkeypatch, gigabytes)
    monkeypatch.setattr(storage, "kind", lambda path: system)
    found = only(storage.check_runs(tmp_path / "not/there/yet"), "runs")
    assert found.level == level and advice in found.advice


def test_the_kind_is_that_of_the_nearest_mount(monkeypatch, tmp_path):
    mounts = f"/dev/a / ext4 rw 0 0\nserver:/x {tmp_path}/my\\040runs nfs4 rw 0 0\n"
    monkeypatch.setattr(Path, "read_text", lambda path, encoding: mounts)
    assert storage.kind(tmp_path / "my runs" / "a") == "nfs4"
    assert storage.kind(tmp_path / "other") == "ext4"


def test_a_folder_that_refuses_files_locks_or_renames(monkeypatch, tmp_path):
    disk(monkeypatch, 500, files=3)
    assert "no room for more files" in next(
        each.text for each in storage.check_runs(tmp_path) if each.level == "problem"
    )
    disk(monkeypatch, 500)
    monkeypatch.setattr(storage, "FileLock", raising(OSError(errno.ENOLCK, "No locks available")))
    assert "No locks available" in only(storage.check_runs(tmp_path), "locks").text
    monkeypatch.setattr(storage, "FileLock", lambda path, timeout: nullcontext())
    assert "does not keep others out" in only(storage.check_runs(tmp_path), "locks").text
    monkeypatch.setattr(os, "fsync", raising(OSError(errno.EIO, "Input/output error")))
    assert "Input/output error" in only(storage.check_runs(tmp_path), "renames").text
    monkeypatch.setattr(storage.tempfile, "TemporaryDirectory", raising(OSError(errno.EROFS, "Read-only file system")))
    problems = [each for each in storage.check_runs(tmp_path) if each.level == "problem"]
    assert len(problems) == 1 and "Read-only file system" in problems[0].text and problems[0].advice


def test_temporary_files(monkeypatch, tmp_path):
    monkeypatch.setattr(storage.tempfile, "tempdir", str(tmp_path))
    disk(monkeypatch, 0.5)
    assert only(storage.check_temporary(), "TMPDIR").level == "warning"
    disk(monkeypatch, 50)
    assert only(storage.check_temporary(), "TMPDIR").level == "ok"
    monkeypatch.setattr(storage.tempfile, "tempdir", str(tmp_path / "none"))
    found = only(storage.check_temporary(), "TMPDIR")
    assert found.level == "problem" and "set TMPDIR" in found.advice


def test_shared_memory(monkeypatch, tmp_path):
    disk(monkeypatch, 0.0625)
    found = only(storage.check_shared_memory(tmp_path), "/dev/shm")
    assert found.level == "warning" and "--shm-size" in found.advice and "at least 1.0 GB" in found.advice
    disk(monkeypatch, 2)
    assert only(storage.check_shared_memory(tmp_path), "/dev/shm").level == "ok"
    monkeypatch.setattr(storage, "allowed_cores", lambda: 128)
    assert only(storage.check_shared_memory(tmp_path), "/dev/shm").level == "warning", "small for a worker per core"
    assert only(storage.check_shared_memory(tmp_path / "none"), "/dev/shm").text == "not there"


def test_data_sets_are_found_by_their_annotations(tmp_path, monkeypatch):
    monkeypatch.setenv("LIT_VIDEO_DATA", str(tmp_path / "cache"))
    for name, mark in data_sets.MARKS.items():
        path = tmp_path / "sets" / name / mark
        path.parent.mkdir(parents=True)
        path.touch()
    found = [each for each in data_sets.check_data([tmp_path / "sets"]) if each.name == "data sets"]
    assert len(found) == len(data_sets.MARKS)
    assert all(any(each.text.startswith(f"{name} in ") for each in found) for name in data_sets.MARKS)
    monkeypatch.setattr(data_sets, "USUAL", (str(tmp_path / "sets"), "/no/such/place"))
    assert len([each for each in data_sets.check_data([]) if each.name == "data sets"]) == len(data_sets.MARKS)


def test_places_without_data(tmp_path, monkeypatch):
    monkeypatch.setattr(data_sets, "USUAL", (str(tmp_path),))
    assert only(data_sets.check_data([]), "data sets").level == "ok"
    assert only(data_sets.check_data([tmp_path]), "data sets").level == "warning"
    found = only(data_sets.check_data([tmp_path / "none"]), "data sets")
    assert found.level == "problem" and "no such folder" in found.text
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    found = list(data_sets.check_data([tmp_path]))
    assert [each.level for each in found] == ["problem", "problem"]
    monkeypatch.undo()
    disk(monkeypatch, 0.1)
    assert only(data_sets.check_data([tmp_path]), "data").level == "problem"


def test_limits(monkeypatch):
    values = {resource.RLIMIT_NOFILE: (256, 4096), resource.RLIMIT_FSIZE: (GB, GB), resource.RLIMIT_AS: (8 * GB, -1)}
    monkeypatch.setattr(resource, "getrlimit", values.get)
    monkeypatch.setattr(sys, "getfilesystemencoding", lambda: "ascii")
    found = list(limits.check_limits())
    assert [each.level for each in found] == ["warning"] * 4
    assert only(found, "open files").advice == "ulimit -n 4096 before the command"
    assert only(found, "file size").text == "limited to 1.0 GB (ulimit -f)"
    assert "8.0 GB" in only(found, "memory").text and "PYTHONUTF8" in only(found, "encoding").advice
    values |= dict.fromkeys(values, (-1, -1))
    assert only(limits.check_limits(), "open files").text == "not limited"
