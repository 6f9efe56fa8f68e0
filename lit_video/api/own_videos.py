"""Steps that ``finetune`` and ``compare`` share: plan an experiment on a folder of videos, and train its rows."""

import logging
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from lit_video.api.arguments import File, existing_path, request_for
from lit_video.api.fit import Fitted, fit_for
from lit_video.errors import RunFailed, RunStopped, UserError
from lit_video.experiment.request import Request
from lit_video.own_videos.experiment import (
    LOGGED_NOWHERE,
    Asked,
    elsewhere,
    experiment_file,
    refuse_other_plan,
    refuse_runs_without_plan,
    write_experiment,
)
from lit_video.own_videos.finding import find_own_videos, found_in_words
from lit_video.own_videos.schemes import TableRows, schemes_named
from lit_video.settings.flags import UserSetting
from lit_video.utils.files import TABLES, user_path, writing
from lit_video.utils.processes import usable_cores
from lit_video.utils.yaml_files import read_yaml
from lit_video.weights.hub import find_start

if TYPE_CHECKING:
    from lit_video.own_videos.starts import Start

_logger = logging.getLogger(__name__)


class PlanFile(NamedTuple):
    """An experiment's YAML file."""

    path: Path
    command: str  # finetune or compare
    is_new: bool  # whether this call wrote it, so that no user has edited it
    seconds: float | None = None  # how long its trainings take; None if another call has planned them


def plan_experiment(
    videos: File, asked: Asked, *, output: File | None, user_settings: Sequence[UserSetting]
) -> PlanFile:
    """Plan and write the experiment, unless its file exists; return this file.

    Args:
        videos: folder or table of the videos.
        asked: the user's wishes; with schemes, they are compared.
        output: folder to write; ``None`` for ``own/NAME``.
        user_settings: settings of every run, checked before the videos are looked into.

    Raises:
        UserError: the videos, the weights or a setting are wrong, or the existing plan is another one.
    """
    compared = asked.schemes is not None
    command = "compare" if compared else "finetune"
    place = user_path(videos)
    file = experiment_file(place, None if output is None else user_path(output), "_compare" if compared else "")
    if file.exists():
        news = refuse_other_plan(file, place, asked)
        if news:
            _logger.info(news)
        _logger.info(f"Going on with {file}; {elsewhere(file)}")
        return PlanFile(file, command, is_new=False)

    refuse_runs_without_plan(file)
    _refuse_no_videos(place)
    names = asked.schemes if compared else asked.scheme
    schemes = {} if names is None else schemes_named(names)
    weights = asked.weights or "auto"
    if weights not in ("auto", "none") and not compared:
        find_start(weights)
    listed = find_own_videos(place, asked.columns)
    _logger.info(found_in_words(listed, place)[0])  # before torch, which takes seconds

    from lit_video.own_videos.dividing import without_rare

    without_rare(listed.videos)  # refuses too few videos before weights are downloaded

    # imported after the checks above, because torch takes seconds
    from lit_video.own_videos.images import choose_start
    from lit_video.own_videos.plan import PlanOptions, plan
    from lit_video.training.rehearsal import rehearse

    start = choose_start(weights, schemes, compared=compared)
    _refuse_settings(user_settings, schemes or start.rows, start.model)
    with writing("--output", file.parent):
        file.parent.mkdir(parents=True, exist_ok=True)
    options = PlanOptions(
        place=place,
        rehearse=rehearse,
        folder=file.parent,
        schemes=schemes,
        start=start,
        minutes=asked.minutes,
        group=asked.group,
        mirror=asked.mirror,
        folds=not compared,
        frozen=asked.frozen,
        answers=_may_be_answered(asked, start, user_settings),
    )
    words = [command, str(videos), *asked.flags, *(setting.flag for setting in user_settings)]
    planned = plan(listed, options)
    listing = write_experiment(planned, file, asked, command=words)
    if not any(setting.key.startswith("trainer.logger") for setting in user_settings):
        _logger.info(LOGGED_NOWHERE)
    _logger.info(f"wrote {file} (all settings, with reasons) and {listing}")
    return PlanFile(file, command, is_new=True, seconds=planned.seconds)


def _may_be_answered(asked: Asked, start: "Start", user_settings: Sequence[UserSetting]) -> bool:
    """Return whether the first answer may be the model: the user asks for no other, and for no length of training."""
    if asked.schemes or asked.scheme or asked.frozen is not None or not start.weights:
        return False
    from lit_video.own_videos.starts import first_answer_start  # here, because importing torch takes seconds

    if asked.weights and start.weights != first_answer_start().weights:
        return False
    return not any(setting.key.startswith(("model", "trainer.max_")) for setting in user_settings)


def _refuse_no_videos(place: Path) -> None:
    expected = ", ".join(TABLES)
    existing_path(place, f"no such folder, and no table ({expected})")
    if place.is_file() and place.suffix.lower() not in TABLES:
        raise UserError(f"{place}: is no table ({expected}); give the folder that holds the class folders")


def _refuse_settings(user_settings: Sequence[UserSetting], rows: TableRows, model: str) -> None:
    """Refuse settings that a row's model or the data set does not have."""
    if not user_settings:
        return

    from lit_video.experiment.cli import VideoCLI, user_errors
    from lit_video.experiment.layers import with_user_settings

    data = {"class_path": "VideoCSV", "init_args": {"root": "."}}
    for name in {row.get("set", {}).get("model", model) for row in rows.values()}:
        with user_errors(lambda key: "command line"):
            VideoCLI(with_user_settings({"data": data, "model": {"class_path": name}}, user_settings))


def fit_experiment(
    plan: PlanFile,
    seeds: Iterable[int],
    user_settings: Sequence[UserSetting],
    *,
    jobs: int | None,
    side_by_side: int = 1,
) -> Fitted:
    """Train and test the experiment's rows; if its settings are wrong, delete a new plan: the next call makes another.

    Args:
        plan: the experiment's YAML file.
        seeds: seeds of each row.
        user_settings: settings of every run.
        jobs: number of runs at once; ``None`` for one per core, at most ``side_by_side``.
        side_by_side: number of runs for which the plan has divided the machine.
    """
    file = plan.path
    runs = file.with_name("runs")
    seeds = list(seeds)

    def request_of(rows: str | None) -> Request:
        return request_for(file, (), rows, seeds=seeds, settings=user_settings, runs=runs)

    def fit_rows(rows: str | None, *, jobs: int) -> Fitted:
        return fit_for(plan.command, partial(request_of, rows), jobs=jobs)

    try:
        content = read_yaml(file)
        rows = list(content["table"]["rows"])
        if content["model"]["init_args"].get("optimization", {}).get("optimizer") == "logistic":
            # here one after another, because a process takes longer to start than such a run
            for row in rows:
                fit_rows(row, jobs=1)
            return Fitted(request_of(None))

        if content["data"]["init_args"].get("features") and len(rows) > 1:
            # the first row computes the features of all videos, on all cores
            fit_rows(rows[0], jobs=1)

        return fit_rows(None, jobs=jobs or min(side_by_side, usable_cores()))

    except (RunFailed, RunStopped):
        raise

    except UserError:
        if plan.is_new and not (runs / file.stem).exists():
            file.unlink()
        raise
