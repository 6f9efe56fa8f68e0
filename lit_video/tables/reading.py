"""Read a table from an experiment's YAML file and from overlays, files that adapt it to a scale."""

from __future__ import annotations  # a signature then shows names of types, such as File

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from lit_video.errors import UserError
from lit_video.runs.packs import NAME_PATTERN
from lit_video.settings.effects import RUN_KEYS, picked
from lit_video.settings.nested import SECTIONS, YAML, flatten, short_key, starts_anew
from lit_video.tables.table import METRIC, OF_RUN, Row, Table, data_sets
from lit_video.utils.files import MOST_BYTES, read_regular, write_atomically
from lit_video.utils.yaml_files import find_config, find_part, read_yaml

# "plan" holds the wishes of a user of finetune or compare, see own_videos/experiment.py
TABLE_KEYS = {"title", "source", "data_set", "scale", "metric", "family", "set", "at", "rows", "reported", "plan"}
ROW_KEYS = {"label", "family", "set", "at", "paper", "published", "control"}
ORIGIN = "table.yaml"  # name of the file, beside the rows' folders, that records the table's files
REPORTED_KEYS = {"label", "paper", "published"}
# numbers that the papers print of a row: accuracies, and columns of their own; the table's metric is one too
PAPER_KEYS = {f"test/{name}" for name in ("video_top1", "video_top5", "verb_top1", "noun_top1")}
PAPER_KEYS |= {"throughput", "V100 hours", "TPU-v3 ms per clip"}
PUBLISHED_KEYS = {"params", "cost", "frames", "views", "note"}  # printed beside them


def read_table(configs: Sequence[str | Path], recipe: str | None = None) -> Table:
    """Read the table of an experiment, from the first file with a ``table`` section; later files are overlays.

    An overlay with ``scale: true`` is for many tables, whose rows adapt it: they win. Any other is the user's own.

    Without such a section the table has one row, named ``run``. A row's settings are merged in this order, and later
    ones win: the overlays' recipe for the row's family; the table's ``set``, ``at.SCALE`` and ``at.SCALE-RECIPE``, for
    example ``at.ssv2-released``; the row's ``set``, ``at.SCALE`` and ``at.SCALE-RECIPE``. A row that starts from a run,
    ``run:TABLE/SCALE/ROW``, starts from that of the same recipe.

    Args:
        configs: paths of files, or names of files in this package, in the order of the command line.
        recipe: name in the overlays' ``recipes``; ``None`` for the first recipe of each row's family. The table's own
            family must have the name; a row of another family without it takes its family's first recipe.

    Raises:
        UserError: a file, its name, or its ``table`` or ``recipes`` section is wrong, or there is no such recipe.
    """
    files = [find_config(name) for name in configs]
    contents = {path: read_yaml(path) for path in files}
    path = next((file for file in files if "table" in contents[file]), files[0])
    section = _mapping(path, "table", contents[path].get("table", {}))
    _refuse_unknown(path, "table", section, allowed=TABLE_KEYS)

    own_scale = str(section.get("scale", "default"))
    check_folder_name(path, "table.scale: ", own_scale)
    overlays = files[files.index(path) + 1 :]
    of_scale = [file for file in overlays if _is_of_scale(file, contents[file])]
    for file in (path, *overlays):
        check_folder_name(file, "the file's name ", file.stem)
    scales = [overlay.stem for overlay in overlays] or [own_scale]

    reader = _Reader(path, section, scales, recipes=_recipes(contents), recipe=recipe)
    scale = "+".join(scales)
    if reader.other_recipe:
        scale += f"-{recipe}"

    data = next((contents[file].get("data") for file in overlays if file.stem == reader.data_set), None)
    return Table(
        name=path.stem,
        path=path,
        scale=scale,
        title=str(section.get("title", path.stem)),
        source=str(section.get("source", "")),
        data_set=reader.data_set,
        data=str(data.get("class_path", "")) if isinstance(data, dict) else "",
        settings=settings_in_files((path, *of_scale), contents),
        own={file: _all_settings(file, contents[file]) for file in overlays if file not in of_scale},
        metric=str(section.get("metric", METRIC)),
        rows=reader.rows("rows", ROW_KEYS, {"run": {}}),
        reported=reader.rows("reported", REPORTED_KEYS, {}),
    )


