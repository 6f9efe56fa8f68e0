"""Damaged predictions and curves are left out with a line, and refused before they are unpacked."""

import zipfile

import numpy as np
import pytest

from lit_video.errors import UserError
from lit_video.tables.learning_curve import read_curves
from lit_video.tables.predictions import FILE, read_predictions
from tests.tables.test_damage import huge, raw


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
    "content",
    ["epoch,step\n1,nan\n", "epoch,step\n1,many\n", "epoch,step\n1,2,3\n", "epoch\n\x00\n", "epoch\n" + "1" * 200_000],
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
