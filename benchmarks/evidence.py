"""Work off a plan of runs: train what is not packed yet, in the plan's order, and pack each finished run.

``python -m benchmarks.evidence status PLAN`` shows each stage of a plan and what is next. ``python -m
benchmarks.evidence run PLAN --minutes 150 --runs runs`` trains on one core until the minutes are over, with ``--jobs
N`` on several, with ``--stages`` only runs of these; a cut run goes on from its checkpoint if its folder is still
there, and starts again otherwise. A packed run counts if it has the settings that the files in ``experiments`` say
now. A row that stands in several tables is trained once, and taken over from the pack of the first. A plan, with its
keys:

.. code-block:: yaml

    hours: 24  # of one core, at most
    end: 30  # seconds of the start and the tests of a run
    results: benchmarks/results  # folder of the packs
    stages:  # in their order
      tables:
        why: X-ViT's first table, long enough to learn.
        runs:
          - configs: [experiments/scale/half.yaml]  # overlays of the tables, may be empty
            seeds: [0, 1, 2]
            steps: 2048
            step: 0.09  # seconds of an optimizer step on one core
            # how many such steps a step of a row costs, or the row of another table, with equal settings, that it is
            tables: {ablation_tw: {tw0: 1.0, tw1: 1.1}, ablation_summary: {neither: ablation_tw/tw1}}
          - configs: [experiments/scale/utd_mhad.yaml]
            needs: utd_mhad  # folder of real videos below $LIT_VIDEO_DATA; left out for drawn ones
            seeds: [0, 1, 2, 3, 4]
            steps: 780
            step: 0.15
            tables: {ablation_tw: {tw0: 1.0, tw1: 1.1}}
"""

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from msgspec import structs

from lit_video.errors import UserError
from lit_video.experiment.request import build_request
from lit_video.experiment.spec import Spec
from lit_video.launching.queue import own_environment
from lit_video.runs.folder import RUN, FinishedRun, packed_files, read_finished, read_record, read_status
from lit_video.runs.packing import pack_runs, packed_record, write_pack
from lit_video.runs.packs import pack_of, packed_runs
from lit_video.runs.record import RunResult, differences
from lit_video.settings.nested import flatten
from lit_video.tables.reading import read_table
from lit_video.tables.table import Table
from lit_video.utils.files import data_folder
from lit_video.utils.processes import DONE, FAILED, MISTAKE, PARENT, STATUS, handled_by
from lit_video.utils.text import did_you_mean, text_table
from lit_video.utils.yaml_files import read_yaml

ROOT = Path(__file__).parents[1]
EXPERIMENTS = ROOT / "experiments"
SHARED_DATA = ROOT.parent / "shared/data"  # real videos, beside a clone
PLAN_KEYS = {"hours", "end", "results", "stages"}
STAGE_KEYS = {"why", "runs"}
RUN_KEYS = {"tables", "configs", "seeds", "steps", "step"}
POLL = 0.5  # seconds between looks at the processes
TELL = 60.0  # seconds between two lines of progress
HOURS_HEADER = ["stage", "runs", "packed", "planned", "trained"]


@dataclass(frozen=True)
class Planned:
    """A run of the plan."""

    stage: str
    table: str
    configs: tuple[str, ...]  # overlays, such as experiments/scale/half.yaml
    row: str
    seed: int
    seconds: float  # planned, of one core
    needs: str = ""  # name of a folder of real videos
    source: str = ""  # table and row whose run it is, such as ablation_tw/tw1; empty for a run that is trained

    @property
    def files(self) -> tuple[Path, ...]:
        """The table's file and its overlays."""
        return (EXPERIMENTS / f"{self.table}.yaml", *(ROOT / config for config in self.configs))

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

    def source_folder(self, runs: Path) -> Path:
        """Return the folder of the run that is taken over, of the same scale and seed."""
        table, _, row = self.source.partition("/")
        return runs.absolute() / table / self.read.scale / row / f"seed{self.seed}"

    def command(self, runs: Path) -> list[str]:
        """Return the command that trains and tests the run."""
        words = ["fit"]
        for path in self.files:
            words += ["--config", path.relative_to(ROOT).as_posix()]
        words += ["--row", self.row, "--seeds", str(self.seed), "--runs", str(runs)]
        return [sys.executable, "-m", "lit_video", *words]


