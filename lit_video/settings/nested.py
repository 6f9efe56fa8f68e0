"""Settings as nested data, in the form of the YAML files, or flat: reading a file, merging layers, keys joined by dots.

A class is a mapping of ``class_path``, ``init_args`` and ``dict_kwargs``, or its name alone. Keys of tables and flags
leave out ``init_args``: ``model.optimization.lr``.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from lit_video.errors import UserError
from lit_video.utils.yaml_files import find_part, read_yaml

YAML = (".yaml", ".yml")
CLASS = "class_path"
ARGUMENTS = "init_args"
SECTIONS = ("data", "model")  # each is a class
_OF_CLASS = {CLASS, ARGUMENTS, "dict_kwargs"}

Nested = dict[str, Any]
# Lightning's callbacks that cannot change results; all others may
SHOWING = {"DeviceStatsMonitor", "LearningRateMonitor", "RichModelSummary", "RichProgressBar", "TQDMProgressBar"}
CALLBACKS = "counting callbacks"  # flat key of Lightning's other callbacks
OWN = "own callbacks"  # flat key of a user's own callbacks

Plain = str | int | float | bool


class ClassArguments(Protocol):
    """Facts about the arguments of classes, asked for by name, so that this module need not import the classes."""

    def takes(self, name: str, argument: str) -> bool:
        """Return whether a class has an argument; ``True`` if the class is not found."""

    def takes_names(self, name: str, argument: str) -> bool:
        """Return whether an argument is a mapping whose keys the user chooses, so that it is replaced as a whole."""


def read_settings(path: Path) -> Nested:
    """Return the content of a YAML file, with the files that its sections name: ``data: parts/data_skills.yaml``.

    Such a file lies beside the first one, or in this package.

    Raises:
        UserError: one of the files is missing or no YAML.
    """
    content = read_yaml(path)
    for key, section in content.items():
        if isinstance(section, str) and section.endswith(YAML):
            content[key] = read_yaml(find_part(path, section))
    return content


def merged(old: Any, new: Any, classes: ClassArguments, *, owner: str = "", argument: str = "") -> Any:
    """Return ``new`` merged into ``old``; neither is changed.

    Mappings are merged key by key. If ``new`` names another class than ``old``, the arguments of ``old`` that the other
    class does not have are dropped. All other values, and mappings whose keys the user chooses, replace the old ones.

    Args:
        old: settings so far.
        new: settings that win.
        classes: facts about classes.
        owner: class whose argument is merged; empty outside of classes.
        argument: name of this argument.
    """
    if isinstance(old, Mapping) and is_of_class(old) and isinstance(new, str):
        return _merged_class(old, {CLASS: new}, classes)
    if not isinstance(new, Mapping):
        return new

    if isinstance(old, str) and CLASS not in new and ARGUMENTS in new:
        old = {CLASS: old}
    if is_class(old):
        return _merged_class(old, new if is_of_class(new) else {ARGUMENTS: new}, classes)
    if not isinstance(old, Mapping) or (owner and classes.takes_names(owner, argument)):
        return dict(new)
    return _merged_keys(old, new, classes)


def _merged_keys(old: Mapping[str, Any], new: Mapping[str, Any], classes: ClassArguments, *, owner: str = "") -> Nested:
    """Merge mappings key by key; ``owner`` is the class whose arguments they are, empty outside of classes."""
    result = dict(old)
    for key, value in new.items():
        result[key] = merged(old.get(key), value, classes, owner=owner, argument=key)
    return result


def _merged_class(old: Mapping[str, Any], new: Mapping[str, Any], classes: ClassArguments) -> Nested:
    """Merge a class, or a class's arguments without its name, into a class."""
    before = old.get(CLASS)
    name = new.get(CLASS, before)
    kept = old.get(ARGUMENTS) or {}
    if before and not same_class(before, name):
        kept = {key: value for key, value in kept.items() if classes.takes(name, key)}

    result = {**old, **new, CLASS: name}
    result[ARGUMENTS] = _merged_keys(kept, new.get(ARGUMENTS) or {}, classes, owner=name)
    return result


def is_class(value: Any) -> bool:
    """Return whether a value names a class with its arguments."""
    return isinstance(value, Mapping) and CLASS in value


def is_of_class(value: Mapping[str, Any]) -> bool:
    """Return whether a mapping has the form of a class, perhaps without its name."""
    return bool(value) and value.keys() <= _OF_CLASS


def same_class(first: str, second: str) -> bool:
    """Return whether two names may stand for the same class; each may leave out the module."""
    if "." in first and "." in second:
        return first == second
    return first.rpartition(".")[2] == second.rpartition(".")[2]


