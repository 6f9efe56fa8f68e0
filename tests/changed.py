"""Run the tests that a change can break, nearest first by imports, for a minute at most: a habit, not a gate.

    python -m tests.changed [BRANCH]

A change is what differs from the branch (main): commits, and files of the working tree.
"""

import re
import subprocess
import sys
import time
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

import lit_video
from tests.around import ROOT
from tests.imports import modules_of, name_of, names_imported

SECONDS = 30  # for tests; the rest of the minute is for imports
MOST_FILES = 40  # files of tests; to collect them all takes seconds too


def changed_files(branch: str) -> list[Path]:
    """Return the files that differ from a branch at the point where this one left it, and files that git has not."""
    commands = [
        ["git", "diff", "--name-only", "--merge-base", branch],
        ["git", "ls-files", "--others", "--exclude-standard"],
    ]
    listed = [subprocess.run(each, cwd=ROOT, check=True, capture_output=True, text=True).stdout for each in commands]
    return [ROOT / line for text in listed for line in text.splitlines()]


def used_by(path: Path, modules: Iterable[str], others: Iterable[Path]) -> set[str]:
    """Return what a file uses: modules that it imports, and as a test, commands and files that it names.

    Args:
        path: a Python file.
        modules: names of this repository's modules.
        others: files that are no modules; named by a test that has their name, or lists files with their ending.
    """
    names = set(names_imported(path))
    if path.is_relative_to(ROOT / "tests"):
        text = path.read_text(encoding="utf-8")
        names |= {f"lit_video.commands.{word}" for word in re.findall(r'"(\w+)"', text)}
        functions = set(re.findall(r"\blit_video\.(\w+)", text)) & lit_video.MODULES.keys()
        names |= {f"lit_video.{lit_video.MODULES[name] or name}" for name in functions}
        named = [path for path in others if path.stem in text or (path.suffix and f"*{path.suffix}" in text)]
        return names & set(modules) | {name_of(path) for path in named}
    return names & set(modules)


def nearest(changed: Iterable[str], uses: Mapping[str, set[str]]) -> list[str]:
    """Return the modules of tests by their way to a change, the shortest first, then those that use little else."""
    users = defaultdict(set)
    for module, used in uses.items():
        for name in used:
            users[name].add(module)

    distance = dict.fromkeys(changed, 0)
    waiting = deque(distance)
    while waiting:
        name = waiting.popleft()
        for user in users[name] - distance.keys():
            distance[user] = distance[name] + 1
            waiting.append(user)

    tests = [name for name in distance.keys() & uses.keys() if name.rpartition(".")[2].startswith("test_")]
    return sorted(tests, key=lambda name: (distance[name], len(uses[name]), name))


class Limit:
    """Plugin of pytest that starts no test when the time is over."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.is_over = False
        self.failed = 0

    def pytest_collection_finish(self) -> None:
        """Start the clock."""
        self.end = time.monotonic() + self.seconds

    def pytest_runtest_teardown(self, item: pytest.Item) -> None:
        """Count the tests that failed, which a stop would hide, and stop."""
        self.failed = item.session.testsfailed
        self.is_over = time.monotonic() > self.end
        if self.is_over:
            item.session.shouldstop = "the time is over; make quick runs all tests"


def main(branch: str = "main") -> int:
    """Run the tests; return pytest's exit status, 0 if there are none."""
    changed = changed_files(branch)
    modules = modules_of("benchmarks", "docs/scripts", "lit_video", "tests")
    others = [path for path in changed if path.suffix != ".py"]
    uses = {name: used_by(path, modules, others) for name, path in modules.items()}

    files = [str(modules[name]) for name in nearest(map(name_of, changed), uses)]
    print(f"{len(changed)} changed files; the nearest of {len(files)} files of tests", flush=True)
    if not files:
        return 0
    limit = Limit(SECONDS)
    status = pytest.main(["-q", *files[:MOST_FILES]], plugins=[limit])
    is_good = status in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
    return 0 if is_good or (limit.is_over and not limit.failed) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
