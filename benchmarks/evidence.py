"""Run the plan of ``evidence.yaml``: train what is not packed yet, in the plan's order, and pack each finished run.

``status`` shows each stage and what is next. ``run --minutes 150 --runs runs`` trains on one core until the minutes are
over, with ``--stages`` only runs of these; a cut run goes on from its checkpoint if its folder is still there, and
starts again otherwise. ``rates`` compares the trials of the learning rate with the table. ``rules --write`` writes the
digests of the plan's files into ``experiments/claims/rules.yaml``, until that file names the commit that fixed them.
"""

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from lit_video.errors import UserError
from lit_video.launching.queue import own_environment
from lit_video.runs.finished import FinishedRun, read_finished
from lit_video.runs.packing import pack_runs
from lit_video.runs.packs import packed_runs
from lit_video.runs.status import read_status
from lit_video.settings.flat import flatten
from lit_video.tables.reading import read_table
from lit_video.tables.rules import NOT_YET, digest_of, read_rules
from lit_video.tables.table import Table
from lit_video.utils.environment import commit
from lit_video.utils.files import data_folder, write_atomically
from lit_video.utils.processes import PARENT
from lit_video.utils.stop_signals import DONE, FAILED, MISTAKE, STATUS, handled_by
from lit_video.utils.text import did_you_mean, text_table
from lit_video.utils.yaml_files import read_yaml

ROOT = Path(__file__).parents[1]
PLAN = ROOT / "benchmarks/evidence.yaml"
EXPERIMENTS = ROOT / "experiments"
RULES = EXPERIMENTS / "claims/rules.yaml"
RESULTS = ROOT / "benchmarks/results"
SHARED_DATA = ROOT.parent / "shared/data"  # real videos, beside a clone
RATE = "model.optimization.lr"
RUN_KEYS = {"tables", "configs", "seeds", "steps", "step"}
STAGE_KEYS = {"why", "needs", "runs"}
POLL = 0.5  # seconds between looks at the processes
TELL = 60.0  # seconds between two lines of progress
HOURS_HEADER = ["stage", "runs", "packed", "planned", "trained"]


@dataclass(frozen=True)
class Planned:
    """A run of the plan."""

    stage: str
    table: str
    configs: tuple[str, ...]  # overlays, such as scale/profile
    row: str
    seed: int
    seconds: float  # planned, of one core
    needs: bool = False  # real videos, in a folder with the table's name

    @property
    def files(self) -> tuple[Path, ...]:
        """The table's file and its overlays."""
        return tuple(EXPERIMENTS / f"{name}.yaml" for name in (self.table, *self.configs))

    @property
    def read(self) -> Table:
        """The table at the run's scale."""
        return table_of(self.files)

    @property
    def name(self) -> str:
        """The run's name for messages."""
        return f"{self.table} {self.read.scale} {self.row} seed {self.seed}"

    def folder(self, runs: Path) -> Path:
        """Return the run's folder below a folder of runs."""
        return self.read.run_dir(runs.absolute(), self.read.row(self.row), self.seed)

    def command(self, runs: Path, reuse: bool) -> list[str]:
        """Return the command that trains and tests the run."""
        words = ["fit"]
        for path in self.files:
            words += ["--config", path.relative_to(ROOT).as_posix()]
        words += ["--row", self.row, "--seeds", str(self.seed), "--runs", str(runs)]
        return [sys.executable, "-m", "lit_video", *words, *(["--reuse"] if reuse else [])]


@dataclass(frozen=True)
class Rates:
    """Trials of the learning rate."""

    stage: str
    metric: str
    trials: Mapping[str, float]  # rate by the file that sets it
    default: float  # on a tie
    takes: Mapping[str, str]  # row without trials: row whose rate it takes
    table: str
    at: tuple[str, ...]

    def best(self, results: Mapping[float, float]) -> float | None:
        """Return the rate with the highest result, the default on a tie; ``None`` until all trials are there."""
        if set(results) != set(self.trials.values()):
            return None
        highest = max(results.values())
        rates = [rate for rate, value in results.items() if value == highest]
        return self.default if len(rates) > 1 else rates[0]


