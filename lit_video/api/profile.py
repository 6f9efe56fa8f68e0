"""Sight, cost and skills of an attention scheme."""

from __future__ import annotations  # a signature then shows names of types, such as Count

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lit_video.api.arguments import File, checked_seeds
from lit_video.api.compare import Compared, compare
from lit_video.api.fit import fit
from lit_video.api.report import report
from lit_video.api.schemes import name_of_scheme, scheme_of
from lit_video.errors import UserError
from lit_video.own_videos.finding import find_own_videos
from lit_video.schemes.built_in import KNOWN, OTHERS, built_in
from lit_video.schemes.skills_table import (
    CONTROL,
    PROFILE_SCALE,
    SKILLS_TABLE,
    learned_in_words,
    nearest_first,
    unmeasured,
    write_skills_table,
)
from lit_video.settings.flags import Settings, UserSetting, as_user_settings
from lit_video.tables.reading import read_table
from lit_video.tables.rendering import GroupAccuracies, groups_table, measured_groups
from lit_video.tables.summary import read_runs
from lit_video.utils.arguments import Count, refuse_wrong_values
from lit_video.utils.files import user_path, write_bytes, writing
from lit_video.utils.startup import set_up_process
from lit_video.utils.text import Part, Shown, TextTable, as_text

if TYPE_CHECKING:
    from lit_video.attention import Scheme
    from lit_video.schemes.contract import Contract
    from lit_video.schemes.layer_cost import Cost
    from lit_video.schemes.sight import Sight

_logger = logging.getLogger(__name__)

COMPARED = ("space", "xvit", "divided", "joint")  # schemes beside the user's own on videos


@dataclass(frozen=True, repr=False)
class Skills(Shown):
    """Accuracies on the temporal skills, the scheme's row first, then the most similar rows."""

    groups: list[GroupAccuracies]
    learned: list[str]  # skills that the trainings of the scheme and its control have begun and finished, in words
    not_run: str  # rows without runs, in words; empty if there are none
    page: Path  # results as HTML

    def parts(self) -> Sequence[Part]:
        """Return a table for each kind of group, what was learned, and which rows were not run."""
        tables = [TextTable(*groups_table(groups)) for groups in self.groups]
        return [*tables, *filter(None, ["\n".join(self.learned), self.not_run])]


@dataclass(frozen=True, repr=False)
class Profile(Shown):
    """Contract, sight, cost and skills of an attention scheme."""

    name: str
    contract: Contract  # checks that it passed, and faults
    words: dict[str, str]  # sight by topic; empty if it breaks its contract
    costs: list[Cost]  # costs of one layer, the scheme first if it has one; empty if it breaks its contract
    no_costs: dict[str, str]  # schemes that cannot take the clip of the costs, and why
    picture: Path | None = None  # PNG of the tokens that see each other
    skills: Skills | None = None  # if it was trained on temporal skills
    compared: Compared | None = None  # if it was trained on videos

    @property
    def ok(self) -> bool:
        """True if the scheme keeps its contract."""
        return not self.contract.faults and self.contract.sight is not None

    def parts(self) -> Sequence[Part]:
        """Return the checks, what the scheme sees and costs, and what it learned."""
        parts: list[Part] = [_checks(self.contract)]
        if self.ok:
            parts.append("\n".join(f"{key}: {text}" for key, text in self.words.items()))
            parts += _cost_parts(self.costs, self.no_costs)
        for learned in (self.skills, self.compared):
            parts += learned.parts() if learned else []
        return parts


def _checks(contract: Contract) -> str:
    lines = [f"FAULT {check}: {fault}" if fault else f"ok    {check}" for check, fault in contract.findings.items()]
    return "\n".join([*lines, f"grids, frames x rows x columns: {contract.grids}"])


def _cost_parts(costs: list[Cost], no_costs: dict[str, str]) -> list[Part]:
    from lit_video.schemes.layer_cost import SCHEME_HEADER, scheme_cells

    title = "One layer, a clip of 16 x 64 x 64 pixels, on this CPU"
    table = TextTable(title, SCHEME_HEADER, [scheme_cells(cost) for cost in costs])
    return [table, *(f"{name} is not measured: {reason}" for name, reason in no_costs.items())]


def profile(
    scheme: str | Path | type[Scheme],
    *,
    seeds: Iterable[int] = (0,),
    output: File | None = None,
    train: bool = True,
    on: File | None = None,
    jobs: Count = 1,
    settings: Settings = (),
) -> Profile:
    """Say what an attention scheme sees of time.

    A scheme is checked; drawn, which tokens see which, and after how many layers; compared with built-in schemes in
    parameters, multiply-adds, memory and time; and trained on the temporal skills, for half of the tables' steps,
    beside its control without attention over frames and the rows of the skills table. One seed gives numbers, and no
    order of rows.
    A scheme that breaks its contract is not measured, see ``Profile.ok``. For a trained model: :func:`lit_video.probe`.

    Args:
        scheme: a class, ``FILE.py``, ``FILE.py:CLASS``, ``MODULE.CLASS``, or the name of a built-in one.
        seeds: seeds of its trainings.
        output: folder to write; ``None`` for ``profile/NAME``.
        train: also train the scheme.
        on: folder or table of videos to train the scheme on, beside other schemes, in place of the skills.
        jobs: number of runs at once.
        settings: nested data as in a YAML file, for the trainings.

    Raises:
        UserError: there is no such scheme, or an argument is wrong.
        RunFailed: a run ended without a result.
        RunStopped: a signal stopped a run at a checkpoint; the same call goes on.
    """
    refuse_wrong_values(profile, locals())
    training = _Training(checked_seeds(seeds), jobs, as_user_settings(settings))
    set_up_process()
    refuse_model(scheme)
    if train and on is not None:
        find_own_videos(user_path(on))  # refuses a place without videos before torch is imported
    return _profile_scheme(scheme, training, train=train, on=on, output=output)


