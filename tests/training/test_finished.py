"""Test that a finished run is known from its record alone, and not if anything it depends on has changed."""

import pytest
from msgspec import structs

from lit_video.experiment.identity import FinishedRuns
from lit_video.experiment.spec import Spec
from lit_video.runs.folder import RUN, read_record, update_record
from lit_video.training import run as run_module
from lit_video.training.run import is_done
from tests.command_line import parse_request


@pytest.fixture
def request_of(finished, tiny):
    """Function that makes the request of the finished run, with more flags."""
    runs = finished.parents[3]
    command = ["--config", str(finished.parents[4] / "two.yaml"), "--row", "second", "--runs", str(runs), *tiny]
    return lambda *flags: parse_request([*command, *flags]).runs[0]


@pytest.fixture
def built(monkeypatch):
    """Rows that were built, as they are when a run is compared in full."""
    names = []
    whole = run_module.checked

    def checked(spec):
        names.append(spec.run.row.name)
        return whole(spec)

    monkeypatch.setattr(run_module, "checked", checked)
    return names


@pytest.fixture
def table_beside(finished, finished_once):
    """The table's file, where the copied runs lie."""
    path = finished.parents[4] / "two.yaml"
    path.write_text(finished_once.with_name("two.yaml").read_text())
    return path


def test_only_the_first_run_of_a_data_set_is_built(table_beside, request_of, built):
    known = FinishedRuns()
    run = request_of()
    assert is_done(run, known) and is_done(run, known) and is_done(run, known)
    assert built == ["second"]


def test_whatever_changes_is_compared_in_full(table_beside, request_of, built):
    known = FinishedRuns()
    run = request_of()
    assert is_done(run, known)
    assert known.knows(run)
    assert not known.knows(request_of("--trainer.max_epochs=4"))
    assert not known.knows(request_of("--seeds=1"))

    record = (run.folder / RUN).read_text()
    update_record(run.folder, identity=structs.replace(read_record(run.folder).identity, data="other videos"))
    assert not known.knows(run)
    update_record(run.folder, result=None)
    assert not known.knows(run)
    (run.folder / RUN).write_text(record)
    assert known.knows(run)

    (run.folder / RUN).write_text("{")
    assert not known.knows(run)
    (run.folder / RUN).write_text(record)

    table_beside.write_text(table_beside.read_text().replace("62.5", "63.5"))
    assert known.knows(request_of()), "the paper's numbers decide no setting"
    table_beside.write_text(table_beside.read_text().replace("model.window: 1", "model.window: 2"))
    assert not known.knows(request_of())


def test_settings_that_another_runs_parser_reads_are_those_of_the_run(table_beside, request_of):
    first = Spec(request_of())
    first.build("meta")
    run = request_of("--trainer.max_epochs=4")
    beside = Spec(run, beside=first)
    beside.build("meta")
    alone = Spec(run)
    alone.build("meta")
    assert beside.settings == alone.settings != first.settings
    assert first.settings["trainer"]["max_epochs"] != 4
