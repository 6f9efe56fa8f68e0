"""Settings that a user gives, as flags or as nested data: read into one form, which is also written as flags."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from lit_video.errors import UserError
from lit_video.settings.class_names import refuse_unknown_class
from lit_video.settings.effects import OWN_CODE, RUN_KEYS
from lit_video.settings.nested import ARGUMENTS, CLASS, SECTIONS, is_of_class, short_key
from lit_video.utils.class_paths import class_path, importable
from lit_video.utils.text import did_you_mean


@dataclass(frozen=True)
class UserSetting:
    """A setting that a user gives as a flag or in Python: its key, without ``init_args``, and its value.

    A mapping, a list or ``null`` in a flag becomes data. Other values of flags stay text, which is read later, by the
    setting's type.
    """

    key: str
    value: Any

    @property
    def flag(self) -> str:
        """The setting as a flag."""
        text = self.value if isinstance(self.value, str) else json.dumps(self.value)
        return f"--{self.key}={text}"


# nested data as in a YAML file, or settings that were read already
Settings = Mapping[str, Any] | Sequence[UserSetting]
SETTING_NAMES = (*SECTIONS, "trainer", *RUN_KEYS["training"], *RUN_KEYS["machine"])  # first words of keys


def as_user_settings(settings: Settings, more: Sequence[str] = ()) -> list[UserSetting]:
    """Return the settings of nested data, ``{"model": {"window": 2}, "data.root": "videos"}``, in their order.

    A class may stand for its name, in ``model`` and ``data`` before its arguments.

    Args:
        settings: sections ``model``, ``data`` and ``trainer`` and the settings of a run, by name; keys may be dotted.
        more: further names.

    Raises:
        UserError: there is no such section or class, or a value is no data.
    """
    if not isinstance(settings, Mapping):
        return list(settings)

    user_settings: list[UserSetting] = []
    for key, value in settings.items():
        name = str(key).partition(".")[0]
        if name not in (*SETTING_NAMES, *more):
            near = did_you_mean(name, SETTING_NAMES)
            raise UserError(f"settings: {key}: no such section{near}; there are {', '.join(SETTING_NAMES)}")
        for setting in _of_section(short_key(str(key)), value):
            refuse_unknown_class(setting.key, str(setting.value))
            _refuse_replaced(setting, user_settings)
            user_settings.append(setting)
    return user_settings


def _of_section(key: str, value: Any) -> list[UserSetting]:
    """Return the settings inside a section, one level deep; a key that is no section is one setting."""
    if key not in (*SECTIONS, "trainer") or not isinstance(value, Mapping):
        return [UserSetting(key, _plain(key, value))]
    if key in SECTIONS and is_of_class(value):
        named = [UserSetting(key, _plain(key, value[CLASS]))] if CLASS in value else []
        return named + _of_section(key, value.get(ARGUMENTS) or {})
    return [UserSetting(f"{key}.{name}", _plain(f"{key}.{name}", inside)) for name, inside in value.items()]


def _plain(key: str, value: Any) -> Any:
    """Return a value as plain data: a class by its path, a path as text, a tuple as a list."""
    if isinstance(value, type):
        return importable(value) if key.removeprefix("model.") in OWN_CODE else class_path(value)
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return {str(name): _plain(f"{key}.{name}", inside) for name, inside in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(key, inside) for inside in value]
    if value is None or isinstance(value, str | int | float):
        return value

    kind = type(value).__name__
    raise UserError(
        f"settings: {key}: is an object ({kind}), which no file could record; give class_path and init_args"
    )


def read_flags(words: Iterable[str]) -> list[UserSetting]:
    """Return the settings of flags ``--KEY=VALUE``, in their order.

    Raises:
        UserError: a flag has no value, or would replace an earlier flag for a part of its value.
    """
    settings: list[UserSetting] = []
    for word in words:
        name, equals, text = word.partition("=")
        if not equals:
            raise UserError(f"{name}: expected a value, as {name}=VALUE")

        setting = UserSetting(short_key(name.removeprefix("--")), _opened(text))
        _refuse_replaced(setting, settings)
        settings.append(setting)
    return settings


def _refuse_replaced(setting: UserSetting, earlier: Iterable[UserSetting]) -> None:
    """Refuse a setting after those of its parts, because it would replace them; ``model`` and ``data`` may follow."""
    for part in earlier:
        if "." in setting.key and part.key.startswith(f"{setting.key}."):
            raise UserError(f"--{setting.key}: would replace --{part.key}, which comes before it; give it first")


def _opened(text: str) -> Any:
    """Return a mapping, a list or ``None`` from text; any other text as it is."""
    if text == "null":
        return None
    if not text.startswith(("{", "[")):
        return text
    try:
        value = yaml.safe_load(text)
        node = yaml.compose(text)
    except yaml.YAMLError:  # the parser says what is wrong
        return text
    if not isinstance(value, dict | list):
        return text
    # formats of names have a key without a value: ``{val/loss:.3f}``
    values = [inside for _, inside in node.value] if isinstance(node, yaml.MappingNode) else []
    is_format = any(isinstance(inside, yaml.ScalarNode) and not (inside.value or inside.style) for inside in values)
    return text if is_format else value
