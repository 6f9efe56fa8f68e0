"""Write docs/settings.md: what every row of the papers' tables trains with, beside the papers' and the releases' words.

python docs/scripts/settings_page.py [--check]
"""

import ast
import re
import sys
import textwrap
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import yaml
from written_page import write_or_compare

from lit_video.tables.reading import read_table
from lit_video.tables.table import Row
from lit_video.utils.text import markdown_lines
from lit_video.utils.yaml_files import read_yaml
from lit_video.video.augmentation import RECIPES, Augmentation

DOCS = Path(__file__).parents[1]
count_numbers = import_module("benchmarks.papers.printed").count_numbers  # written_page has put benchmarks on the path
PAGE, FACTS, EXPERIMENTS = DOCS / "settings.md", DOCS / "facts", DOCS.parent / "experiments"
SCALES = ("ssv2", "k400", "k600", "epic100", "diving48", "howto100m", "moments")
INTRODUCTION = """\
# Settings at the papers' scale

For anyone who asks what a row trains with at the papers' scale, and why.

`python docs/scripts/settings_page.py` writes this page from [experiments/](../experiments) and [facts/](facts), a file
of facts per paper, and tests check it. For each data set, a table per recipe shows our settings beside the values in
the paper or in its released code, with the section, table or file of each value, in a paper its words, and the reason
for each difference and for each value that no source gives ("presumed"). A value that a paper gives for other data sets
alone is not given. Where our code is unlike the paper, as its docstrings say, stands below the recipe `paper`. Each
table's rows follow, with every recipe; the last column has all other settings that are not the recipe's. Views are
temporal clips x spatial crops; short sides are in pixels.
`fit --config TABLE --config SCALE --recipe RECIPE --row ROW --print-config` prints all settings of a row; tests compare
them with this page. No row has been trained at these scales.
"""
NOT_GIVEN = "not given"
PAPER = "paper"  # recipe of a paper's words
UNLIKE = re.compile(r"(Unlike the paper.*?)(?=\n[ ]*\n|\n[ ]*[A-Z][a-z ]+:|\Z)", re.DOTALL)
# words of an option's documentation that its value, or ``value``: at the beginning of a clause, is the paper's
AS_IN_PAPER = re.compile(r"as in the paper|as the paper (says|writes)|as in Eq\. ")
OPTION = re.compile(r"^    (\w+): (.*?)(?=^    \S|\Z)", re.DOTALL | re.MULTILINE)
PAPERS = {"xvit": "X-ViT", "timesformer": "TimeSformer", "vivit": "ViViT"}  # names in "Source:" of docstrings
PACKAGES = ("attention", "network", "modules")
Settings = Mapping[str, Any]


def page() -> str:
    """Return the page's text."""
    facts = read_facts()
    parts = [INTRODUCTION, counted(facts)]
    for scale in SCALES:
        content = scale_file(scale)
        parts.append(f"## {scale} ({content['data']['class_path']})")
        for family, recipes in content["recipes"].items():
            for name, recipe in recipes.items():
                given = facts[family].get(scale, {}).get(name)
                parts += recipe_part(f"{family}, recipe `{name}`", folded(_defaults(content) | recipe), given)
                if name == PAPER and family in PAPERS:
                    parts += unlike_part(family, recipe, facts)
        for path in sorted(EXPERIMENTS.glob("*.yaml")):
            for name in table_recipes(path, scale):
                parts += table_part(path, scale, name)
    return "\n\n".join(part.strip() for part in parts) + "\n"


def counted(facts: Settings) -> str:
    """Say how many rows, settings, facts and printed numbers are compared."""
    rows = settings = 0
    tables = set()
    for scale in SCALES:
        for path in sorted(EXPERIMENTS.glob("*.yaml")):
            for recipe in table_recipes(path, scale):
                table = read_table([path, EXPERIMENTS / "scale" / f"{scale}.yaml"], recipe)
                tables.add(path)
                rows += len(table.rows)
                settings += sum(len(_flat(folded(row.settings))) for row in table.rows)
    given = [of_recipe for scales in facts.values() for scale in SCALES for of_recipe in scales.get(scale, {}).values()]
    said_of = sum(len(one["says"]) for one in given)
    apart = sum(len(one["why"].keys() & one["says"].keys()) for one in given)
    presumed = sum(len(one["why"].keys() - one["says"].keys()) for one in given)
    numbers = count_numbers()
    parts = [
        "Counted by `python -m benchmarks.papers.counts`: "
        f"{rows} rows of {len(tables)} tables with {settings} settings",
        f"{said_of} facts of papers and releases, {said_of - apart} equal to ours and {apart} not, with reasons",
        f"{presumed} settings without a source, presumed",
        f"{numbers} printed numbers.",
    ]
    return textwrap.fill("; ".join(parts), 120, break_long_words=False, break_on_hyphens=False)


