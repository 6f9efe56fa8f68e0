"""Pages made from results: REPRODUCE.md has the verdicts on the papers' claims, docs/results has every table."""

import json
import re
import shlex
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from lit_video.errors import UserError
from lit_video.network.cost import CONVENTION, HEADER, cells
from lit_video.reports.verdicts import (
    NOT_RECORDED,
    OTHERS,
    Verdict,
    by_paper,
    judged,
    link_to,
    sharing,
    tally,
    verdict_lines,
    verdict_list,
)
from lit_video.runs.finished import FinishedRun
from lit_video.runs.folder import run_folders
from lit_video.tables.claims import read_claims
from lit_video.tables.reading import read_table, table_at
from lit_video.tables.rendering import NOT_RUN, render, seeds_text
from lit_video.tables.rules import NOT_YET, read_rules
from lit_video.tables.summary import TableRuns, read_runs
from lit_video.tables.table import Table, data_sets
from lit_video.tables.table_summary import TableSummary
from lit_video.utils.files import read_whole
from lit_video.utils.text import as_markdown, markdown_lines, plural
from lit_video.utils.yaml_files import read_yaml

NEAR = 1.0  # points above a ceiling that still count as near
COLUMNS = ["table", "source", "scale", "rows run", "seeds", "status"]
TEXTS = read_yaml(Path(__file__).with_name("texts.yaml"))
FOLDER = Path("docs/results")  # pages of tables

# flags that concern a single run or a user's habits; a table's command leaves them out
OWN = ("--row", "--seeds", "--runs", "--jobs", "--reuse", "--trainer.logger", "--trainer.enable_progress_bar")
FILES = ("--config", "-c")
SKILLS = "TemporalSkills"  # class of the synthetic data set, whose versions are not compared
COSTS = "cost.json"  # output of ``cost --json``, in the folder of a table and scale


def pages(experiments: Path, runs: Path) -> dict[Path, str]:
    """Return pages by path from the folder of REPRODUCE.md: each paper's page of tables, and REPRODUCE.md as ``.``."""
    every, claims = _read_all(experiments, runs), read_claims(experiments)
    found = judged(claims, every)
    texts, links, parts = {}, [], [TEXTS["verdicts"].format(mark=NOT_RECORDED)] if found else []
    for paper, tables in by_paper(every, claims).items():
        name = "ours" if paper == OTHERS else paper.partition(",")[0].lower()
        path = FOLDER / f"{re.sub('[^a-z0-9]', '', name)}.md"
        verdicts = [one for one in found if one.claim.source == paper]
        head = TEXTS["tables"].format(name=paper, results=runs.as_posix())
        texts[path] = _written([head, *_tables(tables.values(), verdicts, runs)])
        links.append(f"- [{paper}]({path.as_posix()})")
        if verdicts:
            first = found.index(verdicts[0]) + 1
            parts.append(f"## {paper}\n\n{verdict_list(verdicts, path.as_posix(), first)}")
    parts.append(_sharing(found))
    unused = {path.stem for path in (experiments / "scale").glob("*.yaml")}
    for read in every:
        if read.finished:
            unused -= data_sets(read.table.scale)
    if unused:
        parts.append(f"Not run at all: the scales {', '.join(sorted(unused))}.")
    parts += _skills_not_run(every)
    parts.append(_rules(experiments))
    head = TEXTS["summary"].format(tally=tally(found), results=runs.as_posix(), links="\n".join(links))
    return {Path(): _written([head, *parts]), **texts}


def _rules(experiments: Path) -> str:
    """Say which commit fixed the rules, what was known by then, and what was changed later."""
    rules = read_rules(experiments)
    if rules is None:
        return ""

    fixed = f"Commit {rules.commit} fixed the rules before the first run."
    if rules.commit == NOT_YET:
        fixed = "The rules are not fixed yet: no run may start."

    lines = ["Later changes: none."]
    if rules.changes:
        lines = ["Later changes:", ""]
        for change in rules.changes:
            which = f"{change['date']}, `{change['file']}`, from stage {change['from']} on"
            lines.append(f"- {which}: {change['what']}; {change['why']}")

    return str(
        TEXTS["rules"].format(
            fixed=fixed,
            tests=rules.tests,
            seen=rules.seen,
            announced=" ".join(rules.announced),
            changes="\n".join(lines),
        )
    )


