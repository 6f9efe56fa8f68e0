"""Measure what models and attention schemes cost, see and learn."""

from __future__ import annotations

import json
import re
import shutil
from argparse import Namespace
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from importlib import import_module
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from lit_video.commands.arguments import add_output, add_settings, add_shared, existing, request_of, writing
from lit_video.commands.parser import Parser, run_command
from lit_video.errors import UserError
from lit_video.network.cost import Published, compare, count, published, render
from lit_video.tables.table import column
from lit_video.training.request import Request, Run
from lit_video.utils.files import user_path, write_atomically, write_bytes
from lit_video.utils.parallel import with_progress
from lit_video.utils.stop_signals import DONE
from lit_video.utils.text import did_you_mean, plural, text_table
from lit_video.utils.yaml_files import EXPERIMENTS, find_config, read_yaml

if TYPE_CHECKING:
    from lit_video.attention import Scheme
    from lit_video.schemes.sight import Sight
    from lit_video.tables.rendering import Groups

TABLE, LEVEL = "skills", "scale/profile"
# built-in scheme -> row of the skills table; for TimeSformer's schemes the two names are equal
TIMESFORMER = ("space", "joint", "divided", "local_global", "sliding_global", "axial", "space_before_time", "parallel")
OTHERS = {"window": "exact1_time", "mixing": "xvit1", "factorised": "vivit3", "factorised_heads": "vivit4"}
KNOWN = (*TIMESFORMER, *OTHERS)


def cost_arguments(parser: Parser) -> None:
    """Add examples and arguments."""
    parser.examples("", "--config experiments/ablation_tw.yaml --json")
    add_shared(parser, "tables", "--config", "--recipe", "--row")
    parser.add_argument("--json", action="store_true", help="print as JSON")
    add_settings(parser)


def cost(arguments: Namespace) -> int:
    """Count parameters and multiply-adds of the papers' models, or of a table's rows."""
    if arguments.tables or arguments.config:
        request = request_of(arguments)
        import_module("lit_video.training.run")  # seconds that are no part of the first row's time
        costs = with_progress(_table_costs(request), len(request.rows), "rows counted")
        rows = [*starmap(compare, costs)]
    else:
        flags = [f"--{name}" for name in ("row", "recipe") if getattr(arguments, name)] + arguments.settings
        if flags:
            raise UserError(f"{flags[0]}: needs a table; name one")
        models = published()
        import_module("lit_video.modules")  # seconds that are no part of the first model's time
        counts = with_progress(map(count_published, models), len(models), "models counted")
        rows = [compare(model, counted) for model, counted in zip(models, counts, strict=True)]
    print(json.dumps(rows, indent=2) if arguments.json else render(rows))
    return 0


def count_published(model: Published) -> tuple[int, int]:
    """Count parameters and multiply-adds per view of our version of a paper's model, built on the meta device."""
    import torch

    from lit_video import modules

    with torch.device("meta"):
        built = getattr(modules, model.family)(model.classes, **model.settings)
    return count(built.network, model.settings["num_frames"], model.settings["image_size"])


def _table_costs(request: Request) -> Iterator[tuple[Published, tuple[int, int]]]:
    """Yield each row's published figures (only if the data are the paper's) and our counts."""
    from lit_video.training.run import build_row
    from lit_video.utils.classes import outputs

    source = f"{request.table.title} ({request.table.source}), ours at scale {request.table.scale}"
    for row in request.rows:
        built = build_row(Run(request, row, request.seeds[0]))
        data = built.datamodule
        clip = {"num_frames": data.num_frames, "image_size": data.test_image_size}
        printed = row.published if request.table.on_papers_data else {}
        clips, crops = map(int, printed.get("views", f"{data.test_clips}x{data.test_crops}").split("x"))
        model = Published(
            source,
            row.label,
            built.model.scheme_name,
            classes=outputs(data.num_classes),
            views=clips * crops,
            settings=clip,
            params=printed.get("params"),
            cost=printed.get("cost"),
            note=printed.get("note", ""),
        )
        yield model, count(built.model, data.num_frames, data.test_image_size)


