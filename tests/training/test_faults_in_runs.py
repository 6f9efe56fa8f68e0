"""Some cells of the fault matrix (docs/faults.md), as real runs; ``make soak`` runs all of them."""

from dataclasses import asdict

import pytest

from benchmarks.faults.cells import Cell, Injection, References, run_cell
from benchmarks.faults.faults import may_mount
from benchmarks.faults.page import found
from benchmarks.faults.runs import Setting

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def references(tmp_path_factory):
    return References(tmp_path_factory.mktemp("references"))


@pytest.mark.parametrize(
    ("ranks", "fault", "phase"),
    [
        (1, "SIGKILL", "checkpoint write"),
        (1, "SIGTERM", "validation"),  # waited for a loader's worker for ever
        (1, "worker killed", "test"),
        (1, "run disk full", "checkpoint write"),
        (1, "last.ckpt malicious", "stopped"),
        (2, "rank 1 killed", "training"),
    ],
)
def test_the_same_command_again_gives_the_same_result_after(ranks, fault, phase, references):
    if fault == "run disk full" and not may_mount():
        pytest.skip("mounts are not allowed here")
    record = asdict(run_cell(Cell(Setting(ranks=ranks), (Injection(fault, phase),)), references))
    assert found(record) == []
    assert record["injections"][0]["hit"] and record["recovered"]
