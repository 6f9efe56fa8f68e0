"""Test the script that adds draws to packed runs."""

import numpy as np
import pytest

from benchmarks import draws
from lit_video.datamodules import VideoCSV
from lit_video.datamodules.inspection import data_digest
from lit_video.runs.folder import run_folders
from lit_video.runs.packing import pack_runs
from lit_video.runs.packs import packed_runs
from lit_video.runs.predictions import read_predictions, save_logits
from tests.fake_runs import change_result, write_result

SPEAKERS = ["Ann", "Bo", "Cy"]
CLASSES = ["A", "B"]


def rows(speakers=SPEAKERS, labels=CLASSES):
    """Return the lines of labels.csv: each speaker says each letter twice."""
    lines = ["path,label,speaker,repetition"]
    for label in labels:
        for repetition in (1, 2):
            lines += [f"{label}{repetition}_{name}.mp4,{label},{name},{repetition}" for name in speakers]
    return "\n".join(lines) + "\n"


@pytest.fixture
def packed(tmp_path):
    """Folder of a list, and a pack of a run that was tested on it and of a run on other videos."""
    root = tmp_path / "data/avletters"
    root.mkdir(parents=True)
    (root / "labels.csv").write_text(rows())
    given = {"train_values": [1], "val_values": [2]}
    data = VideoCSV(root=str(root), train="labels.csv", split_column="repetition", **given)
    target = data.records("test").labels
    for scale in ("avletters", "embedded"):
        folder = tmp_path / f"runs/two/{scale}/first/seed0"
        folder.mkdir(parents=True)
        save_logits(folder, np.arange(6), {"": (np.eye(2)[target], target, CLASSES)})
        facts = {"table": "two", "scale": scale, "row": "first", "seed": 0, "gmacs": 1.0, "test_videos": 6}
        write_result(folder, **facts, metrics={"test/video_top1": 100.0})
        settings = {"data": {"init_args": given}}
        change_result(folder, identity={"settings": settings, "data": data_digest(data)})
    pack_runs([tmp_path / "runs"], tmp_path / "packs")
    return tmp_path


def run(folder, monkeypatch):
    monkeypatch.setattr("sys.argv", ["draws", str(folder / "data"), str(folder / "packs")])
    return draws.main()


def test_runs_on_a_listed_data_set_get_the_persons_of_their_videos_and_nothing_else_changes(packed, monkeypatch):
    pack = packed / "packs/two.tar.xz"
    before = {path: dict(files) for path, files in packed_runs(pack).items()}
    assert run(packed, monkeypatch) == 0
    after = packed_runs(pack)
    real, drawn = sorted(run_folders(packed / "packs"), key=lambda path: path.parts[-3])
    found = read_predictions(real).draws
    assert (found.kind, found.number.tolist()) == ("speaker", [0, 1, 2, 0, 1, 2])
    assert read_predictions(drawn).draws is None
    for path, files in before.items():
        assert {name for name in files if files[name] != after[path][name]} <= {"predictions.npz"}
    content = pack.read_bytes()
    assert run(packed, monkeypatch) == 0 and pack.read_bytes() == content, "a second call changes nothing"


@pytest.mark.parametrize(
    "text",
    [
        rows(labels=["A", "C"]),
        rows(SPEAKERS[:2]),
        rows(SPEAKERS[::-1]).replace("B2", "X2"),
        rows().replace("A2_Ann.mp4,A,", "A2_Ann.mp4,B,"),
    ],
    ids=["classes", "fewer videos", "other files", "another label"],
)
def test_a_list_of_other_videos_is_refused_and_no_pack_is_written(text, packed, monkeypatch, capsys):
    (packed / "data/avletters/labels.csv").write_text(text)
    draws.listed.cache_clear()
    content = (packed / "packs/two.tar.xz").read_bytes()
    assert run(packed, monkeypatch) == 2
    assert "labels.csv" in capsys.readouterr().err
    assert (packed / "packs/two.tar.xz").read_bytes() == content


def test_the_repositorys_runs_on_real_video_have_their_persons_or_recordings():
    expected = {"avletters": ("speaker", 10), "room_actions": ("recording", 2), "utd_mhad": ("person", 4)}
    seen = set()
    for folder in run_folders(draws.EXPERIMENTS.parent / "benchmarks/results"):
        if name := draws.data_set_of(folder):
            found = read_predictions(folder).draws
            assert (found.kind, found.count) == expected[name], folder
            seen.add(name)
    assert seen == set(expected)