def _flat(settings: Settings) -> list[str]:
    """Return the keys of folded settings."""
    return [f"{key}.{name}" for key, value in settings.items() for name in (value if key in NESTED else [""])]


@cache
def scale_file(scale: str) -> dict[str, Any]:
    """Return the content of a scale's file."""
    return read_yaml(EXPERIMENTS / "scale" / f"{scale}.yaml")


def read_facts() -> dict[str, Any]:
    """Return what sources say, by family, scale and recipe; YAML's merge keys stand for what they share.

    A fact of a paper that speaks of other data sets than the recipe's is under ``elsewhere``.
    """
    facts = {path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(FACTS.glob("*.yaml"))}
    for scales in facts.values():
        for scale in filter(scales.__contains__, SCALES):
            scales[scale] = {name: _of_scale(given, scale) for name, given in scales[scale].items()}
    return facts


def _of_scale(given: Any, scale: str) -> dict[str, Any]:
    """Return what a source says of a data set; a new mapping, because YAML's aliases share one among data sets."""
    says = {}
    for key, (value, where, *words) in given.get("says", {}).items():
        says[key] = [value, str(where).replace("{file}", given.get("file", "{file}")), *words]
    return given | {
        "says": {key: fact for key, fact in says.items() if speaks_of(fact, scale)},
        "elsewhere": {key: fact for key, fact in says.items() if not speaks_of(fact, scale)},
        "why": {key: why for key, why in given.get("why", {}).items() if why is not None},
    }


def speaks_of(fact: Sequence[Any], scale: str) -> bool:
    """Return whether a fact is about a data set: a release's file is, a paper's words are where they name it."""
    of = fact[3] if len(fact) > 3 else "all"
    return of == "all" or scale in ([of] if isinstance(of, str) else of)


def recipe_part(title: str, settings: Settings, given: Any) -> Iterator[str]:
    """Heading and table of a family's recipe: what its source says, ours, and the reason of each difference."""
    if given is None:
        yield f"**{title}**: borrowed from another data set (see the scale's file)."
        return
    yield f"**{title}**: {given['source']}"
    body = []
    for key, ours in described(settings, given["says"]).items():
        value, where = said(given, key)
        body.append([key, value, where, ours, str(given["why"].get(key, ""))])
    yield markdown_lines(["setting", "source says", "where", "ours", "why"], body, numbers=False)


def said(given: Any, key: str) -> tuple[str, str]:
    """Return what a recipe's source says of a setting, and where, with its words."""
    if key in given["says"]:
        value, where, *words = given["says"][key]
        return _text(value), f'{where}: "{words[0]}"' if words else where
    if key in given["elsewhere"]:
        value, where, _, of = given["elsewhere"][key]
        return NOT_GIVEN, f"{', '.join([of] if isinstance(of, str) else of)} alone: {_text(value)}, {where}"
    return NOT_GIVEN, ""


def faults(facts: Settings) -> list[str]:
    """Return what is wrong with the facts, each with its place.

    A setting that differs from its source, or has none, needs a reason, and others have none; a paper's fact needs the
    words and the data sets that they speak of; a setting that a paper does not give is called presumed; in the recipe
    ``paper`` code that is unlike the paper is off, and options that are documented as in the paper are on, or a reason
    says why not.
    """
    found = []
    for family, scales in facts.items():
        for scale in filter(SCALES.__contains__, scales):
            content = scale_file(scale)
            for name, given in scales[scale].items():
                place = f"{family} {scale} {name}"
                settings = folded(_defaults(content) | content["recipes"][family][name])
                found += [f"{place}: {fault}" for fault in _recipe_faults(name, settings, given)]
            if family in PAPERS and PAPER in scales[scale]:
                recipe = content["recipes"][family][PAPER]
                of_paper = [
                    *_unlike_faults(family, recipe, facts),
                    *_option_faults(family, recipe, scales[scale][PAPER]),
                ]
                found += [f"{family} {scale} {PAPER}: {fault}" for fault in of_paper]
    return found


