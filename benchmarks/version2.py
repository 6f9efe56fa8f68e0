"""Keep what version 2 of TemporalSkills had found: its verdicts, and the time that each table took.

python -m benchmarks.version2 -o benchmarks/results/version2.json

In version 2 the direction of some skills could be told from the first frame alone. Its runs were removed with it, and
are in the history: this reads them from the last commit that had them, in a clone with its history. The page
docs/evidence.md shows those verdicts beside today's, and what a table that was not run again would take.
"""

import argparse
import io
import json
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from statistics import mean
from typing import Any

from lit_video.errors import UserError
from lit_video.utils.environment import commit
from lit_video.utils.files import write_atomically
from lit_video.utils.stop_signals import DONE, MISTAKE

ROOT = Path(__file__).parents[1]
LAST = "8ab9a983"  # the last commit with all verdicts of version 2
SCALE = "embedded"  # the tables' own scale, on the synthetic videos
RESULTS = "benchmarks/results/"
RUN = "run.json"  # the record of a run within a pack


def at_last(*words: str) -> bytes:
    """Return what git prints of the last commit of version 2.

    Raises:
        UserError: The clone does not have that commit.
    """
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True)
    if done.returncode:
        raise UserError(f"git has no commit {LAST} here; a clone without its history does: git fetch --unshallow")
    return done.stdout


def verdicts_of(page: str) -> dict[str, str]:
    """Return the verdict of each claim of a REPRODUCE.md, by the claim's sentence, without its power and follow-ups."""
    found = {}
    for line in page.splitlines():
        if line.startswith("|"):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if cells[0].isdigit():  # today's page numbers its claims
                del cells[0]
            sentence = _without_link(cells[0])
            if sentence.endswith("."):
                found[sentence] = _without_power(cells[1])
    return found


def _without_link(cell: str) -> str:
    if cell.startswith("[") and "](docs/results/" in cell:
        return cell[1:].partition("](docs/results/")[0]
    return cell


def _without_power(verdict: str) -> str:
    for mark in (" ± ", " (80 %", ";"):
        verdict = verdict.partition(mark)[0]
    return verdict.strip()


def records(pack: bytes) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield scale and result of each run of a pack."""
    with tarfile.open(fileobj=io.BytesIO(pack), mode="r:xz") as archive:
        for member in archive:
            path = Path(member.name)
            content = archive.extractfile(member) if path.name == RUN else None
            if content is not None:
                yield path.parts[1], json.load(content)["result"]


def time_of(pack: bytes) -> dict[str, Any] | None:
    """Return rows, steps and hours of one seed of a table at its own scale; ``None`` if it was not run there."""
    seconds: dict[str, list[float]] = {}
    steps = set()
    for scale, result in records(pack):
        if scale == SCALE:
            seconds.setdefault(result["row"], []).append(result["seconds"])
            steps.add(result["steps"])
    if not seconds:
        return None
    hours = sum(mean(of_row) for of_row in seconds.values()) / 3600
    return {"rows": len(seconds), "steps": sorted(steps), "hours": round(hours, 3)}


def main() -> int:
    """Read the commit and write the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="JSON")
    given = parser.parse_args()
    try:
        page = at_last("show", f"{LAST}:REPRODUCE.md").decode()
        names = at_last("ls-tree", "--name-only", LAST, RESULTS).decode().split()
        tables = {}
        for name in names:
            if name.endswith(".tar.xz"):
                table = name.removeprefix(RESULTS).removesuffix(".tar.xz")
                tables[table] = time_of(at_last("show", f"{LAST}:{name}"))
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return MISTAKE

    kept = {
        "command": f"python -m benchmarks.version2 -o {given.output}",
        "commit": commit(),
        "read": LAST,
        "verdicts": verdicts_of(page),
        "tables": {name: time for name, time in tables.items() if time},
    }
    write_atomically(given.output, json.dumps(kept, indent=1, ensure_ascii=False) + "\n")
    return DONE


if __name__ == "__main__":
    sys.exit(main())
