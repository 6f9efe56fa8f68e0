"""Fixtures of all tests: an environment of their own, tiny models and data, and finished runs."""

import os
import random
import re
import shutil
import sys
from copy import copy
from functools import cache
from importlib import import_module
from itertools import groupby

import matplotlib
import numpy as np
import pytest
from filelock import FileLock

from lit_video.__main__ import main
from lit_video.launching.queue import FOREIGN
from lit_video.utils.messages import shown_messages
from lit_video.utils.startup import set_up_process
from tests.around import ROOT, depends_on_surroundings
from tests.fake_runs import EXPERIMENTS, ROWS, write_table_runs

SMALL_TABLE = ROOT / "tests/small"  # a table whose rows train in seconds
set_up_process()
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["MPLCONFIGDIR"] = matplotlib.get_cachedir()  # tests change HOME: keep the list of fonts
# shell variables that change commands: inside an allocation, Lightning would take the tests for a Slurm job
for name in [name for name in os.environ if FOREIGN.fullmatch(name) or name.startswith(("LIT_VIDEO_", "WANDB_"))]:
    if name != "WANDB_SILENT":
        del os.environ[name]

# a model and a data set small enough for a run of seconds
TINY = [
    "--data.pairs=[2,1,1]",
    "--data.num_frames=4",
    "--data.image_size=16",
    "--data.batch_size=4",
    "--data.num_workers=0",
    "--model.size.embed_dim=16",
    "--model.size.depth=2",
    "--model.size.num_heads=2",
    "--trainer.max_epochs=2",
    "--trainer.log_every_n_steps=2",
    "--trainer.check_val_every_n_epoch=1",
]
# for the papers' tables: skills that are visible in four frames, all from the first step, and no fresh films
FOUR_SKILLS = ("--data.skills=[drift,zoom,rotation,meeting]", "--data.lesson=null", "--data.fresh=0")


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by markers
def pytest_collection_modifyitems(items, config):
    """Mark the tests that depend on what is around them, if they are asked for; those of one function alike."""
    # not above: pytest-xdist's first process, which runs no test, imports this file, too; and not in a fixture: a test
    # that forgets its own imports would leave a second module
    import_module("lit_video.training.stills")
    if "around" not in config.option.markexpr:
        return
    for _, group in groupby(items, key=lambda item: item.function):
        tests = [*group]
        if depends_on_surroundings(tests[0]):
            for test in tests:
                test.add_marker("around")


@pytest.fixture(autouse=True)
def equal_draws():
    """Let a test draw equal values in each run, whatever ran before it."""
    random.seed(0)
    np.random.seed(0)
    import_module("torch").manual_seed(0)


@pytest.fixture(autouse=True)
def whole_data_loaders():
    """Undo Lightning's patch of DataLoader, which a data hook that raises leaves behind: no later copy works."""
    yield
    loading = sys.modules.get("torch.utils.data")
    for name in ("__init__", "__setattr__", "__delattr__") if loading else ():
        if f"__old{name}" in vars(loading.DataLoader):
            setattr(loading.DataLoader, name, vars(loading.DataLoader)[f"__old{name}"])
            delattr(loading.DataLoader, f"__old{name}")


@pytest.fixture(scope="session")
def data_root(tmp_path_factory):
    """Folder of embedded data that all tests share."""
    return tmp_path_factory.mktemp("data")


def quick_or_slow(names, quick):
    """Mark all parameters, or tuples of them, except the quick ones as slow; each takes a second or more."""
    values = {name: name if isinstance(name, tuple) else (name,) for name in names}
    return [name if name in quick else pytest.param(*values[name], marks=pytest.mark.slow) for name in values]


@pytest.fixture(scope="session", autouse=True)
def home(data_root):
    """Repository root as working directory, with the tests' own data, without the user's caches and W&B."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        patch.setenv("LIT_VIDEO_DATA", str(data_root))
        patch.setenv("HOME", str(data_root))
        patch.setenv("WANDB_MODE", "disabled")
        yield


@pytest.fixture(scope="session", autouse=True)
def few_rounds():
    """Times measured in as few steps as possible: a test compares no times."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lit_video.schemes.layer_cost.ROUNDS", 1)
        patch.setattr("lit_video.training.rehearsal.LEAST_TIMED", 1)
        patch.setattr("lit_video.training.rehearsal.ENOUGH_SECONDS", 0.0)
        patch.setattr("lit_video.training.rehearsal._seconds_of_imports", lambda: 10.0)
        yield