@dataclass(frozen=True)
class Plan:
    """The plan's runs in order, with the rule for the rates."""

    runs: Sequence[Planned]
    rates: Rates
    hours: float  # at most
    stages: Mapping[str, str] = field(default_factory=dict)  # why each one is run, by name

    @property
    def planned_hours(self) -> float:
        """Planned hours of all runs."""
        return sum(run.seconds for run in self.runs) / 3600

    def of(self, stage: str) -> list[Planned]:
        """Return a stage's runs."""
        return [run for run in self.runs if run.stage == stage]


@lru_cache(maxsize=256)
def table_of(files: tuple[Path, ...]) -> Table:
    """Return a table at the scale of its overlays."""
    return read_table(files)


def read_plan(path: Path) -> Plan:
    """Read a plan; refuse unknown keys and rows, a run that is planned twice, and more hours than it allows."""
    content = read_yaml(path)
    runs: dict[tuple[str, str, str, int], Planned] = {}
    for stage, given in content["stages"].items():
        _refuse_unknown(f"{path}: {stage}", given, STAGE_KEYS)
        for each in given["runs"]:
            _refuse_unknown(f"{path}: {stage}", each, RUN_KEYS)
            for run in _runs(stage, each, given.get("needs", False), content["end"]):
                key = (run.table, run.read.scale, run.read.row(run.row).name, run.seed)
                if runs.setdefault(key, run) is not run:
                    raise UserError(f"{path}: {stage}: {run.name} is planned twice")

    given = content["rates"]
    rates = Rates(**{**given, "at": tuple(given["at"])})
    whys = {stage: " ".join(part["why"].split()) for stage, part in content["stages"].items()}
    plan = Plan(list(runs.values()), rates, content["hours"], whys)
    if plan.planned_hours > plan.hours:
        raise UserError(f"{path}: {plan.planned_hours:.1f} hours are planned, at most {plan.hours}; leave runs out")
    return plan


def _runs(stage: str, given: Mapping[str, Any], needs: bool, end: float) -> Iterator[Planned]:
    """Yield runs by seed, then by table and row, so that a leg trains equal rows of several tables once."""
    for seed in given["seeds"]:
        for table, rows in given["tables"].items():
            for row, factor in rows.items():
                seconds = given["steps"] * given["step"] * factor + end
                yield Planned(stage, table, tuple(given["configs"]), row, seed, seconds, needs)


def _refuse_unknown(where: str, given: Mapping[str, Any], keys: set[str]) -> None:
    if unknown := sorted(given.keys() - keys):
        raise UserError(f"{where}: {unknown[0]}: no such key; expected some of {', '.join(sorted(keys))}")


def packed(run: Planned, results: Path) -> FinishedRun | None:
    """Return a packed run; ``None`` without one, or if it has other settings than the plan's files."""
    pack = results.absolute() / f"{run.table}.tar.xz"
    folder = run.folder(results)
    if not pack.is_file() or folder not in packed_runs(pack):
        return None
    finished = read_finished(folder)
    if finished is None or contradicted(run, finished):
        return None
    return finished


def contradicted(run: Planned, finished: FinishedRun) -> dict[str, tuple[Any, Any]]:
    """Return the settings of the plan's files that a run does not have, with the wanted and the used value."""
    table = run.read
    return table.changed(table.row(run.row), flatten(finished.identity.settings))


def trials(plan: Plan, results: Path) -> dict[str, dict[float, float]]:
    """Return the results of each row's trials by rate."""
    found: dict[str, dict[float, float]] = {}
    for run in plan.of(plan.rates.stage):
        of_row = found.setdefault(run.row, {})
        finished = packed(run, results)
        if finished:
            of_row[_rate_of(plan.rates, run)] = finished.result.metrics[plan.rates.metric]
    return found


def _rate_of(rates: Rates, run: Planned) -> float:
    (rate,) = (rates.trials[Path(name).name] for name in run.configs if Path(name).name in rates.trials)
    return rate


def chosen(plan: Plan, results: Path) -> dict[str, float | None]:
    """Return the chosen rate of each row; ``None`` while a trial is missing."""
    best = {row: plan.rates.best(of_row) for row, of_row in trials(plan, results).items()}
    return best | {row: best[other] for row, other in plan.rates.takes.items()}


