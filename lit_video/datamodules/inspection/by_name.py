"""Data sets by the names that the ``data`` commands take."""

from collections.abc import Sequence
from pathlib import Path

from jsonargparse import ArgumentError, ArgumentParser

from lit_video.datamodules import (
    HMDB51,
    UCF101,
    Diving48,
    EpicKitchens100,
    HowTo100MTasks,
    Kinetics400,
    Kinetics600,
    MovingShapes,
    SomethingV2,
    TemporalSkills,
    VideoCSV,
    VideoDataModule,
    VideoFolder,
)
from lit_video.errors import UserError
from lit_video.utils.parser_errors import explain

DATASETS: dict[str, type[VideoDataModule]] = {
    "csv": VideoCSV,
    "diving48": Diving48,
    "epic_kitchens100": EpicKitchens100,
    "folder": VideoFolder,
    "hmdb51": HMDB51,
    "howto100m": HowTo100MTasks,
    "kinetics400": Kinetics400,
    "kinetics600": Kinetics600,
    "moving_shapes": MovingShapes,
    "ssv2": SomethingV2,
    "temporal_skills": TemporalSkills,
    "ucf101": UCF101,
}


def open_dataset(name: str, root: Path, flags: Sequence[str]) -> VideoDataModule:
    """A data set by its name in ``DATASETS``, with its folder and flags ``--data.X=Y``, its other arguments.

    Raises:
        UserError: there is no such data set, root or argument.
    """
    if name not in DATASETS:
        raise UserError(f"--dataset: no data set {name!r}; data sets: {', '.join(sorted(DATASETS))}")
    if not root.is_dir():
        raise UserError(f"ROOT: the folder {root} does not exist")
    parser = ArgumentParser(exit_on_error=False)
    parser.add_class_arguments(DATASETS[name], "data")
    try:
        config = parser.parse_args([f"--data.root={root}", *flags])
        data: VideoDataModule = parser.instantiate(config).data
    except (ArgumentError, ValueError, TypeError) as error:
        raise UserError(": ".join(filter(None, explain(str(error))))) from error
    return data
