"""What ``result.json`` must hold for its readers. Imports no torch."""

import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any


def _text(value: Any) -> bool:
    return isinstance(value, str) and value.isprintable()  # so that it can be printed, in a line


def _number(value: Any) -> bool:
    """Finite, and not so large that arithmetic overflows; false for NaN."""
    return isinstance(value, int | float) and not isinstance(value, bool) and -1e18 < value < 1e18


def _amount(value: Any) -> bool:
    return _number(value) and value >= 0


def _count(value: Any) -> bool:
    return _amount(value) and isinstance(value, int)


def _scores(value: Any) -> bool:
    return isinstance(value, dict) and all(_text(name) and _number(score) for name, score in value.items())


def _weights(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and all(_text(value.get(key)) for key in ("file", "digest"))
        and _count(value.get("step"))
        and not {"/", ".."} & set(Path(value["file"]).parts)  # in the run's folder
    )


def _command(value: Any) -> bool:
    try:
        return _text(value) and bool(shlex.split(value))
    except ValueError:  # a quote without its end
        return False


Kind = tuple[str, Callable[[Any], bool]]
TEXT: Kind = ("a line of text", _text)
AMOUNT: Kind = ("a number of 0 or more", _amount)
COUNT: Kind = ("a whole number of 0 or more", _count)

# what a reader of results relies on
KEYS: dict[str, Kind] = {
    "table": TEXT,
    "row": TEXT,
    "scale": TEXT,
    "seed": COUNT,
    "commit": TEXT,
    "params": COUNT,
    "gmacs": AMOUNT,
    "views": COUNT,
    "seconds": AMOUNT,
    "metrics": ("names with finite numbers", _scores),
    "test_videos": COUNT,
}
# what only some versions write
OPTIONAL: dict[str, Kind] = {
    "scheme": TEXT,
    "test_broken": COUNT,
    "data_digest": TEXT,
    "pictures": TEXT,
    "steps": COUNT,
    "device": TEXT,
    "command": ("a line that a shell can read", _command),
    "finished": TEXT,
    "same_run": TEXT,
    "global_batch": COUNT,
    "reach": COUNT,
    "blind_ceiling": AMOUNT,
    "sees_order": ("true or false", lambda value: isinstance(value, bool)),
    "changes": ("a list", lambda value: isinstance(value, list)),
    "weights": ("file, step and digest of a checkpoint in the run's folder", _weights),
}


def missing_key(result: Mapping[str, Any]) -> str | None:
    """The first key that is not there; ``None`` if all are."""
    return next((key for key in KEYS if key not in result), None)


def wrong_key(result: Mapping[str, Any]) -> str | None:
    """What is wrong with the first key that does not hold what it should; ``None`` if all do."""
    for key, (expected, right) in (KEYS | OPTIONAL).items():
        if key in result and not right(result[key]):
            return f"{key}: expected {expected}, got {_short(result[key])}"
    return None


def _short(value: Any) -> str:
    """A value in a few words, whatever it is."""
    if isinstance(value, dict):
        wrong = {name: score for name, score in value.items() if not (_text(name) and _number(score))}
        return f"{{{', '.join(f'{name[:40]!a}: {_short(one)}' for name, one in list(wrong.items())[:1])}}}"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, int) and not _number(value) and not isinstance(value, bool):
        return "an enormous number"
    return f"{str(value)[:40]!a}" if isinstance(value, str) else str(value)