@pytest.fixture(scope="session", autouse=True)
def one_parser():
    """Settings of all runs read by one parser, and equal settings once: a quarter of a tiny run is reading.

    Settings with classes outside of this package and Lightning are read each time: tests write modules of one name.
    """
    from lit_video.experiment.cli import VideoCLI

    set_up_parser = VideoCLI.setup_parser
    parse_arguments = VideoCLI.parse_arguments
    parsers = {}
    known = {}

    def set_up_one(self, add_subcommands, *kwargs):
        if add_subcommands not in parsers:
            made = copy(self)
            set_up_parser(made, add_subcommands, *kwargs)
            parsers[add_subcommands] = {name: value for name, value in vars(made).items() if name not in vars(self)}
        vars(self).update(parsers[add_subcommands])
        self.parser = copy(self.parser)  # what builds the classes of a run is added to its parser

    def parse_once(self, parser, settings):
        text = repr(settings)
        if text in known:
            self.config = known[text].clone()
            return
        parse_arguments(self, parser, settings)
        packages = set(re.findall(r"class_path\W+(\w+)", repr(self.config)))
        if isinstance(settings, dict) and packages <= {"lit_video", "lightning"}:  # words may name a file
            known[text] = self.config.clone()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(VideoCLI, "setup_parser", set_up_one)
        patch.setattr(VideoCLI, "parse_arguments", parse_once)
        yield


@pytest.fixture(scope="session", autouse=True)
def one_commit():
    """Commit of the code of all runs asked of git once."""
    from lit_video.experiment import spec

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spec, "commit", cache(spec.commit))
        yield


@pytest.fixture(scope="session", autouse=True)
def one_search():
    """Callbacks of other packages looked for once: a Trainer reads the metadata of all packages, a tenth of its fit."""
    from lightning.fabric.utilities import registry

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "entry_points", cache(registry.entry_points))
        yield


@pytest.fixture(autouse=True)
def messages():
    """Messages of all functions, printed as a command does."""
    with shown_messages():
        yield


def draw_nothing(patch):
    """Leave out the pictures of a tiny run and of a page, which take longer than its training."""
    patch.setattr("lit_video.engine.predictions.SavePredictions._draw", lambda *_: None)
    patch.setattr("lit_video.reports.html.views.drawn", lambda _, text: {"svg": "", "description": text})


@pytest.fixture(autouse=True)
def no_wandb(request, monkeypatch):
    """Runs without a record for W&B, a third of a tiny run's time, except in tests marked ``wandb``."""
    if "wandb" in request.keywords:
        monkeypatch.delenv("WANDB_MODE")


@pytest.fixture(autouse=True)
def no_pictures(request, monkeypatch):
    """Runs and pages without pictures, except in tests marked ``pictures``."""
    if "pictures" not in request.keywords:
        draw_nothing(monkeypatch)


def few_stills(count, side):
    """Return stills for two training steps of an image model."""
    from lit_video.datamodules.stills import Stills

    return Stills(100, side, steps=2, batch_size=8)


@pytest.fixture
def tiny(monkeypatch):
    """Flags of a tiny run."""
    monkeypatch.setattr("lit_video.training.stills.Stills", few_stills)
    return list(TINY)


def write_table(path):
    """Write an experiment of two rows."""
    text = f"""\
trainer: {SMALL_TABLE}/trainer.yaml
data: {SMALL_TABLE}/data.yaml
model: {SMALL_TABLE}/model.yaml
table:
  title: Two rows
  source: a test
  set: {{model.ta_layers: 0}}
  rows:
    first: {{set: {{model.window: 0}}, paper: {{test/video_top1: 45.2}}}}
    second: {{label: 2nd, set: {{model.window: 1}}, paper: {{test/video_top1: 62.5, test/video_top5: 87.8}}}}
"""
    path.write_text(text)
    return path


@pytest.fixture
def table(tmp_path):
    """Experiment of two rows: its path, and a function that rewrites it."""
    path = write_table(tmp_path / "two.yaml")

    def rewrite(old, new):
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))
        return path

    return path, rewrite


