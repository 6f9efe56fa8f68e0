"""Refusal of settings that the parser would ignore silently."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lit_video.errors import UserError
from lit_video.settings.effects import model_names
from lit_video.settings.nested import by_key, read_settings, short_key

# settings that the model takes from the data set
LINKED_SETTINGS = model_names("classes", "clip")


def refuse_ignored(
    files: Sequence[Path], settings: Iterable[tuple[str, Any]], where: str, *, seed: int | None = None
) -> None:
    """Refuse values that would have no effect, because the parser ignores them or another setting decides.

    Args:
        files: configuration files, in their order.
        settings: keys without ``init_args`` and values after the files, in their order: the row's, then the user's.
        where: origin of ``settings``, for messages.
        seed: seed of the run; ``None`` if the settings choose it.
    """
    recipe: Any = None
    for path in files:
        file_settings = {short_key(key): value for key, value in by_key(read_settings(path)).items()}
        for key in file_settings:
            _refuse_linked(key, str(path))
            _refuse_seed(key, str(path))
        if seed is not None and file_settings.get("seed_everything", seed) not in (None, seed):
            _refuse_seed("data.seed", str(path), "seed_everything")
        recipe = _recipe(file_settings, recipe)

    for key, value in settings:
        _refuse_linked(key, where)
        _refuse_seed(key, where)
        if key.startswith("data.augmentation.") and recipe:
            taken = f"augmentation is the recipe {recipe}, which is taken whole"
            raise UserError(f"{where}: {key}: {taken}; write all its settings, see lit_video/video/recipes.py")
        recipe = _recipe({key: value}, recipe)


def _refuse_linked(key: str, origin: str) -> None:
    """Refuse a setting of the model that it takes from the data set."""
    group, _, inside = key.partition(".")
    name = inside.partition(".")[0]
    if group != "model" or name not in LINKED_SETTINGS:
        return

    advice = "leave it out"
    if name in model_names("clip"):
        advice = f"set it there, as data.{name}"
    raise UserError(f"{origin}: model.{name}: is taken from the data set; {advice}")


def _refuse_seed(key: str, origin: str, name: str = "data.seed") -> None:
    """Refuse a seed that is not the run's."""
    if key == "data.seed":
        raise UserError(f"{origin}: {name}: is the seed of the run; leave it out, and choose seeds by --seeds")


def _recipe(settings: Mapping[str, Any], before: Any) -> Any:
    """Return the name of the augmentation's recipe after these settings; ``None`` if it is written out."""
    if "data.augmentation" in settings:
        value = settings["data.augmentation"]
        return value if isinstance(value, str) else None
    if any(key.startswith("data.augmentation.") for key in settings):
        return None
    return before
