"""REPRODUCE.md and docs/results: which claims hold, and every table that was run."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lit_video.api.arguments import File
from lit_video.errors import UserError
from lit_video.reports.markdown import pages
from lit_video.utils.files import user_path, write_atomically, writing
from lit_video.utils.shown import Part, Shown
from lit_video.utils.yaml_files import find_experiments


@dataclass(frozen=True, repr=False)
class Reproduced(Shown):
    """Pages of results."""

    files: list[Path]  # all pages
    out_of_date: list[Path]  # pages that differed from the results; written, unless only checked
    checked: bool  # nothing was written

    @property
    def ok(self) -> bool:
        """True if the pages are those of the results now."""
        return not (self.checked and self.out_of_date)

    def parts(self) -> Sequence[Part]:
        """Return what was written, or what is out of date."""
        if not self.checked:
            return [f"wrote {', '.join(map(str, self.files))}"]
        if not self.ok:
            return [f"{', '.join(map(str, self.out_of_date))}: out of date; run lit_video reproduce"]
        return ["up to date"]


def reproduce(
    results: File = "benchmarks/results",
    *,
    experiments: File = "experiments",
    output: File = "REPRODUCE.md",
    check: bool = False,
) -> Reproduced:
    """Write REPRODUCE.md and docs/results: which claims hold, and every table that was run.

    Args:
        results: folder of packs or runs.
        experiments: folder of the tables' YAML files.
        output: file of the verdicts; the tables' pages lie in ``docs/results`` beside it.
        check: write nothing, see ``Reproduced.ok``.

    Raises:
        UserError: there is no such folder, a run is damaged, or a file cannot be written.
    """
    folder = user_path(results)
    if not folder.is_dir():
        raise UserError(f"--results {folder}: no such folder")

    file = user_path(output)
    texts = pages(find_experiments(experiments), folder)
    contents = {file: texts.pop(Path())}
    for path, text in texts.items():
        contents[file.parent / path] = text

    old = [path for path, text in contents.items() if not path.exists() or path.read_text("utf-8") != text]
    if not check:
        for path, text in contents.items():
            with writing("--output", path):
                path.parent.mkdir(parents=True, exist_ok=True)
                write_atomically(path, text)
    return Reproduced(list(contents), old, check)