def profile_arguments(parser: Parser) -> None:
    """Add examples and arguments."""
    parser.examples("my_scheme.py", "my_scheme.py --on videos --seeds 0,1,2")
    parser.add_argument("scheme", metavar="SCHEME", help="FILE.py, FILE.py:CLASS, MODULE.CLASS, or a built-in scheme")
    add_output(parser, "DIR", otherwise="profile/NAME")
    parser.add_argument(
        "--on", type=user_path, metavar="VIDEOS", help="train on these videos (folder or list), not skills"
    )
    parser.add_argument("--look", action="store_true", help="train nothing")
    add_shared(parser, "--seeds")
    add_shared(parser, "--jobs", default=1)
    add_settings(parser)


def profile(arguments: Namespace) -> int:
    """Check an attention scheme, show what it sees and costs, and train it on skills.

    Draws which tokens see which, and after how many layers. Compares parameters, multiply-adds, memory and time with
    built-in schemes. Compares the accuracy in each skill with the rows of the skills table. Exit status 1: the scheme
    breaks its contract.
    """
    file = re.sub(r"(?<=\.py):.*", "", arguments.scheme)
    existing("no such file", ".py")(file)
    if file not in KNOWN and not {".", "/"} & set(file):
        raise UserError(f"{file}: no built-in scheme{did_you_mean(file, KNOWN)}; give FILE.py, or {', '.join(KNOWN)}")
    from lit_video.schemes.contract import check_contract
    from lit_video.schemes.cost import HEADER, cells, costs
    from lit_video.schemes.sight import in_words

    name, kind = _scheme(arguments.scheme)
    contract = check_contract(kind)
    for check, fault in contract.findings.items():
        print(f"FAULT {check}: {fault}" if fault else f"ok    {check}", flush=True)
    print(f"grids, frames x rows x columns: {contract.grids}")
    if contract.faults or not contract.sight:
        return 1
    words = in_words(contract.sight)
    print("", *map("{}: {}".format, words, words.values()), sep="\n", flush=True)
    found = costs({name: kind} | built_in() | {name: kind})  # the first row, also under a built-in name
    title = "One layer, a clip of 16 x 64 x 64 pixels, on this CPU"
    print("", text_table(title, HEADER, [*map(cells, found)]), sep="\n")
    folder: Path = arguments.output or Path("profile") / name
    with writing("--output", folder):
        folder.mkdir(parents=True, exist_ok=True)
        write_bytes(folder / "sight.png", _picture(name, contract.sight, words))
    print(f"wrote {folder / 'sight.png'}", flush=True)
    if arguments.look:
        return DONE
    if not arguments.on:
        return _skills(arguments, name, folder)
    schemes = dict.fromkeys(["space", "xvit", "divided", "joint", arguments.scheme])
    command = ["compare", str(arguments.on), "--schemes", ",".join(schemes), "-o", str(folder)]
    return run_command([*command, *_flags(arguments)])


def built_in() -> dict[str, Callable[..., Scheme]]:
    """Return the papers' schemes by name; ``scheme(dim, num_heads)`` builds one."""
    from lit_video.attention import Factorised, FactorisedHeads, LocalWindow, Mixing, MixingPlan
    from lit_video.network.timesformer import SCHEMES

    others = (LocalWindow, partial(Mixing, plan=MixingPlan()), Factorised, FactorisedHeads)
    return SCHEMES | dict(zip(OTHERS, others, strict=True))


def _scheme(text: str) -> tuple[str, Callable[..., Scheme]]:
    """Return a scheme's name, which also names the default output folder, and its class."""
    from lit_video.network.timesformer import scheme_class
    from lit_video.schemes.loading import import_scheme

    if text in (known := built_in()):
        return text, known[text]
    try:
        name = import_scheme(text)
    except ValueError as error:
        raise UserError(str(error)) from error
    return name.rpartition(".")[2], scheme_class(name)


