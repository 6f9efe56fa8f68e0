"""Fake run folders for tests of the report: random numbers for the tables of experiments/."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
from msgspec import convert

from lit_video.runs.folder import FinishedRun, write_curves
from lit_video.runs.predictions import FILE, packed_predictions, save_logits
from lit_video.runs.record import Identity, RunResult
from lit_video.tables.reading import read_table

EXPERIMENTS = Path(__file__).parent.parent / "experiments"
ROWS = ["space", "joint", "divided"]  # rows of timesformer_schemes with runs in most tests


def write_table_runs(runs, name, scale="fake", seeds=3, classes=8, videos=240, rows=None):
    """Write runs of every row of a table, or of ``rows``; return the folder of the scale."""
    table = replace(read_table([EXPERIMENTS / f"{name}.yaml"]), scale=scale)
    rng = np.random.default_rng(0)
    target = rng.integers(0, classes, videos)
    for i, row in enumerate(rows if rows is not None else [row.name for row in table.rows]):
        for seed in range(seeds):
            folder = runs / name / scale / row / f"seed{seed}"
            write_run(folder, rng, target, classes, 1 + 0.5 * i)
            change_result(folder, identity={"settings": recorded(table.row(row).settings)})
    return runs / name / scale


def write_two_rows(folder):
    """Write runs of two rows of a table into ``runs``, beside a link to the tables; return the folder of the runs."""
    (folder / "experiments").symlink_to(EXPERIMENTS)
    write_table_runs(folder / "runs", "ablation_tw", scale="embedded", seeds=1, rows=["tw0", "tw1"])
    return folder / "runs"


def recorded(settings):
    """Return a row's settings in the form of a resolved configuration."""
    nested = {}
    for key, value in settings.items():
        group, _, name = key.partition(".")
        if not name:
            nested.setdefault(group, {})["class_path"] = value
        elif group == "trainer":
            nested.setdefault(group, {})[name] = value
        else:
            nested.setdefault(group, {}).setdefault("init_args", {})[name] = value
    return nested


def write_run(folder, rng, target, classes, skill):
    """Write one run; the greater the skill, the more its logits favour the right class."""
    folder.mkdir(parents=True)
    logits = rng.normal(size=(len(target), classes)).astype(np.float32)
    logits[np.arange(len(target)), target] += skill
    names = [f"class {i} of things" for i in range(classes)]
    task = save_logits(folder, np.arange(len(target)), {"": (logits, target, names)}).tasks[""]
    top1 = 100 * float(task.hits().mean())
    points = [
        {
            "epoch": epoch,
            "step": 32 * epoch,
            "train/loss": 2.5 / (1 + 0.3 * epoch) + 0.05 * rng.normal(),
            "train/clip_top1": 100 * (1 - 0.7**epoch) - 2 * rng.random(),  # learned at the end
        }
        | ({"val/loss": 2.4 / (1 + 0.2 * epoch), "val/clip_top1": top1 * (1 - 0.85**epoch)} if epoch % 2 else {})
        for epoch in range(12)
    ]
    write_curves(folder, points)
    row, scale, table = folder.parent, folder.parents[1], folder.parents[2]
    write_result(
        folder,
        table=table.name,
        scale=scale.name,
        row=row.name,
        seed=int(folder.name[4:]),
        gmacs=0.05 * skill,
        metrics={"test/video_top1": top1, "test/video_top5": 100 * float(task.hits(5).mean())},
        test_videos=len(target),
    )


def save(folder, predictions):
    """Write ``predictions.npz`` without logits, as in packs."""
    (folder / FILE).write_bytes(packed_predictions(predictions))


RESULT = {
    "table": "two",
    "row": "second",
    "scale": "default",
    "seed": 0,
    "scheme": "XViT",
    "params": 1_500_000,
    "gmacs": 1.0,
    "views": 3,
    "metrics": {},
    "test_videos": 0,
    "test_broken": 0,
    "video_counts": {},
    "steps": 384,
    "global_batch": 16,
    "weights": {"file": "last.ckpt", "step": 384},
    "skipped_steps": 0,
    "seconds": 12.5,
    "checkpoint_seconds": 0.0,
    "device": "FAKE GPU",
    "command": "fake",
    "finished": "2020-01-01T00:00:00+00:00",
}


def fake_result(**changes):
    """Return the result of a finished run, with changes."""
    return convert(RESULT | changes, RunResult)


def fake_run(settings, identity=None, folder=Path("two/default/second/seed0"), **changes):
    """Return a finished run with these settings, and changes to its result."""
    result = fake_result(**changes)
    return FinishedRun(folder, result, Identity(settings, **(identity or {})), [], result.overridden or {})


def write_result(folder, **changes):
    """Write ``run.json`` of a finished run, with changes; a change to ``None`` leaves the key out."""
    identity = {"settings": {}, "data": "00fake00", "weights": {}, "commit": "fake00000000", "versions": {}}
    (folder / "run.json").write_text(json.dumps({"identity": identity, "changes": [], "result": RESULT}))
    change_result(folder, **changes)


def change_result(folder, **changes):
    """Change a result, or the ``identity`` and ``changes`` beside it; ``None`` removes a key of the result."""
    run = json.loads((folder / "run.json").read_text())
    run["identity"] |= changes.pop("identity", {})
    run["changes"] = changes.pop("changes", run["changes"])
    run["result"] = {key: value for key, value in (run["result"] | changes).items() if value is not None}
    (folder / "run.json").write_text(json.dumps(run))


def seed_dir(runs, row="space", seed=0):
    """Return the folder of a run of timesformer_schemes."""
    return runs / "timesformer_schemes" / "fake" / row / f"seed{seed}"
