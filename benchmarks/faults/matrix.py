"""Which faults are injected in which phases, with one and with two ranks; and random ones."""

import random
from collections.abc import Iterator

from benchmarks.faults.attempt import Setting
from benchmarks.faults.faults import FAULTS
from benchmarks.faults.phases import PHASES
from benchmarks.faults.records import Cell, Injection

SIGNALS = ("SIGKILL", "SIGTERM", "SIGINT", "SIGUSR1")
ONE_RANK: dict[str, tuple[str, ...]] = {
    **{name: tuple(PHASES) for name in SIGNALS},
    "worker killed": ("training", "validation", "test"),
    "run disk full": tuple(name for name in PHASES if name != "validation"),
    "run disk read-only": tuple(name for name in PHASES if name != "validation"),
    "TMPDIR full": ("imports", "training", "test"),
    "file size limited": ("imports", "training", "test", "writing"),
    "memory limited": ("preparing data", "training", "validation", "test"),
    "clock a day ahead": ("training", "test"),
    "clock a day back": ("training", "test"),
    "second process": ("starting", "training", "test"),
    "broken video, fail": ("training", "validation", "test"),
    "broken video, skip": ("training", "validation", "test"),
    "broken video, report": ("training", "validation", "test"),
    "NaN: learning rate 1e6": ("training",),
    "NaN in two steps, --nan skip:4": ("training",),
    "last.ckpt truncated": ("stopped",),
    "last.ckpt empty": ("stopped",),
    "last.ckpt garbage": ("stopped",),
    "last.ckpt: a byte flipped": ("stopped",),
    "last.ckpt malicious": ("stopped",),
    "both checkpoints malicious": ("stopped",),
    "both checkpoints empty": ("stopped",),
    "config.yaml garbage": ("stopped", "finished"),
    "config.yaml empty": ("stopped", "finished"),
    "curves.csv garbage": ("stopped", "finished"),
    "status.json garbage": ("stopped",),
    "status.json nested": ("stopped",),
    "changes.json garbage": ("stopped", "finished"),
    "result.json truncated": ("finished",),
    "result.json empty": ("finished",),
    "result.json nested": ("finished",),
    "predictions.npz truncated": ("finished",),
    "predictions.npz garbage": ("finished",),
}
WITH_WANDB: dict[str, tuple[str, ...]] = {
    "wandb-core killed": ("training", "validation", "test"),
    "W&B folder garbage": ("stopped", "finished"),
    **{name: ("training", "writing") for name in SIGNALS},
}
TWO_RANKS: dict[str, tuple[str, ...]] = {
    **{name: ("starting", "training", "checkpoint write", "validation", "test", "writing") for name in SIGNALS},
    "rank 1 killed": ("training", "checkpoint write", "validation", "test", "writing"),
    "worker killed": ("training", "test"),
    "run disk full": ("training", "test"),
    "run disk read-only": ("training",),
    "file size limited": ("training",),
    "memory limited": ("training",),
    "TMPDIR full": ("training",),
    "clock a day ahead": ("training",),
    "second process": ("training",),
    "last.ckpt truncated": ("stopped",),
    "both checkpoints empty": ("stopped",),
}


def cells() -> list[Cell]:
    """Every cell of the matrix once."""
    parts = ((ONE_RANK, Setting()), (WITH_WANDB, Setting(wandb=True)), (TWO_RANKS, Setting(ranks=2)))
    return [
        Cell(setting, (Injection(fault, phase),))
        for faults, setting in parts
        for fault, phases in faults.items()
        for phase in phases
    ]


def random_cells(rng: random.Random) -> Iterator[Cell]:
    """Three rows, two seeds each; up to three faults hit a run, each after up to a second and a half of a phase."""
    while True:
        ranks = rng.choice((1, 1, 1, 2))
        setting = Setting(rng.choice(("tw0", "tw1", "tw2")), rng.choice((0, 1)), ranks, wandb=rng.random() < 0.2)
        left_out = {"rank 1 killed"} if ranks == 1 else set()
        left_out |= set() if setting.wandb else {"wandb-core killed"}
        kinds = rng.choices([name for name in FAULTS if name not in left_out], k=rng.choice((1, 1, 2, 3)))
        yield Cell(
            setting,
            tuple(Injection(kind, rng.choice(list(PHASES)), round(rng.uniform(0, 1.5), 2)) for kind in kinds),
        )