def rates_of_table(plan: Plan, rows: Sequence[str]) -> dict[str, float]:
    """Return the rates of rows as the table has them."""
    files = (plan.rates.table, *plan.rates.at)
    table = table_of(tuple(EXPERIMENTS / f"{name}.yaml" for name in files))
    return {row: table.row(row).settings.get(RATE, table.settings.get(RATE)) for row in rows}


def unsettled(plan: Plan, results: Path) -> list[str]:
    """Say for which rows the table's rate is not the chosen one."""
    best = chosen(plan, results)
    of_table = rates_of_table(plan, list(best))
    lines = []
    for row, rate in best.items():
        if rate is None:
            lines.append(f"{row}: not all trials are packed")
        elif rate != of_table[row]:
            lines.append(f"{row}: the table has {of_table[row]}, the trials chose {rate}")
    return lines


def print_rates(plan: Plan, results: Path, check: bool) -> int:
    """Print each row's trials and chosen rate; return 1 if ``check`` and the table has others."""
    of_rows = trials(plan, results)
    best = chosen(plan, results)
    of_table = rates_of_table(plan, list(best))
    rates = list(plan.rates.trials.values())
    body = []
    for row, rate in best.items():
        values = of_rows.get(row, {})
        shown = [f"{values[each]:.2f}" if each in values else "-" for each in rates]
        body.append([row, *shown, "-" if rate is None else str(rate), str(of_table[row])])
    print(text_table(f"{plan.rates.metric} on another drawing", ["row", *map(str, rates), "chosen", "table"], body))

    differing = unsettled(plan, results)
    for line in differing:
        print(line)
    return FAILED if check and differing else DONE


def data_of(run: Planned) -> Path | None:
    """Return the folder above a run's real videos; ``None`` without them."""
    for folder in (data_folder(), SHARED_DATA):
        if (folder / run.table).is_dir():
            return folder
    return None


def waiting(plan: Plan, results: Path) -> list[Planned]:
    """Return the runs that are neither packed nor without their data, in the plan's order."""
    return [run for run in plan.runs if (not run.needs or data_of(run)) and not packed(run, results)]


@dataclass(frozen=True)
class StageHours:
    """Runs and hours of a stage of the plan."""

    name: str
    runs: int
    packed: int
    planned: float  # hours of one core
    trained: float  # hours, summed over packed runs


def hours_by_stage(plan: Plan, results: Path) -> list[StageHours]:
    """Return what is planned and packed of each stage, in the plan's order."""
    stages = []
    for name in plan.stages:
        runs = plan.of(name)
        found = [finished for run in runs if (finished := packed(run, results))]
        stage = StageHours(
            name=name,
            runs=len(runs),
            packed=len(found),
            planned=sum(run.seconds for run in runs) / 3600,
            trained=sum(finished.result.seconds for finished in found) / 3600,
        )
        stages.append(stage)
    return stages


def hours_cells(stages: Sequence[StageHours]) -> list[list[str]]:
    """Return the lines of a table of stages, with their sum as the last."""
    total = StageHours(
        name="all",
        runs=sum(stage.runs for stage in stages),
        packed=sum(stage.packed for stage in stages),
        planned=sum(stage.planned for stage in stages),
        trained=sum(stage.trained for stage in stages),
    )
    return [
        [stage.name, str(stage.runs), str(stage.packed), f"{stage.planned:.2f}", f"{stage.trained:.2f}"]
        for stage in [*stages, total]
    ]


def print_status(plan: Plan, results: Path) -> int:
    """Print for each stage what is planned and packed, and what is next."""
    body = hours_cells(hours_by_stage(plan, results))
    print(text_table(f"hours of one core, at most {plan.hours}", HOURS_HEADER, body))
    for run in plan.runs:
        if run.needs and not data_of(run):
            print(f"{run.stage}: no {run.table} in $LIT_VIDEO_DATA or {SHARED_DATA}; skipped")
            break
    left = waiting(plan, results)
    print(f"next: {left[0].stage}: {left[0].name}" if left else "all runs are packed")
    return DONE


