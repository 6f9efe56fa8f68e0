"""Settings from a run's record, which may come from anybody: only classes of trusted packages are imported.

A record holds resolved settings, in which a class is a mapping of its name and arguments, and no setting is in another
file. The parser would accept more: names of files and of classes in many places. All of these are refused before it
reads the settings.
"""

import inspect
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from lit_video.datamodules import VideoDataModule
from lit_video.errors import UserError
from lit_video.experiment.cli import VideoCLI, user_errors
from lit_video.experiment.constructors import find_class, types_of_constructor
from lit_video.modules import VideoClassifier
from lit_video.runs.folder import read_record
from lit_video.schemes.own_classes import is_known, names_of
from lit_video.settings.effects import model_names, picked
from lit_video.settings.flags import UserSetting
from lit_video.settings.nested import ARGUMENTS, CLASS, Nested
from lit_video.utils.arguments import fits, types_of
from lit_video.utils.processes import usable_cores

NO_DATA = {CLASS, ARGUMENTS, "__path__"}  # keys by which the parser would take a mapping for a class or a file
PLAIN_TYPES = (str, int, float, bool, Path, type(None), list, tuple, dict)
TAKEN = ("seed_everything", "data", "model")


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


def run_settings(record: Path, user_settings: Sequence[UserSetting] = ()) -> Nested:
    """Return the model, data, seed and precision in a run's ``run.json``.

    A record may come from anybody. So classes must be of this package, or of a package that ``user_settings`` name;
    nothing is written to folders that the record names; callbacks, loggers, plugins and other classes of the trainer
    are left out.
    """
    try:
        identity = read_record(record.parent).identity
        if identity is None:
            raise KeyError("identity")
        settings = identity.settings
        precision = settings["trainer"]["precision"]
        taken = {key: settings[key] for key in TAKEN}
        with user_errors(lambda key: str(record)):
            named = [str(setting.value) for setting in user_settings]
            paths = [name for name in named if "." in name and name.replace(".", "").isidentifier()]
            trusted = TrustedPackages({"lit_video", *(path.partition(".")[0] for path in paths)})
            trusted.check_class(taken["data"], VideoDataModule, "data")
            trusted.check_class(taken["model"], VideoClassifier, "model")
            read = VideoCLI(taken).resolved()
    except (KeyError, TypeError, AttributeError) as error:  # the record holds something else
        raise UserError(f"{record}: has no settings ({error}); give --config FILE") from error

    arguments = read["data"]["init_args"]
    arguments["num_workers"] = min(arguments["num_workers"], usable_cores())
    module, _, name = read["data"]["class_path"].rpartition(".")
    kind = getattr(sys.modules[module], name)
    if kind.prepare_data is not VideoDataModule.prepare_data:  # this class writes videos
        arguments.pop("root", None)

    _adapt_model(read["model"]["init_args"], record, user_settings)
    return {"trainer": {"precision": precision}} | picked(read, TAKEN)


def _adapt_model(model: Nested, record: Path, user_settings: Sequence[UserSetting]) -> None:
    """Drop starting weights, which the checkpoint replaces, and own parts for which the user names others."""
    for name in model_names("files"):
        model.pop(name, None)

    named = {setting.key for setting in user_settings}
    for name, class_name in names_of(model).items():
        if f"model.{name}" in named:
            del model[name]
        elif not is_known(class_name):
            reason = f"{name} is {class_name!r}, whose module is not imported"
            raise UserError(f"{record}: {reason}; if you trust it, give its file as --scheme")
