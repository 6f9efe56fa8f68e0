"""Train and test a model on a folder of the user's own videos."""

from __future__ import annotations  # a signature then shows names of types, such as Count

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lit_video.api.arguments import File
from lit_video.api.own_videos import PlanFile, fit_experiment, plan_experiment
from lit_video.api.report import report
from lit_video.own_videos.experiment import Asked, first_answers, write_answer_experiment
from lit_video.runs.chosen_checkpoint import KEPT
from lit_video.settings.flags import Settings, UserSetting, as_user_settings
from lit_video.tables.reading import read_table
from lit_video.utils.arguments import Count, Positive, Whole, refuse_wrong_values
from lit_video.utils.files import write_atomically
from lit_video.utils.startup import set_up_process
from lit_video.utils.text import Part, Shown

if TYPE_CHECKING:
    from lit_video.inference.predict import TrainedModel, VideoPredictions
    from lit_video.inference.videos import Paths
    from lit_video.tables.time_use import TimeUse

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, repr=False)
class Tested(Shown):
    """A model that was trained and tested on the user's videos."""

    run: Path  # the run's folder, a ``ckpt`` of other functions; of cross-validation, that of the model of all videos
    page: Path  # results as HTML
    card: Path | None  # model card; None for the best row of a comparison
    planned_seconds: float | None = None  # time of trainings and tests by the plan; None if an earlier call made it
    seconds: float | None = None  # time that they took, with pages and card

    @property
    def facts(self) -> list[str]:
        """Accuracy with its interval and meaning, baseline and confusions, a line each."""
        from lit_video.reports.card import headline

        return headline(self.run)

    @property
    def time(self) -> TimeUse | None:
        """Use of time by the model: losses with reversed and shuffled frames and with one repeated frame.

        ``None`` if the plan leaves these tests out.
        """
        from lit_video.reports.card import use_of_time

        return use_of_time(self.run)

    @property
    def is_of_use(self) -> bool:
        """True if the model is right more often than one answer for all videos."""
        from lit_video.reports.card import tested_run
        from lit_video.reports.next_step import is_of_use

        return is_of_use(tested_run(self.run)[1])

    @property
    def then(self) -> str:
        """Next step, in words."""
        from lit_video.reports.card import tested_run
        from lit_video.reports.next_step import next_step

        return next_step(self.run, tested_run(self.run)[1])

    def load(self) -> TrainedModel:
        """Load the model, see :func:`lit_video.load`."""
        from lit_video.inference.predict import load

        return load(self.run)

    def predict(self, videos: Paths, top: int = 5) -> VideoPredictions:
        """Classify videos by this model, see :func:`lit_video.predict`."""
        return self.load().predict(videos, top)

    def parts(self) -> Sequence[Part]:
        """Return the facts, what the model uses of time, what to do next, and where the page with the pictures is."""
        time = self.time
        look = f"Open {self.page} in a browser: accuracy by class, confusions, and the mistakes as pictures"
        return ["\n".join([*self.facts, *(time.sentences if time else []), self.then, look])]