def starts_anew(before: Any, content: Mapping[str, Any]) -> bool:
    """Return whether a file of a scale names another data set than before, and so says all settings of its data.

    ``before`` is the data set of earlier files, or its class, ``content`` what the file says.
    """
    old = before.get(CLASS) if isinstance(before, Mapping) else before
    data = content.get("data")
    new = data.get(CLASS) if isinstance(data, Mapping) else data
    of_scale = content.get("scale") is True
    return of_scale and isinstance(old, str) and isinstance(new, str) and not same_class(old, new)


def put(settings: Nested, key: str, value: Any, *, classes: ClassArguments, whole: bool = False) -> Nested:
    """Return settings with one more value.

    Args:
        settings: settings so far, which are not changed.
        key: dotted key without ``init_args``; with ``+`` at its end, the value is appended to a list.
        value: the value; a mapping is merged into the one that was there.
        classes: facts about classes.
        whole: whether a mapping replaces the one that was there instead.

    Raises:
        UserError: a class that is asked about cannot be imported.
    """
    section, *inside = key.split(".")
    if section in SECTIONS and inside and settings.get(section) is None:
        settings = {**settings, section: {ARGUMENTS: {}}}  # a later setting may name the class
    try:
        result: Nested = _put(settings, [section, *inside], value, classes=classes, whole=whole)
    except UserError as error:
        raise UserError(f"{key}: {error}") from error
    return result


def _put(old: Any, path: list[str], value: Any, *, classes: ClassArguments, whole: bool, owner: str = "") -> Any:
    """Return the old value with another one at a path inside of it."""
    if isinstance(old, list) and old:  # trainer.callbacks.KEY is a setting of the last callback
        return [*old[:-1], _put(old[-1], path, value, classes=classes, whole=whole)]

    name, *inside = path
    if isinstance(old, str):
        old = {CLASS: old}
    of_class = isinstance(old, Mapping) and is_of_class(old)
    if of_class and name == CLASS and not inside:
        return merged(old, value, classes)
    if of_class and name not in _OF_CLASS:
        before = old.get(ARGUMENTS) or {}
        kind = str(old.get(CLASS, ""))
        arguments = _put(before, path, value, classes=classes, whole=whole, owner=kind)
        return {**old, ARGUMENTS: arguments}

    before = dict(old) if isinstance(old, Mapping) else {}
    if inside:
        return before | {name: _put(before.get(name), inside, value, classes=classes, whole=whole)}
    if name.endswith("+"):
        name = name.removesuffix("+")
        return before | {name: [*as_list(before.get(name)), *as_list(value)]}
    if whole and isinstance(value, Mapping):
        return before | {name: value}
    return before | {name: merged(before.get(name), value, classes, owner=owner, argument=name)}


def as_list(value: Any) -> list[Any]:
    """Return a list from a setting that may be one value, several or ``None``."""
    if isinstance(value, list | tuple):
        return list(value)
    return [] if value is None else [value]


def short_key(key: str) -> str:
    """Return a resolved setting's key in the form of tables and flags: ``model.window``, ``model``."""
    return key.replace(f".{ARGUMENTS}", "").removesuffix(f".{CLASS}")


def by_key(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the values of nested settings by their keys, joined by dots."""
    flat: dict[str, Any] = {}
    for key, value in settings.items():
        if isinstance(value, dict) and value:
            flat |= by_key(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def flatten(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Join nested keys by dots; callbacks that may affect numbers form one setting."""
    flat = by_key(settings)
    callbacks = (settings.get("trainer") or {}).get("callbacks") or []

    for callback in callbacks if isinstance(callbacks, list) else [callbacks]:
        name = lightning_name(callback)
        if name not in SHOWING:
            flat.setdefault(CALLBACKS if name else OWN, []).append(callback)
    return flat


def lightning_name(callback: object) -> str:
    """Return the name of a callback of Lightning's; empty for any other one."""
    if not isinstance(callback, dict):
        return ""
    package, _, name = str(callback.get("class_path")).rpartition(".")
    return name if package.partition(".")[0] in ("", "lightning", "pytorch_lightning") else ""


def plain_settings(settings: Mapping[str, Any]) -> dict[str, dict[str, Plain]]:
    """Return plain values by group and name for W&B, which shows ``model`` and ``window`` as ``model.window``.

    The name of ``model.size.embed_dim`` in its group is ``size_embed_dim``, because a name cannot hold a value and
    further names. A class becomes its name, that of a whole group under ``class``, and a list becomes its
    comma-separated values; unset values are left out.
    """
    plain: dict[str, dict[str, Plain]] = {}
    for key, value in by_key(settings).items():
        group, *parts = short_key(key).split(".")
        if key.endswith("class_path"):
            value = str(value).rpartition(".")[2]
        if isinstance(value, list | tuple) and value and all(isinstance(part, Plain) for part in value):
            value = ",".join(map(str, value))
        if isinstance(value, Plain):
            plain.setdefault(group, {})["_".join(parts) or "class"] = value
    return plain
