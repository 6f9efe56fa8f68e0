"""Test that a record with parts of another type is named, and that every pack can be read again."""

import json

import numpy as np
import pytest

from lit_video.errors import UserError
from lit_video.reports.html.collect import collect
from lit_video.runs.folder import run_folders
from lit_video.runs.packing import pack_runs, write_pack
from lit_video.runs.packs import packed_runs
from lit_video.runs.predictions import save_logits
from tests.fake_runs import EXPERIMENTS, change_result

PARTS = [
    "changes",
    *(f"identity/{name}" for name in ("settings", "weights", "versions", "data", "commit")),
    *(f"identity/settings/{name}" for name in ("trainer", "model", "data", "global_batch")),
    *(f"result/{name}" for name in ("metrics", "params", "views", "seed", "row")),
    "identity",
    "result",
]


@pytest.mark.parametrize("value", ["text", [1], {"a": 1}])
@pytest.mark.parametrize("part", PARTS)
def test_a_part_of_another_type_is_refused_by_its_file(part, value, fake_runs):
    path = run_folders(fake_runs)[0] / "run.json"
    record = json.loads(path.read_text())
    *groups, name = part.split("/")
    place = record
    for group in groups:
        place = place[group]
    if type(place.get(name)) is type(value) or (part.count("/") == 2 and isinstance(value, dict)):
        pytest.skip("this type is right")
    place[name] = value
    path.write_text(json.dumps(record))
    with pytest.raises(UserError, match=r"run\.json"):
        collect([fake_runs], EXPERIMENTS)


def test_runs_that_pack_well_are_read_again(fake_runs, tmp_path):
    """A constant model's predictions are packed to less than a hundredth of their size."""
    for folder in run_folders(fake_runs):
        videos = np.arange(200_000)
        save_logits(folder, videos, {"": (np.zeros((len(videos), 2), np.float32), videos % 2, ["a", "b"])})
        metrics = {"test/video_top1": 50.0, "test/video_top5": 100.0}
        change_result(folder, test_videos=len(videos), metrics=metrics)
    (pack,) = pack_runs([fake_runs], tmp_path / "packs")
    held = packed_runs(pack)
    size = sum(len(content) for files in held.values() for content in files.values())
    assert size > 100 * pack.stat().st_size and len(held) == len(run_folders(fake_runs))


def test_a_pack_that_no_command_would_read_is_not_written(tmp_path, monkeypatch):
    monkeypatch.setattr("lit_video.runs.packs.MOST_BYTES", 10_000)
    pack = tmp_path / "table.tar.xz"
    run = tmp_path / "table/scale/row/seed0"
    with pytest.raises(UserError, match=r"table\.tar\.xz"):
        write_pack(pack, {run: {"run.json": bytes(1_000_000)}})
    assert not pack.exists()
