"""Write docs/settings.md: what every row of the papers' tables trains with, beside the papers' and the releases' words.

python docs/scripts/settings_page.py [--check]
"""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import yaml
from written_page import write_or_compare

from lit_video.tables.reading import read_table
from lit_video.tables.table import Row, Table
from lit_video.utils.text import markdown_lines
from lit_video.utils.yaml_files import read_yaml
from lit_video.video.augmentation import Augmentation
from lit_video.video.recipes import RECIPES

DOCS = Path(__file__).parents[1]
PAGE, FACTS, EXPERIMENTS = DOCS / "settings.md", DOCS / "facts", DOCS.parent / "experiments"
SCALES = ("ssv2", "k400", "k600", "epic100", "diving48", "howto100m", "moments")
INTRODUCTION = """\
# Settings at the papers' scale

For anyone who asks what a row trains with at the papers' scale, and why.

`python docs/scripts/settings_page.py` writes this page from [experiments/](../experiments) and [facts/](facts), a file
of facts per paper, and a test checks it. For each data set, a table per family shows our settings beside the values in
the paper and in its released code, with the section, table or file of each value, and the reason for each difference
and for each value that no source gives ("presumed"). Each table's rows follow; the last column has all other settings
in which rows differ. Views are temporal clips x spatial crops; short sides are in pixels.
`fit --config TABLE --config SCALE --row ROW --print-config` prints all settings of a row. No row has been trained at
these scales.
"""
NOT_GIVEN = "not given"
Settings = Mapping[str, Any]


def page() -> str:
    """Return the page's text."""
    facts = read_facts()
    parts = [INTRODUCTION]
    for scale in SCALES:
        content = read_yaml(EXPERIMENTS / "scale" / f"{scale}.yaml")
        parts.append(f"## {scale} ({content['data']['class_path']})")
        for family, recipes in content["recipes"].items():
            for name, recipe in recipes.items():
                given = facts[family].get(scale, {}).get(name)
                parts += recipe_part(f"{family}, recipe `{name}`", _defaults(content) | recipe, given)
        parts += [part for path in sorted(EXPERIMENTS.glob("*.yaml")) for part in table_part(path, scale, content)]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def read_facts() -> dict[str, Any]:
    """Return what sources say, by family, scale and recipe; YAML's merge keys stand for what they share."""
    facts = {path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(FACTS.glob("*.yaml"))}
    for scales in facts.values():
        for recipes in scales.values():
            for given in recipes.values():
                says = given.get("says", {})
                # a new mapping, because YAML's aliases share one among recipes
                given["says"] = {
                    key: (value, where.replace("{file}", given.get("file", "{file}")))
                    for key, (value, where) in says.items()
                }
    return facts


def recipe_part(title: str, settings: Settings, given: Any) -> Iterator[str]:
    """Heading and table of a family's recipe: what its source says, ours, and the reason of each difference."""
    if given is None:
        yield f"**{title}**: borrowed from another data set (see the scale's file)."
        return
    says, why = given.get("says", {}), given.get("why", {})
    yield f"**{title}**: {given['source']}"
    body = []
    for key, ours in described(settings).items():
        value, where = says.get(key, (NOT_GIVEN, ""))
        body.append([key, str(value), where, ours, str(why.get(key, ""))])
    yield markdown_lines(["setting", "source says", "where", "ours", "why"], body, numbers=False)


def unexplained(facts: Settings) -> list[str]:
    """Return settings that differ from a source or have none, without a reason, and reasons that are needless."""
    found = []
    for family, scales in facts.items():
        for scale, recipes in scales.items():
            content = read_yaml(EXPERIMENTS / "scale" / f"{scale}.yaml")
            for name, given in recipes.items():
                says, why = given.get("says", {}), given.get("why", {})
                ours = described(_defaults(content) | content["recipes"][family][name])
                differ = {key for key in ours if key in says and ours[key] != str(says[key][0])}
                unsaid = set() if "borrowed" in name else ours.keys() - says.keys()
                places = [*((differ | unsaid) - why.keys()), *(why.keys() - ours.keys()), *(says.keys() - ours.keys())]
                places += [key for key in why if key in says and key not in differ]
                found += [f"{family} {scale} {name}: {key}" for key in places]
    return found


def table_part(path: Path, scale: str, content: Settings) -> Iterator[str]:
    """Heading and rows of a table whose numbers are of a scale's data set; nothing for others."""
    if "family" not in read_yaml(path).get("table", {}):
        return  # our own tables
    table = read_table([path, EXPERIMENTS / "scale" / f"{scale}.yaml"])
    if table.on_papers_data or f"scale/{scale}.yaml" in path.read_text(encoding="utf-8"):
        yield f"**{table.title}** ([{path.name}](../experiments/{path.name})): {table.source}"
        header = [
            "row",
            "clip, views of the printed cost",
            "weights",
            "clip",
            "crop",
            "views",
            "epochs",
            "batch",
            "learning rate",
            "other settings in which rows differ",
        ]
        yield markdown_lines(header, [_row(table, row, content) for row in table.rows], numbers=False)


def _row(table: Table, row: Row, content: Settings) -> list[str]:
    ours = described(_defaults(content) | row.settings)
    printed = ", ".join(str(row.published[key]) for key in ("frames", "views") if key in row.published)
    keys = ("weights", "clip", "crop", "views", "epochs", "batch", "learning rate")
    return [row.label, printed or "-", *(ours[key] for key in keys), _own(table, row)]


# settings in the other columns of a row
SHOWN = (
    *("model.weights", "model.image_weights", "data.sampling", "data.num_frames", "data.short", "data.image_size"),
    *("data.test_image_size", "data.test_clips", "data.test_crops", "data.short_side", "data.views"),
    *("trainer.max_epochs", "global_batch"),
)


