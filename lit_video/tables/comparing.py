"""May two rows of a table be compared, and on which skills? Every verdict on rows asks this one function.

A verdict needs two seeds of each row, three independent draws of the test, and rows whose trainings have finished
(:mod:`~lit_video.tables.finishing`); controls need not finish. Two rows are compared on the skills that both can tell
from the frames that they compare, without those of a first lesson, which had steps of their own. If one row can tell
none of the other's skills, the one that is ahead was known from their construction, before any run.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from lit_video.runs.folder import FinishedRun
from lit_video.tables.contrasts import run_contrast
from lit_video.tables.finishing import learned_share, lesson_skills, refuse_unknown_skills, why_unfinished
from lit_video.tables.row_hits import RowHits
from lit_video.tables.statistics import FEWEST_CLUSTERS, Interval, mean_of_halves
from lit_video.utils.text import plural

Forbidden = Literal["not run", "one seed", "unfinished", "not testable here"]  # states without a verdict
ONE_SEED: Forbidden = "one seed"
PairAnswer = Literal["holds", "fails", "undecided"]
OF_TRAINING = ("data.", "trainer.", "model.optimization.")  # settings that a row and its control share


@dataclass(frozen=True)
class TrainedRow:
    """A row of a table with its runs."""

    name: str
    runs: Sequence[FinishedRun]  # one for each seed
    halves: Sequence[FinishedRun]  # runs with half of the steps, of some seeds or none
    is_control: bool

    @property
    def told(self) -> frozenset[str] | None:
        """Skills that every seed can tell; ``None`` where no run says it."""
        told = [frozenset(run.result.told) for run in self.runs if run.result.told is not None]
        return frozenset.intersection(*told) if told else None

    def lesson(self, skills: Collection[str]) -> frozenset[str]:
        """Return those of a test's skills that the first lesson of a seed shows."""
        return frozenset[str]().union(*(lesson_skills(run, skills) for run in self.runs))

    @cached_property
    def unfinished(self) -> str:
        """Reason that the row has not finished; empty if it has, see ``why_unfinished``."""
        return why_unfinished(self.runs, self.halves, self.told)

    @property
    def is_recorded(self) -> bool:
        """True if it is known of every seed how many training videos the row had right."""
        return all(map(learned_share, self.runs))

    def needs_as_much_as(self, other: "TrainedRow") -> bool:
        """Return whether the multiply-adds of both rows differ by at most a tenth of this one's."""
        if not (self.runs and other.runs):
            return False
        gmacs = self.runs[0].result.gmacs
        return abs(gmacs - other.runs[0].result.gmacs) <= 0.1 * gmacs


@dataclass(frozen=True)
class Comparison:
    """Two rows: their difference, why no verdict may be given on it, if so, and what tests of a claim say of it."""

    first: str
    second: str
    difference: Interval | None  # in points, over the ``skills``; left out if a row was not run
    skills: Sequence[str] = ()  # skills that both rows can tell, sorted; empty if these are all but the lesson's
    lesson: Sequence[str] = ()  # skills of the rows' first lessons, sorted, which are left out
    forbidden: Forbidden | None = None
    why: Sequence[str] = ()  # reasons, in words
    by_construction: bool = False  # True if one row can tell none of the skills that the other can
    answer: PairAnswer | None = None  # whether they are as the claim has it; left out without a test
    alike: float | None = None  # points within which the rows are shown to differ
    gmacs: tuple[float, float] | None = None  # multiply-adds of a view of both rows, 10^9, where these are judged

    @property
    def rows(self) -> tuple[str, str]:
        """Names of both rows."""
        return self.first, self.second

    @property
    def text(self) -> str:
        """The difference with its interval, and the skills that it is over, or both costs; empty without one."""
        if self.gmacs:
            return "{:.4g} against {:.4g} GMACs".format(*self.gmacs)
        return f"{self.difference}{on_skills(self.skills, self.lesson)}" if self.difference else ""

    @property
    def words(self) -> str:
        """The answer in words, such as ``holds, by at most 5 points``; empty without a test."""
        if self.alike is None:
            return self.answer or ""
        within = f"by at most {plural(self.alike, 'point')}"
        return f"differ {within}" if self.answer == "undecided" else f"{self.answer}, {within}"


def on_skills(skills: Sequence[str], lesson: Sequence[str]) -> str:
    """Return in words on which skills rows are compared, such as `` on drift, zoom``; empty for all of them.

    Args:
        skills: their names, or none for all that no lesson shows.
        lesson: names of the skills that a first lesson shows.
    """
    if skills:
        return f" on {', '.join(skills)}"
    return f" without {', '.join(lesson)}" if lesson else ""


def compare_rows(first: TrainedRow, second: TrainedRow, row_hits: RowHits) -> Comparison:
    """Compare two rows of a table by their runs, which were tested on the same videos."""
    every = row_hits.skills
    lesson = first.lesson(every) | second.lesson(every)
    told, by_construction = _told(first, second, every)
    skills = told - lesson
    of_skills = row_hits if skills == every else row_hits.of(skills)
    compared = Comparison(
        first.name,
        second.name,
        of_skills.difference(first.name, second.name) if skills or not every else None,
        skills=() if skills == every - lesson else sorted(skills),
        lesson=sorted(lesson),
        by_construction=by_construction,
    )

    if not (first.runs and second.runs):
        return replace(compared, forbidden="not run")

    untestable = ""
    if not row_hits.hits.keys() >= {first.name, second.name}:
        untestable = "needs predictions of both rows for the same test videos"
    elif every and not skills:
        untestable = f"both tell only skills of the lesson: {', '.join(sorted(told))}"
    elif row_hits.draws and row_hits.draws.count < FEWEST_CLUSTERS:
        untestable = f"{plural(row_hits.draws.count, row_hits.draws.kind)} in the test, too few"
    elif first.is_control != second.is_control:
        apart = [key for key in run_contrast(first.runs[0], second.runs[0]) if key.startswith(OF_TRAINING)]
        if apart:
            untestable = f"{first.name} and its control {second.name} also differ in {', '.join(apart)}"
    if untestable:
        return replace(compared, forbidden="not testable here", why=[untestable])

    if min(len(row_hits.hits[name]) for name in compared.rows) < 2:
        return replace(compared, forbidden=ONE_SEED)
    late = [f"{row.name}: {row.unfinished}" for row in (first, second) if not row.is_control and row.unfinished]
    return replace(compared, forbidden="unfinished", why=late) if late else compared


def of_both_halves(half: Comparison, other: Comparison) -> Comparison:
    """Return the comparison of two rows over both halves of the draws; what forbids a verdict in one forbids it."""
    difference = None
    if half.difference and other.difference:
        difference = mean_of_halves(half.difference, other.difference)
    in_other = other.why or (["not run"] if other.forbidden == "not run" else [])
    why = [*half.why, *(f"in the other half: {reason}" for reason in in_other)]
    return replace(half, difference=difference, forbidden=half.forbidden or other.forbidden, why=why)


def _told(first: TrainedRow, second: TrainedRow, every: frozenset[str]) -> tuple[frozenset[str], bool]:
    """Return the skills that both rows can tell, or all if there are none; and whether the result is by construction.

    A control is asked for all skills of the other row: what a sum over frames tells of them belongs to its score.
    """
    told = [row.told for row in (first, second) if not row.is_control and row.told is not None]
    if every:
        for skills in told:
            refuse_unknown_skills(skills, every)
    shared = every.intersection(*told)
    return (shared, False) if shared else (every, bool(every) and len(told) > 1)
