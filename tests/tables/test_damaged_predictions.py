"""Damaged predictions and curves are left out with a line."""

import numpy as np
import pytest

from lit_video.errors import UserError
from lit_video.tables.learning_curve import read_curves
from lit_video.tables.predictions import FILE, read_predictions
from tests.tables.test_damage import raw


def rewrite(path, **changes):
    with np.load(path, allow_pickle=True) as stored:
        arrays = dict(stored) | changes
    np.savez(path, **{key: value for key, value in arrays.items() if value is not None})


PREDICTIONS = {
    "empty": (raw(b""), "damaged"),
    "truncated": (lambda path: path.write_bytes(path.read_bytes()[:90]), "damaged"),
    "objects": (lambda path: rewrite(path, classes=np.array([[], {}], object)), "Object arrays"),
    "other videos": (lambda path: rewrite(path, video=np.arange(9)), r"of 9 videos, result\.json of 100"),
    "other targets": (lambda path: rewrite(path, target=np.arange(9)), "not a finite number for each of 100 videos"),
    "no classes": (lambda path: rewrite(path, classes=None), "no predictions"),
    "no class of a target": (lambda path: rewrite(path, target=np.full(100, 2)), "target: of a class that there is n"),
    "text as logits": (lambda path: rewrite(path, logits=np.full((100, 2), "a")), "damaged"),
    "NaN": (lambda path: rewrite(path, logits=np.full((100, 2), np.nan)), "not a finite number for each"),
}


@pytest.mark.parametrize("name", PREDICTIONS)
def test_damaged_predictions_are_left_out_with_a_line(runs, show, name):
    damage, message = PREDICTIONS[name]
    path = runs / f"two/default/first/seed0/{FILE}"
    damage(path)
    with pytest.raises(UserError, match=message):
        read_predictions(path.parent, 100)
    status, out, errors = show()
    assert status == 1 and len(errors) == 1 and errors[0].startswith(f"left out: {path} is damaged (")
    assert "40.0" in out and "60.0" in out and "not comparable" in out


@pytest.mark.parametrize(
    "content",
    ["epoch,step\n1,nan\n", "epoch,step\n1,many\n", "epoch,step\n1,2,3\n", "epoch\n\x00\n", "epoch\n" + "1" * 200_000],
)
def test_damaged_curves_are_refused(tmp_path, content):
    (tmp_path / "curves.csv").write_text(content)
    with pytest.raises(UserError, match=r"curves\.csv is damaged .*: delete it"):
        read_curves(tmp_path)
