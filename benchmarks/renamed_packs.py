"""Give the settings of packed runs the names that constructors have today, and settings that constructors got since.

``python -m benchmarks.renamed_packs benchmarks/results`` renames keys of ``identity.settings`` in every packed run, and
adds settings, by the tables below. Values, results, predictions, and the command and commit of a run stay as they were.
``corrections`` in ``run.json`` then says what the run's command had. A second call changes nothing.
"""

import argparse
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

from msgspec import structs

from lit_video.runs.folder import RUN
from lit_video.runs.packing import packed_record, write_pack
from lit_video.runs.packs import ENDING, PackedFiles, packed_runs
from lit_video.runs.record import Correction, Record

SCRIPT = "benchmarks/renamed_packs.py"
REASON = "settings have the names of timm, transformers and PySlowFast; the run's command has the names of its commit"

DATA = {"frames": "num_frames"}
AUGMENTATION = {"erasing": "random_erasing", "smoothing": "label_smoothing"}
SIZE = {"width": "embed_dim", "heads": "num_heads"}
MODEL = {
    "frames": "num_frames",
    "patch": "patch_size",
    "tubelet": "tubelet_size",
    "drop_path": "drop_path_rate",
    "attention": "attention_type",
    "latents": "num_latents",
    "summary_tokens": "num_summary_tokens",
}
# settings that a class got since, with the value of what it computed before
ADDED: dict[str, dict[str, Any]] = {
    "XViT": {"ta_attention": "self", "cls_in_summary": False},
    "ViViT": {"zero_temporal": False},
}
ADDED_REASON = "the run's commit had no such setting, and computed what this value stands for"


def renamed(settings: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Return settings under today's names, in their order."""
    return {names.get(key, key): value for key, value in settings.items()}


def renamed_record(record: Record) -> Record:
    """Return a run's record with today's settings, and a note of each change; the same if nothing was changed."""
    assert record.identity is not None
    settings = deepcopy(record.identity.settings)

    data = settings["data"]["init_args"]
    if isinstance(data.get("augmentation"), Mapping):
        data["augmentation"] = renamed(data["augmentation"], AUGMENTATION)
    settings["data"]["init_args"] = renamed(data, DATA)

    model = settings["model"]["init_args"]
    if isinstance(model.get("size"), Mapping):
        model["size"] = renamed(model["size"], SIZE)
    settings["model"]["init_args"] = renamed(model, MODEL)

    notes: list[Correction] = []
    if settings != record.identity.settings:
        notes.append(Correction("identity.settings", "names of the run's commit", "today's names", REASON, SCRIPT))

    model = settings["model"]["init_args"]
    family = settings["model"]["class_path"].rpartition(".")[2]
    for name, value in ADDED.get(family, {}).items():
        if name not in model:
            model[name] = value
            notes.append(Correction(f"model.init_args.{name}", None, value, ADDED_REASON, SCRIPT))

    if not notes:
        return record
    return record.with_parts(
        identity=structs.replace(record.identity, settings=settings),
        corrections=[*(record.corrections or ()), *notes],
    )


def renamed_files(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return a packed run's files, with today's settings in its record."""
    record = Record.of_json(files[RUN])
    changed = renamed_record(record)
    if changed == record:
        return dict(files)
    return dict(files) | {RUN: packed_record(changed)}


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, metavar="PACKS", help="folder of packs")
    arguments = parser.parse_args()
    for pack in sorted(arguments.results.absolute().glob(f"*{ENDING}")):
        runs = packed_runs(pack)
        after: dict[Path, PackedFiles] = {folder: renamed_files(files) for folder, files in runs.items()}
        changed = sum(after[folder] != files for folder, files in runs.items())
        if changed:
            write_pack(pack, after)
            print(f"{pack.name}: settings of {changed} of {len(runs)} runs brought up to date")


if __name__ == "__main__":
    main()
