"""Say before any run, claim by claim, what the runs of a plan can show: ``python -m benchmarks.papers.power``.

For each claim: where it is decided, the smallest difference that every pair shows with 80 % power, how many seeds show
its margin or its "differ by at most N", and the hours of one core; or the fact that keeps our videos from deciding it.
The spread over seeds is that of the trials (docs/trials.md): two rows of each family, pooled, at an upper bound that it
keeps with 80 %, because few seeds tell it roughly. The error over test videos is that of the trials, for more or fewer
pairs of films a skill. Both are of the skills outside of the trials' lessons. Hours are those of the trials' plan,
because trials may have been trained beside other work.

At the end it says how many claims so many hours can decide, cheapest first: rows that several claims share are trained
once. Not in the hours: half of the steps, for rows that do not learn their training films.
"""

import argparse
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import fmean
from typing import NamedTuple

from benchmarks.evidence import EXPERIMENTS, Plan, packed, read_plan
from benchmarks.trials.tables import PLAN, is_chosen, of_any_length
from lit_video.datamodules.temporal_skills import SKILLS
from lit_video.runs.folder import FinishedRun
from lit_video.runs.predictions import DIRECTION, Predictions, read_predictions
from lit_video.tables.claims import Claim, read_claims
from lit_video.tables.finishing import end_of, lesson_skills
from lit_video.tables.judging import OF_EQUIVALENCE, rows_of
from lit_video.tables.row_hits import row_hits_of
from lit_video.tables.statistics import Interval, Spread, detectable, paired_difference
from lit_video.utils.processes import DONE
from lit_video.utils.text import plural

BOUND = 0.8  # the spread over seeds lies below its upper bound with this chance
MOST_SEEDS = 12
NO_TRIALS = "no trials of its family yet"
COUNTED = "multiply-adds are counted, without a run"
# family of a table, by the first word of its name
FAMILIES = {"ablation": "xvit", "xvit": "xvit", "timesformer": "timesformer", "vivit": "vivit"}


@dataclass(frozen=True)
class FamilySpread:
    """How uncertain a difference of two rows of a family is."""

    spread: Spread  # variance of a row's mean over seeds, in squared shares
    of_videos: float  # squared error of a difference over the test videos alone, in points
    pairs: float  # pairs of films a skill in this test
    hours: float  # hours of one core for a run, by the plan of the trials
    not_begun: int = 0  # trials that are left out, because they are at chance on a skill that their row can tell

    def difference(self, seeds: int, pairs: int) -> Interval:
        """Return a difference of 0 with the error that two rows have at the upper bound.

        Args:
            seeds: seeds of each row.
            pairs: pairs of films a skill in the test.
        """
        from scipy.special import chdtri  # here, because importing it takes 0.15 s

        freedom = self.spread.freedom
        upper = self.spread.variance * freedom / float(chdtri(freedom, BOUND))
        of_seeds = 1e4 * 2 * upper / seeds
        variance = of_seeds + self.of_videos * self.pairs / pairs
        own = variance**2 / (of_seeds**2 / (2 * (seeds - 1)) + 1e-12)
        return Interval(0.0, 0.0, 0.0, error=math.sqrt(variance), freedom=own)


class Trial(NamedTuple):
    """A finished trial, and the hours of one core that its plan gives it."""

    run: FinishedRun
    hours: float


def spreads(plan: Plan) -> dict[str, FamilySpread]:
    """Return the spread of each family with a row of two seeds or more in the trials, each at its greatest length."""
    by_family: dict[str, dict[str, list[Trial]]] = {}
    for run in plan.runs:
        finished = packed(run, plan.results)
        if finished is None or not is_chosen(run):
            continue
        of_row = by_family.setdefault(family_of(run.table), {}).setdefault(of_any_length(run), [])
        of_row.append(Trial(finished, run.seconds / 3600))
    known = {family: _spread(list(map(_longest, rows.values()))) for family, rows in by_family.items()}
    return {family: spread for family, spread in known.items() if spread}


def family_of(table: str) -> str:
    """Return the family of a table's rows, by its name."""
    return FAMILIES.get(table.partition("_")[0], "")


def _longest(trials: Sequence[Trial]) -> list[Trial]:
    """Return a row's trials of the most steps, one for each seed."""
    steps = max(trial.run.result.steps for trial in trials)
    return list({trial.run.result.seed: trial for trial in trials if trial.run.result.steps == steps}.values())


