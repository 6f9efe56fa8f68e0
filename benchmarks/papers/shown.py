"""Settings that docs/settings.md shows, read again from its text, beside those that ``fit --print-config`` prints."""

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import yaml

from benchmarks.papers.printed import EXPERIMENTS
from lit_video.utils.yaml_files import read_yaml

PAGE = EXPERIMENTS.parent / "docs" / "settings.md"
COLUMNS = 10
NUMBER = r"\d[\d.]*(?:e-\d+)?"
Key = tuple[str, str, str]  # scale, table or family, recipe


@dataclass(frozen=True)
class ShownSettings:
    """The page's rows, and the settings of its recipes."""

    tables: Mapping[Key, Sequence[Sequence[str]]]  # cells of the rows
    recipes: Mapping[Key, Mapping[str, str]]  # our settings by their names


def read_page(page: Path = PAGE) -> ShownSettings:
    """Read the tables and recipes of the page."""
    tables: dict[Key, list[list[str]]] = {}
    recipes: dict[Key, dict[str, str]] = {}
    for section in page.read_text(encoding="utf-8").split("\n## ")[1:]:
        scale = section.split()[0]
        for part in section.split("\n**")[1:]:
            lines = [line.removeprefix("| ").removesuffix("|") for line in part.splitlines() if line.startswith("| ")]
            cells = [[cell.strip() for cell in line.split(" | ")] for line in lines]
            if table := re.match(r".*\]\(../experiments/(\w+).yaml\)\), recipe `(\w+)`", part):
                tables[scale, table[1], table[2]] = [[*row, ""][:COLUMNS] for row in cells[2:]]
            elif recipe := re.match(r"(\w+), recipe `(\w+)`\*\*", part):
                recipes[scale, recipe[1], recipe[2]] = {row[0]: row[3] for row in cells if len(row) == 5}
    return ShownSettings(tables, recipes)


@cache
def printed_config(key: Key) -> list[dict[str, Any]]:
    """Return the settings that ``fit --print-config`` prints of a table's rows."""
    from lit_video.__main__ import main  # here, because it loads torch

    scale, table, recipe = key
    files = [f"--config={EXPERIMENTS / f'{table}.yaml'}", f"--config={EXPERIMENTS / f'scale/{scale}.yaml'}"]
    output = io.StringIO()
    with redirect_stdout(output):
        status = main(["fit", *files, f"--recipe={recipe}", "--print-config"])
    if status:
        raise ValueError(f"{key}: fit --print-config failed")
    return list(yaml.load_all(output.getvalue(), yaml.CSafeLoader))


def as_printed(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return what ``--print-config`` says of the settings that the page shows."""
    from lit_video.video.augmentation import RECIPES

    model, data, trainer = config["model"]["init_args"], config["data"]["init_args"], config["trainer"]
    weights = str(model.get("weights") or model.get("image_weights") or "from scratch")
    sampling, optimization, augmentation = data["sampling"], model["optimization"], data["augmentation"]
    if isinstance(augmentation, str):
        augmentation = asdict(RECIPES[augmentation])  # type: ignore[index]
    epochs = trainer["max_epochs"]
    steps = bool(optimization["milestones"])
    return {
        "weights": re.sub(r"^runs/(.*)/seed0$", r"run:\1", weights),
        "frames": data["num_frames"],
        "stride": sampling.get("init_args", {}).get("stride"),
        "crop": [data["image_size"], *filter(None, [data.get("test_image_size")])],
        "views": [data["test_clips"], data["test_crops"], *filter(None, [data.get("short_side")])],
        "epochs": epochs,
        "batch": config["global_batch"],
        "rate": optimization["lr"],
        "weight decay": optimization["weight_decay"],
        "warm-up": 0 if steps else _rounded(epochs * optimization["warmup"]),
        "start of the warm-up": 0 if steps else _rounded(optimization["lr"] * optimization["warmup_start"]),
        "milestones": [_rounded(epochs * each) for each in optimization["milestones"]],
        "short side": [] if augmentation["crop"] == "multiscale" else list(augmentation["short_side"]),
        **{name: augmentation[name] for name in ("flip", "random_erasing", "mixup", "label_smoothing", "colour")},
        "drop path": model.get("drop_path_rate") or 0,
        "dropout": model.get("dropout") or 0,
        "precision": trainer["precision"],
    }


def _rounded(value: float) -> float:
    return float(f"{value:.3g}")


def _numbers(text: str, pattern: str) -> list[float]:
    """Return the numbers in the first match of a pattern."""
    found = re.search(pattern, text)
    return [float(each) for each in re.findall(NUMBER, found[0])] if found else []


def as_shown(cells: Sequence[str], recipe: Mapping[str, str]) -> dict[str, Any]:
    """Return what the page says of a row: in its own cells, else in the table of its recipe."""
    _, _, weights, clip, crop, views, epochs, batch, rate, other = cells
    schedule = other if re.search("warm-up of|a tenth at", other) else recipe["schedule"]
    own = re.search(r"(short side|boxes of several scales).*flip", other)  # the row names its whole augmentation
    sides = own[0] if own else recipe["short side"]

    def first(named: str, of_recipe: str, whole: object = None) -> float:
        of_row = _numbers(other, rf"(?<!\w){named} {NUMBER}")
        rest = [] if whole else _numbers(recipe.get(of_recipe, ""), f"^{NUMBER}")
        return next(chain(of_row, rest), 0.0)

    warmup = _numbers(schedule, rf"warm-up of {NUMBER} epochs from {NUMBER}") or [0, 0]
    milestones = re.search(r"a tenth at epochs ([\d.]+(?:, [\d.]+)*)", schedule)
    return {
        "weights": weights.strip("`"),
        "frames": _numbers(clip, r"^\d+")[0],
        "stride": next(iter(_numbers(clip, r"(?<= x )\d+")), None),
        "crop": _numbers(crop, r".+"),
        "views": _numbers(views, r".+"),
        "epochs": float(epochs),
        "batch": float(batch),
        "rate": float(rate),
        "weight decay": first("weight decay", "weight decay"),
        "warm-up": warmup[0],
        "start of the warm-up": warmup[1],
        "milestones": [float(each) for each in milestones[1].split(", ")] if milestones else [],
        "short side": _numbers(sides, r"[\d.]+-[\d.]+"),
        "flip": first("flip", "flip", own),
        "random_erasing": first("random_erasing", "erasing", own),
        "mixup": first("mixup", "mixup", own),
        "label_smoothing": first("label_smoothing", "smoothing", own),
        "colour": first("colour", "colour jitter", own),
        "drop path": first("drop_path_rate", "drop path"),
        "dropout": first("dropout", "dropout"),
        "precision": recipe["precision"],
    }


def untrue(shown: ShownSettings, key: Key) -> Iterator[str]:
    """Yield cells of a table's rows that are not what ``--print-config`` prints."""
    scale, table, recipe = key
    section = read_yaml(EXPERIMENTS / f"{table}.yaml")["table"]
    names = read_yaml(EXPERIMENTS / "scale" / f"{scale}.yaml")["recipes"]
    families = [content.get("family", section["family"]) for content in section["rows"].values()]
    for cells, config, family in zip(shown.tables[key], printed_config(key), families, strict=True):
        of_row = recipe if recipe in names[family] else next(iter(names[family]))
        page = as_shown(cells, shown.recipes[scale, family, of_row])
        for name, value in as_printed(config).items():
            if page[name] != value:
                yield f"{scale} {table} {recipe}: {cells[0]}: {name} is {page[name]} on the page, {value} in the run"
