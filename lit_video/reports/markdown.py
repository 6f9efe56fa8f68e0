"""Pages made from results: REPRODUCE.md has the verdicts on the papers' claims, docs/results every table."""

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from lit_video.errors import UserError
from lit_video.network.cost import CONVENTION, HEADER, cells
from lit_video.reports.verdicts import (
    OTHERS,
    Verdict,
    by_paper,
    judged,
    link_to,
    measured,
    tally,
    verdict_lines,
    verdict_list,
)
from lit_video.runs.files import run_folders
from lit_video.tables.claims import Claim, read_claims
from lit_video.tables.reading import read_table, table_at
from lit_video.tables.rendering import NOT_RUN, render, seeds_text
from lit_video.tables.summary import TableRuns, read_runs, summarise
from lit_video.tables.table import Table
from lit_video.utils.files import read_whole
from lit_video.utils.text import as_markdown, markdown_lines
from lit_video.utils.yaml_files import read_yaml

NEAR = 1.0  # points from a ceiling
COLUMNS = ["table", "source", "scale", "rows run", "seeds", "status"]

TEXTS = read_yaml(Path(__file__).with_name("texts.yaml"))
FOLDER = Path("docs/results")  # pages of tables

# flags of a single run or a personal choice, left out of a table's command
OWN = ("--row", "--seeds", "--runs", "--jobs", "--reuse", "--trainer.logger", "--trainer.enable_progress_bar")
FILES = ("--config", "-c")

COSTS = "cost.json"  # output of ``cost --json``, in the folder of a table and scale


def pages(experiments: Path, runs: Path) -> dict[Path, str]:
    """Return texts by path relative to REPRODUCE.md's folder: each paper's tables, and REPRODUCE.md as ``.``."""
    paths = sorted(experiments.glob("*.yaml"))
    if not paths:
        raise UserError(f"--experiments {experiments}: no YAML files there; give the folder of the tables")
    tables = [read_table([path]) for path in paths]
    every = [(read, summarise(read, pairs=False)) for table in tables for read in _at_scales(table, runs)]
    claims = read_claims(experiments)
    found = judged(claims, measured(every))
    run = {read.table.name for read, _ in every}
    shown = [(read.table, (read, data)) for read, data in every] + [(t, None) for t in tables if t.name not in run]
    texts, links, parts = {}, [], [TEXTS["verdicts"]] if found else []
    for paper, of_tables in by_paper(shown, claims).items():
        path, verdicts = file_of(paper), [each for each in found if each[0].claim.source == paper]
        texts[path] = _written(_tables(paper, of_tables, verdicts, runs))
        links.append(f"- [{paper}]({path.as_posix()})")
        if verdicts:
            parts.append(f"## {paper}\n\n{verdict_list(verdicts, path.as_posix())}")
    used = {part for read, _ in every for part in re.split(r"[+-]", read.table.scale)}
    if unused := [path.stem for path in sorted((experiments / "scale").glob("*.yaml")) if path.stem not in used]:
        parts.append(f"Not run at all: the scales {', '.join(unused)}.")
    counts = tally(found) if found else ""
    head = TEXTS["summary"].format(tally=counts, results=runs.as_posix(), links="\n".join(links))
    return {Path(): _written([head, *parts]), **texts}


def file_of(paper: str) -> Path:
    """Return the path of a paper's tables."""
    name = "ours" if paper == OTHERS else paper.partition(",")[0]
    return FOLDER / f"{re.sub(r'[^a-z0-9]', '', name.lower())}.md"


def _written(parts: Iterable[str]) -> str:
    text = "\n\n".join(part.strip() for part in parts if part.strip()) + "\n"
    return re.sub(r"^\| | \| | \|$", "|", text, flags=re.MULTILINE)  # cells without spaces save a seventh of the page


def _tables(
    paper: str,
    of_tables: Sequence[Sequence[tuple[Table, tuple[TableRuns, dict[str, Any]] | None]]],
    verdicts: Sequence[Sequence[Verdict]],
    runs: Path,
) -> list[str]:
    """Return the parts of a page: the verdicts in full, a list of the tables, and each table at its scales."""
    lines, below = [], []
    for scales in of_tables:
        table = scales[0][0]
        costs = list(_counted_costs(table, runs))
        for at, read in scales:
            lines.append(_line(at, read[1] if read else None, bool(costs)))
            if read:
                claims = [main.claim for main, *_ in verdicts]
                below.append(_section(*read) if at is table else _folded(at, _section(*read), claims))
        below += costs
    head = TEXTS["tables"].format(name=paper, results=runs.as_posix())
    summaries = [read[1] for scales in of_tables for _, read in scales if read]
    found = verdict_lines(verdicts) if verdicts else ""
    return [head, found, markdown_lines(COLUMNS, lines, numbers=False), *below, ceilings(summaries)]


