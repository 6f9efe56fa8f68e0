"""Train a configuration once, however many tables list it: ``fit --reuse``.

The folder of a run that took another's weights has the settings of its own test in ``changes``.
"""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lit_video.errors import UserError
from lit_video.runs.files import RUN
from lit_video.runs.identity import Difference, Identity, differences
from lit_video.runs.results import read_result
from lit_video.training.checkpoint_file import FOLDER as BEST
from lit_video.training.checkpoint_file import LAST, RUN_KEY, peek, write_checkpoint
from lit_video.training.identity import checkpoint_record
from lit_video.training.request import Run
from lit_video.utils.processes import started_together
from lit_video.utils.settings import data_names
from lit_video.weights.reading import CHECKPOINT_KEY


def take_trained(run: Run, now: Identity) -> None:
    """Take the last checkpoint and curve of a finished run that was trained alike, which leaves the test."""
    if started_together():
        raise UserError("--reuse: not for a run whose processes torchrun or srun starts; leave it out")
    if now.commit == "unknown" or "+" in now.commit:
        raise UserError(
            f"--reuse: the code is not a commit's ({now.commit}), so no run is known as the same; leave it out"
        )
    source = next(_trained_alike(run.request.folder, run.seed, now), None)
    if source and not (run.folder / LAST).exists():
        print(f"{run.label}: trained as {source}", flush=True)
        _take_weights(source, run.folder, now)


def first_of_each(configs: Sequence[Mapping[str, Any]]) -> list[bool]:
    """Return for each run whether no run before it differs in its test alone, so that it trains."""
    runs = [Identity(config) for config in configs]
    return [not any(_same_training(differences(before, run)) for before in runs[:i]) for i, run in enumerate(runs)]


def _trained_alike(runs: Path, seed: int, now: Identity) -> Iterator[Path]:
    """Finished runs of one commit and one piece that differ in no more than their test, and have their last weights."""
    for path in sorted(runs.glob(f"*/*/*/seed{seed}/{RUN}")):
        source = path.parent
        try:
            result = read_result(source)
            if not result or result["changes"] or result["skipped_steps"]:
                continue
            found = differences(Identity(**result["identity"]), now)
        except (UserError, LookupError, TypeError):
            continue  # damaged: trained again
        if _same_training(found) and (source / LAST).is_file() and not (source / BEST).exists():
            yield source


def _same_training(found: Sequence[Difference]) -> bool:
    return all(each.kind == "test" for each in found)


def _take_weights(source: Path, run_dir: Path, now: Identity) -> None:
    """Copy the last checkpoint and curve of a finished run to one of the same training, as if they were its own."""
    content = peek(source / LAST)
    content[RUN_KEY] = checkpoint_record(source / LAST).going_on(run_dir, now).content()
    data = now.settings["data"]["init_args"]
    content[CHECKPOINT_KEY]["data"] |= {name: data[name] for name in data_names("counts")}
    shutil.copy2(source / "curves.csv", run_dir)
    write_checkpoint(content, run_dir / LAST)
