"""Packed runs of the skills table: rows, their controls and their differences, for its page and its pictures."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

from lit_video.datamodules import TemporalSkills
from lit_video.tables.judging import LEARNED
from lit_video.tables.reading import read_table
from lit_video.tables.row_hits import RowHits
from lit_video.tables.statistics import Interval
from lit_video.tables.summary import TableRuns, read_runs
from lit_video.utils.yaml_files import read_yaml

ROOT = Path(__file__).resolve().parents[2]
EXPERIMENTS = ROOT / "experiments"
RESULTS = ROOT / "benchmarks" / "results"
TABLE = "skills"
LENGTHS = {"1x": ("profile",), "4x": ("profile", "steps4096")}
CONTROLS = {
    "xvit1": "control_xvit",
    "ta": "control_xvit",
    "divided": "control_timesformer",
    "joint": "control_timesformer",
    "local_global": "control_timesformer",
    "vivit1": "control_vivit",
    "vivit2": "control_vivit",
}  # the control of each scheme's family
BLIND = "space"


def runs_at(scales: Sequence[str], table: str = TABLE) -> TableRuns:
    """Return the runs of a table at a scale."""
    files = [EXPERIMENTS / f"{table}.yaml", *(EXPERIMENTS / "scale" / f"{name}.yaml" for name in scales)]
    return read_runs(read_table(files), RESULTS)


def skills_data() -> TemporalSkills:
    """Return the data set of the scale, whose videos are not drawn."""
    base = read_yaml(EXPERIMENTS / "parts/data_skills.yaml")["init_args"]
    own = read_yaml(EXPERIMENTS / "scale/profile.yaml")["data"]["init_args"]
    given: dict[str, Any] = {**base, **own}
    kept = ("num_frames", "skills", "difficulty", "test_difficulty", "pairs")
    return TemporalSkills(**{name: given[name] for name in kept})


def metric_of(runs: TableRuns, row: str, metric: str) -> float | None:
    """Return the mean of a metric over a row's seeds; ``None`` without runs."""
    of_seeds = [run.result.metrics for run in runs.by_row.get(row, ())]
    values = [metrics[metric] for metrics in of_seeds if metric in metrics]
    return mean(values) if values else None


def is_late(runs: TableRuns, row: str) -> bool:
    """Return whether a row ends before it has learned; a row that cannot see what the task needs is not asked to."""
    trained = runs.trained(row)
    return trained is not None and trained < LEARNED and not runs.limits(row).any


def decides_nothing(runs: TableRuns, row: str) -> bool:
    """Return whether a scheme or its control ends before it has learned."""
    return is_late(runs, row) or is_late(runs, CONTROLS[row])


def above_control(hits: RowHits, row: str) -> Interval | None:
    """Return a scheme's difference from its control; ``None`` without runs."""
    return hits.difference(row, CONTROLS[row])


def hits_of_skill(runs: TableRuns, classes: Sequence[int]) -> RowHits:
    """Return the hits of direction on the test videos of a skill."""
    every = [one for seeds in runs.predictions.values() for one in seeds]
    chosen = np.flatnonzero(np.isin(every[0].tasks[""].target, classes))
    hits = {row: [seed[chosen] for seed in seeds] for row, seeds in runs.hits.items()}
    draws = runs.row_hits.draws
    return RowHits(hits, replace(draws, number=draws.number[chosen]) if draws else None)


def labels(runs: TableRuns) -> Mapping[str, str]:
    """Return the label of each row."""
    return {row.name: row.label for row in runs.table.rows}