def _spread(rows: Sequence[Sequence[Trial]]) -> FamilySpread | None:
    """Return a family's spread; ``None`` if no row has two seeds that have begun every skill."""
    begun = [[trial.run for trial in of_seeds if not _not_begun(trial.run)] for of_seeds in rows]
    by_row = {str(number): [_read(run) for run in runs] for number, runs in enumerate(begun) if runs}
    tested = row_hits_of(by_row, DIRECTION)
    if not tested.skills:
        return None
    lessons = [lesson_skills(run, tested.skills) for runs in begun for run in runs]
    scored = tested.skills.difference(*lessons)
    tested = tested.of(scored)
    if tested.pooled is None:
        return None

    groups = tested.draws.number if tested.draws else None
    every = [of_run for of_row in tested.hits.values() for of_run in of_row]
    errors = [paired_difference([a], [b], groups=groups).error for a, b in combinations(every, 2)]
    films = tested.draws.count if tested.draws else len(every[0])
    return FamilySpread(
        spread=tested.pooled,
        of_videos=max(errors, default=0.0) ** 2,
        pairs=films / len(scored),
        hours=fmean(trial.hours for of_seeds in rows for trial in of_seeds),
        not_begun=sum(map(len, rows)) - len(every),
    )


def _not_begun(run: FinishedRun) -> list[str]:
    """Return the skills that a trial has not begun."""
    end = end_of(run, None, run.result.told or SKILLS)
    return end.not_begun if end else []


def _read(run: FinishedRun) -> Predictions:
    predictions = read_predictions(run.folder, run.result)
    if predictions is None:
        raise ValueError(f"{run.folder}: a pack of a trial without predictions")
    return predictions


@dataclass(frozen=True)
class Forecast:
    """Forecast of what the runs of a claim's rows will show; or why they cannot, in ``never``."""

    claim: Claim
    scale: str
    hours_of_run: float = 0.0
    detectable: float = math.inf  # points that every pair shows with 80 % power, with the seeds asked for
    seeds: int = 0  # fewest that show the points which the claim wants; 0 if too many
    never: str = ""

    @property
    def wanted(self) -> float:
        """Points that the runs have to show: the claim's margin, or half of the paper's least difference; 0 if none."""
        alike = [points for pair in self.claim.pairs if (points := self.claim.alike(pair)) is not None]
        return self.claim.margin or min(alike, default=0.0)

    @property
    def rows(self) -> list[str]:
        """Rows that have to be run: those that the claim compares, and every control of the table if it needs one."""
        controls = self.claim.table.controls if self.claim.control else ()
        return list(dict.fromkeys([*rows_of(self.claim), *sorted(controls)]))

    @property
    def line(self) -> str:
        """The forecast in words."""
        where = f"{self.claim.table.name} at {self.scale}, {len(self.rows)} rows"
        if math.isinf(self.detectable):
            return f"{where}: {self.never}" if self.never in (NO_TRIALS, COUNTED) else f"nowhere: {self.never}"
        line = f"{where}: 80 % power {self.detectable:.1f}"
        if not self.seeds:
            return f"{line}; {self.wanted:.1f} {self.never}"
        hours = len(self.rows) * self.seeds * self.hours_of_run
        if not self.wanted:
            return f"{line}; {hours:.1f} hours"
        return f"{line}; {self.wanted:.1f} needs {self.seeds} seeds, {hours:.1f} hours"


def forecast(claim: Claim, known: Mapping[str, FamilySpread], *, seeds: int, pairs: int) -> Forecast:
    """Return what so many seeds of a claim's rows will show, tested on so many pairs of films a skill."""
    scale = claim.scale
    why = COUNTED if claim.kind == "cheaper" else claim.why_untestable(scale)
    never = Forecast(claim, scale, never=why)
    spread = known.get(family_of(claim.table.name))
    if never.never or spread is None:
        return replace(never, never=never.never or NO_TRIALS)

    tests = len(claim.pairs) * (2 if claim.control else 1)
    shown = detectable(spread.difference(seeds, pairs), tests)
    enough = seeds
    if never.wanted:
        enough = seeds_for(spread, tests, never.wanted, pairs=pairs)
    why = f"needs more than {MOST_SEEDS} seeds: "
    why += "not testable as the paper puts it" if claim.margin else "a smaller difference may stay undecided"
    return Forecast(claim, scale, spread.hours, shown, enough, never=why)


