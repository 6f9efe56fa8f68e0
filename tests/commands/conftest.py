"""A run that predict and embed look at, trained once; attention draws its own families on the same videos."""

import pytest

from lit_video.__main__ import main
from tests.conftest import FOUR_SKILLS, ROOT


def one_line(capsys):
    """What stands on the error stream, which is one line."""
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1, lines
    return lines[0]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Where :func:`fitted` keeps its runs."""
    return tmp_path_factory.mktemp("trained")


@pytest.fixture
def fitted(runs, tiny):
    """Trains a row of ``experiments/`` for an epoch, once for all tests of a file; gives the run's folder."""

    def train(table, row, *flags):
        run = runs / table / "embedded" / row / "seed0"
        if not run.exists():
            flags = [*tiny, FOUR_SKILLS, *flags, "--trainer.max_epochs=1", "--trainer.logger=false"]
            command = ["fit", "--config", f"experiments/{table}.yaml", "--row", row, "--runs", str(runs), *flags]
            assert main(command) == 0
        return run

    return train


@pytest.fixture(scope="session")
def root(tmp_path_factory):
    return tmp_path_factory.mktemp("shapes")


@pytest.fixture(scope="session")
def run(root, tmp_path_factory):
    """The folder of a run of the command line, tested on two clips by three crops."""
    runs = tmp_path_factory.mktemp("runs")
    flags = [
        f"--data.root={root}",
        "--data.pairs=[2,1,1]",
        "--data.frames=4",
        "--data.image_size=16",
        "--data.batch_size=4",
        "--data.num_workers=0",
        "--data.test_clips=2",
        "--model.size.width=16",
        "--model.size.depth=2",
        "--model.size.heads=2",
        "--trainer.max_epochs=2",
        "--trainer.logger=false",
        "--runs",
        str(runs),
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        assert main(["fit", "--config", "tests/moving_shapes/ablation_tw.yaml", "--row", "tw1", *flags]) == 0
    return next(runs.rglob("last.ckpt")).parent


@pytest.fixture(scope="session")
def checkpoint(run):
    return run / "last.ckpt"


@pytest.fixture(scope="session")
def videos(root, run):
    return sorted(root.glob("*/test/*/*.mp4"))
