"""The report of the doctor: every check on its own, in time, aligned, and an exit status."""

import json
import threading

import pytest

from lit_video.__main__ import main
from lit_video.commands import doctor
from lit_video.diagnosis.finding import Finding, run_checks


def fine():
    yield Finding("ok", "first", "works")


def raises():
    yield Finding("ok", "lost", "with what the check had found before")
    raise OSError(5, "Input/output\nerror")


def slow():
    threading.Event().wait(60)
    yield Finding("ok", "never", "")


def test_a_check_that_raises_or_hangs_is_a_line_and_the_others_go_on():
    found = list(run_checks({"a": fine, "b": raises, "c": slow, "d": fine}, 0.5))
    assert [(each.level, each.name) for each in found] == [
        ("ok", "first"), ("warning", "b"), ("problem", "c"), ("ok", "first"),
    ]  # fmt: skip
    assert "OSError" in found[1].text and "\n" not in found[1].text
    assert found[2].text == "no answer within 0 s"


@pytest.fixture
def only(monkeypatch):
    """Let the doctor make these findings alone."""

    def replace(*findings):
        monkeypatch.setattr(doctor, "checks", lambda runs, data: {"fake": lambda: findings})

    return replace


def test_the_status_is_that_of_the_worst_line_and_lines_are_aligned(only, capsys):
    ok, warning = Finding("ok", "a", "fine"), Finding("warning", "a long name", "small", "take more")
    only(ok, warning)
    assert main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [lines[0].index("fine"), lines[1].index("small"), lines[2].index("-> take more")] == [22, 22, 22]
    assert lines[-1] == "0 problems, 1 warning"
    only(ok, Finding("problem", "b", "broken", "repair it"))
    assert main(["doctor"]) == 1
    assert "1 problem, 0 warnings" in capsys.readouterr().out
    assert main(["doctor", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)[1] == {
        "level": "problem", "name": "b", "text": "broken", "advice": "repair it",
    }  # fmt: skip


def test_the_doctor_looks_at_this_machine(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HOME", str(tmp_path))
    status = main(["doctor", "--json", "--runs", str(tmp_path / "runs"), "--data", str(tmp_path)])
    found = {each["name"]: each for each in json.loads(capsys.readouterr().out)}
    assert found.keys() >= {
        "python",
        "libraries",
        "cores",
        "memory",
        "pyav",
        "wandb",
        "slurm",
        "runs",
        "locks",
        "renames",
    }
    assert found["pyav"]["level"] == found["locks"]["level"] == found["renames"]["level"] == "ok"
    assert found["data sets"]["level"] == "warning" and "none that lit_video knows" in found["data sets"]["text"]
    assert status == any(each["level"] == "problem" for each in found.values())
    assert all(each["advice"] for each in found.values() if each["level"] != "ok")
    assert not (tmp_path / "runs").exists() and not list(tmp_path.glob(".doctor*")), "nothing is left behind"


def test_a_wrong_flag_is_one_line(capsys):
    assert main(["doctor", "--dta", "x"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
