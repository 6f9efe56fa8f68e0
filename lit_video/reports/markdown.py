"""``REPRODUCE.md``: what is reproduced at which scale, from results. Imports no torch."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from lit_video.errors import UserError
from lit_video.reports.ceiling import ceilings
from lit_video.reports.command import table_command
from lit_video.reports.counted_costs import counted_costs
from lit_video.reports.verdicts import link_to, verdicts
from lit_video.tables.claims import read_claims
from lit_video.tables.damage import Damage
from lit_video.tables.reading import read_table, table_at
from lit_video.tables.rendering import NOT_RUN, pairs_table, render, seeds_text
from lit_video.tables.run_files import run_folders
from lit_video.tables.summary import TableRuns, read_runs, summarise
from lit_video.tables.table import Table
from lit_video.tables.throughput import PAPERS, read_throughput
from lit_video.utils.text_tables import markdown_lines

COLUMNS = ("table", "source", "scale", "rows run", "seeds", "Kendall's tau", "orderings: yes / no / open", "status")

INTRODUCTION = """\
# What is reproduced

Written by `{command}` from the runs in `{results}`, and not edited: every number
called "ours" was measured by the command beside it. Numbers called "paper" are the papers', on their own data sets;
ours are of the scale that is named, so compare the order of rows, not values. "Orderings" counts
the pairs of rows that were run and differ in the paper: those that ours support, contradict, and cannot decide
(95 % bootstrap intervals over test videos and seeds). Seconds of training are no benchmark: other processes ran beside.
"""


def page(experiments: Path, runs: Path, damage: Damage) -> str:
    """The page's text; damaged files of runs are left out of it, and put in ``damage``.

    Raises:
        UserError: there are no experiments, or one of their files is wrong.
    """
    paths = sorted(experiments.glob("*.yaml"))
    if not paths:
        raise UserError(f"--experiments {experiments}: no YAML files there; give the folder of the tables")
    tables = [read_table([path]) for path in paths]
    summaries = {table.name: [(read, summarise(read)) for read in _at_scales(table, runs, damage)] for table in tables}
    costs = {table.name: list(counted_costs(table, runs, damage)) for table in tables}
    lines = ["| " + " | ".join(COLUMNS) + " |", "| --- | --- | --- | ---: | --- | ---: | ---: | --- |"]
    for table in tables:
        lines += [_line(*each) for each in summaries[table.name]] or [_not_run(table, bool(costs[table.name]))]
    scales = sorted(path.stem for path in (experiments / "scale").glob("*.yaml"))
    used = {part for of in summaries.values() for read, _ in of for part in re.split(r"[+-]", read.table.scale)}
    unused = [name for name in scales if name not in used]
    command = "python -m lit_video reproduce"
    parts = [INTRODUCTION.format(command=command, results=runs.as_posix())]
    if claims := read_claims(experiments):
        hits = {name: {read.table.scale: read.hits for read, _ in of} for name, of in summaries.items()}
        parts.append(verdicts(claims, hits))
    parts.append(ceilings(data for of in summaries.values() for _, data in of))
    parts += ["## The papers' tables", "\n".join(lines)]
    if unused:
        parts.append(f"Not run at all: the scales {', '.join(unused)}.")
    parts += [part for table in tables for part in _throughput(table, runs, damage)]
    parts += [part for of in costs.values() for part in of]
    parts += [_section(*each) for of in summaries.values() for each in of]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _at_scales(table: Table, runs: Path, damage: Damage) -> Iterator[TableRuns]:
    """The table's runs at every scale that has results."""
    for scale in sorted({folder.parents[1].name for folder in run_folders(runs / table.name)}):
        read = read_runs(table_at(table.path, scale), runs, None, damage)
        if any(read.results.values()):
            yield read


