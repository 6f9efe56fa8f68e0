"""Fakes that tests of several checks use."""

import os
import stat
from collections import namedtuple

GB = 2**30
Disk = namedtuple("Disk", "f_bavail f_frsize f_files f_favail")


def only(findings, name):
    (found,) = [each for each in findings if each.name == name]
    assert found.advice or found.level == "ok"
    return found


def raising(error):
    def function(*args, **keywords):
        raise error

    return function


def program(folder, name, text):
    """A command for PATH."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def disk(monkeypatch, gigabytes, files=10**6):
    monkeypatch.setattr(os, "statvfs", lambda path: Disk(int(gigabytes * GB), 1, 10**7, files))