def _recipe_faults(name: str, settings: Settings, given: Any) -> Iterator[str]:
    says, why = given["says"], given["why"]
    ours = described(settings, says)
    for key, (value, _, *words) in [*says.items(), *given["elsewhere"].items()]:
        if "file" not in given and len(words) != 2:
            yield f"{key}: give the paper's words, and the data sets that they speak of"
        elif words and isinstance(value, int | float) and not _has_number(str(words[0]), value):
            yield f"{key}: {value} is not in the words {words[0]!r}"

    for key in dict.fromkeys([*ours, *says, *why]):
        if key not in ours:
            yield f"{key}: no setting of this recipe"
        elif key not in says and "borrowed" not in name:
            if name == PAPER and "presumed" not in why.get(key, ""):
                yield f"{key}: not given for this data set, so say what is presumed"
            elif key not in why:
                yield f"{key}: no source and no reason"
        elif key in says and (ours[key] == _text(says[key][0])) == (key in why):
            yield f"{key}: {'a needless reason' if key in why else 'differs without a reason'}"


def _has_number(words: str, value: float) -> bool:
    """Return whether words have a number, also in percent; "true", and 0 as in "none" or "not", need none."""
    if isinstance(value, bool) or not value:
        return True
    numbers = {float(each) for each in re.findall(r"\d+(?:\.\d+)?", words)}
    return bool({float(value), 100 * value} & numbers)