def _sharing(found: Sequence[Verdict]) -> str:
    """Name the claims whose verdicts rest on the same runs."""
    pairs = [f"{number} with {', '.join(map(str, others))}" for number, others in sharing(found)]
    return f"Claims that share runs, by number: {'; '.join(pairs)}." if pairs else ""


def _written(parts: Iterable[str]) -> str:
    text = "\n\n".join(filter(None, map(str.strip, parts))) + "\n"
    return re.sub(r"^\| | \| | \|$", "|", text, flags=re.MULTILINE)  # cells without spaces save a seventh of the page


def _tables(tables: Iterable[Sequence[TableRuns]], verdicts: Sequence[Verdict], runs: Path) -> list[str]:
    """Return the parts of a page: the verdicts in full, a list of the tables, and each table at its scales."""
    lines, below, summaries = [], [], []
    for scales in tables:
        costs = list(_counted_costs(scales[0].table, runs))
        for read in scales:
            lines.append(_line(read, bool(costs)))
            if read.finished:
                summaries.append(read.data)
                section = _section(read)
                if read is not scales[0]:
                    section = _folded(read.table, section, verdicts)
                below.append(section)
        below += costs
    return [verdict_lines(verdicts), markdown_lines(COLUMNS, lines, numbers=False), *below, ceilings(summaries)]


def _read_all(experiments: Path, runs: Path) -> list[TableRuns]:
    """Read every table's runs at its own scale, with or without results, and at every other scale that has results."""
    paths = sorted(experiments.glob("*.yaml"))
    if not paths:
        raise UserError(f"--experiments {experiments}: no YAML files there; give the folder of the tables")
    scales, every = defaultdict[str, set[str]](set), list[TableRuns]()
    for folder in run_folders(runs):
        if folder.parents[3] == runs:
            scales[folder.parents[2].name].add(folder.parents[1].name)
    if lost := sorted(scales.keys() - {path.stem for path in paths}):
        why = f"{experiments} has no {lost[0]}.yaml, whose runs would be left out"
        raise UserError(f"--results {runs}: {why}; give its folder as --experiments, or move the runs away")
    for path in paths:
        own = read_runs(read_table([path]), runs)
        others = scales[path.stem] - {own.table.scale}
        found = [read_runs(table_at(path, scale), runs) for scale in sorted(others)]
        every += [own, *(read for read in found if read.finished)]
    return every


def _folded(table: Table, section: str, verdicts: Sequence[Verdict]) -> str:
    """Put a table's section at a further scale into a collapsed block."""
    why = next((one.claim.follow_ups[table.scale] for one in verdicts if table.scale in one.claim.follow_ups), "")
    summary = f"{table.name} at scale {table.scale}, a follow-up: {why}".removesuffix(", a follow-up: ")
    return f'<details markdown="1"><summary>{summary}</summary>\n\n{section}\n\n</details>'


def _shows_skills(table: Table) -> bool:
    """Return whether a table's own data set is TemporalSkills."""
    data = read_yaml(table.path).get("data", {})
    if isinstance(data, str):
        data = read_yaml(table.path.parent / data)
    return str(data.get("class_path", "")).rpartition(".")[2] == SKILLS


def _of_version() -> str:
    """Return today's version of the synthetic data set, in words."""
    from lit_video.datamodules.temporal_skills import VERSION  # here, because it loads torch

    return f"in version {VERSION}"


def _skills_not_run(every: Sequence[TableRuns]) -> list[str]:
    """Say how many tables have no runs on today's version of their synthetic data set; empty if all have some."""
    at_skills = {read.table.name for read in every if _at_skills(read.table)}
    run = {read.table.name for read in every if read.finished and _on_skills(read.table)}
    missing = len(at_skills - run)
    if not missing:
        return []
    which = f"{missing} of the {plural(len(at_skills), 'table')}"
    return [f"Not run {_of_version()} of {SKILLS}, the synthetic videos: {which} that have them."]


def _at_skills(table: Table) -> bool:
    return _shows_skills(table) and table.scale == read_table([table.path]).scale


