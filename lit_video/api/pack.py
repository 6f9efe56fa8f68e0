"""Finished runs in one file per table."""

from __future__ import annotations  # a signature then shows names of types, such as Count

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lit_video.api.arguments import File, places
from lit_video.runs.packing import pack_runs
from lit_video.utils.files import user_path, writing
from lit_video.utils.text import Part, Shown


@dataclass(frozen=True, repr=False)
class Packed(Shown):
    """Packs that were written."""

    packs: dict[Path, int]  # number of runs by file

    def parts(self) -> Sequence[Part]:
        """Return a line for each pack."""
        lines = [f"{path}: {runs} runs, {path.stat().st_size / 1e3:.0f} kB" for path, runs in self.packs.items()]
        return ["\n".join(lines)]


def pack(runs: File | Sequence[File] = "runs", *, output: File) -> Packed:
    """Write finished runs into one file per table, without logits and checkpoints.

    ``table`` and ``report`` read these files like runs.

    Args:
        runs: folders of runs.
        output: folder to write.

    Raises:
        UserError: there is no finished run, or one is damaged, or a file cannot be written.
    """
    folder = user_path(output)
    with writing("--output", folder):
        return Packed(dict(pack_runs(places(runs), folder)))
