"""Data sets by the names that the ``data`` commands know."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from jsonargparse import ArgumentParser

from lit_video.datamodules.base import VideoDataModule
from lit_video.datamodules.folder import VideoFolder
from lit_video.datamodules.moving_shapes import MovingShapes
from lit_video.datamodules.something_v2 import SomethingV2
from lit_video.errors import UserError
from lit_video.explain import explain

DATASETS: dict[str, type[VideoDataModule]] = {
    "folder": VideoFolder,
    "moving_shapes": MovingShapes,
    "ssv2": SomethingV2,
}


def open_dataset(name: str, root: Path, flags: Sequence[str]) -> VideoDataModule:
    """A data set by its name.

    Args:
        name: one of ``DATASETS``.
        root: its folder.
        flags: ``--data.X=Y``, its other arguments.

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
    except (argparse.ArgumentError, ValueError, TypeError) as error:
        raise UserError(": ".join(filter(None, explain(str(error))))) from error
    return data
