"""Pages made from results: REPRODUCE.md has the verdicts on the papers' claims, docs/results has every table."""

import json
import re
import shlex
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.papers.before import before_page
from benchmarks.papers.verdicts import link_to, sharing, verdict_lines, verdict_list
from lit_video.errors import UserError
from lit_video.network.multiply_adds import CONVENTION, COST_HEADER, cost_cells
from lit_video.reports.verdicts import NOT_RECORDED, OTHER_TABLES, CountedCosts, Verdict, by_paper, judge_claims, tally
from lit_video.runs.folder import FinishedRun, run_folders
from lit_video.tables.claims import read_claims
from lit_video.tables.reading import read_table, table_at
from lit_video.tables.rendering import NOT_RUN, render, seeds_text
from lit_video.tables.summary import TableRuns, TableSummary, read_runs
from lit_video.tables.table import Table, data_sets
from lit_video.utils.files import read_whole
from lit_video.utils.text import as_markdown, markdown_lines, plural
from lit_video.utils.yaml_files import read_yaml

TEXTS = read_yaml(Path(__file__).with_name("texts.yaml"))
NEAR = 1.0  # points above a ceiling that still count as near
LIST_HEADER = ["table", "source", "scale", "rows run", "seeds", "status"]
FOLDER = Path("docs/results")  # pages of tables

# flags that concern a single run or a user's habits; a table's command leaves them out
FLAGS_LEFT_OUT = (
    "--row",
    "--seeds",
    "--runs",
    "--jobs",
    "--reuse",
    "--trainer.logger",
    "--trainer.enable_progress_bar",
)
FILE_FLAGS = ("--config", "-c")
SKILLS_CLASS = "TemporalSkills"  # class of the synthetic data set, whose versions are not compared
Read = TypeVar("Read")
COSTS_FILE = "cost.json"  # output of ``cost --json``, in the folder of a table and scale


def pages(experiments: Path, runs: Path) -> dict[Path, str]:
    """Return pages by path from the folder of REPRODUCE.md: each paper's page of tables, and REPRODUCE.md as ``.``."""
    tables = _read_all(experiments, runs)
    claims = read_claims(experiments)
    verdicts = judge_claims(claims, tables, _counted_rows([read.table for read in tables], runs))

    of_papers: dict[Path, str] = {}
    links = []
    sections = []
    for paper, by_name in by_paper(tables, claims).items():
        path = _page_of(paper)
        of_paper = [verdict for verdict in verdicts if verdict.claim.source == paper]
        head = TEXTS["tables"].format(name=paper, results=runs.as_posix())
        of_papers[path] = _written([head, *_tables(by_name.values(), of_paper, runs)])

        links.append(f"- [{paper}]({path.as_posix()})")
        if of_paper:
            first = verdicts.index(of_paper[0]) + 1
            sections.append(f"## {paper}\n\n{verdict_list(of_paper, path.as_posix(), first)}")

    summary = [
        TEXTS["summary"].format(tally=tally(verdicts), results=runs.as_posix(), links="\n".join(links)),
        TEXTS["verdicts"].format(mark=NOT_RECORDED) if verdicts else "",
        *sections,
        _sharing(verdicts),
        _scales_not_run(experiments, tables),
        _skills_not_run(tables),
    ]
    if changed := before_page(verdicts, TEXTS["before"]):
        of_papers[FOLDER / "before.md"] = _written([changed])
    return {Path(): _written(summary), **of_papers}


def _page_of(paper: str) -> Path:
    """Return the page of a paper's tables."""
    name = "ours" if paper == OTHER_TABLES else paper.partition(",")[0].lower()
    return FOLDER / f"{re.sub('[^a-z0-9]', '', name)}.md"


def _scales_not_run(experiments: Path, tables: Sequence[TableRuns]) -> str:
    """Name the scales at which no table was run; empty if there are none."""
    unused = {path.stem for path in (experiments / "scale").glob("*.yaml")}
    for read in tables:
        if read.finished:
            unused -= data_sets(read.table.scale)
    return f"Not run at all: the scales {', '.join(sorted(unused))}." if unused else ""


def _sharing(verdicts: Sequence[Verdict]) -> str:
    """Name the claims whose verdicts rest on the same runs."""
    pairs = [f"{number} with {', '.join(map(str, others))}" for number, others in sharing(verdicts)]
    return f"Claims that share runs, by number: {'; '.join(pairs)}." if pairs else ""


def _written(parts: Iterable[str]) -> str:
    """Join the parts of a page that are not empty; leave out the spaces in tables, which are a seventh of a page."""
    stripped = [part.strip() for part in parts]
    text = "\n\n".join(part for part in stripped if part) + "\n"
    return re.sub(r"^\| | \| | \|$", "|", text, flags=re.MULTILINE)


