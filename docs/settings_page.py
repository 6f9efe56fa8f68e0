"""Write docs/settings.md: what every row of the papers' tables trains with, beside the papers' and the releases' words.

python docs/settings_page.py [--check]
"""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from lit_video.tables.reading import read_table
from lit_video.tables.table import Row, Table
from lit_video.utils.text import markdown_lines
from lit_video.utils.yaml_files import read_yaml
from lit_video.video.recipes import RECIPES

HERE = Path(__file__).parent
PAGE, EXPERIMENTS = HERE / "settings.md", HERE.parent / "experiments"
SCALES = ("ssv2", "k400", "k600", "epic100", "diving48", "howto100m")
INTRODUCTION = """\
# Settings at the papers' scale

Written by `python docs/settings_page.py` from [experiments/](../experiments) and [settings.yaml](settings.yaml), and
checked against them by a test. For each data set: how each family is trained, beside the values in its paper and in its
released code, with the reason of each deviation; then the settings of each row of a table. Views are temporal clips x
spatial crops. `fit --config TABLE --config
SCALE --row ROW --print_config` prints all settings of a row. No row has been trained at these scales.
"""
NOT_GIVEN = "not given"
Settings = Mapping[str, Any]


def page() -> str:
    """The page's text."""
    words = _words()
    parts = [INTRODUCTION]
    for scale in SCALES:
        content = read_yaml(EXPERIMENTS / "scale" / f"{scale}.yaml")
        parts.append(f"## {scale} ({content['data']['class_path']})")
        for family, recipes in content["recipes"].items():
            for name, recipe in recipes.items():
                given = words["families"].get(family, {}).get(scale, {}).get(name)
                parts += recipe_part(f"{family}, recipe `{name}`", _defaults(content) | recipe, given)
        parts += [part for path in sorted(EXPERIMENTS.glob("*.yaml")) for part in table_part(path, scale, content)]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _words() -> Settings:
    """What sources say; YAML's merge keys stand for what they share."""
    content: Settings = yaml.safe_load((HERE / "settings.yaml").read_text(encoding="utf-8"))
    return content


def recipe_part(title: str, settings: Settings, given: Any) -> Iterator[str]:
    """Heading and table of a family's recipe: what its source says, ours, and the reason of each difference."""
    if given is None:
        yield f"**{title}**: borrowed, as the head of the scale's file says."
        return
    says, why = given.get("says", {}), given.get("why", {})
    yield f"**{title}**: {given['source']}"
    body = []
    for key, ours in described(settings).items():
        body.append([key, str(says.get(key, NOT_GIVEN)), ours, str(why.get(key, ""))])
    yield markdown_lines(["setting", "source", "ours", "why"], body, numbers=False)


def unexplained(words: Settings) -> list[str]:
    """Settings of ours that differ from a source without a reason, and reasons of settings that do not differ."""
    found, same = [], words["same"]
    for family, scales in words["families"].items():
        for scale, recipes in scales.items():
            content = read_yaml(EXPERIMENTS / "scale" / f"{scale}.yaml")
            for name, given in recipes.items():
                says, why = given.get("says", {}), given.get("why", {})
                ours = described(_defaults(content) | content["recipes"][family][name])
                differ = {key for key in ours if key in says and ours[key] not in (str(says[key]), same.get(says[key]))}
                places = [*(differ - why.keys()), *(why.keys() - ours.keys()), *(says.keys() - ours.keys())]
                places += [key for key in why if key in says and key not in differ]
                found += [f"{family} {scale} {name}: {key}" for key in places]
    return found


def table_part(path: Path, scale: str, content: Settings) -> Iterator[str]:
    """Heading and rows of a table whose numbers are of a scale's data set; nothing for others."""
    if not read_table([path]).data_set:
        return  # no paper's
    table = read_table([path, EXPERIMENTS / "scale" / f"{scale}.yaml"])
    if table.on_papers_data:
        yield f"**{table.title}** ([{path.name}](../experiments/{path.name})): {table.source}"
        header = [
            "row",
            "paper's clip, views",
            "weights",
            "clip",
            "crop",
            "views",
            "epochs",
            "batch",
            "learning rate",
            "own settings",
        ]
        yield markdown_lines(header, [_row(table, row, content) for row in table.rows], numbers=False)


def _row(table: Table, row: Row, content: Settings) -> list[str]:
    ours = described(_defaults(content) | row.settings)
    printed = ", ".join(str(row.published[key]) for key in ("frames", "views") if key in row.published)
    keys = ("weights", "clip", "crop", "views", "epochs", "batch", "learning rate")
    return [row.label, printed or NOT_GIVEN, *(ours[key] for key in keys), _own(table, row)]


