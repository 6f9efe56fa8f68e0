"""Refusal of settings that the parser would ignore silently."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lit_video.errors import UserError
from lit_video.settings.effects import DEFAULT_OPTIMIZER, UNREAD, model_names
from lit_video.settings.nested import by_key, read_settings, short_key

# settings that the model takes from the data set
LINKED_SETTINGS = model_names("classes", "clip")
OPTIMIZATION_KEY = "model.optimization"
SETTINGS_OF_OPTIMIZATION = UNREAD["logistic"]  # beside the optimizer's name

SettingsLayer = tuple[str, Iterable[tuple[str, Any]]]  # origin, for messages; keys without ``init_args`` and values


def of_file(path: Path) -> SettingsLayer:
    """Return the layer of a configuration file."""
    return str(path), [(short_key(key), value) for key, value in by_key(read_settings(path)).items()]


def refuse_ignored(files: Sequence[Path], layers: Iterable[SettingsLayer], *, seed: int | None = None) -> None:
    """Refuse values that would have no effect, because the parser ignores them or another setting decides.

    Args:
        files: configuration files, in their order.
        layers: settings over the files', in their order, such as the row's and the user's.
        seed: seed of the run; ``None`` if the settings choose it.
    """
    recipe: str | None = None  # name of the augmentation's recipe after a setting
    base = [of_file(path) for path in files]
    every = [(origin, [*settings]) for origin, settings in (*base, *layers)]
    _refuse_unread(every)
    for number, (origin, settings) in enumerate(every):
        for key, value in settings:
            group, _, inside = key.partition(".")
            name = inside.partition(".")[0]
            if group == "model" and name in LINKED_SETTINGS:
                advice = f"set it there, as data.{name}" if name in model_names("clip") else "leave it out"
                raise UserError(f"{origin}: model.{name}: is taken from the data set; {advice}")
            _refuse_seed(key, origin)
            if key == "seed_everything" and seed is not None and value not in (None, seed):
                _refuse_seed("data.seed", origin, key)

            if key == "data.augmentation":
                recipe = value if isinstance(value, str) else None
            elif key.startswith("data.augmentation."):
                if recipe and number >= len(base):
                    taken = f"augmentation is the recipe {recipe}, which is taken whole"
                    raise UserError(
                        f"{origin}: {key}: {taken}; write all its settings, see lit_video/video/augmentation.py"
                    )
                recipe = None  # the recipe is written out


def _refuse_unread(layers: Iterable[SettingsLayer]) -> None:
    """Refuse settings that the optimizer does not read, if they are given with its name or after it.

    A layer with every setting of an optimization is one that was printed or recorded, with defaults.
    """
    optimizer = DEFAULT_OPTIMIZER
    given: list[tuple[str, str]] = []  # origin and name of each setting since the optimizer was named
    for origin, settings in layers:
        names = dict[str, Any]()
        for key, value in settings:
            inside = key.removeprefix(f"{OPTIMIZATION_KEY}.")
            if key == OPTIMIZATION_KEY and isinstance(value, Mapping):
                names |= value
            elif inside != key:
                names[inside] = value
        if "optimizer" in names:
            optimizer = names["optimizer"]
            given = []
        if not names.keys() >= {*SETTINGS_OF_OPTIMIZATION}:
            given += [(origin, name) for name in names]

    for origin, name in given:
        if name in UNREAD.get(optimizer, ()):
            raise UserError(
                f"{origin}: {OPTIMIZATION_KEY}.{name}: optimizer {optimizer} does not read it; leave it out"
            )


def _refuse_seed(key: str, origin: str, name: str = "data.seed") -> None:
    """Refuse a seed that is not the run's."""
    if key == "data.seed":
        raise UserError(f"{origin}: {name}: is the seed of the run; leave it out, and choose seeds by --seeds")
