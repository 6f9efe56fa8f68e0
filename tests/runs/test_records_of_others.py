"""Test that a record with parts of another type is named, and that every pack can be read again."""

import json

import numpy as np
import pytest
from msgspec import structs

from lit_video.errors import UserError
from lit_video.reports.html.collect import collect
from lit_video.runs.folder import RUN, has_result, read_finished, run_folders, update_record
from lit_video.runs.packing import pack_runs, packed_record, write_pack
from lit_video.runs.packs import packed_runs
from lit_video.runs.predictions import save_logits
from lit_video.runs.record import Record
from tests.fake_runs import EXPERIMENTS, change_result

PACKS = sorted((EXPERIMENTS.parent / "benchmarks/results").glob("*.tar.xz"))
PARTS = {
    "changes": list,
    **{f"identity/{name}": dict for name in ("settings", "weights", "versions")},
    **{f"identity/{name}": str for name in ("data", "commit")},
    **{f"identity/settings/{name}": dict for name in ("trainer", "model", "data", "global_batch")},
    **{f"result/{name}": int for name in ("params", "views", "seed")},
    "result/metrics": dict,
    "result/row": str,
    "identity": dict,
    "result": dict,
}
VALUES = ("text", [1], {"a": 1})
OTHER_TYPES = [(part, value) for part, right in PARTS.items() for value in VALUES if not isinstance(value, right)]


@pytest.mark.parametrize(("part", "value"), OTHER_TYPES)
def test_a_part_of_another_type_is_refused_by_its_file(part, value, fake_runs):
    path = run_folders(fake_runs)[0] / "run.json"
    record = json.loads(path.read_text())
    *groups, name = part.split("/")
    place = record
    for group in groups:
        place = place[group]
    place[name] = value
    path.write_text(json.dumps(record))
    with pytest.raises(UserError, match=r"run\.json"):
        collect([fake_runs], EXPERIMENTS)


VERSIONS = {
    "a part of the result is missing": (lambda record: record["result"].pop("skipped_steps"), "skipped_steps"),
    "a part of the result is new": (lambda record: record["result"].update(watts=300.0), "watts"),
    "a part of the record is new": (lambda record: record.update(licence="mine"), "licence"),
    "a part of the identity is new": (lambda record: record["identity"].update(host="here"), "host"),
    "a change has no old value": (lambda record: record["changes"].append({"key": "a", "to": 1}), "from"),
    "a changed setting of three values": (lambda record: record["result"].update(overridden={"a": [1, 2, 3]}), "over"),
    "a ceiling that is no number": (
        lambda record: record["result"].update(blind_ceiling=float("nan")),
        "blind_ceiling",
    ),
    "no identity": (lambda record: record.pop("identity"), "identity"),
}


@pytest.mark.parametrize("name", VERSIONS)
def test_a_record_of_another_version_is_named_with_its_part(name, fake_runs):
    change, key = VERSIONS[name]
    path = run_folders(fake_runs)[0] / RUN
    record = json.loads(path.read_text())
    change(record)
    path.write_text(json.dumps(record))
    with pytest.raises(UserError, match=rf"run\.json.*{key}"):
        read_finished(path.parent)
    assert has_result(path.parent), "damage is no reason to train again"


@pytest.mark.parametrize("pack", PACKS, ids=lambda pack: pack.name)
def test_packed_records_are_written_as_they_were_read(pack):
    for folder, files in packed_runs(pack).items():
        assert packed_record(Record.of_json(files[RUN])) == files[RUN], folder


def test_a_result_of_another_type_is_not_written(fake_runs):
    folder = run_folders(fake_runs)[0]
    before = (folder / RUN).read_bytes()
    with pytest.raises(ValueError, match="steps"):
        update_record(folder, result=structs.replace(read_finished(folder).result, steps="many"))
    assert (folder / RUN).read_bytes() == before


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