@dataclass
class Leg:
    """A stretch of the queue: runs are started until the minutes are over or a signal comes."""

    plan: Plan
    runs: Path
    results: Path
    minutes: float
    jobs: int = 1
    stages: Sequence[str] = ()  # empty for all
    stop: signal.Signals | None = None
    failed: dict[Planned, str] = field(default_factory=dict)
    started: float = field(default_factory=time.monotonic)
    _running: dict[Planned, subprocess.Popen[bytes]] = field(default_factory=dict)
    _told: float = field(default_factory=time.monotonic)
    _stopping: bool = False

    @property
    def left(self) -> float:
        """Seconds left."""
        return self.started + 60 * self.minutes - time.monotonic()

    def work(self) -> int:
        """Run what is waiting; return the exit status."""
        why = ""
        with handled_by(lambda number, frame: self._signal(number)):
            while self._running or not why:
                why = why or self._fill()
                self._watch()
                time.sleep(POLL if self._running else 0)
        print(f"end: {why}", flush=True)
        for run, reason in self.failed.items():
            print(f"FAILED: {run.name}: {reason}", flush=True)
        if self.stop:
            return STATUS[self.stop]
        return FAILED if self.failed else DONE

    def _fill(self) -> str:
        """Start runs up to the number of jobs; return why no further run starts, if so."""
        if self.stop:
            return f"stopped by {self.stop.name}; the same command goes on from here"
        if len(self._running) >= self.jobs:
            return ""
        waits = [run for run in waiting(self.plan, self.results) if not self.stages or run.stage in self.stages]
        left = [run for run in waits if run not in self.failed and run not in self._running]
        if not left:
            return "no run is left to start"
        run = left[0]
        trial = self.plan.rates.stage
        if run.stage != trial:
            if any(other.stage == trial for other in self._running):
                return ""
            if unsettled(self.plan, self.results):
                self.failed[run] = "the rates are not settled: python -m benchmarks.evidence rates"
                return f"stage {run.stage} waits for the rates"
        if run.seconds > self.left:
            return f"{run.name} takes {run.seconds / 60:.0f} minutes as planned, {self.left / 60:z.0f} are left"
        self._start(run)
        return ""

    def _start(self, run: Planned) -> None:
        folder = run.folder(self.runs)
        folder.mkdir(parents=True, exist_ok=True)
        print(f"{run.stage}: {run.name}: planned {run.seconds / 60:.1f} of {self.left / 60:z.0f} minutes", flush=True)
        environment = own_environment() | {"OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1", PARENT: str(os.getpid())}
        if run.needs:
            environment["LIT_VIDEO_DATA"] = str(data_of(run))
        with (folder / "log.txt").open("ab") as output:
            self._running[run] = subprocess.Popen(
                run.command(self.runs, reuse=self.jobs == 1 and "+" not in commit()),
                cwd=ROOT,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                process_group=0,
            )
        if self.stop:
            self._end_all()

    def _watch(self) -> None:
        """Pack what has finished, tell the progress, and end all runs when the minutes are over."""
        for run, process in list(self._running.items()):
            if process.poll() is not None:
                del self._running[run]
                self._ended(run, process.returncode)
        if self.left < 0 and self._running and not self._stopping:
            self._end_all()
        if time.monotonic() - self._told >= TELL:
            self._told = time.monotonic()
            for run in self._running:
                status = read_status(run.folder(self.runs))
                at = f"{status.state}, step {status.step} of {status.steps}" if status else "starting"
                print(f"{run.name}: {at}; {self.left / 60:z.0f} minutes left", flush=True)

    def _ended(self, run: Planned, status: int) -> None:
        if status != DONE and (self._stopping or self.stop):
            print(f"{run.name}: stopped at a checkpoint", flush=True)
            return
        if status != DONE:
            log = (run.folder(self.runs) / "log.txt").read_text("utf-8", "replace").rstrip()
            self._fail(run, log.rpartition("\n")[2] or f"exit status {status}")
            return
        try:
            pack_runs([run.folder(self.runs)], self.results)
            finished = read_finished(run.folder(self.results))
            if finished is None:
                raise UserError("its pack has no result of it")
            differing = contradicted(run, finished)
        except UserError as error:
            self._fail(run, str(error))
            return
        if differing:
            self._fail(run, f"its settings are not the plan's: {differing}")
            return
        result = finished.result
        value = result.metrics[run.read.metric]
        print(f"{run.name}: packed, {value:.1f} %, {result.seconds / 60:.1f} minutes of training", flush=True)

    def _fail(self, run: Planned, reason: str) -> None:
        self.failed[run] = reason
        print(f"{run.name}: FAILED: {reason}", flush=True)

    def _signal(self, number: int) -> None:
        self.stop = self.stop or signal.Signals(number)
        self._end_all()

    def _end_all(self) -> None:
        self._stopping = True
        for process in self._running.values():
            process.terminate()


