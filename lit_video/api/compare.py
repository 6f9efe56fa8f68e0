"""Compare attention schemes on a folder of the user's own videos."""

from __future__ import annotations  # a signature then shows names of types, such as Count

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lit_video.api.arguments import File, checked_seeds
from lit_video.api.finetune import Tested, write_report
from lit_video.api.own_videos import fit_experiment, plan_experiment
from lit_video.api.schemes import name_of_scheme
from lit_video.own_videos.experiment import Asked
from lit_video.settings.flags import Settings, as_user_settings
from lit_video.tables.agreement import Pair
from lit_video.tables.rendering import main_table, pairs_table
from lit_video.tables.summary import RowSummary, TableRuns, read_runs
from lit_video.utils.arguments import Count, Positive, refuse_wrong_values
from lit_video.utils.startup import set_up_process
from lit_video.utils.text import Part, Shown, TextTable

if TYPE_CHECKING:
    from lit_video.attention import Scheme
    from lit_video.tables.time_use import TimeUse


@dataclass(frozen=True, repr=False)
class Compared(Shown):
    """Schemes that were trained and tested on the user's videos."""

    read: TableRuns  # results of all schemes and seeds
    best: Tested  # the scheme of the highest accuracy, with its first seed
    page: Path  # results as HTML

    @property
    def pairs(self) -> Sequence[Pair]:
        """Differences of all pairs of schemes, with their intervals."""
        return self.read.data.pairs

    @property
    def time(self) -> dict[str, TimeUse]:
        """Use of time by each scheme's models, over all seeds, by row; see :attr:`Tested.time`."""
        from lit_video.tables.time_use import read_time_use

        uses = {row: read_time_use(runs) for row, runs in self.read.by_row.items() if runs}
        return {row: use for row, use in uses.items() if use}

    def parts(self) -> Sequence[Part]:
        """Return the table, the differences, and the best scheme."""
        data = self.read.data
        row = best_row(self.read)
        return [
            TextTable(*main_table(data)),
            TextTable(*pairs_table(data)),
            f"The highest accuracy is that of {row.label}; with seed {row.seeds[0]}:\n{self.best}",
        ]


def best_row(read: TableRuns) -> RowSummary:
    """Return the summary of the row with the highest accuracy."""
    return max(read.data.rows, key=lambda row: row.numbers(read.table.metric).ours or 0.0)


def compare(
    videos: File,
    schemes: str | Sequence[str | type[Scheme]],
    *,
    minutes: Positive | None = None,
    weights: str | None = None,
    seeds: Iterable[int] = (0, 1, 2),
    group: str | None = None,
    split: str | None = None,
    mirror: bool | None = None,
    output: File | None = None,
    jobs: Count | None = None,
    settings: Settings = (),
) -> Compared:
    """Compare attention schemes on a folder of your own videos.

    Trains each scheme once per seed, and writes a page of the results. Repeating the call resumes it.

    Args:
        videos: class folders of videos, or a table of them.
        schemes: ``xvit``, ``divided``, ``joint``, ``vivit2``, ..., a scheme's file, ``MODULE.CLASS`` or class.
        minutes: minutes of training of each run; ``None`` for 10 on a CPU, 30 on a GPU.
        weights: image model that all schemes start from, ``timm:NAME``, or ``none``; ``None`` for a small one of
            ImageNet-21k.
        seeds: seeds of each scheme.
        group: column that says which videos belong together, or ``none``.
        split: column that says which videos train and which are tested, or ``none`` to divide them at random.
        mirror: mirror half of the training clips; ``None``: only if every class's name is known to have no side.
        output: folder to write; ``None`` for ``own/NAME``.
        jobs: number of runs at once; ``None`` for one.
        settings: nested data as in a YAML file, over the plan's settings.

    Raises:
        UserError: an argument, a setting or the videos are wrong, or the plan that is there is another one.
        RunFailed: a run ended without a result.
        RunStopped: a signal stopped the runs at a checkpoint; the same call goes on.
    """
    refuse_wrong_values(compare, locals())
    chosen_seeds = checked_seeds(seeds)
    set_up_process()
    user_settings = as_user_settings(settings)
    names = [schemes] if isinstance(schemes, str) else [name_of_scheme(scheme) for scheme in schemes]
    asked = Asked(
        minutes=None if minutes is None else float(minutes),
        group=group,
        split=split,
        mirror=mirror,
        weights=weights,
        schemes=",".join(names),
    )
    plan = plan_experiment(videos, asked, output=output, user_settings=user_settings)
    file = plan.path

    runs = file.with_name("runs")
    fitted = fit_experiment(plan, chosen_seeds, user_settings, jobs=jobs)
    read = read_runs(fitted.request.table, runs, overridden=True)
    page = write_report(file)
    row = best_row(read)
    best = read.table.run_dir(runs, read.table.row(row.name), row.seeds[0])
    return Compared(read, Tested(best, page, None), page)