def _at_scales(table: Table, runs: Path) -> Iterator[TableRuns]:
    """Read the table's runs at every scale that has results."""
    for scale in sorted({folder.parents[1].name for folder in run_folders(runs / table.name)}):
        read = read_runs(table_at(table.path, scale), runs)
        if any(read.results.values()):
            yield read


def _folded(table: Table, section: str, claims: Sequence[Claim]) -> str:
    """Put a table's section at a further scale into a collapsed block."""
    why = next((claim.follow_ups[table.scale] for claim in claims if table.scale in claim.follow_ups), "")
    summary = f"{table.name} at scale {table.scale}{why and f', a follow-up: {why}'}"
    return f'<details markdown="1"><summary>{summary}</summary>\n\n{section}\n\n</details>'


def _line(table: Table, data: dict[str, Any] | None, costs: bool) -> list[str]:
    rows = data["rows"] if data else []
    run = [row for row in rows if row["seeds"]]
    status = ("run" if len(run) == len(rows) else "in part") if data else "costs counted, below" if costs else NOT_RUN
    seeds = seeds_text(sorted({seed for row in run for seed in row["seeds"]})) if run else ""
    name = link_to(table.name, table.scale) if data else table.name
    return [name, table.source, table.scale, f"{len(run)} of {len(table.rows)}", seeds, status]


def _section(read: TableRuns, data: dict[str, Any]) -> str:
    """Return a table as ``table`` prints it, below the command, commits and machines of its runs."""
    table, of_seeds = read.table, [result for row in read.results.values() for result in row]
    videos = " or ".join(map(str, sorted({result["test_videos"] for result in of_seeds})))
    made = f"commits {_listed(of_seeds, 'commit')}; on {_listed(of_seeds, 'device')}. Tested on {videos} videos."
    head = f"### {table.name} ({table.scale})\n\n`{table_command(table, of_seeds)}`; {made}"
    return f"{head}\n\n{render(data, 'markdown')}"


def _listed(of_seeds: Sequence[dict[str, Any]], key: str) -> str:
    return as_markdown(", ".join(dict.fromkeys(str(result[key]) for result in of_seeds if key in result)))


def _counted_costs(table: Table, runs: Path) -> Iterator[str]:
    """Yield a section for each scale at which the table's costs are kept."""
    for folder in sorted((runs / table.name).glob("*")):
        if body := _read_costs(folder):
            scale = table.path.parent / "scale" / f"{folder.name}.yaml"
            command = f"lit_video cost --config {table.path.as_posix()} --config {scale.as_posix()} --json"
            parts = (f"**{table.title} - {table.source}; ours: scale {folder.name}**", f"`{command}`, nothing trained.")
            yield "\n\n".join([*parts, markdown_lines(HEADER[:-1], body), CONVENTION])


def _read_costs(folder: Path) -> list[list[str]] | None:
    path, again = folder / COSTS, "delete it and write it again: lit_video cost --json"
    return read_whole(path, lambda: [cells(row) for row in json.loads(path.read_text(encoding="utf-8"))], again)


def ceilings(summaries: Iterable[dict[str, Any]]) -> str:
    """List order-aware rows whose lowest seed is below the ceiling of order-blind models + ``NEAR`` points, if any."""
    lines = []
    for data in summaries:
        for row in data["rows"]:
            ours, ceiling = row["metrics"].get(data["metric"], {}), row["blind_ceiling"]
            if not row["sees_order"] or None in (ceiling, ours.get("lowest")) or ours["lowest"] >= ceiling + NEAR:
                continue
            numbers = f"{ours['ours']:.1f}, lowest seed {ours['lowest']:.1f}, ceiling {ceiling:.1f}"
            lines.append(f"- {data['table']} ({data['scale']}) {row['label']}: {numbers}")
    return "\n".join([TEXTS["ceilings"], *lines]) if lines else ""


def table_command(table: Table, results: Sequence[Mapping[str, Any]]) -> str:
    """Return the command of all rows and seeds of a table at a scale, with all further flags of its runs.

    A result reused from another table adds the flags of that table's command, except its first file.
    """
    seeds = ",".join(map(str, sorted({result["seed"] for result in results})))
    flags = dict.fromkeys(flag for result in results for flag in _further(str(result.get("command", ""))))
    words = ["lit_video", "fit", "--config", table.path.as_posix()]
    return " ".join([*words, *flags, f"--seeds {seeds}"])


def _further(command: str) -> Iterator[str]:
    """Yield a recorded command's flags with their values, except the table's file and flags in ``OWN``."""
    words, tables = shlex.split(command), 0
    for word, value in pairwise([*words, "--"]):
        name = word.partition("=")[0]
        tables += name in FILES
        if not _is_flag(name) or name in OWN or (name in FILES and tables == 1):
            continue
        yield shlex.join([word] if "=" in word or _is_flag(value) else [word, value])


def _is_flag(word: str) -> bool:
    return word.startswith("--") or word in FILES