def _own(table: Table, row: Row) -> str:
    """A row's own settings of the model, which differ from those of some other row."""
    shown = [
        key for key in row.settings if key.startswith("model.") and key not in ("model.image_weights", "model.weights")
    ]
    differing = [key for key in shown if any(each.settings.get(key) != row.settings[key] for each in table.rows)]
    own = [f"{key.removeprefix('model.')} {_text(row.settings[key])}" for key in differing if "optimization" not in key]
    return ", ".join(own)


def _defaults(content: Settings) -> dict[str, Any]:
    """Settings of a scale that are its data set's and its hardware's, by flag."""
    trainer = {f"trainer.{key}": value for key, value in content["trainer"].items()}
    return trainer | {f"data.{key}": value for key, value in content["data"]["init_args"].items()}


def described(settings: Settings) -> dict[str, str]:
    """Settings of a training in words, each by its name on the page."""
    optimization = settings["model.optimization"]
    views = f"{settings.get('data.test_clips', 1)} x {settings.get('data.test_crops', 1)}"
    weights = settings.get("model.weights") or settings.get("model.image_weights") or "from scratch"
    return {
        "weights": f"`{weights}`" if ":" in weights else weights,
        "clip": _clip(settings),
        "crop": str(settings["data.image_size"]),
        "views": views + (", as released" if settings.get("data.views") == "released" else ""),
        "epochs": str(settings["trainer.max_epochs"]),
        "batch": str(settings["global_batch"]),
        "optimizer": _optimizer(optimization),
        "learning rate": str(optimization["lr"]),
        "schedule": _schedule(optimization, settings["trainer.max_epochs"]),
        "weight decay": f"{optimization['weight_decay']}{EVERYTHING if optimization.get('decay_all') else ''}",
        "gradient clip": _text(settings["trainer.gradient_clip_val"]),
        "augmentation": _augmentation(settings["data.augmentation"]),
        "normalisation": _pixels(settings),
        "precision": str(settings["trainer.precision"]),
        "dropout": str(settings.get("model.dropout", 0.0)),
        "drop path": str(settings.get("model.drop_path", 0.0)),
        "scheme": _scheme(settings),
    }


EVERYTHING = ", norms, biases, tokens and positions too"


def _clip(settings: Settings) -> str:
    sampling = settings["data.sampling"]
    name = sampling["class_path"] if isinstance(sampling, Mapping) else sampling
    arguments = dict(sampling.get("init_args", {})) if isinstance(sampling, Mapping) else {}
    arguments |= {key.rpartition(".")[2]: value for key, value in settings.items() if key.startswith("data.sampling.")}
    frames, stride, seconds = settings["data.frames"], arguments.get("stride"), arguments.get("seconds")
    how = f"{frames} x {stride}" if stride else f"{frames} frames" + (f" of {seconds} s" if seconds else "")
    return f"{how}, {name}"


def _optimizer(optimization: Settings) -> str:
    nesterov = ", Nesterov" if optimization.get("nesterov") else ""
    return f"{optimization['optimizer'].upper()}, momentum {optimization['momentum']}{nesterov}"


def _schedule(optimization: Settings, epochs: int) -> str:
    if optimization.get("milestones"):
        return f"a tenth at epochs {', '.join(f'{epochs * each:.4g}' for each in optimization['milestones'])}"
    start = optimization["lr"] * optimization["warmup_start"]
    return f"cosine, warm-up of {epochs * optimization['warmup']:.3g} epochs from {start:.3g}"


def _augmentation(given: Any) -> str:
    if isinstance(given, str):
        one = RECIPES[given]  # type: ignore[index]
        given = {key: getattr(one, key) for key in ("scale", "crop", "flip", "policy", "erasing", "mixup", "smoothing")}
    scale = (
        "boxes of several scales"
        if given.get("crop") == "multiscale"
        else "scale {:.3g}-{:.3g}".format(*given["scale"])
    )
    return ", ".join([scale, *(f"{key} {given[key]}" for key in ("flip", "policy", "erasing", "mixup", "smoothing"))])


def _pixels(settings: Settings) -> str:
    first = ", blue first" if settings.get("data.channels") == "bgr" else ""
    return f"mean {settings.get('data.mean', 0.5)}, std {settings.get('data.std', 0.5)}{first}"


def _scheme(settings: Settings) -> str:
    keys = ("attention", "variant", "tubelet", "temporal_depth", "ratio", "scope", "segments", "positions", "zero_head")
    return ", ".join(f"{key} {_text(settings[f'model.{key}'])}" for key in keys if f"model.{key}" in settings) or "-"


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {one}" for key, one in value.items())
    return str(value).lower() if isinstance(value, bool) or value is None else str(value)


def main() -> int:
    """Write the page, or with ``--check`` only compare it; 1 where it is out of date or a difference has no reason."""
    if missing := unexplained(_words()):
        print("docs/settings.yaml: no reason, or one too many: " + "; ".join(missing), file=sys.stderr)
        return 1
    text = page()
    if "--check" in sys.argv[1:]:
        return int(PAGE.read_text(encoding="utf-8") != text)
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
