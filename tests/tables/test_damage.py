"""One damaged file of a run is left out of its table with a line; the other rows stay."""

import json
import shutil

import pytest
import torch

from lit_video.errors import UserError
from lit_video.tables.results import read_result
from lit_video.tables.status import Status, read_status, write_status
from lit_video.utils.checkpoint_digest import checkpoint_digest
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


def huge(path):
    with path.open("r+b") as file:
        file.truncate(1 << 40)  # sparse


DAMAGES = {
    "empty": (raw(b""), "damaged"),
    "truncated": (lambda path: path.write_bytes(path.read_bytes()[:90]), "damaged"),
    "garbage": (raw(b"\x00\x01garbage"), "damaged"),
    "zeros": (raw(bytes(400)), "damaged"),
    "not UTF-8": (raw("{}".encode("utf-16")), "damaged"),
    "string": (raw('"a"'), "no keys and values"),
    "list": (raw("[1, 2]"), "no keys and values"),
    "null": (raw("null"), "no keys and values"),
    "deep": (raw("[" * 100_000), "nested too deeply"),
    "deep object": (raw('{"a":' * 100_000), "nested too deeply"),
    "a terabyte": (huge, "of 1048576 MB"),
    "a folder": (lambda path: (path.unlink(), path.mkdir()), "no plain file"),
    "missing": (lambda path: change_result(path.parent, views=None), "it has no views"),
    "NaN metric": (key("metrics", '{"test/video_top1": NaN}'), "metrics: expected names with finite numbers"),
    "infinite metric": (key("metrics", '{"test/video_top1": 1e999}'), "metrics: expected"),
    "text metric": (key("metrics", '{"test/video_top1": "50"}'), "metrics: expected"),
    "list of metrics": (key("metrics", "[1]"), "metrics: expected"),
    "nested metric": (key("metrics", '{"test/video_top1": {"a": 1}}'), "metrics: expected"),
    "null metric": (key("metrics", '{"test/video_top1": null}'), "metrics: expected"),
    "boolean metric": (key("metrics", '{"test/video_top1": true}'), "metrics: expected"),
    "enormous metric": (key("metrics", '{"test/video_top1": 1' + "0" * 400 + "}"), "metrics: expected"),
    "enormous integer": (key("params", "1" + "0" * 5000), "damaged"),
    "large integer": (key("params", "1" + "0" * 400), "params: expected a whole number"),
    "half a seed": (key("seed", "0.5"), "seed: expected a whole number"),
    "text seed": (key("seed", '"0"'), "seed: expected a whole number"),
    "true views": (key("views", "true"), "views: expected a whole number"),
    "negative seconds": (key("seconds", "-1"), "seconds: expected a number of 0 or more"),
    "NaN cost": (key("gmacs", "NaN"), "gmacs: expected a number"),
    "list as commit": (key("commit", "[1]"), "commit: expected a line of text"),
    "half a character": (key("commit", '"\\ud800"'), "commit: expected a line of text"),
    "lines as device": (key("device", '"a\\nb"'), "device: expected a line of text"),
    "weights of a path": (key("weights", '{"file": "../x", "step": 1, "digest": "a"}'), "weights: expected file, step"),
    "weights of text": (key("weights", '"last.ckpt"'), "weights: expected file, step"),
    "another row's": (copied_from("second/seed0"), "says row 'second', but lies in the folder of 'first'"),
    "another seed's": (copied_from("first/seed1"), "says seed 1, but lies in the folder of 'seed0'"),
    "another table's": (key("table", '"three"'), "says table 'three', but lies in the folder of 'two'"),
    "another scale's": (key("scale", '"ssv2"'), "says scale 'ssv2', but lies in the folder of 'default'"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_result_is_left_out_with_a_line(runs, show, name):
    damage, message = DAMAGES[name]
    path = runs / "two/default/first/seed0/result.json"
    damage(path)
    status, out, errors = show("--format", "markdown")
    assert status == 1
    (line,) = errors
    assert line.startswith(f"left out: {path}: ") and message in line and ";" in line and len(line) < 400
    first, second = out.splitlines()[4:6]
    assert first.startswith("| first |") and "| 40.0 |" in first and first.endswith(" 1 |")
    assert second.startswith("| 2nd |") and "| 60.0 ± 0.0 |" in second and second.endswith(" 0, 1 |")
    with pytest.raises(UserError, match=r"result\.json: "):
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


def test_a_result_must_be_of_the_weights_beside_it(runs, show):
    folder = runs / "two/default/first/seed0"
    torch.save({"weight": torch.arange(3.0)}, folder / "last.ckpt")
    weights = {"file": "last.ckpt", "step": 4, "digest": checkpoint_digest(folder / "last.ckpt")}
    change_result(folder, weights=weights, global_batch=8, changes=["longer"])
    assert show()[0] == 0
    torch.save({"weight": torch.arange(3.0) + 1}, folder / "last.ckpt")
    assert "of other weights than last.ckpt beside it; delete" in show()[2][0]
    (folder / "last.ckpt").write_bytes(b"damaged")
    assert "of other weights than last.ckpt beside it; delete" in show()[2][0]
    (folder / "last.ckpt").unlink()
    assert show()[0] == 0, "weights may be deleted to save space"


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
