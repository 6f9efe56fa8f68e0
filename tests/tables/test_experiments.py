"""Test that experiments on other people's videos run, and that rows see order as their papers say."""

from inspect import signature

import pytest
from torch import nn

from lit_video import modules
from lit_video.__main__ import main
from lit_video.experiment.request import Run
from lit_video.experiment.spec import Spec
from lit_video.runs.folder import read_finished
from lit_video.runs.record import VideoCount
from lit_video.schemes.reach import reach
from lit_video.utils.yaml_files import read_yaml
from tests.command_line import parse_request
from tests.conftest import quick_or_slow
from tests.tables.experiments import EXPERIMENTS

# their videos are not in the repository
ROOMS, UTD = (EXPERIMENTS / f"{name}.yaml" for name in ("room_actions", "utd_mhad"))


@pytest.mark.parametrize(("table", "source"), [(ROOMS, "FIR-Image"), (UTD, "UTD-MHAD")])
def test_videos_that_are_absent_are_named_with_their_source(table, source, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LIT_VIDEO_DATA", str(tmp_path))
    assert main(["fit", "--config", str(table), "--row", "xvit1", "--runs", str(tmp_path / "runs")]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert f"data.root: {tmp_path / table.stem} does not exist; give the folder that holds {source}" in line


# beginning of a label -> positions of its row
POSITIONS = {"control": "space-time", "blind": "space"}


def test_controls_have_positions_in_time_and_blind_rows_have_none(letters, persons):
    """Check rows by their labels; ViViT has positions of all tokens, and no setting for them."""
    folders = {"avletters": letters, "utd_mhad": persons}
    roots = {table: [f"--data.root={folder}"] for table, folder in folders.items()}
    roots |= {"skills": [], "timesformer_schemes": []}
    for table, flags in roots.items():
        request = parse_request(["--config", str(EXPERIMENTS / f"{table}.yaml"), *flags])
        named = [(row, row.label.partition(":")[0]) for row in request.rows]
        checked = [(row, name) for row, name in named if name in POSITIONS]
        assert checked, table
        for row, name in checked:
            model = Run(request, row, 0).settings["model"]
            kind = getattr(modules, model["class_path"].rpartition(".")[2])
            if kind is not modules.ViViT:
                usual = signature(kind).parameters["positions"].default
                assert model["init_args"].get("positions", usual) == POSITIONS[name], (table, row.name)


@pytest.mark.slow
def test_persons_of_utd_mhad_are_tested_in_every_order_and_by_group(persons, tmp_path):
    flags = [f"--data.root={persons}", "--trainer.max_epochs=1", "--trainer.check_val_every_n_epoch=1"]
    flags += ["--trainer.logger=false", "--runs", str(tmp_path)]
    assert main(["fit", "--config", str(UTD), "--row", "xvit1", *flags]) == 0
    result = read_finished(tmp_path / "utd_mhad" / "cpu" / "xvit1" / "seed0").result
    assert (result.test_videos, result.test_broken) == (36, 0)
    assert result.video_counts == {split: VideoCount(36, 36) for split in ("train", "val")}
    for order in ("test", "reversed", "shuffled", "static"):
        all_videos, pairs, others = (
            result.metrics[f"{order}/{name}"] for name in ("video_top1", "group/order pairs", "group/others")
        )
        assert all_videos == pytest.approx((8 * pairs + others) / 9)


ORDER = [
    *(("skills", "blind", False), ("skills", "space", False), ("timesformer_schemes", "space", False)),
    *(("skills", f"control_{family}", True) for family in ("xvit", "timesformer", "vivit")),
    *(("timesformer_schemes", "control_timesformer", True), ("ablation_tw", "tw0", True)),
    *(("timesformer_positions", row, False) for row in ("none", "space")),
    *(("ablation_layers", row, True) for row in ("odd", "second_half")),
]
# a blind row, a control and a row without mixing; the others are of the same kinds
SEEN = {("skills", "blind", False), ("skills", "control_xvit", True), ("timesformer_schemes", "space", False)}
SEEN |= {("ablation_tw", "tw0", True), ("timesformer_positions", "space", False)}


@pytest.mark.parametrize(("table", "row", "order"), quick_or_slow(ORDER, SEEN))
def test_a_row_sees_the_order_of_frames_or_is_blind_as_its_paper_says(table, row, order, tiny):
    """A blind row gives both videos of a reversed pair the same logits, and cannot beat the ceiling."""
    request = parse_request(["--config", str(EXPERIMENTS / f"{table}.yaml")])
    built = Spec(Run(request, request.table.row(row), 0)).build()
    found = reach(built.model.network, built.datamodule.num_frames, built.datamodule.image_size)
    assert (found.order, found.near) == (order, False)


CONTROLS = {"xvit": 0, "timesformer": 0, "vivit": 1}  # distance of frames: a tubelet of ViViT holds two


@pytest.mark.parametrize("family", quick_or_slow(CONTROLS, {"vivit"}))
def test_a_control_knows_when_each_frame_is_and_compares_no_frames_beyond_a_tubelet(family, tiny):
    request = parse_request(["--config", str(EXPERIMENTS / "skills.yaml")])
    built = Spec(Run(request, request.table.row(f"control_{family}"), 0)).build()
    network = built.model.network
    network.norm = nn.Identity()  # TimeSformer's norm follows the mean over frames, and divides by all of them
    found = reach(network, built.datamodule.num_frames, built.datamodule.image_size)
    assert found.order and found.frames == CONTROLS[family]


def parts_of(section):
    """Return the parts of the skills for a section, the first one first."""
    return [read_yaml(path) for path in sorted(EXPERIMENTS.glob(f"parts/{section}_skills*.yaml"))]


def test_another_lesson_or_number_of_steps_is_all_that_differs_between_the_parts_of_the_skills():
    """A section names one file, as for Lightning, so each part repeats what it shares with the first."""
    data, trainers = parts_of("data"), parts_of("trainer")
    lessons = [part["init_args"].pop("lesson") for part in data]
    steps = [part.pop("max_steps") for part in trainers]
    assert len(data) == len(trainers) == 3
    assert all(part == data[0] for part in data) and all(part == trainers[0] for part in trainers)
    assert all(lessons.count(lesson) == 1 for lesson in lessons) and steps == sorted({*steps})
