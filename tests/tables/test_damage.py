"""One damaged file of a run is left out of its table with a line; the other rows stay."""

import json
import shutil
import zipfile

import numpy as np
import pytest
import torch

from lit_video.__main__ import main
from lit_video.errors import UserError
from lit_video.tables.learning_curve import read_curves
from lit_video.tables.predictions import FILE, read_predictions
from lit_video.tables.results import read_result
from lit_video.tables.status import Status, read_status, write_status
from lit_video.utils.checkpoint_digest import checkpoint_digest
from tests.fake_runs import change_result
from tests.tables.test_tables import keep, write_result


@pytest.fixture
def runs(table, tmp_path):
    """Two rows of two seeds, with predictions."""
    for row, top1 in (("first", 40.0), ("second", 60.0)):
        for seed in (0, 1):
            folder = tmp_path / f"runs/two/default/{row}/seed{seed}"
            write_result(folder, seed, top1)
            keep(folder, np.arange(100) < top1)
    return tmp_path / "runs"


@pytest.fixture
def show(table, runs, capsys):
    """The table printed: exit status, output, lines on stderr."""

    def run(*flags):
        capsys.readouterr()
        status = main(["table", "--config", str(table[0]), "--runs", str(runs), *flags])
        printed = capsys.readouterr()
        return status, printed.out, printed.err.splitlines()

    return run


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


def rewrite(path, **changes):
    with np.load(path, allow_pickle=True) as stored:
        arrays = dict(stored) | changes
    np.savez(path, **{key: value for key, value in arrays.items() if value is not None})


def bomb(path, name="logits.npy", shape=(100, 40_000_000)):
    """A small file whose array would take gigabytes."""
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive, archive.open(name, "w", force_zip64=True) as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": shape})
        for _ in range(300):
            file.write(bytes(1 << 20))


PREDICTIONS = {
    "empty": (raw(b""), "not a zip"),
    "truncated": (lambda path: path.write_bytes(path.read_bytes()[:90]), "not a zip"),
    "a bomb": (lambda path: (path.unlink(), bomb(path)), r"declares 0\.3 GB, its file has"),
    "objects": (lambda path: rewrite(path, classes=np.array([[], {}], object)), "holds objects"),
    "a long header": (lambda path: rewrite(path, video=np.zeros(3, [("x" * 20_000, "i4")])), "damaged"),
    "other videos": (lambda path: rewrite(path, video=np.arange(9)), r"video: int64 of shape \(9,\), expected \(100,"),
    "other targets": (lambda path: rewrite(path, target=np.arange(9)), r"target: int64 of shape \(9,\)"),
    "no classes": (lambda path: rewrite(path, classes=None), "expected"),
    "no class of a target": (lambda path: rewrite(path, target=np.full(100, 2)), "target: of a class that there is n"),
    "text as logits": (lambda path: rewrite(path, logits=np.full((100, 2), "a")), "logits: <U1"),
    "NaN": (lambda path: rewrite(path, logits=np.full((100, 2), np.nan)), "logits: not all are finite"),
}


@pytest.mark.parametrize("name", PREDICTIONS)
def test_damaged_predictions_are_left_out_with_a_line(runs, show, name):
    damage, message = PREDICTIONS[name]
    path = runs / f"two/default/first/seed0/{FILE}"
    damage(path)
    with pytest.raises(UserError, match=message):
        read_predictions(path.parent, 100)
    status, out, errors = show()
    assert status == 1 and len(errors) == 1 and errors[0].startswith(f"left out: {path}: damaged (")
    assert "40.0" in out and "60.0" in out and "not comparable" in out


def test_predictions_that_declare_gigabytes_are_refused_before_any_is_unpacked(runs, monkeypatch):
    path = runs / f"two/default/first/seed0/{FILE}"
    path.unlink()
    with zipfile.ZipFile(path, "w") as archive, archive.open("logits.npy", "w") as file:
        np.lib.format.write_array_header_1_0(
            file, {"descr": "<f4", "fortran_order": False, "shape": (1 << 40, 1 << 40)}
        )
    monkeypatch.setattr(np, "load", lambda *args, **keywords: pytest.fail("unpacked"))
    with pytest.raises(UserError, match=r"logits\.npy: declares 4835703278458516698824704 bytes, holds 0"):
        read_predictions(path.parent)


@pytest.mark.parametrize(
    "content", ["epoch,step\n1,nan\n", "epoch,step\n1,2,3\n", "epoch\n\x00\n", "epoch\n" + "1" * 200_000]
)
def test_damaged_curves_are_refused(tmp_path, content):
    (tmp_path / "curves.csv").write_text(content)
    with pytest.raises(UserError, match=r"curves\.csv: damaged; delete it"):
        read_curves(tmp_path)


def test_enormous_curves_are_not_read(tmp_path):
    huge_file = tmp_path / "curves.csv"
    huge_file.touch()
    huge(huge_file)
    with pytest.raises(UserError, match=r"curves\.csv: damaged"):
        read_curves(tmp_path)


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
