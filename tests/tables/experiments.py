"""The files of experiments: the papers' tables, and our own; their rows, each resolved once for all tests."""

from functools import cache
from typing import NamedTuple

from lit_video.commands.arguments import parse_request
from lit_video.training.run import build_row
from tests.fake_runs import EXPERIMENTS

_OWN = ("avletters", "avletters_length", "causal", "room_actions", "skills")
OWN = [EXPERIMENTS / f"{name}.yaml" for name in _OWN]
PAPERS = sorted(set(EXPERIMENTS.glob("*.yaml")) - set(OWN))


class Resolved(NamedTuple):
    """All settings of a row, and what was built of them without memory; tests only read it."""

    settings: dict
    model: object
    datamodule: object
    trainer: object


@cache
def request_of(*files, flags=(), recipe=None):
    """A request of ``fit`` for all rows of a table; files are paths, the table's first."""
    named = [f"--config={file}" for file in files] + ([f"--recipe={recipe}"] if recipe else [])
    return parse_request([*named, *flags])


@cache
def resolved(row, *files, flags=(), recipe=None):
    """A row by its name."""
    request = request_of(*files, flags=flags, recipe=recipe)
    built = build_row(request, request.table.row(row), 0)
    return Resolved(built.resolved(), built.model, built.datamodule, built.config.trainer)
