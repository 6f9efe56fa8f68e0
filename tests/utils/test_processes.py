"""Test parallel processes, their signals, and the check of a virtual machine's processor."""

import os
import re
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from lit_video.errors import UserError
from lit_video.utils import parallel
from lit_video.utils.parallel import in_parallel, with_progress
from lit_video.utils.startup import LIMIT, avoid_amx


def worker(item):
    time.sleep(0.05)
    return os.getpid()


def test_there_are_no_more_processes_than_cores_for_this_one(monkeypatch):
    """Use only the cores of this process: a job or a container may have two of a hundred."""
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0})
    assert len({*in_parallel(worker, range(6), "work")}) == 1


def crash(item):
    os._exit(1)


def test_a_process_that_dies_is_reported_with_the_name_of_its_item(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0})
    with pytest.raises(UserError, match=r"^work: a process died, .* at a\.mp4 or soon after it; what is done is kept$"):
        list(in_parallel(crash, [("a.mp4", None)], "work"))


@pytest.mark.parametrize(
    ("seconds", "items", "expected"),
    [
        (0.1, 5, []),
        (2.0, 20, [2, 17, 20]),  # after the first seconds, after half a minute, at the end
        (100.0, 2, [1, 2]),
        (100.0, 1, []),  # nothing is left to be said
    ],
)
def test_long_work_says_at_its_beginning_how_long_it_takes(seconds, items, expected, monkeypatch, capsys):
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(parallel, "time", SimpleNamespace(monotonic=lambda: clock.now))

    def work():
        for number in range(items):
            clock.now += seconds
            yield number

    assert list(with_progress(work(), items, "films")) == [*range(items)]
    lines = capsys.readouterr().err.splitlines()
    assert [int(re.match(r"films: (\d+) of", line)[1]) for line in lines] == expected
    assert all("left" in line for line in lines[:-1])


@pytest.mark.parametrize(
    ("flags", "given", "expected"),
    [
        ("fpu avx512f amx_tile hypervisor", None, "AVX512_CORE_FP16"),
        ("fpu avx512f amx_tile hypervisor", "AVX512_CORE_AMX", "AVX512_CORE_AMX"),
        ("fpu avx512f amx_tile", None, None),
        ("fpu avx2 hypervisor", None, None),
        (None, None, None),
    ],
)
def test_amx_is_avoided_on_virtual_machines(flags, given, expected, tmp_path, monkeypatch):
    monkeypatch.setenv(LIMIT, given or "")
    if given is None:
        monkeypatch.delenv(LIMIT)
    if flags:
        (tmp_path / "cpuinfo").write_text(f"processor\t: 0\nflags\t\t: {flags}\n\nprocessor\t: 1\n")
    avoid_amx(tmp_path / "cpuinfo")
    assert os.environ.get(LIMIT) == expected


IN_A_TERMINAL = """
import fcntl, signal, sys, termios, time
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
signal.signal(signal.SIGHUP, signal.{before})
from lit_video.utils.processes import StopSignals, handled_by
StopSignals.ends_process = True
stops = StopSignals("run")
with handled_by(stops.handle):
    stops.waits = {waits}
    stops.last_words = lambda stop, line: open(sys.argv[1], "w").write(line)
    open(sys.argv[1] + ".ready", "w").close()
    end = time.monotonic() + {seconds}
    while not stops.received and time.monotonic() < end:
        time.sleep(0.01)
    print(stops.received, flush=True) if stops.received else None
    open(sys.argv[1], "w").write(str(stops.received))
"""


@pytest.mark.parametrize(
    ("before", "waits", "seconds", "status", "left"),
    [
        ("SIG_DFL", False, 60, 129, "stopped by SIGHUP; the same command again goes on from here"),
        ("SIG_DFL", True, 60, 0, str(signal.SIGHUP)),
        ("SIG_IGN", False, 1, 0, "None"),
    ],
    ids=["at once", "at the next checkpoint", "under nohup"],
)
def test_a_terminal_that_closes_stops_a_run_as_sigterm_does(before, waits, seconds, status, left, tmp_path):
    ours, theirs = os.openpty()
    code = IN_A_TERMINAL.format(before=before, waits=waits, seconds=seconds)
    errors = subprocess.DEVNULL if before == "SIG_IGN" else theirs  # redirected like by nohup
    command = [sys.executable, "-c", code, str(tmp_path / "left")]
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=errors, start_new_session=True)
    os.close(theirs)
    while not (tmp_path / "left.ready").exists():
        time.sleep(0.01)
    os.close(ours)
    assert process.wait(60) == status
    assert (tmp_path / "left").read_text() == left


def test_a_command_looks_at_the_processor_before_it_imports_torch():
    program = "startup.avoid_amx = lambda: print('torch' in sys.modules); main.main = lambda words: 0; main.run()"
    code = f"import sys; from lit_video import __main__ as main; from lit_video.utils import startup; {program}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "False\n", "")
