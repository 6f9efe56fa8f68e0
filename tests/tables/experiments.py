"""Tables of experiments/, the papers' and our own, with each row resolved once for all tests."""

from functools import cache
from typing import NamedTuple

from lit_video.tables.table import OF_RUN
from lit_video.training.request import Run
from lit_video.training.run import build_row
from tests.command_line import parse_request
from tests.fake_runs import EXPERIMENTS

_OWN = ("avletters", "avletters_length", "causal", "room_actions", "skills", "utd_mhad")
OWN = [EXPERIMENTS / f"{name}.yaml" for name in _OWN]
PAPERS = sorted(set(EXPERIMENTS.glob("*.yaml")) - set(OWN))


class Resolved(NamedTuple):
    """All settings of a row, and the objects built from them without memory; tests only read it."""

    settings: dict
    model: object
    datamodule: object
    trainer: object


@cache
def request_of(*files, flags=(), recipe=None):
    """Return a request of ``fit`` for all rows of a table; ``files`` are paths, the table's first."""
    named = [f"--config={file}" for file in files] + ([f"--recipe={recipe}"] if recipe else [])
    return parse_request([*named, *flags])


@cache
def resolved(row, *files, flags=(), recipe=None):
    """Resolve a row by its name."""
    request = request_of(*files, flags=flags, recipe=recipe)
    built = build_row(Run(request, request.table.row(row), 0))
    return Resolved(built.resolved(), built.model, built.datamodule, built.config.trainer)


def differing(settings, config):
    """Return the keys of a row's settings that a resolved configuration does not keep."""
    found = []
    for key, value in settings.items():
        expected = dict(value) if isinstance(value, dict) else value
        if isinstance(expected, dict):  # data.sampling, and then data.sampling.stride
            later = {k.rpartition(".")[2]: v for k, v in settings.items() if k.startswith(f"{key}.")}
            expected |= {"init_args": expected["init_args"] | later} if later else {}
        found += [] if equal(expected, at(config, key)) else [key]
    return found


def equal(setting, resolved):
    """Return whether a setting holds in a resolved configuration: nested ones by value, classes by name."""
    if isinstance(setting, dict) and isinstance(resolved, dict):
        return all(key in resolved and equal(value, resolved[key]) for key, value in setting.items())
    if isinstance(resolved, dict):
        return resolved["class_path"].rpartition(".")[2] == setting
    if isinstance(setting, str) and setting.startswith(OF_RUN):
        return f"/{setting.removeprefix(OF_RUN)}/seed" in resolved
    if isinstance(setting, str) and isinstance(resolved, str):
        return setting == resolved or resolved.endswith(f".{setting}")
    return setting == resolved


def at(config, key):
    """Return the value of a flat key such as ``data.sampling.stride`` in a resolved configuration."""
    for part in key.split("."):
        config = config["init_args"][part] if "init_args" in config else config[part]
    return config
