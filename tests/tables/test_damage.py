"""Test that a damaged file of a run is reported in one line, and that no table is made of the rest."""

import json
import shutil

import numpy as np
import pytest

from lit_video.errors import UserError
from lit_video.runs.folder import read_curves, read_status, write_status
from lit_video.runs.predictions import FILE
from lit_video.runs.record import Status
from tests.fake_runs import change_result


def key(name, text):
    """Return a change that replaces a value of the result by JSON text."""

    def change(path):
        whole = json.loads(path.read_text())
        whole["result"][name] = "@"
        path.write_text(json.dumps(whole).replace('"@"', text))

    return change


def copied_from(place):
    return lambda path: shutil.copy(path.parents[2] / place / "run.json", path)


def rewrite(path, **changes):
    with np.load(path, allow_pickle=True) as stored:
        arrays = dict(stored) | changes
    np.savez(path, **{key: value for key, value in arrays.items() if value is not None})


RESULTS = {
    "truncated": (lambda path: path.write_bytes(path.read_bytes()[:90]), "damaged"),
    "deep": (lambda path: path.write_text("[" * 100_000), "recursion"),
    "missing": (lambda path: change_result(path.parent, views=None), "`views`"),
    "NaN metric": (key("metrics", '{"test/video_top1": NaN}'), "test/video_top1 is nan"),
    "NaN cost": (key("gmacs", "NaN"), "gmacs is nan"),
    "another row's": (copied_from("second/seed0"), "its row is 'second', its folder says 'first'"),
    "another seed's": (copied_from("first/seed1"), "its seed is 'seed1', its folder says 'seed0'"),
    "another table's": (key("table", '"three"'), "its table is 'three', its folder says 'two'"),
    "another scale's": (key("scale", '"ssv2"'), "its scale is 'ssv2', its folder says 'default'"),
}


PREDICTIONS = {
    "truncated": (lambda path: path.write_bytes(path.read_bytes()[:90]), "damaged"),
    "objects": (lambda path: rewrite(path, classes=np.array([[], {}], object)), "Object arrays"),
    "another test": (lambda path: rewrite(path, logits=np.zeros((100, 2))), "top-1 is 100.00, but run.json says 40.00"),
    "other videos": (lambda path: rewrite(path, video=np.arange(9)), "holds 9 videos, but run.json says 100"),
    "other targets": (lambda path: rewrite(path, target=np.arange(9)), "not a finite number for each of 100 videos"),
    "no classes": (lambda path: rewrite(path, classes=None), "'classes'"),
    "no class of a target": (lambda path: rewrite(path, target=np.full(100, 2)), "target: names a class that does n"),
    "NaN": (lambda path: rewrite(path, logits=np.full((100, 2), np.nan)), "not a finite number for each"),
}


CASES = [*(("run.json", name) for name in RESULTS), *((FILE, name) for name in PREDICTIONS)]


@pytest.mark.parametrize(("file", "name"), CASES)
def test_a_damaged_file_is_said_in_a_line(runs, show, file, name):
    damage, message = (PREDICTIONS if file == FILE else RESULTS)[name]
    path = runs / f"two/default/first/seed0/{file}"
    damage(path)
    status, out, (line,) = show()
    assert status == 2 and not out
    assert line.startswith(f"error: {path} is damaged (") and message in line and "): delete " in line
    assert line.endswith(" and repeat the command") and len(line) < 400
    assert show("--seeds", "1")[0] == 0, "only selected seeds are read"


@pytest.mark.parametrize("content", ["epoch,step\n1,many\n", "epoch,step\n1,2,3\n"])
def test_damaged_curves_are_refused(tmp_path, content):
    (tmp_path / "curves.csv").write_text(content)
    with pytest.raises(UserError, match=r"curves\.csv is damaged .*: delete it"):
        read_curves(tmp_path)


DAMAGED = ["", "{", "[]", "null", "{}", '{"state": {"state": "done"}}', '{"state": {"x": 1}}', "[" * 100_000]


@pytest.mark.parametrize("content", DAMAGED)
def test_a_damaged_status_is_none(tmp_path, content):
    write_status(tmp_path, Status("training", step=3))
    assert read_status(tmp_path).step == 3
    (tmp_path / "run.json").write_text(content)
    assert read_status(tmp_path) is None