def _on_skills(table: Table) -> bool:
    """Return whether a table's videos at its scale are those of TemporalSkills."""
    return str(table.settings.get("data", "")).rpartition(".")[2] == SKILLS


def _line(read: TableRuns, costs: bool) -> list[str]:
    table = read.table
    run = list(filter(None, read.by_row.values()))
    name, status = table.name, NOT_RUN
    if costs:
        status = "costs counted, below"
    elif not run and _at_skills(table):
        status = f"{NOT_RUN} {_of_version()}"
    if run:
        name, status = link_to(table.name, table.scale), "run" if len(run) == len(table.rows) else "in part"
    seeds = seeds_text(sorted({run.result.seed for run in read.finished}))
    return [name, table.source, table.scale, f"{len(run)} of {len(table.rows)}", seeds, status]


def _section(read: TableRuns) -> str:
    """Return a table as ``table`` prints it, below the command, commits and machines of its runs."""
    table = read.table
    runs = read.finished
    videos = " or ".join(map(str, sorted({run.result.test_videos for run in runs})))
    commits = _listed(run.identity.commit for run in runs)
    devices = _listed(run.result.device for run in runs)
    made = f"commits {commits}; on {devices}. Tested on {videos} videos."
    head = f"### {table.name} ({table.scale})\n\n`{table_command(table, runs)}`; {made}"
    return f"{head}\n\n{render(read.data, 'markdown')}"


def _listed(texts: Iterable[str]) -> str:
    return as_markdown(", ".join(dict.fromkeys(texts)))


def _counted_costs(table: Table, runs: Path) -> Iterator[str]:
    """Yield a section for each scale at which the table's costs were counted."""
    for folder in sorted((runs / table.name).glob("*")):
        if body := _read_costs(folder):
            scale = table.path.parent / "scale" / f"{folder.name}.yaml"
            command = f"lit_video cost --config {table.path.as_posix()} --config {scale.as_posix()} --json"
            parts = (f"**{table.title} - {table.source}; ours: scale {folder.name}**", f"`{command}`, nothing trained.")
            yield "\n\n".join([*parts, markdown_lines(HEADER[:-1], body), CONVENTION])


def _read_costs(folder: Path) -> list[list[str]] | None:
    path, again = folder / COSTS, "delete it and write it again: lit_video cost --json"
    return read_whole(path, lambda: list(map(cells, json.loads(path.read_text(encoding="utf-8")))), again)


def ceilings(summaries: Iterable[TableSummary]) -> str:
    """List order-aware rows whose lowest seed is below the ceiling of order-blind models plus ``NEAR`` points."""
    lines = []
    for summary in summaries:
        for row in summary.rows:
            numbers = row.numbers(summary.metric)
            ceiling = row.blind_ceiling
            if not row.sees_order or ceiling is None or numbers.lowest is None or numbers.lowest >= ceiling + NEAR:
                continue
            text = f"{numbers.ours:.1f}, lowest seed {numbers.lowest:.1f}, ceiling {ceiling:.1f}"
            lines.append(f"- {summary.table} ({summary.scale}) {row.label}: {text}")
    return "\n".join([TEXTS["ceilings"], *lines]) if lines else ""


def table_command(table: Table, runs: Sequence[FinishedRun]) -> str:
    """Return the command of all rows and seeds of a table at a scale, with all further flags of its runs.

    A result reused from another table adds the flags of that table's command, except its first file.
    """
    seeds = ",".join(map(str, sorted({run.result.seed for run in runs})))
    flags = dict[str, None]()
    for run in runs:
        flags |= dict.fromkeys(_further(run.result.command))
    return " ".join([f"lit_video fit --config {table.path.as_posix()}", *flags, f"--seeds {seeds}"])


def _further(command: str) -> Iterator[str]:
    """Yield a recorded command's flags with their values, except the table's file and flags in ``OWN``."""
    words, tables = shlex.split(command), 0
    for word, value in pairwise([*words, "--"]):
        name = word.partition("=")[0]
        tables += name in FILES
        if not _is_flag(name) or name in OWN or (name in FILES and tables == 1):
            continue
        yield shlex.quote(word) if "=" in word or _is_flag(value) else shlex.join([word, value])


def _is_flag(word: str) -> bool:
    return word.startswith("--") or word in FILES