def _tables(tables: Iterable[Sequence[TableRuns]], verdicts: Sequence[Verdict], runs: Path) -> list[str]:
    """Return the parts of a page: the verdicts in full, a list of the tables, and each table at its scales."""
    lines = []
    sections = []
    summaries = []
    for scales in tables:
        first = scales[0]
        costs = list(_counted_costs(first.table, runs))

        for read in scales:
            lines.append(_line(read, bool(costs)))
            if not read.finished:
                continue
            summaries.append(read.data)
            section = _section(read)
            sections.append(section if read is first else _folded(read.table, section, verdicts))
        sections += costs

    return [
        verdict_lines(verdicts),
        markdown_lines(LIST_HEADER, lines, numbers=False),
        *sections,
        ceilings(summaries),
    ]


def _read_all(experiments: Path, runs: Path) -> list[TableRuns]:
    """Read every table's runs at its own scale, even if there are none, and at every other scale that has runs."""
    paths = sorted(experiments.glob("*.yaml"))
    if not paths:
        raise UserError(f"--experiments {experiments}: no YAML files there; give the folder of the tables")

    scales = _scales_run(runs)
    lost = sorted(scales.keys() - {path.stem for path in paths})
    if lost:
        why = f"{experiments} has no {lost[0]}.yaml, whose runs would be left out"
        raise UserError(f"--results {runs}: {why}; give its folder as --experiments, or move the runs away")

    tables = []
    for path in paths:
        own = read_runs(read_table([path]), runs)
        tables.append(own)
        for scale in sorted(scales[path.stem] - {own.table.scale}):
            other = read_runs(table_at(path, scale), runs)
            if other.finished:
                tables.append(other)
    return tables


def _scales_run(runs: Path) -> defaultdict[str, set[str]]:
    """Return the scales at which each table has runs, by the table's name."""
    scales = defaultdict[str, set[str]](set)
    for folder in run_folders(runs):
        if folder.parents[3] == runs:
            scales[folder.parents[2].name].add(folder.parents[1].name)
    return scales


def _folded(table: Table, section: str, verdicts: Sequence[Verdict]) -> str:
    """Put a table's section at a further scale into a collapsed block."""
    reasons = [verdict.claim.follow_ups.get(table.scale) for verdict in verdicts]
    why = next((reason for reason in reasons if reason is not None), "")
    summary = f"{table.name} at scale {table.scale}, a follow-up: {why}".removesuffix(", a follow-up: ")
    return f'<details markdown="1"><summary>{summary}</summary>\n\n{section}\n\n</details>'


def _shows_skills(table: Table) -> bool:
    """Return whether a table's own data set is TemporalSkills."""
    data = read_yaml(table.path).get("data", {})
    if isinstance(data, str):
        data = read_yaml(table.path.parent / data)
    return str(data.get("class_path", "")).rpartition(".")[2] == SKILLS_CLASS


def _of_version() -> str:
    """Return today's version of the synthetic data set, in words."""
    from lit_video.datamodules.temporal_skills import VERSION  # here, because it loads torch

    return f"in version {VERSION}"


def _skills_not_run(tables: Sequence[TableRuns]) -> str:
    """Say how many tables have no runs on today's version of their synthetic data set; empty if all have some."""
    at_skills = {read.table.name for read in tables if _at_skills(read.table)}
    run = {read.table.name for read in tables if read.finished and _on_skills(read.table)}
    missing = len(at_skills - run)
    if not missing:
        return ""
    which = f"{missing} of the {plural(len(at_skills), 'table')}"
    return f"Not run {_of_version()} of {SKILLS_CLASS}, the synthetic videos: {which} that have them."


def _at_skills(table: Table) -> bool:
    """Return whether a table's own data set is TemporalSkills, and its scale is the table's own."""
    return _shows_skills(table) and table.scale == read_table([table.path]).scale


def _on_skills(table: Table) -> bool:
    """Return whether a table's videos at its scale are those of TemporalSkills."""
    return str(table.settings.get("data", "")).rpartition(".")[2] == SKILLS_CLASS


def _line(read: TableRuns, costs: bool) -> list[str]:
    """Return a table's line in the list of tables."""
    table = read.table
    rows_run = sum(bool(runs) for runs in read.by_row.values())

    name = table.name
    status = NOT_RUN
    if rows_run:
        name = link_to(table.name, table.scale)
        status = "run" if rows_run == len(table.rows) else "in part"
    elif costs:
        status = "costs counted, below"
    elif _at_skills(table):
        status = f"{NOT_RUN} {_of_version()}"

    seeds = seeds_text(sorted({run.result.seed for run in read.finished}))
    return [name, table.source, table.scale, f"{rows_run} of {len(table.rows)}", seeds, status]


