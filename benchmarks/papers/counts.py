"""Counts of what stands beside the papers' words: rows, settings, facts, printed numbers, and what is left to say.

S are settings that differ from a source in silence, D are cells of docs/settings.md that are untrue.
"""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module

from benchmarks.papers.printed import printed_rows, two_trainings
from benchmarks.papers.shown import PAGE, as_shown, read_page, untrue
from lit_video.utils.processes import DONE, FAILED
from lit_video.utils.text import plural

RECIPES = ("paper", "released")
PROGRAM = "python -m benchmarks.papers.counts"


def main(words: Sequence[str] | None = None) -> int:
    """Print the counts and each finding; return 1 if there are findings."""
    parser = argparse.ArgumentParser(prog=PROGRAM, description=__doc__)
    text = "compare every row of the page with fit --print-config, which takes minutes"
    parser.add_argument("--resolve", action="store_true", help=text)
    resolve = parser.parse_args(words).resolve

    sys.path.insert(0, str(PAGE.parent / "scripts"))
    page = import_module("settings_page")
    print(page.counted(page.read_facts()))

    silent = page.faults(page.read_facts())
    silent += [str(pair) for recipe in RECIPES for pair in two_trainings(printed_rows(recipe))]
    print(f"S, differs in silence: {len(silent)}", *silent, sep="\n  ")
    if not resolve:
        print("D, untrue: not counted; --resolve compares the page with fit --print-config")
        return FAILED if silent else DONE

    shown = read_page()
    found = []
    rows = 0
    for key, of_table in shown.tables.items():
        found += list(untrue(shown, key))
        rows += len(of_table)
    some = next(iter(shown.tables.values()))[0]
    names = as_shown(some, next(iter(shown.recipes.values())))
    print(f"D, untrue: {len(found)} of {rows * len(names)} cells of {plural(rows, 'row')}", *found, sep="\n  ")
    return FAILED if silent or found else DONE


if __name__ == "__main__":
    sys.exit(main())