def _line(read: TableRuns, data: dict[str, Any]) -> str:
    table = read.table
    run = [row for row in data["rows"] if row["seeds"]]
    result = data["agreement"]
    tau = "" if result["tau"] is None else f"{result['tau']:+.2f}"
    counts = [str(result[verdict]) for verdict in ("supported", "contradicted", "undecided")]
    orderings = " / ".join(counts) if result["orderings"] else ""
    status = "run" if len(run) == len(data["rows"]) else "in part"
    seeds = seeds_text(sorted({seed for row in run for seed in row["seeds"]}))
    link = link_to(table.name, table.scale)
    cells = (link, table.source, table.scale, f"{len(run)} of {len(data['rows'])}", seeds, tau, orderings, status)
    return "| " + " | ".join(cells) + " |"


def _not_run(table: Table, costs: bool) -> str:
    status = "costs counted, below" if costs else NOT_RUN
    cells = (table.name, table.source, table.scale, f"0 of {len(table.rows)}", "", "", "", status)
    return "| " + " | ".join(cells) + " |"


def _section(read: TableRuns, data: dict[str, Any]) -> str:
    """Heading, command, table and agreement."""
    table, of_seeds = read.table, [result for row in read.results.values() for result in row]
    return "\n\n".join(
        [
            f"## {table.name} ({table.scale})",
            f"`{table_command(table, of_seeds)}`; commits {_listed(of_seeds, 'commit')}; "
            f"on {_listed(of_seeds, 'device')}. {_tested(of_seeds)}",
            *_expected(table),
            render(data, "markdown"),
            *_pairs(data),
        ]
    )


def _pairs(data: dict[str, Any]) -> Iterator[str]:
    """Differences of all rows in a closed block."""
    if data["pairs"]:
        title, header, body = pairs_table(data)
        yield f"<details><summary>{title}</summary>\n\n{markdown_lines(header, body)}\n\n</details>"


def _throughput(table: Table, runs: Path, damage: Damage) -> Iterator[str]:
    """Of a table that prints rates: ours at every scale that was measured, beside the first row's where that was."""
    if not all(PAPERS in row.paper for row in table.rows):
        return
    for folder in sorted((runs / table.name).glob("*")):
        measured = damage.read(read_throughput, folder)
        if measured is None:
            continue
        at, first = table_at(table.path, folder.name), table.rows[0]
        rates = measured["rows"]
        ratios = {name: f"{rate['ratio']:.3f}" for name, rate in rates.items() if first.name in rates}
        body = [
            [
                row.label,
                f"{rates[row.name]['clips_per_second']:.3g}",
                ratios.get(row.name, ""),
                f"{row.paper[PAPERS] / first.paper[PAPERS]:.3f}",
            ]
            for row in at.rows
            if row.name in rates
        ]
        lines = markdown_lines(["row", "clips/s", f"over {first.label}", "paper"], body)
        where = (
            f"commit {measured['commit']}; on {measured['device']}; medians of {measured['repeats']} rounds, and of "
        )
        where += "the rounds' ratios"
        yield f"**{table.title} - {table.source}**\n\n`{measured['command']}`; {where}.\n\n{lines}"


def _listed(of_seeds: Sequence[dict[str, Any]], key: str) -> str:
    return ", ".join(dict.fromkeys(str(result[key]) for result in of_seeds if key in result))


def _tested(of_seeds: Sequence[dict[str, Any]]) -> str:
    numbers = sorted({result["test_videos"] for result in of_seeds})
    return f"Tested on {' or '.join(map(str, numbers))} videos."


def _expected(table: Table) -> list[str]:
    """What the file's header says to expect at the table's own scale, below the first command that trains."""
    if table.scale != read_table([table.path]).scale:
        return []
    lines = table.path.read_text(encoding="utf-8").split("\ntrainer:")[0].splitlines()
    first = next((i for i, line in enumerate(lines) if "python -m lit_video fit" in line), len(lines))
    expected = []
    for line in lines[first + 1 :]:
        if not line.startswith("#       "):
            break
        expected.append(line.removeprefix("#").strip())
    return [f"*Expected:* {' '.join(expected)}"] if expected else []
