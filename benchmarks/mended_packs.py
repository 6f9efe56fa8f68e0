"""Remove packed runs on older videos of TemporalSkills; mend settings that packed runs recorded wrongly.

``python -m benchmarks.mended_packs benchmarks/results`` does two things, and a second call changes nothing:

- A run on TemporalSkills goes unless its videos are of the version that the package draws today. Its data set is told
  by the class and the folder that the run recorded, not by the name of a table or scale. A pack left without runs is
  deleted.
- TimeSformer's attention in space had no positions in time, whatever ``positions`` said. Where the number of parameters
  shows that a run's network had none, ``positions`` becomes what the network had. ``corrections`` in ``run.json`` then
  has the key, both values, the reason and this script; the run's command, commit and all else stay.
"""

import argparse
import io
import sys
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import torch
from msgspec import structs

from lit_video.datamodules.temporal_skills import VERSION
from lit_video.errors import UserError
from lit_video.modules import TimeSformer
from lit_video.network.positions import PositionKind
from lit_video.network.vit import ViTSize
from lit_video.runs.folder import RUN
from lit_video.runs.identity import Identity
from lit_video.runs.packing import packed_record, write_pack
from lit_video.runs.packs import ENDING, PackedFiles, packed_runs
from lit_video.runs.predictions import FILE
from lit_video.runs.record import Correction, Record
from lit_video.runs.result import RunResult

SCRIPT = "benchmarks/mended_packs.py"
KEY = "model.init_args.positions"
REASON = "attention in space had no positions in time"
NETWORK = (
    "size",
    "patch_size",
    "attention_type",
    "cls_in_time",
    "hidden_head",
)  # recorded settings that count as parameters

Settings = Mapping[str, Any]
Runs = Mapping[Path, PackedFiles]


def class_and_settings(part: Settings) -> tuple[str, Settings]:
    """Return the class name, without its module, and the arguments of a recorded model or data set."""
    name = part["class_path"].rpartition(".")[2]
    return name, part["init_args"]


def outdated(identity: Identity) -> bool:
    """Return whether a run's videos are skills of another version than today's."""
    data_set, _ = class_and_settings(identity.settings["data"])
    return data_set == "TemporalSkills" and not identity.data.startswith(f"temporal_skills-v{VERSION}-")


def parameters(model: Settings, data: Settings, classes: int, positions: PositionKind) -> int:
    """Return the number of parameters of a recorded TimeSformer with other ``positions``."""
    given = {key: model[key] for key in NETWORK}
    if isinstance(given["size"], Mapping):
        given["size"] = ViTSize(**given["size"])
    with torch.device("meta"):
        built = TimeSformer(
            classes, num_frames=data["num_frames"], image_size=data["image_size"], positions=positions, **given
        )
    return sum(parameter.numel() for parameter in built.network.parameters())


def true_positions(identity: Identity, result: RunResult, predictions: bytes) -> PositionKind | None:
    """Return the positions that a run's network had, if it recorded others; ``None`` if its record is right.

    Raise :class:`UserError` if the number of parameters fits neither.
    """
    family, model = class_and_settings(identity.settings["model"])
    if family != "TimeSformer" or model["attention_type"] != "space" or model["positions"] != "space-time":
        return None
    _, data = class_and_settings(identity.settings["data"])
    classes = len(np.load(io.BytesIO(predictions))["classes"])

    counted = result.params
    if counted == parameters(model, data, classes, "space-time"):
        return None
    if counted == parameters(model, data, classes, "space"):
        return "space"
    raise UserError(f"its {counted} parameters are those of a network neither with nor without positions in time")


def corrected(record: Record, positions: PositionKind) -> Record:
    """Return a run's record with the positions that its network had, and what was changed."""
    assert record.identity is not None
    settings = deepcopy(record.identity.settings)
    arguments = settings["model"]["init_args"]
    note = Correction(KEY, arguments["positions"], positions, REASON, SCRIPT)
    arguments["positions"] = positions
    return record.with_parts(
        identity=structs.replace(record.identity, settings=settings),
        corrections=[*(record.corrections or ()), note],
    )


def mended(runs: Runs) -> dict[Path, dict[str, bytes]]:
    """Return the runs of a pack that stay, with their files."""
    staying = {}
    for folder, files in runs.items():
        record = Record.of_json(files[RUN])
        assert record.identity is not None and record.result is not None
        if outdated(record.identity):
            continue

        staying[folder] = dict(files)
        try:
            positions = true_positions(record.identity, record.result, files[FILE])
        except UserError as error:
            raise UserError(f"{folder}: {error}") from error
        if positions:
            staying[folder][RUN] = packed_record(corrected(record, positions))
    return staying


def write(pack: Path, staying: Runs) -> str:
    """Write one pack, or delete it if no run stays; return what was done, in words, or an empty text."""
    runs = packed_runs(pack)
    removed = len(runs) - len(staying)
    changed = sum(files[RUN] != runs[folder][RUN] for folder, files in staying.items())

    if not staying:
        pack.unlink()
        return f"{pack.name}: deleted, its videos are not of version {VERSION} in any of {removed} runs"
    if removed or changed:
        write_pack(pack, staying)
        return f"{pack.name}: {removed} runs removed, {len(staying)} stay, {changed} of them corrected"
    return ""


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, metavar="PACKS", help="folder of packs")
    arguments = parser.parse_args()
    packs = sorted(arguments.results.absolute().glob(f"*{ENDING}"))
    try:
        planned = {pack: mended(packed_runs(pack)) for pack in packs}
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for pack, staying in planned.items():
        if done := write(pack, staying):
            print(done)
    return 0


if __name__ == "__main__":
    sys.exit(main())
