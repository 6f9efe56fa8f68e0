"""Tables of experiments/, the papers' and our own, each read once and with each row resolved once for all tests."""

from functools import cache
from typing import NamedTuple

from lit_video.datamodules.temporal_skills import SKILLS
from lit_video.experiment.layers import with_user_settings
from lit_video.experiment.request import Run
from lit_video.experiment.spec import Spec
from lit_video.settings.flags import UserSetting
from lit_video.tables.claims import read_claims
from lit_video.tables.reading import read_table
from lit_video.tables.table import OF_RUN
from lit_video.utils.yaml_files import read_yaml
from tests.command_line import parse_request
from tests.fake_runs import EXPERIMENTS

_OWN = ("avletters", "avletters_length", "causal", "demo", "room_actions", "skills", "utd_mhad")
OWN = [EXPERIMENTS / f"{name}.yaml" for name in _OWN]
PAPERS = sorted(set(EXPERIMENTS.glob("*.yaml")) - set(OWN))


@cache
def table_of(*files, recipe=None):
    """Read a table; ``files`` are paths, the table's first."""
    return read_table(files, recipe)


@cache
def all_claims():
    """Read the claims about all tables."""
    return read_claims(EXPERIMENTS)


def nested(settings):
    """Return settings by dotted key as nested data."""
    return with_user_settings({}, [UserSetting(key, value) for key, value in settings.items()])


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
def _first():
    """Return a specification whose parser reads the settings of all rows."""
    request = request_of(PAPERS[0])
    return Spec(Run(request, request.table.rows[0], 0))


@cache
def resolved(row, *files, flags=(), recipe=None):
    """Resolve a row by its name."""
    request = request_of(*files, flags=flags, recipe=recipe)
    spec = Spec(Run(request, request.table.row(row), 0), beside=_first())
    built = spec.build("meta")
    return Resolved(spec.settings, built.model, built.datamodule, built.config.trainer)


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
    """Return the value of a flat key such as ``data.sampling.stride`` in a resolved configuration.

    A record that is older than the setting has none: ``None``.
    """
    *sections, last = key.split(".")
    for part in sections:
        config = config["init_args"][part] if "init_args" in config else config[part]
    return config.get("init_args", config).get(last)


def skill_sets():
    """Return all sets of skills with their numbers of steps: of the data set's default, of overlays, of rows."""
    settings = [{}]
    for folder in ("parts", "scale"):
        for path in sorted((EXPERIMENTS / folder).glob("*.yaml")):
            data = read_yaml(path).get("data", {})
            if isinstance(data, dict) and data.get("class_path", "TemporalSkills") == "TemporalSkills":
                settings.append(data.get("init_args", {}))
    for path in (*PAPERS, *OWN):
        if str(read_yaml(path)["data"]).startswith("parts/data_skills"):
            for row in table_of(path).rows:
                of_data = {key: value for key, value in row.settings.items() if key.startswith("data.")}
                settings.append({key.removeprefix("data."): value for key, value in of_data.items()})
    found = set()
    for each in settings:
        frames = each.get("length") or each.get("num_frames", 8)
        found.add((tuple(each.get("skills", SKILLS)), frames // each.get("frames_per_step", 1)))
    return sorted(found, key=lambda one: (one[1], one[0]))