def refuse_model(scheme: object) -> None:
    """Refuse a trained model, by its form: :func:`lit_video.probe` takes it."""
    text = str(scheme)
    if isinstance(scheme, type) or text in KNOWN or text.endswith(".py") or ".py:" in text:
        return
    named = text.startswith(("hub:", "torchvision:", "timm:"))
    if named or not isinstance(scheme, str | Path) or "/" in text or user_path(text).exists():
        raise UserError(f"{text} is no attention scheme; what a trained model sees: lit_video probe {text}")


def _profile_scheme(scheme: Any, training: _Training, *, train: bool, on: File | None, output: File | None) -> Profile:
    name, kind = scheme_of(scheme)
    text = name_of_scheme(scheme) if train else ""

    from lit_video.schemes.contract import check_contract
    from lit_video.schemes.layer_cost import costs, refusals
    from lit_video.schemes.sight import in_words

    contract = check_contract(kind)
    _logger.info(_checks(contract))
    if contract.faults or not contract.sight:
        return Profile(name, contract, words={}, costs=[], no_costs={})

    words = in_words(contract.sight)
    _logger.info("\n".join(["", *(f"{key}: {value}" for key, value in words.items())]))
    # the scheme is the first row, also under the name of a built-in one
    kinds = {name: kind} | {other: built for other, built in built_in().items() if other != name}
    no_costs = refusals(kinds)
    measured = costs({key: value for key, value in kinds.items() if key not in no_costs})
    for part in _cost_parts(measured, no_costs):
        _logger.info(f"\n{as_text(part)}")

    folder = Path("profile") / name if output is None else user_path(output)
    picture = folder / "sight.png"
    with writing("--output", folder):
        folder.mkdir(parents=True, exist_ok=True)
        write_bytes(picture, _picture(name, contract.sight, words))
    _logger.info(f"wrote {picture}")

    skills = None
    compared = None
    if train and on is not None:
        schemes = list(dict.fromkeys([*COMPARED, text]))
        compared = compare(
            on,
            schemes,
            seeds=training.seeds,
            output=folder,
            jobs=training.jobs,
            settings=training.settings,
        )
    elif train:
        skills = _skills(name, text, folder, training=training)
    return Profile(
        name,
        contract,
        words,
        costs=measured,
        no_costs=no_costs,
        picture=picture,
        skills=skills,
        compared=compared,
    )


def _picture(name: str, seen: Sight, words: dict[str, str]) -> bytes:
    from lit_video.schemes.contract import DEPTH, GRID, HEADS, WIDTH
    from lit_video.schemes.picture import sight_picture
    from lit_video.schemes.sight import sight

    def same_in_every_layer(make: Callable[[], Scheme]) -> Callable[[int], Scheme]:
        return lambda layer: make()

    sights = {name: seen}
    for key in ("space", "mixing", "factorised_heads", "joint"):
        make = partial(built_in()[key], WIDTH, HEADS)
        sights.setdefault(key, sight(same_in_every_layer(make), GRID, DEPTH))
    return sight_picture(name, sights, words)


@dataclass(frozen=True)
class _Training:
    seeds: list[int]
    jobs: int
    settings: Sequence[UserSetting]


def _skills(name: str, scheme: str, folder: Path, *, training: _Training) -> Skills:
    """Train the scheme and its control on the temporal skills, beside the table's rows."""
    row = OTHERS.get(name, name)
    runs = folder / "runs"
    with writing("--output", folder):
        file = write_skills_table(folder, row, scheme, settings=[setting.key for setting in training.settings])
    table = read_table([file, PROFILE_SCALE])
    trained = list(dict.fromkeys([row, CONTROL]))
    _logger.info(f"\ntrains {' and its control '.join(trained)}: about ten minutes of one core")
    fit(file, PROFILE_SCALE, trained, seeds=training.seeds, runs=runs, jobs=training.jobs, settings=training.settings)

    read = read_runs(table, runs, overridden=True)
    rows = read.data.rows
    groups = [nearest_first(accuracies, row) for accuracies in measured_groups(rows)]
    if not groups:
        raise UserError(f"{runs}: the row {row} was not tested on groups of classes, such as skills")
    for accuracies in groups:
        _logger.info(f"\n{as_text(TextTable(*groups_table(accuracies)))}")

    learned = [line for name in trained for line in learned_in_words(name, read.by_row[name])]
    not_run = unmeasured(rows)
    for line in filter(None, ["\n".join(learned), not_run]):
        _logger.info(line)
    page = report(runs / SKILLS_TABLE / table.scale, output=folder / "profile.html", overridden=True).path
    return Skills(groups, learned, not_run, page)
