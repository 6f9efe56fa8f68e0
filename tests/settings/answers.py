"""Answers of a checkout on all rows: ``python -m tests.settings.answers FILE`` writes them, for another to compare.

For every table, scale and recipe: a digest of each row's settings, and of the resolved ones of every fortieth. For each
packed run: what of its settings is not its row's, by the table's files. For each plan of runs: what is packed.
"""

import json
import sys
from functools import cache
from hashlib import blake2b
from pathlib import Path

from benchmarks import evidence
from lit_video.errors import UserError
from lit_video.runs.finished import read_finished
from lit_video.runs.packs import packed_runs
from lit_video.settings.flat import flatten
from lit_video.tables import reading
from lit_video.tables.reading import read_origin, table_at

try:
    from lit_video.experiment.request import Run, build_request
except ImportError:
    from lit_video.training.request import Run, build_request

ROOT = Path(__file__).parents[2]
EXPERIMENTS = ROOT / "experiments"
RESULTS = ROOT / "benchmarks/results"
PARSED = 40  # number of rows with different settings of which one is parsed


def digest(content):
    """Return a short digest of plain data."""
    return blake2b(json.dumps(content, sort_keys=True, default=str).encode(), digest_size=8).hexdigest()


def resolved(run):
    """Return a run's settings with all defaults."""
    try:
        from lit_video.training.cli import ReadCLI
    except ImportError:
        from lit_video.experiment.cli import VideoCLI as ReadCLI
    return ReadCLI(run.settings).resolved()


def parts():
    """Yield table, scale and recipe of all requests that are not refused."""
    scales = sorted((EXPERIMENTS / "scale").glob("*.yaml"))
    for table in sorted(EXPERIMENTS.glob("*.yaml")):
        for scale in [None, *scales]:
            for recipe in (None, "paper", "released"):
                yield [table, scale] if scale else [table], recipe
    trials = ROOT / "benchmarks/trials"
    for table in ("ablation_tw", "timesformer_schemes", "vivit_models"):
        overlays = [path for path in sorted(trials.glob("trials_*.yaml"))]
        for more in ([], *([overlay] for overlay in overlays), overlays[:2]):
            yield [EXPERIMENTS / f"{table}.yaml", trials / "trials.yaml", *more], None


def answers_of_rows():
    """Return digests of the settings of all rows, and of some with their defaults."""
    found, seen, count = {}, set(), 0
    for configs, recipe in parts():
        name = f"{'+'.join(path.stem for path in configs)}-{recipe}"
        try:
            request = build_request(configs, recipe=recipe)
        except UserError as error:
            found[name] = str(error).replace(str(ROOT), "")
            continue
        found[name] = request.table.scale
        for row in request.rows:
            run = Run(request, row, 0)
            key = digest(run.settings)
            found[f"{name}/{row.name}"] = key
            if key in seen:
                continue
            seen.add(key)
            count += 1
            if count % PARSED == 0:
                found[f"{name}/{row.name}/resolved"] = _resolved(run)
    return found


def _resolved(run):
    try:
        return digest(resolved(run))
    except Exception as error:  # the row is of other data
        return type(error).__name__


def answers_of_packs():
    """Return for each packed run in which settings it is not its row, and the digest of its identity."""
    found = {}
    for pack in sorted(RESULTS.rglob("*.tar.xz")):
        for folder in packed_runs(pack):
            run = read_finished(folder, anywhere=True)
            table = read_origin(folder.parents[1]) or _table_of(run)
            name = str(folder.relative_to(ROOT))
            found[name] = digest(run.identity.flat)
            if table and run.result.row in {row.name for row in table.rows}:
                row = table.row(run.result.row)
                flat = flatten(run.identity.settings)
                found[f"{name}: table"] = digest([table.changed(row, flat), table.overridden(row, flat)])
    return found


def _table_of(run):
    path = EXPERIMENTS / f"{run.result.table}.yaml"
    try:
        return table_at(path, run.result.scale)
    except UserError:
        return None


def answers_of_plans():
    """Return how many runs of each stage of the plan of trials are packed, and what is next."""
    plan = evidence.read_plan(ROOT / "benchmarks/trials/plan.yaml")
    stages = {stage.name: [stage.runs, stage.packed] for stage in evidence.hours_by_stage(plan)}
    return stages | {"next": [run.name for run in plan.runs if not evidence.packed(run, plan.results)][:1]}


def all_answers():
    """Return all answers."""
    return {"rows": answers_of_rows(), "packs": answers_of_packs(), "plans": answers_of_plans()}


def main():
    """Write all answers."""
    reading.read_yaml = _cached_yaml(reading.read_yaml)
    Path(sys.argv[1]).write_text(json.dumps(all_answers(), indent=1))


def _cached_yaml(read):
    whole = cache(read)
    return lambda path: json.loads(json.dumps(whole(path)))


if __name__ == "__main__":
    main()