def table_at(path: Path, scale: str) -> Table:
    """Read a table as it was run at a scale, from the scale's name and the overlays in ``scale/`` beside the table."""
    base, _, recipe = scale.rpartition("-")
    for names, chosen in ((scale, None), (base, recipe)):
        overlays = [find_part(path, f"scale/{name}.yaml") for name in names.split("+")]
        if all(overlay.is_file() for overlay in overlays):
            return replace(read_table([path, *overlays], chosen), scale=scale)

    table = read_table([path])
    if table.scale != scale:
        table = replace(table, scale=scale, settings={})  # without an overlay, what the scale sets is not known
    if table.other_data & data_sets(scale):
        missing = f"{path}: scale {scale} has no overlay in {path.parent / 'scale'}"
        raise UserError(f"{missing}, and the paper's numbers would be of {table.data_set}; put the overlay there")
    return table


def settings_in_files(files: Sequence[Path], contents: Mapping[Path, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the settings in the sections ``trainer``, ``data`` and ``model`` of files by key; later files win."""
    settings: dict[str, Any] = {}
    for path in files:
        if starts_anew(settings.get("data"), contents[path]):
            settings = {key: value for key, value in settings.items() if key.split(".")[0] != "data"}
        for name in ("trainer", "data", "model"):
            section = contents[path].get(name)
            if isinstance(section, str) and find_part(path, section).is_file():  # fit refuses a missing file
                section = read_yaml(find_part(path, section))
            if isinstance(section, dict):
                settings |= {short_key(key): value for key, value in flatten({name: section}).items()}
    return settings


def _is_of_scale(path: Path, content: Mapping[str, Any]) -> bool:
    """Return whether a file says that it is of a scale; refuse recipes in any other."""
    value = content.get("scale", False)
    if not isinstance(value, bool):
        raise UserError(f"{path}: scale: expected true or false, got {value!r}")
    if "recipes" in content and not value:
        raise UserError(f"{path}: recipes: only a file of a scale has recipes; add the line scale: true")
    return value


def _all_settings(path: Path, content: Mapping[str, Any]) -> dict[str, Any]:
    """Return a file's settings by short key, also those of the run."""
    of_run = picked(content, RUN_KEYS["training"])
    classes = picked(content, SECTIONS)
    named = {name: value for name, value in classes.items() if isinstance(value, str) and not value.endswith(YAML)}
    return of_run | named | settings_in_files([path], {path: content})


Recipes = dict[str, dict[str, dict[str, Any]]]


def _recipes(contents: Mapping[Path, Mapping[str, Any]]) -> dict[Path, Recipes]:
    """Return the ``recipes`` of every file that has some: settings by family and name."""
    by_file = {}
    for path, content in contents.items():
        if "recipes" not in content:
            continue
        families = _mapping(path, "recipes", content["recipes"])
        for family, recipes in families.items():
            for name, settings in _mapping(path, f"recipes.{family}", recipes).items():
                check_folder_name(path, f"recipes.{family}.", str(name))
                _settings(path, f"recipes.{family}.{name}", settings)
        by_file[path] = families
    return by_file


@dataclass(frozen=True)
class _Reader:
    """Reader of the rows in a table's section, at some scales, with the recipes of the overlays."""

    path: Path
    section: Mapping[str, Any]
    scales: Sequence[str]
    recipes: Mapping[Path, Recipes]
    recipe: str | None

    @property
    def other_recipe(self) -> bool:
        """True if the user chose a recipe that is not the first one of the table's family."""
        family = str(self.section.get("family", ""))
        firsts = {next(iter(recipes[family])) for recipes in self.recipes.values() if recipes.get(family)}
        return self.recipe is not None and self.recipe not in firsts

    @property
    def data_set(self) -> str:
        """Data set whose numbers in the paper are shown: that of the scale if the paper has it, else the first one."""
        named = list(filter(None, [str(self.section.get("data_set", ""))]))
        for row in filter(None, self.section.get("rows", {}).values()):
            named += _data_sets(row.get("paper", {}))
        return self._shown(named)

    def _shown(self, named: Sequence[str]) -> str:
        """Return the data set to show: of these, the first that is the name of a scale, else the first."""
        for name in (*self.scales, *named):
            if name in named:
                return name
        return ""

    def rows(self, key: str, allowed: set[str], default: dict[str, Any]) -> list[Row]:
        """Return the rows below a key of the section; a row may have the ``allowed`` keys."""
        section = f"table.{key}"
        contents = _mapping(self.path, section, self.section.get(key, default))
        return [self._row(f"{section}.", str(name), content, allowed=allowed) for name, content in contents.items()]

    def _row(self, section: str, name: str, content: Any, *, allowed: set[str]) -> Row:
        """Return a row from its ``content``, below a ``section`` such as ``table.rows.``."""
        where = section + name
        content = _mapping(self.path, where, content or {})
        _refuse_unknown(self.path, where, content, allowed=allowed)

        settings = {}
        if allowed is ROW_KEYS:  # a row to train, not a reported one
            check_folder_name(self.path, section, name)
            settings = self._recipe(where, str(content.get("family", self.section.get("family", ""))))
        settings |= self._set("table", self.section) | self._set(where, content)

        paper = self._paper(f"{where}.paper", content.get("paper", {}))
        # printed beside a row's numbers, such as its cost
        published = _mapping(self.path, f"{where}.published", content.get("published", {}))
        _refuse_unknown(self.path, f"{where}.published", published, allowed=PUBLISHED_KEYS)
        is_control = content.get("control", False)
        if not isinstance(is_control, bool):
            raise UserError(f"{self.path}: {where}.control: expected true or false, got {is_control!r}")

        return Row(
            name,
            label=str(content.get("label", name)),
            settings=settings,
            paper=paper,
            published=dict(published),
            is_control=is_control,
        )

    def _set(self, where: str, content: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings in ``set``, and in ``at`` for the scales and the recipe."""
        settings = _settings(self.path, f"{where}.set", content.get("set", {}))
        at = _mapping(self.path, f"{where}.at", content.get("at", {}))
        by_scale = {name: _settings(self.path, f"{where}.at.{name}", value) for name, value in at.items()}

        for scale in self.scales:
            for name in (scale, f"{scale}-{self.recipe}"):
                settings |= by_scale.get(name, {})

        # run:TABLE/SCALE/ROW is the run of this recipe, which has a scale of its own
        for key, value in settings.items() if self.other_recipe else ():
            if isinstance(value, str) and value.startswith(OF_RUN):
                table_and_scale, _, row = value.rpartition("/")
                settings[key] = f"{table_and_scale}-{self.recipe}/{row}"
        return settings

    def _recipe(self, where: str, family: str) -> dict[str, Any]:
        """Return the settings of a family's recipe in all files with recipes; later files win."""
        if self.recipe and not self.recipes:
            raise UserError(f"--recipe {self.recipe}: no file has recipes; add --config experiments/scale/X.yaml")

        settings: dict[str, Any] = {}
        for path, families in self.recipes.items():
            if family not in families:
                row = f"{self.path}: {where} (family {family!r})"
                raise UserError(f"{path}: recipes: none for {row}; families: {', '.join(families)}")

            recipes = families[family]
            chosen = self.recipe or next(iter(recipes))
            if chosen not in recipes and family != self.section.get("family"):
                chosen = next(iter(recipes))  # a row of another family, see read_table
            if chosen not in recipes:
                raise UserError(f"--recipe {chosen}: {path}: recipes.{family} has none; it has {', '.join(recipes)}")
            settings |= recipes[chosen]
        return settings

    def _paper(self, where: str, paper: Mapping[str, Any]) -> dict[str, float]:
        """Return the paper's numbers by metric.

        A paper's section may group numbers by data set. Numbers of the data set that is shown keep their metric's name.
        Others, which no run here measures, get keys such as ``K400 top1``.
        """
        numbers: dict[str, float] = {}
        data_sets_named = _data_sets(_mapping(self.path, where, paper))
        shown = self._shown(data_sets_named)
        allowed = PAPER_KEYS | {str(self.section.get("metric", METRIC))}
        _refuse_unknown(self.path, where, paper, allowed=allowed | {*data_sets_named})

        for key, value in paper.items():
            if key not in data_sets_named:
                numbers[key] = self._number(f"{where}.{key}", value)
                continue
            _refuse_unknown(self.path, f"{where}.{key}", value, allowed=allowed)

            for metric, printed in value.items():
                short = metric.rpartition("/")[2].removeprefix("video_")
                name = metric if key == shown else f"{key.upper()} {short}"
                numbers[name] = self._number(f"{where}.{key}.{metric}", printed)
        return numbers

    def _number(self, where: str, value: Any) -> float:
        """Return a number that the paper printed; refuse anything else."""
        if not isinstance(value, int | float):
            raise UserError(f"{self.path}: {where}: expected a number, got {value!r}")
        return value


def _data_sets(paper: Mapping[str, Any]) -> list[str]:
    """Return the names of the data sets in a row's ``paper`` section."""
    return [key for key, value in paper.items() if isinstance(value, dict)]


def _settings(path: Path, where: str, value: Any) -> dict[str, Any]:
    """Return a section's settings; refuse a key that is not the name of a setting, such as ``model.window``."""
    settings = _mapping(path, where, value)
    for key, setting in settings.items():
        is_setting = key.split(".")[0] in {"model", "data", "trainer"} or key in RUN_KEYS["training"]
        if not is_setting or (isinstance(setting, dict) and "." not in key):
            raise UserError(f"{path}: {where}.{key}: expected a setting such as model.window, with its value")
    return dict(settings)


def _mapping(path: Path, where: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UserError(f"{path}: {where}: expected keys and values, got {value!r}")
    return value


def _refuse_unknown(path: Path, where: str, content: Mapping[str, Any], *, allowed: set[str]) -> None:
    for key in content:
        if key not in allowed:
            raise UserError(f"{path}: {where}.{key}: no such key; expected one of {', '.join(sorted(allowed))}")


def folder_name(text: str) -> str:
    """Return a valid folder name close to the text; empty if no valid character is left."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[^A-Za-z0-9_.+-]+", "-", plain).strip("-.+")[:80]


def check_folder_name(path: Path, where: str, name: str) -> None:
    """Refuse a folder name that would leave the runs folder or need quoting in a shell."""
    if not re.fullmatch(NAME_PATTERN, name):
        expected = "expected letters, digits and _ - . + only (at most 100), a letter, a digit or _ first"
        advice = f"rename it, {folder_name(name) or 'videos'} for instance"
        raise UserError(f"{path}: {where}{name!r} becomes a folder: {expected}; {advice}")


def write_origin(scale_dir: Path, configs: Sequence[Path], recipe: str | None) -> None:
    """Record a table's files and recipe in the folder of its scale, shared by runs of all rows and seeds."""
    content = {"configs": [str(path.resolve()) for path in configs], "recipe": recipe}
    write_atomically(scale_dir / ORIGIN, yaml.safe_dump(content, sort_keys=False), shared=True)


def read_origin(scale_dir: Path) -> Table | None:
    """Read the table of a folder of runs again from its recorded files; ``None`` if any is gone."""
    try:
        content = yaml.safe_load(read_regular(scale_dir / ORIGIN, MOST_BYTES))
        configs = list(map(Path, content["configs"]))
    except (OSError, ValueError, yaml.YAMLError, KeyError, TypeError):  # not there, or damaged
        return None
    if not configs or not all(map(Path.is_file, configs)):
        return None
    return replace(read_table(configs, content.get("recipe")), scale=scale_dir.name)
