"""Train a configuration once, however many tables list it: ``fit --reuse``.

A folder whose result was taken says so (``same_run``); pictures in it, and W&B, name the run that was trained. One that
took the weights alone has the settings of its own test in ``changes``.
"""

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lit_video.errors import UserError
from lit_video.tables.identity import VIEWS, Difference, Identity, differences
from lit_video.tables.results import read_result
from lit_video.tables.run_files import RUN, read_run, update_run
from lit_video.training.checkpoint_file import FOLDER as BEST
from lit_video.training.checkpoint_file import LAST, RUN_KEY, peek, write_checkpoint
from lit_video.training.identity import checkpoint_record
from lit_video.utils.processes import started_together
from lit_video.weights.reading import CHECKPOINT_KEY


def take_finished(runs: Path, run_dir: Path, now: Identity, seed: int, facts: Mapping[str, Any]) -> bool:
    """Take the result of a finished run that is the same; of one that was tested otherwise, the weights.

    Args:
        runs: folder of the runs, of all tables.
        run_dir: folder of the run that is asked for.
        now: identity of the run.
        seed: seed of the run.
        facts: facts of its own result: table, row, scale.

    Returns:
        Whether there is a result now.

    Raises:
        UserError: the code has no commit of its own, or this process is one of several that look by themselves.
    """
    if started_together():
        raise UserError("--reuse: not for a run whose processes torchrun or srun starts; leave it out")
    if now.commit == "unknown" or "+" in now.commit:
        raise UserError(
            f"--reuse: the code is not a commit's ({now.commit}), so no run is known as the same; leave it out"
        )
    name, others = f"{run_dir.parent.name} seed {seed}", list(_finished(runs, seed, now))
    if same := next((source for source, found in others if not found), None):
        _take_result(same, run_dir, facts)
        print(f"{name}: the same run as {same}, its result taken", flush=True)
        return True
    trained = [other for other in others if _only_tested_otherwise(*other)]
    if trained and not (run_dir / LAST).exists():
        print(f"{name}: trained as {trained[0][0]}, tested otherwise", flush=True)
        _take_weights(trained[0][0], run_dir, now)
    return False


def first_of_each(configs: Sequence[Mapping[str, Any]]) -> list[bool]:
    """Which of some runs is the first of its training: none before it differs in no more than its test."""
    runs = [Identity(config) for config in configs]
    return [not any(_same_training(differences(before, run)) for before in runs[:i]) for i, run in enumerate(runs)]


def _finished(runs: Path, seed: int, now: Identity) -> Iterator[tuple[Path, list[Difference]]]:
    """Finished runs of one commit and one piece, with what differs."""
    for path in sorted(runs.glob(f"*/*/*/seed{seed}/{RUN}")):
        try:
            result = read_result(path.parent)
            if result and not result["changes"] and not result["skipped_steps"]:
                yield path.parent, differences(Identity(**result["identity"]), now)
        except (UserError, LookupError, TypeError):
            continue  # damaged: trained again


def _same_training(found: Sequence[Difference]) -> bool:
    return all(each.kind == "test" for each in found)


def _only_tested_otherwise(source: Path, found: Sequence[Difference]) -> bool:
    return _same_training(found) and (source / LAST).is_file() and not (source / BEST).exists()


def _take_result(source: Path, run_dir: Path, facts: Mapping[str, Any]) -> None:
    """Copy a finished run to another's folder; its checkpoint takes no more space where the disk has links."""
    for path in source.iterdir():
        if path.is_file() and path.name not in (RUN, "lock"):
            _link(path, run_dir / path.name)
    record = read_run(source)
    update_run(run_dir, **record | {"result": record["result"] | facts | {"same_run": "/".join(source.parts[-4:])}})


def _take_weights(source: Path, run_dir: Path, now: Identity) -> None:
    """Copy the last checkpoint and curve of a finished run to one that differs in its test, as if they were its own."""
    content = peek(source / LAST)
    content[RUN_KEY] = checkpoint_record(source / LAST).going_on(run_dir, now).content()
    seen, settings = content[CHECKPOINT_KEY]["data"], now.flat
    seen |= {name: settings[key] for key in VIEWS if (name := key.rpartition(".")[2]) in seen}
    shutil.copy2(source / "curves.csv", run_dir)
    write_checkpoint(content, run_dir / LAST)


def _link(source: Path, target: Path) -> None:
    target.unlink(missing_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