@cache
def unlike_the_paper(family: str) -> dict[str, str]:
    """Return what docstrings of classes after a family's paper call unlike the paper, by the class's name."""
    found = {}
    for package in PACKAGES:
        for path in sorted((DOCS.parent / "lit_video" / package).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                text = ast.get_docstring(node) or "" if isinstance(node, ast.ClassDef) else ""
                if isinstance(node, ast.ClassDef) and f"Source: {PAPERS[family]}," in text and UNLIKE.search(text):
                    found[node.name] = " ".join(UNLIKE.findall(text)[0].split())
    return found


def _unlike_faults(family: str, recipe: Settings, facts: Settings) -> Iterator[str]:
    known = facts[family].get("unlike", {})
    docstrings = unlike_the_paper(family)
    for name in sorted(docstrings.keys() ^ known.keys()):
        yield f"{name}: {'its docstring' if name in docstrings else 'unlike'} alone calls it unlike the paper"
    for name, off in known.items():
        for key, value in off.items() if isinstance(off, Mapping) else ():
            if recipe.get(key) != value:
                yield f"{name} is unlike the paper and on: {key} is not {_text(value)}"


@cache
def options_of_the_paper(family: str) -> dict[str, Any]:
    """Return the options that the family's module documents as in the paper, with the paper's values."""
    found: dict[str, Any] = {}
    tree = ast.parse((DOCS.parent / "lit_video" / "modules" / f"{family}.py").read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        for option, text in OPTION.findall(ast.get_docstring(node) or "") if isinstance(node, ast.ClassDef) else ():
            for clause in filter(AS_IN_PAPER.search, text.split(";")):
                value = re.match(r"\s*``(\w+)``", clause)
                found[option] = value[1] if value else True
    return found


def _option_faults(family: str, recipe: Settings, given: Any) -> Iterator[str]:
    for option, value in options_of_the_paper(family).items():
        if recipe.get(f"model.{option}", False) != value and option not in given["why"]:
            yield f"{option} is documented as in the paper and off: it is not {_text(value)}"


def unlike_part(family: str, recipe: Settings, facts: Settings) -> Iterator[str]:
    """Table of the code that its docstring calls unlike the family's paper: what differs, and whether it is on."""
    body = []
    for name, text in unlike_the_paper(family).items():
        off = facts[family]["unlike"][name]
        if isinstance(off, Mapping):
            off = "off here: " + ", ".join(f"`{key}: {_text(recipe.get(key))}`" for key in off)
        body.append([f"`{name}`", _shown(text), off])
    yield markdown_lines(["code", "as its docstring says", "in this recipe"], body, numbers=False)


def _shown(docstring: str) -> str:
    """Return text of a docstring as Markdown."""
    text = re.sub(r":class:`~?[\w.]*?(\w+)`", r"`\1`", docstring)
    return text.replace("``", "`")


def table_recipes(path: Path, scale: str) -> list[str]:
    """Return the recipes of a table whose numbers are of a scale's data set; none for other tables."""
    content = read_yaml(path)
    section = content.get("table", {})
    if "family" not in section:
        return []  # our own tables
    table = read_table([path, EXPERIMENTS / "scale" / f"{scale}.yaml"])
    if not table.on_papers_data and f"scale/{scale}.yaml" not in path.read_text(encoding="utf-8"):
        return []
    return list(scale_file(scale)["recipes"][section["family"]])


def table_part(path: Path, scale: str, recipe: str) -> Iterator[str]:
    """Heading and rows of a table with a recipe."""
    table = read_table([path, EXPERIMENTS / "scale" / f"{scale}.yaml"], recipe)
    content = scale_file(scale)
    section = read_yaml(path)["table"]
    yield f"**{table.title}** ([{path.name}](../experiments/{path.name})), recipe `{recipe}`: {table.source}"
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
        "other settings that are not the recipe's",
    ]
    body = []
    for row in table.rows:
        recipes = content["recipes"][section["rows"][row.name].get("family", section["family"])]
        of_recipe = recipes.get(recipe) or next(iter(recipes.values()))
        body.append(_row(row, _defaults(content) | of_recipe, _defaults(content) | row.settings))
    yield markdown_lines(header, body, numbers=False)


def _row(row: Row, recipe: Settings, settings: Settings) -> list[str]:
    resolved = folded(settings)
    ours = described(resolved)
    printed = ", ".join(str(row.published[key]) for key in ("frames", "views") if key in row.published)
    keys = ("weights", "clip", "crop", "views", "epochs", "batch", "learning rate")
    return [row.label, printed or "-", *(ours[key] for key in keys), _own(resolved, folded(recipe))]


def folded(settings: Settings) -> dict[str, Any]:
    """Return settings with dotted keys, such as ``data.augmentation.short_side``, put into the mappings before them."""
    resolved: dict[str, Any] = {}
    for key, value in settings.items():
        whole = next((whole for whole in resolved if key.startswith(f"{whole}.") and whole in NESTED), None)
        if whole is None:
            resolved[key] = dict(value) if isinstance(value, Mapping) else value
            continue
        inner = dict(_mapping(whole, resolved[whole]))
        name = key.removeprefix(f"{whole}.")
        if whole == "data.sampling":
            inner["init_args"] = inner.get("init_args", {}) | {name: value}
        else:
            inner[name] = value
        resolved[whole] = inner
    return resolved | {key: _mapping(key, resolved[key]) for key in NESTED}


# settings that are mappings, in which rows set single keys
NESTED = ("data.augmentation", "data.sampling", "model.optimization")


def _mapping(key: str, value: Any) -> Settings:
    """Return a setting as a mapping: a named recipe of augmentation by its values, a class by its path."""
    if key == "data.augmentation":
        one = asdict(RECIPES[value] if isinstance(value, str) else Augmentation(**value))  # type: ignore[index]
        return one | {"short_side": one["short_side"] and list(one["short_side"])}
    return value if isinstance(value, Mapping) else {"class_path": value}


# settings in the other columns of a row
SHOWN = (
    *("model.weights", "model.image_weights", "data.sampling", "data.num_frames", "data.short", "data.image_size"),
    *("data.test_image_size", "data.test_clips", "data.test_crops", "data.short_side", "data.views"),
    *("trainer.max_epochs", "global_batch"),
)


def _own(settings: Settings, recipe: Settings) -> str:
    """Return a row's settings that are not its recipe's and are in no other column."""
    ours, its = described(settings), described(recipe)
    words = []
    for key, value in settings.items():
        if key in SHOWN or value == recipe.get(key):
            continue
        if key == "data.augmentation":
            words.append(_augmentation(value))
        elif key == "model.optimization":
            names = [name for name in ("optimizer", "schedule") if ours[name] != its[name]]
            words += [ours[name] for name in names]
            words += [f"weight decay {ours['weight decay']}"] if ours["weight decay"] != its["weight decay"] else []
        else:
            words.append(f"{key.removeprefix('model.')} {_text(value)}")
    if "model.optimization" not in settings or settings["model.optimization"] == recipe["model.optimization"]:
        words += [ours["schedule"]] if ours["schedule"] != its["schedule"] else []
    return ", ".join(words)


def _defaults(content: Settings) -> dict[str, Any]:
    """Return a scale's settings of its data set and hardware, by flag."""
    trainer = {f"trainer.{key}": value for key, value in content["trainer"].items()}
    return trainer | {f"data.{key}": value for key, value in content["data"]["init_args"].items()}


def described(settings: Settings, says: Container[str] = ()) -> dict[str, str]:
    """Return the settings of a training in words, by their names on the page; ``settings`` are folded.

    Parts of the augmentation, and of the scheme, that are off are left out unless the source says something of them.
    """
    optimization = settings["model.optimization"]
    views = f"{settings.get('data.test_clips', 1)} x {settings.get('data.test_crops', 1)}"
    views += f" of a short side of {settings['data.short_side']}" if settings.get("data.short_side") else ""
    weights = settings.get("model.weights") or settings.get("model.image_weights") or "from scratch"
    one = settings["data.augmentation"]
    parts = {
        "policy": one["policy"],
        "erasing": one["random_erasing"],
        "mixup": one["mixup"],
        "smoothing": one["label_smoothing"],
        "colour jitter": f"{one['colour']}, grey {one['grey']}" if one["grey"] else one["colour"],
    }
    parts = {name: value for name, value in parts.items() if name in says or value not in (0.0, "none")}
    scheme = {name: settings.get(f"model.{name}", False) for name in SCHEME}
    scheme = {name: value for name, value in scheme.items() if f"model.{name}" in settings or name in says}
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
        "short side": _short_side(one),
        "flip": str(one["flip"]),
        **{name: str(value) for name, value in parts.items()},
        "normalisation": _pixels(settings),
        "precision": str(settings["trainer.precision"]),
        "dropout": str(settings.get("model.dropout", 0.0)),
        "drop path": str(settings.get("model.drop_path_rate", 0.0)),
        **{name: _text(value) for name, value in scheme.items()},
    }


