"""Fixtures of two finished rows of a table, without training, for tests that damage them."""

import numpy as np
import pytest

from lit_video.__main__ import main
from tests.tables.test_tables import keep, write_result


@pytest.fixture
def runs(table, tmp_path):
    """Runs of two rows and two seeds, with predictions."""
    for row, top1 in (("first", 40.0), ("second", 60.0)):
        for seed in (0, 1):
            folder = tmp_path / f"runs/two/default/{row}/seed{seed}"
            write_result(folder, seed, top1)
            keep(folder, np.arange(100) < top1)
    return tmp_path / "runs"


@pytest.fixture
def show(table, runs, capsys):
    """Function that prints the table and returns exit status, output and lines of stderr."""

    def run(*flags):
        capsys.readouterr()
        status = main(["table", "--config", str(table[0]), "--runs", str(runs), *flags])
        printed = capsys.readouterr()
        return status, printed.out, printed.err.splitlines()

    return run
