"""Fixtures of a finished run, which is trained once."""

import shutil

import pytest

from lit_video.__main__ import main
from tests.conftest import TINY, write_table


def train_second_row(folder):
    """Train a row with window 1, recorded for W&B."""
    command = ["fit", "--config", str(write_table(folder / "two.yaml")), "--row", "second"]
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("WANDB_MODE")
        assert main([*command, "--runs", str(folder / "runs"), *TINY]) == 0


@pytest.fixture(scope="session")
def finished_once(made_once):
    """Folder of the runs of a row, next to its table."""
    return made_once("finished", train_second_row) / "runs"


@pytest.fixture
def finished(finished_once, tiny, tmp_path):
    """Folder of a finished run, which tests may change."""
    shutil.copytree(finished_once, tmp_path / "runs", symlinks=True)
    return tmp_path / "runs/two/default/second/seed0"
