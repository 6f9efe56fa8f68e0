"""Test that the command on the page is complete: overlays, settings and seeds."""

import shlex

import pytest

from benchmarks.papers.pages import table_command
from lit_video.tables.reading import read_table
from tests.fake_runs import EXPERIMENTS, fake_run

TABLE = read_table([EXPERIMENTS / "ablation_tw.yaml"])
FIT = "lit_video fit --config"
OURS = f"{FIT} {TABLE.path.as_posix()}"


@pytest.mark.parametrize(
    ("recorded", "flags"),
    [
        ("experiments/ablation_tw.yaml --row tw0 --seeds 0 --runs DIR --trainer.logger false --reuse", ""),
        ("experiments/ablation_tw.yaml -c scale/gpu.yaml --row=tw0", " -c scale/gpu.yaml"),
        ("experiments/ablation_ta.yaml --row ta0 --jobs 2", ""),  # taken from another table's run
        ("experiments/ablation_tw.yaml --data.root DIR --recipe released --data.skills='[a, b]'",
         " --data.root DIR --recipe released --data.skills='[a, b]'"),
        ("t.yaml --trainer.max_epochs -1 --trainer.enable_progress_bar=false", " --trainer.max_epochs -1"),
    ],
)  # fmt: skip
def test_a_tables_command_has_all_that_its_results_had(recorded, flags):
    runs = [fake_run({}, seed=seed, command=f"{FIT} {recorded}") for seed in (2, 0)]
    assert shlex.split(table_command(TABLE, runs)) == shlex.split(f"{OURS}{flags} --seeds 0,2")


def test_settings_of_some_rows_are_shown_too():
    """Show a flag that only one run was given."""
    runs = [fake_run({}, command=command) for command in (OURS, f"{OURS} --trainer.max_epochs=1")]
    assert table_command(TABLE, runs) == f"{OURS} --trainer.max_epochs=1 --seeds 0"
