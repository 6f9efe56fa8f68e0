"""One damaged file of a run is left out of its table with a line; the other rows stay."""

import json
import shutil

import pytest

from lit_video.errors import UserError
from lit_video.tables.results import read_result
from lit_video.tables.status import Status, read_status, write_status
from tests.fake_runs import change_result


def raw(text):
    return lambda path: path.write_bytes(text if isinstance(text, bytes) else text.encode())


def key(name, text):
    """Put JSON text in the place of a key's value."""

    def change(path):
        whole = json.loads(path.read_text()) | {name: "@"}
        path.write_text(json.dumps(whole).replace('"@"', text))

    return change


def copied_from(place):
    return lambda path: shutil.copy(path.parents[2] / place / "result.json", path)


DAMAGES = {
    "empty": (raw(b""), "Expecting value"),
    "truncated": (lambda path: path.write_bytes(path.read_bytes()[:90]), "damaged"),
    "garbage": (raw(b"\x00\x01\xffgarbage"), "damaged"),
    "list": (raw("[1, 2]"), "damaged"),
    "null": (raw("null"), "damaged"),
    "deep": (raw("[" * 100_000), "recursion"),
    "a folder": (lambda path: (path.unlink(), path.mkdir()), "Is a directory"),
    "missing": (lambda path: change_result(path.parent, views=None), "no 'views'"),
    "NaN metric": (key("metrics", '{"test/video_top1": NaN}'), "test/video_top1 is nan"),
    "infinite metric": (key("metrics", '{"test/skill/zoom": 1e999}'), "test/skill/zoom is inf"),
    "over 100": (key("metrics", '{"test/video_top1": 100.5}'), "test/video_top1 is 100.5"),
    "under 0": (key("metrics", '{"test/video_top5": -1}'), "test/video_top5 is -1"),
    "text metric": (key("metrics", '{"test/video_top1": "50"}'), "damaged"),
    "list of metrics": (key("metrics", "[1]"), "damaged"),
    "null metric": (key("metrics", '{"test/video_top1": null}'), "damaged"),
    "NaN cost": (key("gmacs", "NaN"), "gmacs is nan"),
    "another row's": (copied_from("second/seed0"), "of row 'second', in the folder of 'first'"),
    "another seed's": (copied_from("first/seed1"), "of seed 'seed1', in the folder of 'seed0'"),
    "another table's": (key("table", '"three"'), "of table 'three', in the folder of 'two'"),
    "another scale's": (key("scale", '"ssv2"'), "of scale 'ssv2', in the folder of 'default'"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_result_is_left_out_with_a_line(runs, show, name):
    damage, message = DAMAGES[name]
    path = runs / "two/default/first/seed0/result.json"
    damage(path)
    status, out, errors = show("--format", "markdown")
    assert status == 1
    (line,) = errors
    assert line.startswith(f"left out: {path} is damaged (") and message in line and "): delete it" in line
    first, second = out.splitlines()[4:6]
    assert first.startswith("| first |") and "| 40.0 |" in first and first.endswith(" 1 |")
    assert second.startswith("| 2nd |") and "| 60.0 ± 0.0 |" in second and second.endswith(" 0, 1 |")
    with pytest.raises(UserError, match=r"result\.json is damaged"):
        read_result(path.parent)


def test_a_row_without_any_whole_result_is_shown_as_damaged_in_every_format(runs, show):
    for seed in (0, 1):
        (runs / f"two/default/first/seed{seed}/result.json").write_bytes(b"")
    for form in ("text", "markdown", "latex"):
        status, out, errors = show("--format", form)
        assert (status, len(errors)) == (1, 2)
        assert all("damaged" in line for line in out.splitlines() if "first" in line) and "damaged" in out
        assert "60.0" in out and "not run" not in out
    status, out, _ = show("--format", "json")
    data = json.loads(out)
    assert [len(data["left_out"]), data["rows"][0]["damaged"], data["rows"][1]["damaged"]] == [2, 2, 0]
    assert show("--seeds", "5")[0] == 0, "seeds that are not asked for are not read"


@pytest.mark.parametrize(
    "content",
    ["", "{", '"a"', "[]", "null", '{"state": []}', '{"state": "done"}', '{"state": "training", "x": 1}', "[" * 100_000]
    + [f'{{"state": "training", "step": {value}}}' for value in ('"a"', "NaN", "1e999", "[]", "-1")]
    + ['{"state": "training", "message": 3}'],
)
def test_a_damaged_status_is_none(tmp_path, content):
    write_status(tmp_path, Status("training", step=3))
    assert read_status(tmp_path).step == 3
    (tmp_path / "status.json").write_text(content)
    assert read_status(tmp_path) is None
