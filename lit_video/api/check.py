"""Videos of a data set: what is there, what is missing, what is broken."""

from __future__ import annotations  # a signature then shows names of types, such as Count

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lit_video.api.arguments import File, existing_path, refuse_unwritable
from lit_video.errors import UserError
from lit_video.settings.flags import DRAWN_ON_USE, Settings, as_user_settings, classes_of, refuse_unknown_class
from lit_video.settings.messages import refuse_unknown_setting
from lit_video.utils.files import files_below, user_path
from lit_video.utils.shown import Part, Shown

if TYPE_CHECKING:
    from lit_video.datamodules import VideoDataModule


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
