"""Test that a plan says which of the user's videos are one draw, and that tests and folds on its table know it."""

from itertools import product

import numpy as np
import pytest

from lit_video.datamodules.drawing import encode
from lit_video.datamodules.inspection import open_dataset
from lit_video.datamodules.manifest import MANIFEST
from lit_video.own_videos.experiment import Asked, write_experiment
from lit_video.own_videos.finding import OwnVideo, find_own_videos
from lit_video.own_videos.plan import Inspected, Plan, divide, inspect
from lit_video.runs.predictions import save_logits
from lit_video.training.folds import draws_of_folds
from lit_video.utils.yaml_files import read_yaml
from tests.fake_runs import change_result, write_result

RECORDINGS = 6
CLIPS = 4  # near-equal clips of a recording


@pytest.fixture(scope="module")
def clips(tmp_path_factory):
    """Folder of two classes: six recordings of four near-equal clips, in a table of recordings and rooms."""
    folder = tmp_path_factory.mktemp("clips")
    rng = np.random.default_rng(0)
    rows = ["path,label,recording,room"]
    for recording in range(RECORDINGS):
        picture = rng.integers(0, 200, (4, 16, 16, 3))
        for clip in range(CLIPS):
            name = f"IMG_{10 * recording + clip}.mp4"
            encode(folder / name, (picture + 10 * clip).astype(np.uint8), 8)
            rows.append(f"{name},{'ab'[recording % 2]},session {recording // 2}{recording % 2},room {clip % 2}")
    (folder / "labels.csv").write_text("\n".join(rows))
    return folder


def planned(folder, output, *, group=None, folds=False):
    """Write the experiment on a folder's videos, without measured choices; return its section data."""
    inspected = inspect(find_own_videos(folder), output / MANIFEST)
    divided = divide(inspected, group=group, folds=folds)
    plan = Plan(
        place=folder,
        root=folder,
        title="",
        model="XViT",
        videos=divided.videos,
        draw_names=divided.draw_names,
        rows={"all": {"label": "all"}},
        chosen=(),
        notes=divided.notes,
        duration="",
        seconds=0.0,
    )
    write_experiment(plan, output / "clips.yaml", Asked(), command=[])
    return {"data": read_yaml(output / "clips.yaml")["data"]}


def test_recordings_of_a_plan_are_draws_of_its_test(clips, tmp_path):
    data = open_dataset(planned(clips, tmp_path))
    draws = data.draws("test")
    assert len(data.records("test")) == CLIPS * draws.count and draws.count in (2, 3)
    training = open_dataset(planned(clips, tmp_path)).draws("train")
    assert draws.count + training.count == RECORDINGS


@pytest.mark.parametrize("group", ["none", "room"])
def test_the_users_word_decides_what_a_draw_is(group, clips, tmp_path):
    if group == "none":
        content = planned(clips, tmp_path, group="none")
        assert "draw_column" not in content["data"]["init_args"] and open_dataset(content).draws("test") is None
    else:
        content = planned(clips, tmp_path, group="room", folds=True)
        content["data"]["init_args"]["test_values"] = content["data"]["init_args"]["train_values"]
        assert open_dataset(content).draws("test").count == 2


@pytest.mark.parametrize("how", ["column", "column of the user", "names"])
@pytest.mark.parametrize("persons_tested", [(4, 5), (0, 4)])
def test_given_splits_that_mix_groups_are_not_said_to_keep_them_together(persons_tested, how, tmp_path, monkeypatch):
    """Persons 0 to 3 train; the test has persons 4 and 5, or persons 0 and 4."""
    monkeypatch.setattr("lit_video.own_videos.plan.copies", lambda paths: {})
    videos = []
    persons = {"train": (0, 1, 2, 3), "test": persons_tested}
    for split, label, clip in product(persons, "ab", range(5)):
        for person in persons[split]:
            name = f"p{person:02d}" if how == "names" else f"IMG{person}"
            columns = {} if how == "names" else {"person": f"p{person}"}
            videos.append(OwnVideo(f"{label}/{split}/{name}_{clip}.mp4", label, split, columns=columns))

    inspected = Inspected(tmp_path, videos, {}, [], [])
    divided = divide(inspected, group="person" if how == "column of the user" else None, folds=True)
    text = " ".join(divided.notes)
    is_mixed = 0 in persons_tested
    assert ("together stay together" in text or "are kept together" in text) == (not is_mixed)
    assert ("not kept together" in text and "training and test" in text) == (is_mixed and how != "names")


@pytest.mark.parametrize("whole", [True, False])
def test_joined_folds_have_as_many_draws_as_recordings(whole, clips, tmp_path):
    """Also where a recording is in several folds, each with one of its clips."""
    content = planned(clips, tmp_path, folds=True)
    data = content["data"]["init_args"]
    table = tmp_path / "clips_videos.csv"
    if not whole:
        header, *rows = table.read_text().splitlines()
        rows = [row.replace(row.split(",")[2], f"fold{number % CLIPS + 1}") for number, row in enumerate(rows)]
        table.write_text("\n".join([header, *rows]))
    names = sorted({row.split(",")[2] for row in table.read_text().splitlines()[1:]})

    folds = []
    for name in names:
        others = [other for other in names if other != name]
        settings = {**content["data"], "init_args": data | {"train_values": others, "test_values": [name]}}
        folder = tmp_path / f"runs/clips/own/{name}/seed0"
        folder.mkdir(parents=True)
        count = len(open_dataset({"data": settings}).records("test"))
        write_result(folder, table="clips", scale="own", row=name, test_videos=count, metrics={})
        change_result(folder, identity={"settings": {"data": settings}})
        save_logits(
            folder, np.arange(count), {"": (np.zeros((count, 2), np.float32), np.zeros(count, int), ["a", "b"])}
        )
        folds.append(folder)
    draws = draws_of_folds(folds)
    assert draws.count == RECORDINGS and np.bincount(draws.number).tolist() == [CLIPS] * RECORDINGS
