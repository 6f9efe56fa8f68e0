"""Settings that a user gives on the command line: made data once, and written as flags for another process."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import yaml

from lit_video.errors import UserError
from lit_video.settings.nested import short_key


@dataclass(frozen=True)
class Given:
    """A setting of the command line: its key, without ``init_args``, and its value.

    Mappings, lists and ``null`` are data. Other values stay text, because a setting's type decides how text is read.
    """

    key: str
    value: Any

    @property
    def flag(self) -> str:
        """The setting as a flag."""
        text = self.value if isinstance(self.value, str) else json.dumps(self.value)
        return f"--{self.key}={text}"


def read_flags(words: Iterable[str]) -> list[Given]:
    """Return the settings of flags ``--KEY=VALUE``, in their order.

    Raises:
        UserError: a flag has no value, or follows one for a part of its value.
    """
    settings: list[Given] = []
    for word in words:
        name, equals, text = word.partition("=")
        if not equals:
            raise UserError(f"{name}: expected a value, as {name}=VALUE")
        setting = Given(short_key(name.removeprefix("--")), _opened(text))
        _refuse_replaced(setting, settings)
        settings.append(setting)
    return settings


def _refuse_replaced(setting: Given, earlier: Iterable[Given]) -> None:
    """Refuse a value, such as a class, after its own settings, which it would replace; model and data may follow."""
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
    except yaml.YAMLError:  # the parser says what is wrong
        return text
    return value if isinstance(value, dict | list) else text
