"""REPRODUCE.md and docs/results: which claims hold, and every table that was run."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lit_video.api.arguments import File
from lit_video.errors import UserError
from lit_video.reports.markdown import pages
from lit_video.utils.files import user_path, write_atomically, writing
from lit_video.utils.shown import Part, Shown
from lit_video.utils.text import roundings_apart
from lit_video.utils.yaml_files import find_experiments


@dataclass(frozen=True, repr=False)
class Reproduced(Shown):
    """Pages of results."""

    files: list[Path]  # all pages
    out_of_date: list[Path]  # pages that differed from the results; written, unless only checked
    checked: bool  # nothing was written
    rounded: dict[Path, list[tuple[str, str]]]  # by page, numbers that differ by a rounding; such a page is kept

    @property
    def ok(self) -> bool:
        """True if the pages are those of the results now."""
        return not (self.checked and self.out_of_date)

    def parts(self) -> Sequence[Part]:
        """Return what was written, or what is out of date."""
        names = ", ".join(map(str, self.out_of_date))
        lines = ["up to date"]
        if names:
            lines = [f"{names}: out of date; run lit_video reproduce" if self.checked else f"wrote {names}"]
        for page, pairs in self.rounded.items():
            apart = ", ".join(f"{there} is {here} here" for there, here in pairs[:3])
            lines.append(f"{page}: kept, though last digits differ ({apart}); delete it to write them")
        return ["\n".join(lines)]


def reproduce(
    results: File = "benchmarks/results",
    *,
    experiments: File = "experiments",
    output: File = "REPRODUCE.md",
    check: bool = False,
) -> Reproduced:
    """Write REPRODUCE.md and docs/results: which claims hold, and every table that was run.

    A page is kept if only last digits differ, by a rounding: on another CPU a mean may differ in its last bit.

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

    out_of_date = []
    rounded = {}
    for path, text in contents.items():
        pairs = roundings_apart(path.read_text("utf-8"), text) if path.exists() else None
        if pairs is None:
            out_of_date.append(path)
        elif pairs:
            rounded[path] = pairs

    if not check:
        for path in out_of_date:
            with writing("--output", path):
                path.parent.mkdir(parents=True, exist_ok=True)
                write_atomically(path, contents[path])
    return Reproduced(list(contents), out_of_date, check, rounded)
