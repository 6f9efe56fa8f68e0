"""Command line of the papers' pages."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import papers
from benchmarks.papers.pages import pages
from benchmarks.roundings import roundings_apart
from lit_video.errors import UserError
from lit_video.utils.files import user_path, write_atomically, writing
from lit_video.utils.processes import DONE, FAILED, MISTAKE
from lit_video.utils.yaml_files import find_experiments

PROGRAM = "python -m benchmarks.papers"


def main(words: Sequence[str] | None = None) -> int:
    """Write the pages, or check them; return the exit status."""
    parser = argparse.ArgumentParser(prog=PROGRAM, description=papers.__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a page is not up to date")
    text = "folder of packs or runs (default: %(default)s)"
    parser.add_argument("--results", type=user_path, default="benchmarks/results", metavar="DIR", help=text)
    text = "folder of the tables' YAML files (default: %(default)s)"
    parser.add_argument("--experiments", default="experiments", metavar="DIR", help=text)
    text = "file of the verdicts; the tables' pages lie in docs/results beside it (default: %(default)s)"
    parser.add_argument("--output", "-o", type=user_path, default="REPRODUCE.md", metavar="FILE", help=text)
    asked = parser.parse_args(words)

    try:
        contents = _contents(find_experiments(asked.experiments), asked.results, asked.output)
        return _check(contents) if asked.check else _write(contents)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return MISTAKE


def _contents(experiments: Path, results: Path, output: Path) -> dict[Path, str]:
    """Return all pages by path."""
    if not results.is_dir():
        raise UserError(f"--results {results}: no such folder")

    texts = pages(experiments, results)
    contents = {output: texts.pop(Path())}
    for path, text in texts.items():
        contents[output.parent / path] = text
    return contents


def _out_of_date(contents: dict[Path, str]) -> list[Path]:
    """Return the pages that differ from the results, and print which are kept.

    A page is kept if only last digits differ, by a rounding: on another CPU a mean may differ in its last bit.
    """
    differing: list[Path] = []
    for path, text in contents.items():
        pairs = roundings_apart(path.read_text("utf-8"), text) if path.exists() else None
        if pairs is None:
            differing.append(path)
        elif pairs:
            apart = ", ".join(f"{there} is {here} here" for there, here in pairs[:3])
            print(f"{path}: kept, though last digits differ ({apart}); delete it to write them")
    return differing


def _check(contents: dict[Path, str]) -> int:
    """Print which pages are out of date; return the exit status."""
    differing = _out_of_date(contents)
    names = ", ".join(map(str, differing))
    print(f"{names}: out of date; run {PROGRAM}" if differing else "up to date")
    return FAILED if differing else DONE


def _write(contents: dict[Path, str]) -> int:
    """Write the pages that are out of date; return the exit status."""
    differing = _out_of_date(contents)
    for path in differing:
        with writing("--output", path):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, contents[path])
    names = ", ".join(map(str, differing))
    print(f"wrote {names}" if differing else "up to date")
    return DONE


if __name__ == "__main__":
    sys.exit(main())