def _section(read: TableRuns) -> str:
    """Return a table as ``table`` prints it, below the command, commits and machines of its runs."""
    table = read.table
    runs = read.finished
    videos = " or ".join(map(str, sorted({run.result.test_videos for run in runs})))
    commits = _listed(run.identity.commit for run in runs)
    devices = _listed(run.result.device for run in runs)

    origin = f"commits {commits}; on {devices}. Tested on {videos} videos."
    head = f"### {table.name} ({table.scale})\n\n`{table_command(table, runs)}`; {origin}"
    return f"{head}\n\n{render(read.data, 'markdown')}"


def _listed(texts: Iterable[str]) -> str:
    return as_markdown(", ".join(dict.fromkeys(texts)))


def _counted_costs(table: Table, runs: Path) -> Iterator[str]:
    """Yield a section for each scale at which the table's costs were counted."""
    for folder in sorted((runs / table.name).glob("*")):
        body = _read_costs(folder)
        if not body:
            continue
        title = f"**{table.title} - {table.source}; ours: scale {folder.name}**"
        scale = table.path.parent / "scale" / f"{folder.name}.yaml"
        command = f"lit_video cost --config {table.path.as_posix()} --config {scale.as_posix()} --json"
        lines = markdown_lines(COST_HEADER[:-1], body)
        yield "\n\n".join([title, f"`{command}`, nothing trained.", lines, CONVENTION])


def _read_costs(folder: Path) -> list[list[str]] | None:
    """Read the cells of counted costs; ``None`` if none were counted."""
    return _read_counted(folder, lambda costs: [cost_cells(cost) for cost in costs])


def _counted_rows(tables: Iterable[Table], runs: Path) -> CountedCosts:
    """Return the counted multiply-adds of a view, 10^9, of rows by name, by table and scale."""
    counted = {}
    for name, path in {table.name: table.path for table in tables}.items():
        for folder in sorted((runs / name).glob("*")):
            by_label = _read_counted(
                folder, lambda costs: {cost["model"]: cost["macs_per_view"] / 1e9 for cost in costs}
            )
            if by_label:
                rows = table_at(path, folder.name).rows
                counted[name, folder.name] = {row.name: by_label[row.label] for row in rows if row.label in by_label}
    return counted


def _read_counted(folder: Path, read: Callable[[list[dict[str, Any]]], Read]) -> Read | None:
    """Read the costs that were counted of a table at a scale; ``None`` if none were."""
    path = folder / COSTS_FILE
    advice = "delete it and write it again: lit_video cost --json"
    return read_whole(path, lambda: read(json.loads(path.read_text(encoding="utf-8"))), advice)


def ceilings(summaries: Iterable[TableSummary]) -> str:
    """List rows that see the order of frames but whose lowest seed is not clearly above the ceiling of blind models.

    Clearly means by more than ``NEAR`` points.
    """
    lines = []
    for summary in summaries:
        for row in summary.rows:
            numbers = row.numbers(summary.metric)
            if row.first is None or not row.first.sees_order:
                continue
            ceiling = row.first.blind_ceiling
            if ceiling is None or numbers.lowest is None or numbers.lowest >= ceiling + NEAR:
                continue

            text = f"{numbers.ours:.1f}, lowest seed {numbers.lowest:.1f}, ceiling {ceiling:.1f}"
            lines.append(f"- {summary.table} ({summary.scale}) {row.label}: {text}")
    return "\n".join([TEXTS["ceilings"], *lines]) if lines else ""


def table_command(table: Table, runs: Sequence[FinishedRun]) -> str:
    """Return the command of all rows and seeds of a table at a scale, with all further flags of its runs.

    A result reused from another table adds the flags of that table's command, except its first file.
    """
    flags = dict[str, None]()
    for run in runs:
        flags |= dict.fromkeys(_further(run.result.command))

    seeds = ",".join(map(str, sorted({run.result.seed for run in runs})))
    return " ".join([f"lit_video fit --config {table.path.as_posix()}", *flags, f"--seeds {seeds}"])


def _further(command: str) -> Iterator[str]:
    """Yield a recorded command's flags with their values, except the table's file and flags in ``OWN``."""
    words = shlex.split(command)
    files = 0
    for word, value in pairwise([*words, "--"]):
        name = word.partition("=")[0]
        if not _is_flag(name) or name in FLAGS_LEFT_OUT:
            continue
        if name in FILE_FLAGS:
            files += 1
            if files == 1:  # the table's
                continue
        yield shlex.quote(word) if "=" in word or _is_flag(value) else shlex.join([word, value])


def _is_flag(word: str) -> bool:
    return word.startswith("--") or word in FILE_FLAGS