def seeds_for(spread: FamilySpread, tests: int, wanted: float, *, pairs: int) -> int:
    """Return the fewest seeds that show so many points with 80 % power, as an equivalence too; 0 if too many."""
    for seeds in range(2, MOST_SEEDS + 1):
        if OF_EQUIVALENCE * detectable(spread.difference(seeds, pairs), tests) <= wanted:
            return seeds
    return 0


def affordable(forecasts: Sequence[Forecast], hours: float) -> Iterator[tuple[Forecast, float]]:
    """Yield the claims that so many hours can decide, and the hours of their further runs, cheapest first."""
    trained: dict[tuple[str, str, str], int] = {}  # seeds by table, scale and row
    left = [each for each in forecasts if each.seeds]

    def further(each: Forecast) -> float:
        of_rows = (trained.get((each.claim.table.name, each.scale, row), 0) for row in each.rows)
        return each.hours_of_run * sum(max(0, each.seeds - seeds) for seeds in of_rows)

    while left:
        cheapest = min(left, key=further)
        cost = further(cheapest)
        if cost > hours:
            return
        yield cheapest, cost
        hours -= cost
        left.remove(cheapest)
        for row in cheapest.rows:
            run = (cheapest.claim.table.name, cheapest.scale, row)
            trained[run] = max(cheapest.seeds, trained.get(run, 0))


def main(words: Sequence[str] | None = None) -> int:
    """Print a line for each claim and number of pairs, then which claims the hours can decide."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.papers.power", description=__doc__)
    parser.add_argument("--seeds", type=int, default=3, metavar="N", help="seeds of each row (default: %(default)s)")
    text = "pairs of films a skill in the test, one number or several (default: 64 256)"
    parser.add_argument("--pairs", type=int, nargs="+", default=[64, 256], metavar="N", help=text)
    text = "hours of one core for all runs (default: %(default)s)"
    parser.add_argument("--hours", type=float, default=40, metavar="N", help=text)
    asked = parser.parse_args(words)

    known = spreads(read_plan(PLAN))
    claims = read_claims(EXPERIMENTS)
    by_pairs = {}
    for pairs in asked.pairs:
        by_pairs[pairs] = [forecast(claim, known, seeds=asked.seeds, pairs=pairs) for claim in claims]

    print(f"With {asked.seeds} seeds, in points of direction or top-1 on the tests' videos:")
    for number, of_claim in enumerate(zip(*by_pairs.values(), strict=True), 1):
        print(f"{number:2} {of_claim[0].claim.text}")
        for line in dict.fromkeys(each.line for each in of_claim if math.isinf(each.detectable)):
            print(f"     {line}")
        for pairs, each in zip(by_pairs, of_claim, strict=True):
            if not math.isinf(each.detectable):
                print(f"     {pairs} pairs: {each.line}")

    for family, spread in known.items():
        deviation = 100 * math.sqrt(spread.spread.variance)
        print(
            f"{family}: standard deviation over seeds {deviation:.1f} points ({spread.spread.freedom} degrees of "
            f"freedom), error over test videos {math.sqrt(spread.of_videos):.1f} points with {spread.pairs:.0f} pairs "
            f"a skill, {60 * spread.hours:.0f} minutes a run by the plan"
            + (f"; without {plural(spread.not_begun, 'trial')} that had not begun" if spread.not_begun else "")
        )
    for pairs, forecasts in by_pairs.items():
        print_affordable(forecasts, pairs, asked.hours)
    return DONE


def print_affordable(forecasts: Sequence[Forecast], pairs: int, hours: float) -> None:
    """Print how many claims the hours can decide, and which, by the hours that each of them adds."""
    chosen = list(affordable(forecasts, hours))
    waiting = sum(each.never == NO_TRIALS for each in forecasts)
    spent = sum(cost for _, cost in chosen)
    print(
        f"\n{pairs} pairs: {len(chosen)} of {len(forecasts)} claims can be decided with {hours:g} hours of one core "
        f"({spent:.1f} of them), {waiting} more wait for trials of their family:"
    )
    for each, cost in chosen:
        number = 1 + [other.claim for other in forecasts].index(each.claim)
        points = f"{each.wanted or each.detectable:.1f} points{'' if each.wanted else ', as the paper gives none'}"
        print(f"  {cost:4.1f} hours  claim {number}: {plural(each.seeds, 'seed')} for {points}")


if __name__ == "__main__":
    sys.exit(main())