def files_of(plan: Plan, path: Path) -> list[str]:
    """Return the plan's file, its tables, overlays and their parts, and the claims, relative to the repository."""
    files = {path}
    for run in plan.runs:
        files |= {*run.files}
    for file in list(files):
        content = read_yaml(file)
        for name in ("trainer", "data", "model"):
            section = content.get(name)
            if isinstance(section, str):
                files.add((file.parent / section).resolve())
    files |= {claims for claims in (EXPERIMENTS / "claims").glob("*.yaml") if claims != RULES}
    return sorted(file.relative_to(ROOT).as_posix() for file in files)


def print_rules(plan: Plan, write: bool) -> int:
    """Print files that differ from the rules, as changes to list; write the digests until a commit fixed them."""
    files = files_of(plan, PLAN)
    rules = read_rules(EXPERIMENTS)
    if rules is None:
        raise UserError(f"{RULES}: no such file")
    if write:
        if rules.commit != NOT_YET:
            raise UserError(f"{RULES}: commit {rules.commit} fixed the digests; list a later change under changes")
        before = RULES.read_text("utf-8").partition("\ndigests:")[0]
        lines = [f"  {file}: '{digest_of(ROOT / file)}'" for file in files]
        write_atomically(RULES, "\n".join([f"{before}\ndigests:", *lines]) + "\n")
        rules = read_rules(EXPERIMENTS)
        assert rules is not None
    differing = rules.differing(ROOT) | {file: digest_of(ROOT / file) for file in {*files} - {*rules.digests}}
    if differing:
        print(f"  - date: {time.strftime('%Y-%m-%d')}\n    files:")
        for file, digest in sorted(differing.items()):
            print(f"      {file}: '{digest}'")
        print("    what: WHAT\n    why: WHY\n    from: STAGE")
    print(f"{len(differing)} of {len(files)} files differ" if differing else f"all {len(files)} files are as fixed")
    return FAILED if differing else DONE


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("status", help="show each stage, and what is next")
    running = commands.add_parser("run", help="train and pack what is next")
    running.add_argument("--minutes", type=float, default=150.0, help="start and end within so many (default: 150)")
    running.add_argument("--runs", type=Path, default=Path("runs"), metavar="DIR", help="folder of the runs")
    running.add_argument("--jobs", type=int, default=1, metavar="N", help="runs at once, one core each (default: 1)")
    running.add_argument("--stages", nargs="+", default=(), metavar="STAGE", help="only runs of these (default: all)")
    comparing = commands.add_parser("rates", help="show the trials of the learning rate")
    comparing.add_argument("--check", action="store_true", help="exit with 1 if a row has another rate than the chosen")
    fixing = commands.add_parser("rules", help="compare files with the rules' digests")
    fixing.add_argument("--write", action="store_true", help="write the digests")
    given = parser.parse_args()
    try:
        plan = read_plan(PLAN)
        if given.command == "status":
            return print_status(plan, RESULTS)
        if given.command == "rates":
            return print_rates(plan, RESULTS, given.check)
        if given.command == "rules":
            return print_rules(plan, given.write)
        for stage in given.stages:
            if stage not in plan.stages:
                raise UserError(f"--stages: the plan has no stage {stage!r}{did_you_mean(stage, plan.stages)}")
        return Leg(plan, given.runs, RESULTS, given.minutes, jobs=given.jobs, stages=given.stages).work()
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return MISTAKE


if __name__ == "__main__":
    sys.exit(main())