SCHEME = (
    *("tubelet_size", "temporal_depth", "ratio", "scope", "segments", "positions", "ta_attention"),
    *("summary_before_norm", "cls_in_summary", "zero_head", "zero_temporal", "class_token"),
    *("cls_in_time", "hidden_head", "task_loss"),
)
EVERYTHING = ", norms, biases, tokens and positions too"


def _clip(settings: Settings) -> str:
    sampling = settings["data.sampling"]
    arguments = sampling.get("init_args", {})
    frames, stride, seconds = settings["data.num_frames"], arguments.get("stride"), arguments.get("seconds")
    how = f"{frames} x {stride}" if stride else f"{frames} frames" + (f" of {seconds} s" if seconds else "")
    clock = f" at {arguments['fps']} fps" if arguments.get("fps") else ""
    loop = ", looped" if settings.get("data.short") == "loop" else ""
    return f"{how}, {sampling['class_path']}{clock}{loop}"


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


def _augmentation(one: Settings) -> str:
    words = [_short_side(one), f"flip {one['flip']}"]
    if one["crop"] != "multiscale":
        words[0] = f"short side {words[0]}"
    words += [one["policy"]] if one["policy"] != "none" else []
    return ", ".join(words + [f"{key} {one[key]}" for key in SHARES if one[key]])


def _short_side(one: Settings) -> str:
    if one["crop"] == "multiscale":
        return "boxes of several scales"
    low, high = one["short_side"]
    drawn = ", inversely drawn" if one["inverse"] else ""
    return f"{low:g}-{high:g}{drawn}" + (", height and width each" if one["crop"] == "stretch" else "")


def _pixels(settings: Settings) -> str:
    first = ", blue first" if settings.get("data.channels") == "bgr" else ""
    return f"mean {settings.get('data.mean', 0.5)}, std {settings.get('data.std', 0.5)}{first}"


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {one}" for key, one in value.items())
    return str(value).lower() if isinstance(value, bool) or value is None else str(value)


def main() -> int:
    """Write the page, or with ``--check`` only compare it; 1 where it is out of date or a difference has no reason."""
    if found := faults(read_facts()):
        print("docs/facts: " + "; ".join(found), file=sys.stderr)
        return 1
    return write_or_compare(PAGE, page(), copied=True)


if __name__ == "__main__":
    sys.exit(main())
