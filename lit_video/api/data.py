"""Data sets: what is there, missing or broken; their re-encoding for training; the floors of the temporal skills."""

from __future__ import annotations  # a signature then shows names of types, such as Count

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from lit_video.api.arguments import File, Files, Rows, existing_path, refuse_unwritable, request_for
from lit_video.errors import UserError
from lit_video.experiment.request import Run
from lit_video.settings.class_names import DRAWN_ON_USE, classes_of, refuse_unknown_class
from lit_video.settings.flags import Settings, as_user_settings
from lit_video.settings.messages import refuse_unknown_setting
from lit_video.utils.arguments import Range, refuse_wrong_values
from lit_video.utils.files import COMMON, files_below, is_video, user_path
from lit_video.utils.text import Part, Shown, TextTable

if TYPE_CHECKING:
    from lit_video.datamodules import VideoDataModule
    from lit_video.datamodules.preparation import Prepared

Preset = Literal["small", "fast", "fastest"]
ShortSide = Annotated[int, Range(16)]
FLOORS_HEADER = ["skill", "kind", "blind", "one frame", "two frames", "sum (bound)", "events within reach"]


@dataclass(frozen=True, repr=False)
class Checked(Shown):
    """Result of a check of a data set."""

    data: VideoDataModule
    faults: dict[str, dict[str, list[str]]]  # by split and verdict: a line for each faulty video
    contradictions: list[str]  # equal videos in two splits or classes
    manifest: Path  # a row per video

    @property
    def ok(self) -> bool:
        """True if nothing is missing or broken, and no equal videos are in two splits or classes."""
        from lit_video.datamodules.inspection import VERDICTS

        faulty = any(counts[verdict] for counts in self.faults.values() for verdict in VERDICTS)
        return not faulty and not self.contradictions

    def parts(self) -> Sequence[Part]:
        """Return counts per split, the first faulty videos, and the data digest."""
        from lit_video.datamodules.inspection import check_report

        return [check_report(self.data, self.faults, self.manifest)]

    def _repr_html_(self) -> str:
        return f"<pre>{super()._repr_html_()}</pre>"


def check(
    root: File, dataset: str, *, settings: Settings = (), decode: bool = False, output: File | None = None
) -> Checked:
    """Look at every video of every split, and write one row per video to a manifest.

    Args:
        root: folder of the data set.
        dataset: name of its class, such as ``VideoFolder``.
        settings: further arguments of the class, ``{"data": {"train": "train.csv"}}``.
        decode: decode every frame, not only the first.
        output: file of the manifest; ``None`` for ``ROOT/manifest.sqlite``.

    Raises:
        UserError: there is no such class or folder, or a setting is wrong.
    """
    folder = existing_path(root, "no such folder")
    if not folder.is_dir():
        raise UserError(f"{root}: is a file, expected the folder of the data set")
    refuse_unknown_class("dataset", dataset)
    if dataset != DRAWN_ON_USE and next(files_below(folder), None) is None:
        raise UserError(f"{root}: holds no file; give the folder of the data set")
    user_settings = as_user_settings(settings)
    for setting in user_settings:
        if not setting.key.startswith("data."):
            raise UserError(f"settings: {setting.key}: is no setting of the data set; give those of data")
        if dataset in classes_of("datamodules"):
            refuse_unknown_setting(setting.key)

    asked = None if output is None else refuse_unwritable("output", user_path(output))

    # here, because importing torch takes seconds
    from lit_video.datamodules.inspection import contradictions, find_faults, open_dataset
    from lit_video.datamodules.manifest import MANIFEST
    from lit_video.experiment.layers import with_user_settings

    file = asked or folder / MANIFEST
    data = open_dataset(
        with_user_settings({"data": {"class_path": dataset, "init_args": {"root": str(folder)}}}, user_settings)
    )
    faults = find_faults(data, file, decode)
    return Checked(data, faults, contradictions(data), file)