def finetune(
    videos: File,
    *,
    minutes: Positive | None = None,
    weights: str | Path | None = None,
    frozen: bool | None = None,
    scheme: str | None = None,
    group: str | None = None,
    split: str | None = None,
    mirror: bool | None = None,
    seed: Whole = 0,
    output: File | None = None,
    jobs: Count | None = None,
    settings: Settings = (),
) -> Tested:
    """Train and test a model on a folder of your own videos.

    Looks into the videos, writes an experiment with a reason for every setting, trains, and tests, also with the frames
    in other orders, to tell what the model uses of time. Then it writes a page of the results and a model card.
    Repeating the call resumes it. With fewer than 300 videos it cross-validates, so every video is tested; the model to
    use is trained on all videos.

    Args:
        videos: class folders of videos, or a table of them.
        minutes: minutes of training; ``None`` for 10 on a CPU, 30 on a GPU.
        weights: weights to start from: published ones, ``drawn`` (a small model that comes along), a run's folder, or
            ``none``; ``None`` for VideoMAE-B of Kinetics-400, or for ``drawn`` where it cannot be downloaded.
        frozen: train a probe on the frozen backbone of the weights; ``None``: on a CPU, unless the model is as small as
            ``drawn``; not on a GPU.
        scheme: attention scheme of a model from scratch.
        group: column that says which videos belong together, or ``none``.
        split: column that says which videos train and which are tested, or ``none`` to divide them at random.
        mirror: mirror half of the training clips; ``None``: only if every class's name is known to have no side.
        seed: seed of all random draws.
        output: folder to write; ``None`` for ``own/NAME``.
        jobs: number of trainings at once; ``None`` for one per core.
        settings: nested data as in a YAML file, over the plan's settings.

    Raises:
        UserError: an argument, a setting or the videos are wrong, or the plan that is there is another one.
        RunFailed: a training ended without a result.
        RunStopped: a signal stopped the training at a checkpoint; the same call goes on.
    """
    refuse_wrong_values(finetune, locals())
    set_up_process()
    user_settings = as_user_settings(settings)
    asked = Asked(
        minutes=None if minutes is None else float(minutes),
        group=group,
        split=split,
        mirror=mirror,
        weights=None if weights is None else str(weights),
        frozen=frozen,
        scheme=scheme,
    )
    plan = plan_experiment(videos, asked, output=output, user_settings=user_settings)
    file = plan.path
    began = time.monotonic()

    rows = len(read_table([file]).rows)
    fit_experiment(plan, [seed], user_settings, jobs=jobs, side_by_side=rows)

    from lit_video.reports.card import model_card
    from lit_video.training.folds import take_tests

    runs, kept = _with_first_answer(file, seed, user_settings)
    run, *folds = runs
    if folds:
        take_tests(run, {fold.parent.name: fold for fold in folds})
    page = write_report(kept)
    card = file.with_name("README.md")
    write_atomically(card, model_card(run))
    _logger.info(f"wrote {card}, the model card")
    took = time.monotonic() - began
    if plan.seconds:
        from lit_video.own_videos.budget import minutes_in_words  # here, because importing torch takes seconds

        planned = minutes_in_words(plan.seconds / 60)
        _logger.info(f"This took {minutes_in_words(took / 60)}; the plan said about {planned}")
    return Tested(run, page, card, plan.seconds, took)


def _with_first_answer(file: Path, seed: int, user_settings: Sequence[UserSetting]) -> tuple[list[Path], Path]:
    """Return the runs of a plan, or those of its first answer where it is right more often, and the file of the first.

    The first run is that of the model to keep, the others are its folds. What is right more often is asked of
    validation videos; without any, for each fold of the other folds, and for the model to keep of all of them.
    """
    trained = _runs(file, seed)
    answers = first_answers(file)
    if not answers:
        return trained, file

    from lit_video.own_videos.first_answer import answered_better, compared_in_words
    from lit_video.training.folds import right_videos

    right = right_videos(trained)
    if right.keys() != answers.keys():  # no validation videos, or settings of the user's own have others
        return trained, file

    is_better = answered_better(right, answers)
    said = compared_in_words(right, answers)
    tested = "validation videos" if len(trained) == 1 else "videos of the folds"
    _logger.info(f"{tested} right: {said}: kept the {'first answer' if is_better[0] else 'training'}")
    if not any(is_better):
        return trained, file

    answer = write_answer_experiment(file)
    machine = [setting for setting in user_settings if setting.key.startswith("trainer.")]
    fit_experiment(PlanFile(answer, "finetune", is_new=True), [seed], machine, jobs=1)
    runs = []
    for mine, other, of_answer in zip(trained, _runs(answer, seed), is_better, strict=True):
        runs.append(other if of_answer else mine)
    for run, of_answer in zip(runs[1:], is_better[1:], strict=True):
        if of_answer != is_better[0]:
            _logger.info(
                f"{run.parent.name} is tested by the {'first answer' if of_answer else 'training'}, as the others chose"
            )
    write_atomically(file.with_name(KEPT), str(runs[0].relative_to(file.parent)))
    return runs, answer if is_better[0] else file


def _runs(file: Path, seed: int) -> list[Path]:
    """Return the folders of an experiment's runs, in the order of its rows."""
    table = read_table([file])
    return [table.run_dir(file.with_name("runs"), row, seed) for row in table.rows]


def write_report(file: Path) -> Path:
    """Write a page of the experiment's results beside it."""
    return report(file.with_name("runs") / file.stem, output=file.with_suffix(".html"), overridden=True).path
