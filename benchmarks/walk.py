"""Count the way of a command through the package: functions entered, files, and returns to a file that was left.

    python -m benchmarks.walk fit --config tests/small/ablation_tw.yaml --row tw1 --runs DIR --trainer.max_steps 2 ...
    python -m benchmarks.walk --list table skills
    python -m benchmarks.walk -C CHECKOUT table skills

The command runs twice in this process, and the second time is traced: imports and caches are warm. A function counts
once, where it is first entered; a return is a first entry in a file that the way has left before. Code that runs in
other processes or threads, and module bodies, do not count. DIR in the arguments stands for a new folder each time.
"""

import argparse
import contextlib
import io
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

Step = tuple[str, str]  # file and qualified name of a function
PACKAGE = "lit_video"
UNNAMED = ("<module>", "<lambda>", "<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>")


def first_calls(function: Callable[[], object], folder: Path) -> list[Step]:
    """Call a function; return the functions of a package that it enters, in the order of their first calls."""
    reached: dict[Step, None] = {}
    prefix = f"{folder}{os.sep}"

    def note(frame: object, event: str, _: object) -> None:
        code = frame.f_code  # type: ignore[attr-defined]
        if event == "call" and code.co_filename.startswith(prefix):
            path = code.co_filename.removeprefix(prefix)
            reached.setdefault((f"{folder.name}/{path}", code.co_qualname))

    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(None)
    return list(reached)


@dataclass(frozen=True)
class Way:
    """The functions that a command enters, in the order of their first calls."""

    steps: Sequence[Step]

    @property
    def files(self) -> int:
        """Number of files."""
        return len({file for file, _ in self.steps})

    @property
    def returns(self) -> int:
        """Number of first calls in a file that the way has left before."""
        left: set[str] = set()
        count = 0
        before = ""
        for file, _ in self.steps:
            if file != before:
                count += file in left
                left.add(before)
            before = file
        return count

    def __str__(self) -> str:
        return f"{len(self.steps)} functions, {self.files} files, {self.returns} returns"


def way(words: Sequence[str]) -> Way:
    """Run a command twice and return the way of the second time, without what it prints."""
    package = import_module(PACKAGE)
    command = import_module(f"{PACKAGE}.__main__").main

    def run() -> None:
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
            status = command([word.replace("DIR", folder) for word in words])
        if status:
            raise SystemExit(f"{' '.join(words)}: exit status {status}")

    run()
    steps = first_calls(run, Path(str(package.__file__)).parent)
    named = [(file, name) for file, name in steps if name.rpartition(".")[2] not in UNNAMED]
    return Way(named)


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-C", dest="checkout", type=Path, default=Path(), help="another checkout of lit_video")
    parser.add_argument("--list", action="store_true", help="print the way, too")
    parser.add_argument("words", nargs=argparse.REMAINDER, metavar="COMMAND", help="command and its arguments")
    given = parser.parse_args()

    os.chdir(given.checkout)
    sys.path.insert(0, str(Path.cwd()))
    walked = way(given.words)
    if given.list:
        print("\n".join(f"{file}: {name}" for file, name in walked.steps))
    print(walked)
    return 0


if __name__ == "__main__":
    sys.exit(main())
