"""What is kept of the faults that were injected into a run."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from benchmarks.faults.attempt import Attempt, Setting
from benchmarks.faults.checks import Outcome, differences, read_outcome


@dataclass(frozen=True)
class Injection:
    """A fault in a phase, some seconds after its first event."""

    fault: str
    phase: str
    delay: float = 0.0


@dataclass(frozen=True)
class Cell:
    """Faults that hit a run, one in each start of it.

    Args:
        setting: what is run.
        injections: one after the other.
    """

    setting: Setting
    injections: tuple[Injection, ...]


@dataclass
class Record:
    """What happened in a cell.

    Args:
        setting: what was run.
        injections: each with the exit status of the run, its last line, whether it was hit, and what was not as it
            should be.
        recovered: the same command gave the right result.
        tries: of the same command until then.
        lost: results that were there, or said to be, and are not.
        wrong: results that differ from those of the run without faults.
        problems: of the same command without a fault.
        seconds: that it took.
    """

    setting: dict[str, Any]
    injections: list[dict[str, Any]] = field(default_factory=list)
    recovered: bool = False
    tries: int = 0
    lost: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def add(
        self,
        injection: Injection,
        hit: bool,
        status: int | None = None,
        line: str = "",
        problems: Sequence[str] = (),
        said: str = "",
    ) -> None:
        """Add an injection; ``said`` is what a run with problems wrote to stderr."""
        end = {"hit": hit, "status": status, "line": line, "problems": list(problems)}
        self.injections.append(asdict(injection) | end | ({"stderr": said} if said else {}))

    def judge(self, attempt: Attempt, status: int | None, right: Outcome) -> bool:
        """Whether a run that ended left a result, and the right one; else what is lost or wrong is kept."""
        try:
            ours = read_outcome(attempt.run_dir)
        except Exception as error:  # whatever a damaged file raises
            self.lost.append(f"result or weights cannot be read: {type(error).__name__}: {error}"[:300])
            return False
        if ours is None:
            if status == 0:
                self.lost.append("exit status 0 without result.json")
            return False
        found = differences(ours, right)
        self.wrong += found
        return not found