@pytest.fixture(scope="session")
def made_once(tmp_path_factory):
    """Function that fills a folder once for all of pytest-xdist's workers and returns it; tests only read it."""
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent  # each worker's folder is in that of all

    def fill_once(name, fill):
        folder = base / name
        done = base / f"{name}.done"
        with FileLock(base / f"{name}.lock"):
            if not done.exists():
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
                fill(folder)
                done.touch()
        return folder

    return fill_once


def train_on_skills(folder):
    """Train a row on videos in ``videos``, into ``runs``, and test it on two clips by three crops."""
    flags = [
        f"--data.root={folder / 'videos'}",
        "--data.pairs=[2,1,1]",
        "--data.num_frames=4",
        "--data.image_size=[16,8]",  # a part of square videos, so that crops differ
        "--data.batch_size=4",
        "--data.num_workers=0",
        "--data.test_clips=2",
        "--model.size.embed_dim=16",
        "--model.size.depth=2",
        "--model.size.num_heads=2",
        "--trainer.max_epochs=2",
        "--trainer.logger=false",
        "--runs",
        str(folder / "runs"),
    ]
    with pytest.MonkeyPatch.context() as patch:
        draw_nothing(patch)
        assert main(["fit", "--config", "tests/small/ablation_tw.yaml", "--row", "tw1", *flags]) == 0


@pytest.fixture(scope="session")
def run(made_once):
    """Folder of a run of the command line, trained once for all tests."""
    return next((made_once("trained", train_on_skills) / "runs").rglob("last.ckpt")).parent


@pytest.fixture(scope="session")
def root(made_once):
    """Folder of the videos of ``run``."""
    return made_once("trained", train_on_skills) / "videos"


@pytest.fixture(scope="session")
def checkpoint(run):
    return run / "last.ckpt"


@pytest.fixture(scope="session")
def videos(root, run):
    return sorted(root.glob("*/test/*/*.mp4"))


@pytest.fixture(scope="session")
def letters(made_once):
    """Folder like AVLetters': two letters, two repetitions, four speakers, and a table; tests only read it."""
    names = [f"{letter}{repetition}_{who}" for letter in "AB" for repetition in (1, 2) for who in range(4)]
    rows = [(f"{name}.mp4", name[0], name[3], name[1]) for name in names]
    return made_once("letters", lambda folder: listed_videos(folder, "path,label,speaker,repetition", rows))


@pytest.fixture(scope="session")
def persons(made_once):
    """Folder like UTD-MHAD's depth videos: four order pairs and one more action, once by each of eight persons."""
    labels = ["swipe_left", "swipe_right", "draw_circle_cw", "draw_circle_ccw", "sit2stand", "stand2sit"]
    labels += ["throw", "catch", "wave"]
    rows = [(f"{label}_{who}.mp4", label, f"s0{who}", "1", "12") for label in labels for who in range(1, 9)]
    columns = "path,label,person,repetition,frames"
    return made_once("persons", lambda folder: listed_videos(folder, columns, rows, (12, 40, 40)))


def listed_videos(folder, header, rows, shape=(16, 60, 80)):
    """Write a video of random squares for every row of a table, at the path in its first column, and ``labels.csv``."""
    from lit_video.datamodules.drawing import encode

    frames, height, width = shape
    rng = np.random.default_rng(0)
    for path, *_ in rows:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        squares = rng.integers(0, 255, (frames, height // 10, width // 10, 3), np.uint8)
        encode(folder / path, squares.repeat(10, 1).repeat(10, 2), 25)
    (folder / "labels.csv").write_text("\n".join([header, *map(",".join, rows)]) + "\n")
    return folder


@pytest.fixture
def fake_runs(tmp_path):
    """Runs of three of the five rows of a table, two seeds each."""
    return write_table_runs(tmp_path / "runs", "timesformer_schemes", seeds=2, rows=ROWS, videos=60).parents[1]


@pytest.fixture
def write_report(tmp_path, capsys):
    """Function that makes a report of some folders and returns the page, or the error message."""

    def make(*places, experiments=EXPERIMENTS):
        page = tmp_path / "report.html"
        status = main(["report", *map(str, places), "-o", str(page), "--experiments", str(experiments)])
        message = capsys.readouterr().err.strip()
        if status == 0:
            return page.read_text()
        assert status == 2 and message.startswith("error: ") and len(message.splitlines()) == 1
        return message

    return make
