"""Settings that were changed while a run was stopped, kept for its result: ``changes.json`` in its folder."""

import json
from pathlib import Path
from typing import Any

from lit_video.errors import UserError
from lit_video.training.same_settings import Changes
from lit_video.utils.files import write_atomically

FILE = "changes.json"


def record_changes(run_dir: Path, changes: Changes) -> None:
    """Add changed settings to those of earlier attempts.

    Raises:
        UserError: those cannot be read.
    """
    before = recorded_changes(run_dir)
    new = [{"key": key, "from": was, "to": now} for key, (was, now) in changes.items()]
    if not new or new == before[-len(new) :]:  # recorded by an attempt that ended before it kept the new settings
        return
    write_atomically(run_dir / FILE, json.dumps([*before, *new], indent=2) + "\n")
    for change in new:
        print(f"{run_dir}: {change['key']} was {change['from']}, from here on {change['to']}", flush=True)


def recorded_changes(run_dir: Path) -> list[dict[str, Any]]:
    """Settings that changed while a run was stopped, in order."""
    try:
        changes: list[dict[str, Any]] = json.loads((run_dir / FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    except ValueError:
        raise UserError(f"{run_dir / FILE}: damaged; delete it, the settings are in config.yaml") from None
    return changes
