"""Test the script that removes packed runs on older videos and corrects recorded settings."""

import numpy as np
import pytest

from benchmarks import mended_packs
from benchmarks.mended_packs import parameters
from lit_video.datamodules.temporal_skills import VERSION
from lit_video.runs.packing import pack_runs
from lit_video.runs.packs import packed_runs
from lit_video.runs.predictions import save_logits
from lit_video.runs.record import Record
from tests.fake_runs import EXPERIMENTS, change_result, write_result

NOW, BEFORE = (f"temporal_skills-v{version}-drift-8x32" for version in (VERSION, VERSION - 1))
SKILLS = {"class_path": "lit_video.datamodules.TemporalSkills", "init_args": {"num_frames": 4, "image_size": 32}}
LISTED = {"class_path": "lit_video.datamodules.VideoCSV", "init_args": {"num_frames": 4, "image_size": [32, 16]}}
CLASSES = ["left", "right"]


def model(attention="divided", positions="space-time"):
    size = {"embed_dim": 8, "depth": 1, "num_heads": 1, "mlp_ratio": 4.0, "eps": None, "gelu": None}
    given = {"size": size, "patch_size": 16, "attention_type": attention, "cls_in_time": False, "hidden_head": False}
    return {"class_path": "lit_video.modules.TimeSformer", "init_args": given | {"positions": positions}}


def write(runs, table, scale, row, *, data, digest, network=None, had="space-time", more=0):
    """Write a run whose network had the positions ``had``, and ``more`` parameters."""
    folder = runs / table / scale / row / "seed0"
    folder.mkdir(parents=True)
    network = network or model()
    save_logits(folder, np.arange(2), {"": (np.eye(2), np.arange(2), CLASSES)})
    params = parameters(network["init_args"], data["init_args"], len(CLASSES), had) + more
    facts = {"table": table, "scale": scale, "row": row, "seed": 0, "gmacs": 1.0, "test_videos": 2, "params": params}
    write_result(folder, **facts, metrics={"test/video_top1": 100.0})
    settings = {"data": data, "model": network}
    change_result(folder, identity={"settings": settings, "data": digest})


@pytest.fixture
def place(tmp_path):
    """Folder of two tables' runs; names say nothing about the data."""
    runs, space = tmp_path / "runs", model("space")
    write(runs, "mixed", "utd_mhad", "older", data=SKILLS, digest=BEFORE)
    write(runs, "mixed", "utd_mhad", "oldest", data=SKILLS, digest=f"temporal_skills-v{VERSION}0-drift")
    write(runs, "mixed", "embedded", "today", data=SKILLS, digest=NOW)
    write(runs, "mixed", "embedded", "real", data=LISTED, digest="00ab")
    write(runs, "mixed", "embedded", "space", data=LISTED, digest="00ab", network=space, had="space")
    write(runs, "mixed", "embedded", "control", data=LISTED, digest="00ab", network=space)
    write(runs, "gone", "embedded", "older", data=SKILLS, digest=BEFORE)
    pack_runs([runs], tmp_path / "packs")
    return tmp_path


def run(place, monkeypatch):
    monkeypatch.setattr("sys.argv", ["mended_packs", str(place / "packs")])
    return mended_packs.main()


def records(pack):
    return {folder.parts[-2]: Record.of_json(files["run.json"]) for folder, files in packed_runs(pack).items()}


def test_runs_on_older_videos_go_and_packs_without_runs_are_deleted(place, monkeypatch):
    pack = place / "packs/mixed.tar.xz"
    before = packed_runs(pack)
    assert run(place, monkeypatch) == 0
    assert [path.name for path in (place / "packs").iterdir()] == ["mixed.tar.xz"]
    after = packed_runs(pack)
    assert {folder.parts[-2] for folder in after} == {"today", "real", "space", "control"}
    for folder, files in after.items():
        changed = {name for name in files if files[name] != before[folder][name]}
        assert changed == ({"run.json"} if folder.parts[-2] == "space" else set())


def test_positions_become_those_of_the_network_and_the_record_says_so(place, monkeypatch):
    pack = place / "packs/mixed.tar.xz"
    before = records(pack)
    assert run(place, monkeypatch) == 0
    after = records(pack)
    assert after["control"].corrections is None, "its parameters are those of positions in time"
    mended = after["space"]
    (note,) = mended.corrections
    assert (note.was, note.now, note.by) == ("space-time", "space", mended_packs.SCRIPT)
    assert (EXPERIMENTS.parent / mended_packs.SCRIPT).is_file()
    assert mended.identity.settings["model"]["init_args"].pop("positions") == "space"
    assert before["space"].identity.settings["model"]["init_args"].pop("positions") == "space-time"
    assert mended.with_parts(corrections=None) == before["space"]


def test_a_second_call_changes_nothing(place, monkeypatch, capsys):
    assert run(place, monkeypatch) == 0
    content = (place / "packs/mixed.tar.xz").read_bytes()
    capsys.readouterr()
    assert run(place, monkeypatch) == 0 and not capsys.readouterr().out
    assert (place / "packs/mixed.tar.xz").read_bytes() == content


def test_a_network_of_neither_kind_is_refused_and_no_pack_is_written(place, monkeypatch, capsys):
    space = model("space")
    write(place / "runs", "odd", "cpu", "space", data=LISTED, digest="00ab", network=space, had="space", more=1)
    pack_runs([place / "runs/odd"], place / "packs")
    content = {path: path.read_bytes() for path in (place / "packs").iterdir()}
    assert run(place, monkeypatch) == 2
    assert "odd/cpu/space/seed0" in capsys.readouterr().err
    assert content == {path: path.read_bytes() for path in (place / "packs").iterdir()}
