"""Test the record of a run whose files are removed or edited while it is tested."""

import json
import os
from pathlib import Path

from lightning.pytorch.callbacks import Callback

from lit_video.__main__ import main
from lit_video.runs.folder import read_record
from lit_video.training.finished import asked
from tests.command_line import parse_request
from tests.conftest import TINY, write_table


class RemoveRecord(Callback):
    """Remove the record, as somebody who tidies up would."""

    def on_test_end(self, trainer, pl_module):
        """Remove it once."""
        Path(os.environ["RECORD"]).unlink(missing_ok=True)


class EditTable(Callback):
    """Edit the table, as somebody who plans the next run would."""

    def on_test_end(self, trainer, pl_module):
        """Change the title."""
        table = Path(os.environ["TABLE"])
        table.write_text(table.read_text().replace("Two rows", "2 rows"))


def test_a_result_is_written_whole(tiny, tmp_path, monkeypatch):
    record = tmp_path / "runs/two/default/second/seed0/run.json"
    monkeypatch.setenv("RECORD", str(record))
    table = str(write_table(tmp_path / "two.yaml"))
    remove = f"--trainer.callbacks+={__name__}.RemoveRecord"
    assert main(["fit", "--config", table, "--row", "second", "--runs", str(tmp_path / "runs"), *TINY, remove]) == 0
    assert {"identity", "changes", "result"} <= json.loads(record.read_text()).keys()


def test_a_table_that_was_edited_meanwhile_is_not_recorded_as_trained(tiny, tmp_path, monkeypatch):
    table = write_table(tmp_path / "two.yaml")
    monkeypatch.setenv("TABLE", str(table))
    edit = f"--trainer.callbacks+={__name__}.EditTable"
    flags = ["--config", str(table), "--row", "second", "--runs", str(tmp_path / "runs"), *tiny, edit]
    (run,) = parse_request(flags).runs
    before = asked(run)

    assert main(["fit", *flags]) == 0
    assert asked(run) != before
    assert read_record(run.folder).asked == before