def prepare(src: File, dst: File, *, preset: Preset = "small", short_side: ShortSide = 256) -> Prepared:
    """Encode every video of a folder for fast training, copy its annotations, and list the videos in a table.

    A call that was stopped goes on where it was.

    Args:
        src: folder of videos or of class folders.
        dst: another folder; ``videos.csv`` in it lists its videos.
        preset: ``small``, or ``fast`` (a seventh larger) and ``fastest`` (three times as large) for faster reading.
        short_side: maximum of the shorter side in pixels.

    Returns:
        The table of the videos, and the videos that cannot be read with the reasons.

    Raises:
        UserError: there is no such folder, a video is missing, or the folder cannot be written.
    """
    refuse_wrong_values(prepare, locals())
    source = existing_path(src, "no such folder")
    if not any(map(is_video, files_below(source))):
        raise UserError(f"SRC: {source} holds no video ({', '.join(sorted(COMMON))})")

    from lit_video.datamodules.preparation import PRESETS, prepare_folder  # here, because importing torch takes seconds

    return prepare_folder(source, user_path(dst), replace(PRESETS[preset], short_side=short_side))


@dataclass(frozen=True, repr=False)
class Floors(Shown):
    """Floors of the direction in percent, by skill."""

    steps: int  # turns of the data set's circle of time
    blind: float  # highest top-1 over all skills of models that see a set of frames, in percent
    kinds: dict[str, str]  # by skill
    two_frames: dict[str, float]  # by skill: the best guess from two neighbouring frames at a known time, if known
    sums: dict[str, float]  # by skill: a bound of any sum over frames at known times, if it is known
    within_reach: dict[str, str]  # by skill, in words: films that show both events within some frames

    def parts(self) -> Sequence[Part]:
        """Return a line for each skill."""
        body = []
        for name, kind in self.kinds.items():
            two = f"{self.two_frames[name]:.1f}" if name in self.two_frames else ""
            bound = f"{self.sums[name]:.1f}" if name in self.sums else ""
            body.append([name, kind, "50.0", "50.0", two, bound, self.within_reach[name]])
        turns = f"Direction in %, turns of {self.steps} steps"
        return [TextTable(f"{turns}; top-1 of blind models over all skills: {self.blind:.1f}", FLOORS_HEADER, body)]


def floors(
    table: Files,
    overlays: Files = (),
    rows: Rows | None = None,
    *,
    settings: Settings = (),
    recipe: str | None = None,
) -> Floors:
    """Return what can be told of a table's temporal skills with little or no comparison of frames.

    Blind: models that see a set of frames. One frame, two frames: the best guess from one frame, or two neighbouring
    ones, at a known time. Sum: a bound of any sum over frames at known times, unknown where states are continuous or
    turns long. Events within reach: how many films show both events at most so many frames apart.

    Args:
        table: name or path of a table on TemporalSkills.
        overlays: names or paths of further files, such as ``scale/twelve``.
        rows: the row whose data set is meant; ``None`` for the first one.
        settings: nested data as in a YAML file, over files and rows.
        recipe: the scale's recipe where the paper and its code disagree.

    Raises:
        UserError: the table is wrong, or not on TemporalSkills.
    """
    request = request_for(table, overlays, rows, settings=settings, recipe=recipe)
    run = Run(request, request.rows[0], request.seeds[0])
    run.refuse_early()

    from lit_video.datamodules import TemporalSkills  # here, because importing torch takes seconds
    from lit_video.experiment.spec import Spec

    data = Spec(run).build("meta").datamodule
    if not isinstance(data, TemporalSkills):
        raise UserError(f"data: {type(data).__name__} has no known floors; give a table on TemporalSkills")
    return Floors(
        steps=data.steps,
        blind=data.blind_ceiling,
        kinds={name: skill.kind for name, skill in data.skills.items()},
        two_frames=data.two_frames_ceilings(),
        sums=data.sum_ceilings(),
        within_reach={name: _within_reach(name, data.steps) for name in data.skills},
    )


def _within_reach(name: str, steps: int) -> str:
    """Say for orderN which share of films shows both events within N frames, and within T - N frames."""
    from lit_video.datamodules.films import events_apart
    from lit_video.datamodules.floors import share_in_reach

    apart = events_apart(name)
    if apart is None:
        return ""
    near = share_in_reach(apart, steps, apart)
    return f"{near:.0%} within {apart}, all within {steps - apart}"
