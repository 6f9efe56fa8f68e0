"""Test that settings merged as data resolve to what LightningCLI makes of the same files and flags, row by row."""

import json
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import yaml
from jsonargparse import ArgumentError

from lit_video.experiment.cli import VideoCLI
from lit_video.experiment.request import Run, build_request
from lit_video.runs.record import Identity, differences
from lit_video.settings.flags import read_flags
from lit_video.settings.nested import read_settings, starts_anew
from lit_video.tables.table import MERGED_KEY
from lit_video.utils.yaml_files import read_yaml
from tests.conftest import quick_or_slow
from tests.tables.experiments import EXPERIMENTS

TABLES = sorted(EXPERIMENTS.glob("*.yaml"))
COPIES = TemporaryDirectory()  # of tables' files, until the process ends
SCALES = [None, *sorted((EXPERIMENTS / "scale").glob("*.yaml"))]


@cache
def without_data(path):
    """Write a table's file with its parts, but without its data; return the copy."""
    content = read_settings(path)
    del content["data"]
    copy = Path(COPIES.name) / path.name
    copy.write_text(yaml.safe_dump(content))
    return copy


def words(run, flags=()):
    """Return the command line of LightningCLI for a run.

    A row's mapping follows null, to replace the files'. If a scale names another data set, the table's data are left
    out, because Lightning would merge both.
    """
    first, *scales = run.request.configs
    if any(starts_anew(read_settings(first).get("data"), read_yaml(scale)) for scale in scales):
        first = without_data(first)
    line = [word for path in (first, *scales) for word in ("--config", str(path))]
    settings = dict(run.row.settings)
    if run.start:  # run:TABLE/SCALE/ROW means a folder
        settings["model.weights"] = str(run.start)
    for key, value in sorted(settings.items(), key=lambda setting: "." in setting[0]):
        if isinstance(value, dict) and key != MERGED_KEY:
            line.append(f"--{key}=null")
        line.append(f"--{key}={value if isinstance(value, str) else json.dumps(value)}")
    return [*line, *flags, f"--seed_everything={run.seed}"]


def resolved(settings):
    """Return resolved settings as JSON; ``refused`` if a class does not take them."""
    try:
        return json.dumps(VideoCLI(settings).resolved())
    except ArgumentError:
        return "refused"


def assert_equal(run, flags=()):
    """Assert that both ways resolve a run alike; return whether they refuse it."""
    ours = resolved(run.settings)
    assert ours == resolved(words(run, flags)), run.name
    return ours == "refused"


def recipes(table, scale):
    """Return the names of a scale's recipes for a table's family; ``None`` alone if it has no recipes."""
    named = read_yaml(scale).get("recipes") if scale else None
    return [None] if named is None else list(named[read_yaml(table)["table"]["family"]])


def fits(table, scale):
    """Return whether a scale has no recipes, or some for the family of every row; ``fit`` refuses others."""
    named = read_yaml(scale).get("recipes") if scale else None
    if named is None:
        return True
    section = read_yaml(table)["table"]
    families = {row.get("family", section.get("family")) for row in section["rows"].values()}
    return families <= named.keys()


@cache
def runs_of(table, scale):
    """Return the runs of all rows with all recipes; rows of equal settings once."""
    runs = {}
    for recipe in recipes(table, scale):
        request = build_request([table, scale] if scale else [table], recipe=recipe)
        for row in request.rows:
            runs[json.dumps(row.settings, sort_keys=True)] = Run(request, row, 0)
    return list(runs.values())


PARTS = [(table, scale) for table in TABLES for scale in SCALES if fits(table, scale)]


# a table of every family, of real video, and of videos of one's own scale; tests/tables resolves a row of every table
FEW = {"ablation_tw", "avletters", "causal", "timesformer_cnns", "timesformer_schemes", "vivit_models", "xvit_epic"}


@pytest.mark.parametrize("table", quick_or_slow([path.stem for path in TABLES], FEW))
def test_the_last_row_of_a_table_is_what_lightning_resolves(table):
    assert not assert_equal(runs_of(EXPERIMENTS / f"{table}.yaml", None)[-1])


@pytest.mark.slow
@pytest.mark.parametrize(("table", "scale"), PARTS, ids=lambda path: path.stem if path else "own")
def test_every_row_of_a_table_at_every_scale_is_what_lightning_resolves(table, scale, record_property):
    refused = [assert_equal(run) for run in runs_of(table, scale)]
    assert len(set(refused)) == 1  # a scale of other data fits no row
    record_property("rows", len(refused))
    record_property("refused", sum(refused))


FLAGS = {
    "values of every section": [
        *("--model.window=2", "--trainer.max_epochs=3", "--data.test_orders=[reversed, shuffled]"),
        *("--data.sampling=DenseStride", "--data.sampling.stride=2", "--data.augmentation=vivit-ssv2"),
        *("--trainer.callbacks+=LearningRateMonitor", "--trainer.callbacks.logging_interval=step"),
        *("--trainer.logger=CSVLogger", "--trainer.logger.save_dir=logs"),
        *("--nan=skip:2", "--global_batch=32", "--checkpoint_every=5"),
    ],
    "a class as a mapping, a dataclass's fields, a name with a value in braces": [
        *('--data.sampling={"class_path": "DenseStride", "init_args": {"stride": 3}}', "--model.init_args.window=2"),
        *('--model.optimization={"momentum": 0.5}', "--model.optimization.lr=1e-3"),
        *("--trainer.callbacks+=ModelCheckpoint", "--trainer.callbacks.monitor=val/loss"),
        "--trainer.callbacks.filename={val/loss:.3f}",
    ],
    "another model and other data, whose name looks like a number": [
        *("--model=TimeSformer", "--model.attention_type=joint", "--data=VideoFolder", "--data.root=123"),
    ],
    "null, and a value twice": [
        *("--model.optimization=null", "--trainer.gradient_clip_val=null", "--model.window=2", "--model.window=1"),
    ],
    "free names": ["--data=VideoCSV", "--data.root=/v", '--data.groups={"up": ["walk"]}', "--data.groups.down=[fall]"],
}


@pytest.mark.parametrize("case", FLAGS)
def test_flags_are_what_lightning_makes_of_them(case):
    given = read_flags(FLAGS[case])
    (run,) = build_request([EXPERIMENTS / "ablation_tw.yaml"], ["tw1"], user_settings=given).runs
    assert not assert_equal(run, FLAGS[case])


def test_one_callback_is_the_same_run_as_a_list_of_it():
    flags = ["--trainer.callbacks=EMAWeightAveraging", "--trainer.callbacks.decay=0.9"]
    (run,) = build_request([EXPERIMENTS / "ablation_tw.yaml"], ["tw1"], user_settings=read_flags(flags)).runs
    listed = Identity(VideoCLI(words(run, flags)).resolved())
    assert not differences(listed, Identity(VideoCLI(run.settings).resolved()))
    assert differences(listed, Identity(VideoCLI(run.row_settings).resolved()))
