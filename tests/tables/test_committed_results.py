"""Test that results in the repository are those of the experiments as they are now."""

import csv
import re

import numpy as np
import pytest

from lit_video.datamodules import TemporalSkills
from lit_video.datamodules.temporal_skills import VERSION
from lit_video.runs.folder import read_finished, run_file, run_folders
from lit_video.runs.predictions import read_predictions
from lit_video.runs.record import Identity, differences
from lit_video.tables.judging import judge, rows_of
from lit_video.tables.reading import table_at
from lit_video.tables.summary import read_runs
from tests.fake_runs import fake_result
from tests.shared import shared
from tests.tables.experiments import EXPERIMENTS, all_claims, differing, request_of, resolved

RESULTS = EXPERIMENTS.parent / "benchmarks" / "results"
RUNS = run_folders(RESULTS)
ROWS = sorted({run.parent for run in RUNS})
# the beginning of a path outside the repository
OF_A_MACHINE = re.compile(r"""(^|[\s"'=])(\.\./|~/|/[a-z]+/)""", re.MULTILINE)
REAL = ("avletters", "room_actions", "utd_mhad")  # data sets after which tables and scales are named


FIRST = {folder.parents[1]: folder for folder in reversed(ROWS)}  # a row of each table


def files_of(folder):
    """Return the files of a table and its scale."""
    table, scale, _ = folder.relative_to(RESULTS).parts
    overlays = [path for part in scale.split("+") for path in EXPERIMENTS.glob(f"*/{part}.yaml")]
    return EXPERIMENTS / f"{table}.yaml", *(path for path in overlays if path.parent.name in ("scale", "parts"))


def test_every_run_has_its_rows_own_settings():
    for folder in ROWS:
        settings = request_of(*files_of(folder)).table.row(folder.name).settings
        assert not differing(settings, read_finished(run_folders(folder)[0]).identity.settings), folder


def real_data(folder):
    """Return the data set of real videos that the runs of a row were made on; empty if its videos are drawn."""
    table, scale, _ = folder.relative_to(RESULTS).parts
    return next((name for name in REAL if table.startswith(name) or scale.startswith(name)), "")


def marks(folder):
    slow = [pytest.mark.slow] if folder not in FIRST.values() else []
    return [*slow, pytest.mark.shared] if real_data(folder) else slow


@pytest.mark.parametrize(
    "folder",
    [pytest.param(folder, marks=marks(folder)) for folder in ROWS],
    ids=lambda folder: "-".join(folder.relative_to(RESULTS).parts),
)
def test_results_were_made_with_the_settings_of_their_experiment(folder):
    name = real_data(folder)
    flags = (f"--data.root={shared(f'data/{name}')}",) if name else ()
    built = resolved(folder.name, *files_of(folder), flags=flags)
    settings = built.settings
    ceilings = possible_ceilings(built.datamodule, settings)
    for run in run_folders(folder):
        finished = read_finished(run)
        ceiling = finished.result.blind_ceiling
        assert ceiling is None or ceiling in ceilings
        now = settings | {"seed_everything": int(run.name.removeprefix("seed"))}
        found = differences(Identity(finished.identity.settings), Identity(now))
        assert {each.kind for each in found} <= {"folder"}, run


def possible_ceilings(data, settings):
    """Return the ceiling of models blind to order, and the one of exact models, which know nearness."""
    if not isinstance(data, TemporalSkills):
        return []
    exact = settings["model"]["init_args"].get("exact")
    return [data.blind_ceiling, *([data.reversal_ceiling] if exact else [])]


def above_ceiling(results):
    """Return whether a row that is blind to order is a point above its ceiling, in top-1 or direction."""
    ceiling = results[0].blind_ceiling
    if results[0].sees_order is not False or ceiling is None:
        return False
    metrics = [result.metrics for result in results]
    directions = [one.get("test/direction", 50.0) for one in metrics]
    return bool(np.mean([one["test/video_top1"] for one in metrics]) >= ceiling + 1 or np.mean(directions) > 51)


@pytest.mark.parametrize(
    ("changes", "above"),
    [
        ({}, False),
        ({"metrics": {"test/video_top1": 39.0}}, True),
        ({"metrics": {"test/video_top1": 37.0, "test/direction": 53.0}}, True),
        ({"metrics": {"test/video_top1": 90.0}, "sees_order": True}, False),
        ({"metrics": {"test/video_top1": 90.0}, "blind_ceiling": None}, False),
    ],
)
def test_a_row_above_its_ceiling_is_found(changes, above):
    metrics = {"test/video_top1": 37.0, "test/direction": 50.0}
    facts = {"metrics": metrics, "sees_order": False, "blind_ceiling": 37.5} | changes
    assert above_ceiling([fake_result(**facts)]) == above


def test_no_blind_row_is_above_its_ceiling():
    assert not [folder for folder in ROWS if above_ceiling([read_finished(run).result for run in run_folders(folder)])]


def test_every_run_on_the_skills_is_of_todays_version():
    skills = [read_finished(run).identity for run in RUNS]
    skills = [one for one in skills if one.settings["data"]["class_path"].endswith("TemporalSkills")]
    assert RUNS and all(one.data.startswith(f"temporal_skills-v{VERSION}-") for one in skills)


def real_data_of(folder):
    """Return the name of the real videos that a run's table or scale is named after; empty for another run."""
    table, scale = folder.relative_to(RESULTS).parts[:2]
    return next((name for name in REAL if table.startswith(name) or name in scale.split("+")), "")


def test_runs_on_real_video_have_their_persons_or_recordings():
    expected = {"avletters": ("speaker", 10), "room_actions": ("recording", 2), "utd_mhad": ("person", 4)}
    seen = set()
    for folder in RUNS:
        if name := real_data_of(folder):
            draws = read_predictions(folder).draws
            assert (draws.kind, draws.count) == expected[name], folder
            seen.add(name)
    assert seen == set(expected)


@pytest.mark.slow
def test_unfinished_rows_are_those_of_the_curves():
    """Recompute from curves.csv which rows on real video ended below 90 % of their training clips, in any seed."""
    checked = 0
    for claim in all_claims():
        for scale in REAL:
            rows = [row for row in rows_of(claim) if row != claim.control]
            seeds = {row: run_folders(RESULTS / claim.table.name / scale / row) for row in rows}
            if not all(seeds.values()):
                continue

            judged = judge(claim, read_runs(table_at(claim.table.path, scale), RESULTS))
            if not judged.tested and judged.judgement != "unfinished":
                continue
            least = {row: min(map(last_share, folders)) for row, folders in seeds.items()}
            late = [
                f"{row}: {share:.0f} % of training clips"
                for row, share in least.items()
                if share < 90 and row not in claim.table.controls
            ]
            assert judged.why == "; ".join(late)
            assert judged.recorded
            checked += 1
    assert checked > 25


def last_share(folder):
    """Return a run's share of training clips right in the last epoch, by its file."""
    lines = list(csv.DictReader(run_file(folder, "curves.csv").decode().splitlines()))
    return [float(line["train/clip_top1"]) for line in lines if line["train/clip_top1"]][-1]


def test_no_result_names_a_folder_of_a_machine():
    """Search commands and settings, in which DIR stands for every folder outside the repository."""
    texts = {path: path.read_text(encoding="utf-8") for path in RESULTS.rglob("*.json")}
    texts |= {run: run_file(run, "run.json").decode() for run in RUNS}
    assert not [path for path, text in texts.items() if OF_A_MACHINE.search(text)]
