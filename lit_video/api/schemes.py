"""Attention schemes that functions are given: names, files or classes."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lit_video.api.arguments import existing_path
from lit_video.errors import UserError
from lit_video.schemes.built_in import built_in, refuse_unknown_name
from lit_video.utils.class_paths import importable

if TYPE_CHECKING:
    from lit_video.attention import Scheme


def name_of_scheme(scheme: "str | Path | type[Scheme]") -> str:
    """Return the name of a scheme as a table's row has it: a class by its file, so that other processes find it.

    Raises:
        UserError: a class was defined in a notebook or a program, whose code no run could record.
    """
    return importable(scheme) if isinstance(scheme, type) else str(scheme)


def function_in_file(source: object) -> Any:
    """Return the function or module that a source ``FILE.py:NAME`` names; ``None`` for any other source, as a class.

    Raises:
        UserError: there is no such file, or its code fails.
    """
    path, _, name = str(source).rpartition(":")
    if not isinstance(source, str | Path) or not path.endswith(".py"):
        return None
    existing_path(path, "no such file")

    from lit_video.schemes.own_classes import module_of_file  # here, because importing torch takes seconds

    try:
        named = getattr(module_of_file(Path(path)), name, None)
    except ValueError as error:
        raise UserError(str(error)) from error
    return named if callable(named) and not isinstance(named, type) else None


def scheme_of(scheme: "str | Path | type[Scheme]") -> "tuple[str, Callable[..., Scheme]]":
    """Return a scheme's name for people, which also names folders, and its class.

    Raises:
        UserError: there is no such file, module or scheme.
    """
    if isinstance(scheme, type):
        return scheme.__name__, scheme

    text = str(scheme)
    file = re.sub(r"(?<=\.py):.*", "", text)
    if file.endswith(".py"):
        existing_path(file, "no such file")
    refuse_unknown_name(file)

    from lit_video.network.timesformer import scheme_class  # here, because importing torch takes seconds
    from lit_video.schemes.own_classes import import_scheme

    schemes = built_in()
    if text in schemes:
        return text, schemes[text]
    try:
        name = import_scheme(text)
    except ValueError as error:
        raise UserError(str(error)) from error
    return name.rpartition(".")[2], scheme_class(name)