def _picture(name: str, seen: Sight, words: dict[str, str]) -> bytes:
    from lit_video.schemes.contract import DEPTH, GRID, HEADS, WIDTH
    from lit_video.schemes.picture import sight_picture
    from lit_video.schemes.sight import sight

    sights = {name: seen}
    for key in ("space", "mixing", "factorised_heads", "joint"):
        make = partial(built_in()[key], WIDTH, HEADS)
        sights.setdefault(key, sight(lambda layer: make(), GRID, DEPTH))  # noqa: B023  # called at once
    return sight_picture(name, sights, words)


def _flags(arguments: Namespace) -> list[str]:
    return ["--seeds", ",".join(map(str, arguments.seeds)), "--jobs", str(arguments.jobs), *arguments.settings]


def _skills(arguments: Namespace, name: str, folder: Path) -> int:
    """Train the scheme on the temporal skills; print its accuracy beside the table's rows; write the report."""
    from lit_video.tables.reading import read_table
    from lit_video.tables.rendering import groups_table, measured_groups
    from lit_video.tables.summary import summary

    row, runs = OTHERS.get(name, name), folder / "runs"
    with writing("--output", folder):
        file = _experiment(folder, row, arguments.scheme)
    flags = ["--row", row, "--runs", str(runs), *_flags(arguments)]
    if status := run_command(["fit", "-c", str(file), "-c", LEVEL, *flags]):
        return status
    rows = summary(read_table([file, find_config(LEVEL)]), runs, overridden=True).rows
    groups = measured_groups(rows)
    assert groups  # the row has been tested
    for each in groups:
        print("", text_table(*groups_table(nearest_first(each, row))), sep="\n", flush=True)
    if missing := sum(not one.seeds for one in rows):
        print(f"{_unmeasured(missing, len(rows) - 1)}; to run them: fit -c {TABLE} -c {LEVEL}", flush=True)
    return run_command(["report", str(runs / TABLE / "profile"), "-o", str(folder / "profile.html"), "--overridden"])


def _unmeasured(missing: int, others: int) -> str:
    """Say how many of the table's other rows have no runs on today's version of the skills."""
    from lit_video.datamodules.temporal_skills import VERSION

    return f"{missing} of {plural(others, 'other row')} of {TABLE}: not run in version {VERSION} of TemporalSkills"


def nearest_first(groups: Groups, name: str) -> Groups:
    """Put the row ``name`` first; sort the others by the L1 distance of their accuracies to those of that row."""
    import numpy as np

    rows, accuracies = zip(*groups.rows, strict=True)
    names = column(rows, "name")
    values = np.nan_to_num(np.array(accuracies, np.float64))  # 0 for None
    distances = np.abs(values - values[names.index(name)]).sum(1)
    return replace(groups, rows=[groups.rows[i] for i in distances.argsort(kind="stable")])


def _experiment(folder: Path, row: str, scheme: str) -> Path:
    """Write the skills table with a row for the scheme, and copy its packed runs, if any; return the table's file."""
    content: dict[str, Any] = read_yaml(EXPERIMENTS / f"{TABLE}.yaml")
    content |= {part: str(EXPERIMENTS / content[part]) for part in ("trainer", "data", "model")}
    rows = content["table"]["rows"]
    own = {"label": row, "set": rows["joint"]["set"] | {"model.attention_type": scheme}}
    content["table"]["rows"] = {row: own} | rows  # a built-in scheme keeps its own row
    file, pack = folder / f"{TABLE}.yaml", EXPERIMENTS / f"{TABLE}.tar.xz"
    write_atomically(file, yaml.safe_dump(content, sort_keys=False, width=120))
    (folder / "runs").mkdir(exist_ok=True)
    if pack.is_file():
        shutil.copyfile(pack, folder / "runs" / pack.name)
    return file
