"""Test the record of a run whose files are removed or edited while it is tested."""

import json
import os
from pathlib import Path

from lightning.pytorch.callbacks import Callback

from lit_video.__main__ import main
from tests.conftest import TINY, write_table


class RemoveRecord(Callback):
    """Remove the record, as somebody who tidies up would."""

    def on_test_end(self, trainer, pl_module):
        """Remove it once."""
        Path(os.environ["RECORD"]).unlink(missing_ok=True)


def test_a_result_is_written_whole(tiny, tmp_path, monkeypatch):
    record = tmp_path / "runs/two/default/second/seed0/run.json"
    monkeypatch.setenv("RECORD", str(record))
    table = str(write_table(tmp_path / "two.yaml"))
    remove = f"--trainer.callbacks+={__name__}.RemoveRecord"
    assert main(["fit", "--config", table, "--row", "second", "--runs", str(tmp_path / "runs"), *TINY, remove]) == 0
    assert {"identity", "changes", "result"} <= json.loads(record.read_text()).keys()
