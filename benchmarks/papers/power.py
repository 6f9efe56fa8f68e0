"""Say before any run, claim by claim, what the runs of a plan can show: ``python -m benchmarks.papers.power``.

For each claim: where it is decided, the smallest difference that every pair shows with 80 % power, how many seeds show
its margin or its "differ by at most N", and the hours of one core; or the fact that keeps our videos from deciding it.
The spread over seeds is that of the trials (docs/trials.md): two rows of each family, pooled, at an upper bound that it
keeps with 80 %, because few seeds tell it roughly.
"""

import argparse
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean

import numpy as np

from benchmarks.evidence import EXPERIMENTS, packed, read_plan
from benchmarks.trials.tables import PLAN, is_chosen
from lit_video.runs.finished import FinishedRun
from lit_video.runs.predictions import DIRECTION, Predictions, read_predictions
from lit_video.tables.claims import Claim, read_claims
from lit_video.tables.judging import OF_EQUIVALENCE, rows_of
from lit_video.tables.statistics import Interval, Spread, detectable, paired_difference, pooled_spread
from lit_video.utils.stop_signals import DONE

BOUND = 0.8  # the spread over seeds lies below its upper bound with this chance
MOST_SEEDS = 12
# family of a table, by the first word of its name
FAMILIES = {"ablation": "xvit", "xvit": "xvit", "timesformer": "timesformer", "vivit": "vivit"}


@dataclass(frozen=True)
class FamilySpread:
    """How uncertain a difference of two rows of a family is."""

    spread: Spread  # variance of a row's mean over seeds, in squared shares
    of_videos: float  # squared error of a difference over the test videos alone, in points
    hours: float  # hours of one core for a run

    def difference(self, seeds: int) -> Interval:
        """Return a difference of 0 with the error that two rows of so many seeds have at the upper bound."""
        from scipy.special import chdtri  # here, because importing it takes 0.15 s

        freedom = self.spread.freedom
        upper = self.spread.variance * freedom / float(chdtri(freedom, BOUND))
        of_seeds = 1e4 * 2 * upper / seeds
        variance = of_seeds + self.of_videos
        own = variance**2 / (of_seeds**2 / (2 * (seeds - 1)) + 1e-12)
        return Interval(0.0, 0.0, 0.0, error=math.sqrt(variance), freedom=own)


def spreads() -> dict[str, FamilySpread]:
    """Return the spread of each family with a row of two seeds or more in the trials, each at its greatest length."""
    plan = read_plan(PLAN)
    by_family: dict[str, dict[str, list[FinishedRun]]] = {}
    for run in plan.runs:
        finished = packed(run, plan.results)
        if finished is None or not is_chosen(run):
            continue
        of_row = by_family.setdefault(family_of(run.table), {}).setdefault(f"{run.table}/{run.row}", [])
        of_row.append(finished)
    known = {family: _spread(list(map(_longest, rows.values()))) for family, rows in by_family.items()}
    return {family: spread for family, spread in known.items() if spread}


def family_of(table: str) -> str:
    """Return the family of a table's rows, by its name."""
    return FAMILIES.get(table.partition("_")[0], "")


def _longest(runs: Sequence[FinishedRun]) -> list[FinishedRun]:
    """Return a row's runs of the most steps, one for each seed."""
    steps = max(run.result.steps for run in runs)
    return list({run.result.seed: run for run in runs if run.result.steps == steps}.values())


def _spread(rows: Sequence[Sequence[FinishedRun]]) -> FamilySpread | None:
    """Return a family's spread; ``None`` if no row has two seeds."""
    predictions = [[_read(run) for run in of_seeds] for of_seeds in rows]
    hits = [[of_run.hits(DIRECTION) for of_run in of_row] for of_row in predictions]
    pooled = pooled_spread(np.array(of_row, np.float64).mean(1) for of_row in hits if len(of_row) > 1)
    if pooled is None:
        return None
    draws = predictions[0][0].draws
    groups = draws.number if draws else None
    every = [of_run for of_row in hits for of_run in of_row]
    errors = [paired_difference([a], [b], groups=groups).error for a, b in combinations(every, 2)]
    hours = fmean(run.result.seconds for of_seeds in rows for run in of_seeds) / 3600
    return FamilySpread(pooled, max(errors, default=0.0) ** 2, hours)


def _read(run: FinishedRun) -> Predictions:
    predictions = read_predictions(run.folder, run.result)
    if predictions is None:
        raise ValueError(f"{run.folder}: a pack of a trial without predictions")
    return predictions


def line_of(claim: Claim, known: dict[str, FamilySpread], seeds: int) -> str:
    """Return in words what the runs of a claim's rows will show."""
    scale = claim.decided_at or claim.scale
    if claim.kind == "cheaper":
        return "multiply-adds are counted, without a run"
    if why := claim.why_untestable(scale):
        return f"nowhere: {why}"
    rows = rows_of(claim)
    spread = known.get(family_of(claim.table.name))
    if spread is None:
        return f"{claim.table.name} at {scale}, {len(rows)} rows: no trials of its family yet"

    pairs = len(claim.pairs) * (2 if claim.control else 1)
    shown = detectable(spread.difference(seeds), pairs)
    line = f"{claim.table.name} at {scale}, {len(rows)} rows: 80 % power {shown:.1f}"
    wanted = wanted_points(claim)
    if not wanted:
        return f"{line}; {len(rows) * seeds * spread.hours:.1f} hours"
    enough = seeds_for(spread, pairs, wanted)
    if enough is None:
        return f"{line}; {wanted:.1f} needs more than {MOST_SEEDS} seeds: not testable as the paper puts it"
    return f"{line}; {wanted:.1f} needs {enough} seeds, {len(rows) * enough * spread.hours:.1f} hours"


def wanted_points(claim: Claim) -> float:
    """Return the points that a claim's runs have to show: its margin, or half of the paper's least difference."""
    alike = [points for pair in claim.pairs if (points := claim.alike(pair)) is not None]
    return claim.margin or min(alike, default=0.0)


def seeds_for(spread: FamilySpread, pairs: int, wanted: float) -> int | None:
    """Return the fewest seeds that show so many points with 80 % power, as an equivalence too; ``None`` if too many."""
    for seeds in range(2, MOST_SEEDS + 1):
        if wanted and OF_EQUIVALENCE * detectable(spread.difference(seeds), pairs) <= wanted:
            return seeds
    return None


def main() -> int:
    """Print a line for each claim."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.papers.power", description=__doc__)
    parser.add_argument("--seeds", type=int, default=3, metavar="N", help="seeds of each row (default: %(default)s)")
    seeds = parser.parse_args().seeds

    known = spreads()
    print(f"With {seeds} seeds, in points of direction or top-1 on the tests' videos:")
    for number, claim in enumerate(read_claims(EXPERIMENTS), 1):
        print(f"{number:2} {claim.text}\n     {line_of(claim, known, seeds)}")
    for family, spread in known.items():
        deviation = 100 * math.sqrt(spread.spread.variance)
        print(
            f"{family}: standard deviation over seeds {deviation:.1f} points ({spread.spread.freedom} degrees of "
            f"freedom), error over test videos {math.sqrt(spread.of_videos):.1f} points, {60 * spread.hours:.0f} "
            f"minutes a run by the clock"
        )
    return DONE


if __name__ == "__main__":
    sys.exit(main())
