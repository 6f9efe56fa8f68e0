"""Check of the classes in a run's record, which may come from anybody: only trusted packages are imported.

A record holds resolved settings, in which a class is a mapping of its name and arguments, and no setting is in another
file. The parser would accept more: names of files and of classes in many places. All of these are refused before it
reads the settings.
"""

import inspect
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from lit_video.errors import UserError
from lit_video.experiment.constructors import find_class, types_of_constructor
from lit_video.settings.nested import ARGUMENTS, CLASS
from lit_video.utils.arguments import fits, types_of

NO_DATA = {CLASS, ARGUMENTS, "__path__"}  # keys by which the parser would take a mapping for a class or a file
PLAIN_TYPES = (str, int, float, bool, Path, type(None), list, tuple, dict)


@dataclass(frozen=True)
class TrustedPackages:
    """Packages whose classes a record may name."""

    names: Collection[str]

    def check_class(self, value: Any, base: type, key: str) -> None:
        """Check a class with its arguments, or a class's name.

        Raises:
            UserError: the class is of another package or kind, or an argument is no data of its type.
        """
        content = {CLASS: value} if isinstance(value, str) else value
        if not isinstance(content, Mapping) or not {CLASS} <= content.keys() <= {CLASS, ARGUMENTS}:
            raise UserError(f"{key} is {value!r}, expected a class with its arguments")

        name = content[CLASS]
        is_name = isinstance(name, str) and name.replace(".", "").isidentifier()
        is_trusted = is_name and ("." not in name or name.partition(".")[0] in self.names)
        kind = find_class(name) if is_trusted else None  # imports its module
        if kind is None or not issubclass(kind, base):
            advice = f"if you trust it, name it in a flag, as --{key}={name}"
            raise UserError(f"{key} is {name}, no class of lit_video; {advice}")

        arguments = content.get(ARGUMENTS, {})
        if not isinstance(arguments, Mapping):
            raise UserError(f"{key}: its arguments are {arguments!r}, expected names with values")

        types, _ = types_of_constructor(kind)
        for argument, value_of_argument in arguments.items():
            if argument not in types:
                raise UserError(f"{key}: {kind.__name__} has no argument {argument}")
            self._check_value(value_of_argument, types[argument], f"{key}.{argument}")

    def _check_value(self, value: Any, kind: Any, key: str) -> None:
        classes = [
            member for member in _members(kind) if isinstance(member, type) and not issubclass(member, PLAIN_TYPES)
        ]
        if not classes:
            _refuse_no_data(value, key)
            return
        if value is None:
            return

        if isinstance(value, str) and fits(value, kind):  # one of a few names, which the parser looks for as files
            if Path(value).exists():
                raise UserError(f"{key} names the file {value}; only settings are taken from a record")
            return

        fields = next((member for member in classes if is_dataclass(member) and not inspect.isabstract(member)), None)
        if fields is not None and isinstance(value, Mapping) and CLASS not in value:
            types = types_of(fields)
            for name, field in value.items():
                if name not in types:
                    raise UserError(f"{key}: {fields.__name__} has no field {name}")
                self._check_value(field, types[name], f"{key}.{name}")
            return
        self.check_class(value, classes[0], key)


def _members(kind: Any) -> Iterator[Any]:
    """Iterate over the members of a union, without the metadata of ``Annotated``."""
    origin = get_origin(kind)
    if origin is Annotated:
        yield from _members(get_args(kind)[0])
    elif origin in (Union, UnionType):
        for member in get_args(kind):
            yield from _members(member)
    else:
        yield kind


def _refuse_no_data(value: Any, key: str) -> None:
    """Refuse plain data that hold a class or the name of a file in place of settings."""
    if isinstance(value, Mapping):
        if NO_DATA & value.keys():
            raise UserError(f"{key} is {value!r}, expected data without classes")
        for name, inside in value.items():
            _refuse_no_data(inside, f"{key}.{name}")
    elif isinstance(value, list | tuple):
        for inside in value:
            _refuse_no_data(inside, key)
