"""Count the way of a command through the package: functions entered, files, returns to a file that was left, lines run.

    python -m benchmarks.walk fit --config tests/small/ablation_tw.yaml --row tw1 --runs DIR --trainer.max_steps 2 ...
    python -m benchmarks.walk --list table skills
    python -m benchmarks.walk -C CHECKOUT table skills

The command runs twice in this process, and the second time is traced: imports and caches are warm. A function counts
once, where it is first entered; a return is a first entry in a file that the way has left before. Code that runs in
other processes or threads, and module bodies, do not count. DIR in the arguments stands for a new folder each time.
The package's functions and lines, in its source, stand beside what was entered and run.
"""

import argparse
import ast
import contextlib
import io
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import FrameType

Step = tuple[str, str]  # file and qualified name of a function
PACKAGE = "lit_video"
UNNAMED = ("<module>", "<lambda>", "<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>")


Line = tuple[str, int]  # file and number of a line


def traced(function: Callable[[], object], folder: Path) -> tuple[list[Step], set[Line]]:
    """Call a function; return the functions of a package that it enters, by first calls, and the lines that it runs."""
    reached: dict[Step, None] = {}
    lines: set[Line] = set()
    prefix = f"{folder}{os.sep}"

    def note_line(frame: FrameType, event: str, _: object) -> object:
        if event == "line":
            lines.add((frame.f_code.co_filename, frame.f_lineno))
        return note_line

    def note_call(frame: FrameType, _: str, __: object) -> object:
        code = frame.f_code
        if not code.co_filename.startswith(prefix):
            return None
        path = code.co_filename.removeprefix(prefix)
        reached.setdefault((f"{folder.name}/{path}", code.co_qualname))
        return note_line

    sys.settrace(note_call)  # type: ignore[arg-type]
    try:
        function()
    finally:
        sys.settrace(None)
    return list(reached), lines


@dataclass(frozen=True)
class Way:
    """The functions that a command enters, in the order of their first calls, and the number of lines that it runs."""

    steps: Sequence[Step]
    lines: int = 0

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
        return f"{len(self.steps)} functions, {self.files} files, {self.returns} returns, {self.lines} lines run"


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
    steps, lines = traced(run, Path(str(package.__file__)).parent)
    named = [(file, name) for file, name in steps if name.rpartition(".")[2] not in UNNAMED]
    return Way(named, len(lines))


def size_of(folder: Path) -> str:
    """Return the numbers of functions and of lines with code in a package's source, in words."""
    functions = 0
    lines = 0
    for path in folder.rglob("*.py"):
        nodes = [*ast.walk(ast.parse(path.read_bytes()))]
        functions += sum(isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) for node in nodes)
        lines += len({node.lineno for node in nodes if isinstance(node, ast.stmt | ast.expr)})
    return f"{functions} functions, {lines} lines with code"


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
    print(f"{walked}; the package: {size_of(Path(PACKAGE))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