def _own(table: Table, row: Row) -> str:
    """Return a row's settings that differ from some other row's and are in no other column."""
    differing = [
        key
        for key, value in row.settings.items()
        if key not in SHOWN
        and not key.startswith("data.sampling.")
        and any(each.settings.get(key) != value for each in table.rows)
    ]
    words = []
    for key in differing:
        if key == "data.augmentation":
            words.append(_augmentation(row.settings[key]))
        elif key == "model.optimization":
            optimization = row.settings[key]
            words += [_optimizer(optimization), _schedule(optimization, row.settings["trainer.max_epochs"])]
            words.append(f"weight decay {optimization['weight_decay']}")
        elif key != "model.optimization.lr":
            words.append(f"{key.removeprefix('model.')} {_text(row.settings[key])}")
    return ", ".join(words)


def _defaults(content: Settings) -> dict[str, Any]:
    """Return a scale's settings of its data set and hardware, by flag."""
    trainer = {f"trainer.{key}": value for key, value in content["trainer"].items()}
    return trainer | {f"data.{key}": value for key, value in content["data"]["init_args"].items()}


def described(settings: Settings) -> dict[str, str]:
    """Return the settings of a training in words, by their names on the page."""
    optimization = settings["model.optimization"]
    views = f"{settings.get('data.test_clips', 1)} x {settings.get('data.test_crops', 1)}"
    views += f" of a short side of {settings['data.short_side']}" if settings.get("data.short_side") else ""
    weights = settings.get("model.weights") or settings.get("model.image_weights") or "from scratch"
    return {
        "weights": f"`{weights}`" if ":" in weights else weights,
        "clip": _clip(settings),
        "crop": _crop(settings),
        "views": views + (", as released" if settings.get("data.views") == "released" else ""),
        "averaged": str(settings.get("model.view_average", "logits")),
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
        "drop path": str(settings.get("model.drop_path_rate", 0.0)),
        "scheme": _scheme(settings),
    }


EVERYTHING = ", norms, biases, tokens and positions too"


def _clip(settings: Settings) -> str:
    sampling = settings["data.sampling"]
    name = sampling["class_path"] if isinstance(sampling, Mapping) else sampling
    arguments = dict(sampling.get("init_args", {})) if isinstance(sampling, Mapping) else {}
    arguments |= {key.rpartition(".")[2]: value for key, value in settings.items() if key.startswith("data.sampling.")}
    frames, stride, seconds = settings["data.num_frames"], arguments.get("stride"), arguments.get("seconds")
    how = f"{frames} x {stride}" if stride else f"{frames} frames" + (f" of {seconds} s" if seconds else "")
    clock = f" at {arguments['fps']} fps" if arguments.get("fps") else ""
    loop = ", looped" if settings.get("data.short") == "loop" else ""
    return f"{how}, {name}{clock}{loop}"


def _optimizer(optimization: Settings) -> str:
    nesterov = ", Nesterov" if optimization.get("nesterov") else ""
    return f"{optimization['optimizer'].upper()}, momentum {optimization['momentum']}{nesterov}"


def _schedule(optimization: Settings, epochs: int) -> str:
    if optimization.get("milestones"):
        return f"a tenth at epochs {', '.join(f'{epochs * each:.4g}' for each in optimization['milestones'])}"
    start = optimization["lr"] * optimization["warmup_start"]
    cosine = "cosine after a" if optimization.get("whole_cosine") else "cosine,"
    return f"{cosine} warm-up of {epochs * optimization['warmup']:.3g} epochs from {start:.3g}"


def _crop(settings: Settings) -> str:
    size, test = str(settings["data.image_size"]), settings.get("data.test_image_size")
    return f"{size}, tested at {test}" if test else size


SHARES = ("random_erasing", "mixup", "label_smoothing", "colour", "grey")


def _augmentation(given: Any) -> str:
    one = asdict(RECIPES[given] if isinstance(given, str) else Augmentation(**given))  # type: ignore[index]
    words = ["boxes of several scales" if one["crop"] == "multiscale" else _short_side(one), f"flip {one['flip']}"]
    words += [one["policy"]] if one["policy"] != "none" else []
    return ", ".join(words + [f"{key} {one[key]}" for key in SHARES if one[key]])


def _short_side(one: Settings) -> str:
    low, high = one["short_side"]
    drawn = ", inversely drawn" if one["inverse"] else ""
    return f"short side {low:g}-{high:g}{drawn}" + (", height and width each" if one["crop"] == "stretch" else "")


def _pixels(settings: Settings) -> str:
    first = ", blue first" if settings.get("data.channels") == "bgr" else ""
    return f"mean {settings.get('data.mean', 0.5)}, std {settings.get('data.std', 0.5)}{first}"


def _scheme(settings: Settings) -> str:
    keys = [
        *("attention_type", "variant", "tubelet_size", "temporal_depth", "ratio", "scope", "segments", "positions"),
        *("ta_attention", "summary_before_norm", "cls_in_summary"),
        *("zero_head", "zero_temporal", "class_token", "cls_in_time", "hidden_head", "task_loss"),
    ]
    return ", ".join(f"{key} {_text(settings[f'model.{key}'])}" for key in keys if f"model.{key}" in settings) or "-"


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {one}" for key, one in value.items())
    return str(value).lower() if isinstance(value, bool) or value is None else str(value)


def main() -> int:
    """Write the page, or with ``--check`` only compare it; 1 where it is out of date or a difference has no reason."""
    if missing := unexplained(read_facts()):
        print("docs/facts: no reason, or one too many: " + "; ".join(missing), file=sys.stderr)
        return 1
    return write_or_compare(PAGE, page(), copied=True)


if __name__ == "__main__":
    sys.exit(main())