@dataclass(frozen=True)
class Plan:
    """The plan's runs in order."""

    runs: Sequence[Planned]
    hours: float  # at most
    results: Path  # folder of the packs
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
    """Read a plan; refuse other keys, unknown rows, a run that is planned twice, and more hours than it allows."""
    content = read_yaml(path)
    _refuse_other_keys(str(path), content, PLAN_KEYS)
    runs: dict[tuple[str, str, str, int], Planned] = {}
    whys = {}
    for stage, part in content["stages"].items():
        where = f"{path}: {stage}"
        _refuse_other_keys(where, part, STAGE_KEYS)
        whys[stage] = " ".join(part["why"].split())
        for entry in part["runs"]:
            _refuse_other_keys(where, entry, RUN_KEYS, optional={"needs"})
            for run in _runs(stage, entry, content["end"]):
                key = (run.table, run.read.scale, run.read.row(run.row).name, run.seed)
                if runs.setdefault(key, run) is not run:
                    raise UserError(f"{where}: {run.name} is planned twice")

    plan = Plan(list(runs.values()), content["hours"], ROOT / content["results"], whys)
    if plan.planned_hours > plan.hours:
        raise UserError(f"{path}: {plan.planned_hours:.1f} hours are planned, at most {plan.hours}; leave runs out")
    return plan


def _runs(stage: str, entry: Mapping[str, Any], end: float) -> Iterator[Planned]:
    """Yield runs by seed, then by table and row, so that a leg trains equal rows of several tables once."""
    for seed in entry["seeds"]:
        for table, rows in entry["tables"].items():
            for row, factor in rows.items():
                is_taken = isinstance(factor, str)
                yield Planned(
                    stage=stage,
                    table=table,
                    configs=tuple(entry["configs"]),
                    row=row,
                    seed=seed,
                    seconds=0.0 if is_taken else entry["steps"] * entry["step"] * factor + end,
                    needs=entry.get("needs", ""),
                    source=factor if is_taken else "",
                )


def _refuse_other_keys(where: str, content: Any, keys: set[str], optional: Collection[str] = ()) -> None:
    """Refuse a part of a plan that lacks a key or has an unknown one."""
    if not isinstance(content, dict):
        raise UserError(f"{where}: expected the keys {', '.join(sorted(keys))}")
    for name in sorted(content.keys() - keys - {*optional}):
        raise UserError(f"{where}: {name}: no such key; expected {', '.join(sorted({*keys, *optional}))}")
    for name in sorted(keys - content.keys()):
        raise UserError(f"{where}: has no {name}")


def packed(run: Planned, results: Path) -> FinishedRun | None:
    """Return a packed run; ``None`` without one, or if it has other settings than the plan's files.

    A run that is taken over counts if it is still that of its source.
    """
    finished = read_packed(run.folder(results))
    if finished is None or contradicted(run, finished):
        return None
    if run.source:
        source = read_packed(run.source_folder(results))
        if source is None or finished.result != named(source.result, run):
            return None
    return finished


def read_packed(folder: Path) -> FinishedRun | None:
    """Return a finished run in a pack; ``None`` without one."""
    return read_finished(folder) if packed_files(folder) else None


def named(result: RunResult, run: Planned) -> RunResult:
    """Return a result under the names of a run with equal settings."""
    return structs.replace(result, table=run.table, scale=run.read.scale, row=run.row)


def contradicted(run: Planned, finished: FinishedRun) -> dict[str, tuple[Any, Any]]:
    """Return the settings of the plan's files that a run does not have, with the wanted and the used value."""
    table = run.read
    return table.changed(table.row(run.row), flatten(finished.identity.settings))


def take_over(run: Planned, source: FinishedRun, results: Path) -> None:
    """Add a packed run to the pack of another table, as a run with equal settings and seed; refuse other settings.

    Its videos are compared with those of the other rows when the table is read.
    """
    wanted = Spec(*build_request(run.files, [run.row], [run.seed]).runs).identity(source.identity.data)
    for difference in differences(source.identity, wanted):
        if difference.kind not in ("code", "folder"):
            raise UserError(f"{source.folder}: {difference}")

    record = read_record(source.folder).with_parts(result=named(source.result, run))
    folder = run.folder(results)
    pack = pack_of(folder.parents[2])
    others = packed_runs(pack) if pack.is_file() else {}
    write_pack(pack, {**others, folder: {**packed_files(source.folder), RUN: packed_record(record)}})


def data_of(run: Planned) -> Path | None:
    """Return the folder above a run's real videos; ``None`` without them."""
    for folder in (data_folder(), SHARED_DATA):
        if (folder / run.needs).is_dir():
            return folder
    return None


def waiting(plan: Plan) -> list[Planned]:
    """Return the runs that are neither packed nor without their data, in the plan's order."""
    return [run for run in plan.runs if (not run.needs or data_of(run)) and not packed(run, plan.results)]


@dataclass(frozen=True)
class StageHours:
    """Runs and hours of a stage of the plan."""

    name: str
    runs: int
    packed: int
    planned: float  # hours of one core
    trained: float  # hours, summed over packed runs


def hours_by_stage(plan: Plan) -> list[StageHours]:
    """Return what is planned and packed of each stage, in the plan's order."""
    stages = []
    for name in plan.stages:
        runs = plan.of(name)
        found = {run: finished for run in runs if (finished := packed(run, plan.results))}
        stage = StageHours(
            name=name,
            runs=len(runs),
            packed=len(found),
            planned=sum(run.seconds for run in runs) / 3600,
            trained=sum(finished.result.seconds for run, finished in found.items() if not run.source) / 3600,
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


def print_status(plan: Plan) -> int:
    """Print for each stage what is planned and packed, and what is next."""
    body = hours_cells(hours_by_stage(plan))
    print(text_table(f"hours of one core, at most {plan.hours}", HOURS_HEADER, body))
    missing = dict.fromkeys(run.needs for run in plan.runs if run.needs and not data_of(run))
    for name in missing:
        print(f"no {name} in $LIT_VIDEO_DATA or {SHARED_DATA}: its runs are skipped")
    left = waiting(plan)
    print(f"next: {left[0].stage}: {left[0].name}" if left else "all runs are packed")
    return DONE


@dataclass
class Leg:
    """A stretch of the queue: runs are started until the minutes are over or a signal comes."""

    plan: Plan
    runs: Path
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
        waits = [run for run in waiting(self.plan) if not self.stages or run.stage in self.stages]
        left = [run for run in waits if run not in self.failed and run not in self._running]
        for run in left:
            source = read_packed(run.source_folder(self.plan.results)) if run.source else None
            if source:
                self._take_over(run, source)
                return ""

        trained = [run for run in left if not run.source]
        if not trained:
            return "no run is left to start" if not self._running else ""
        run = trained[0]
        if run.seconds > self.left:
            return f"{run.name} takes {run.seconds / 60:.0f} minutes as planned, {self.left / 60:z.0f} are left"
        self._start(run)
        return ""

    def _take_over(self, run: Planned, source: FinishedRun) -> None:
        try:
            take_over(run, source, self.plan.results)
        except UserError as error:
            self._fail(run, f"it is not {run.source}: {error}")
        else:
            print(f"{run.stage}: {run.name}: is {run.source}", flush=True)

    def _start(self, run: Planned) -> None:
        folder = run.folder(self.runs)
        folder.mkdir(parents=True, exist_ok=True)
        print(f"{run.stage}: {run.name}: planned {run.seconds / 60:.1f} of {self.left / 60:z.0f} minutes", flush=True)
        environment = own_environment() | {"OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1", PARENT: str(os.getpid())}
        if run.needs:
            environment["LIT_VIDEO_DATA"] = str(data_of(run))
        with (folder / "log.txt").open("ab") as output:
            self._running[run] = subprocess.Popen(
                run.command(self.runs),
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
            pack_runs([run.folder(self.runs)], self.plan.results)
            finished = read_finished(run.folder(self.plan.results))
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


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    showing = commands.add_parser("status", help="show each stage, and what is next")
    running = commands.add_parser("run", help="train and pack what is next")
    for command in (showing, running):
        command.add_argument("plan", type=Path, metavar="PLAN", help="YAML file of the plan")
    running.add_argument("--minutes", type=float, default=150.0, help="start and end within so many (default: 150)")
    running.add_argument("--runs", type=Path, default=Path("runs"), metavar="DIR", help="folder of the runs")
    running.add_argument("--jobs", type=int, default=1, metavar="N", help="runs at once, one core each (default: 1)")
    running.add_argument("--stages", nargs="+", default=(), metavar="STAGE", help="only runs of these (default: all)")
    given = parser.parse_args()

    try:
        plan = read_plan(given.plan)
        if given.command == "status":
            return print_status(plan)
        for stage in given.stages:
            if stage not in plan.stages:
                raise UserError(f"--stages: the plan has no stage {stage!r}{did_you_mean(stage, plan.stages)}")
        return Leg(plan, given.runs, given.minutes, jobs=given.jobs, stages=given.stages).work()
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return MISTAKE


if __name__ == "__main__":
    sys.exit(main())
