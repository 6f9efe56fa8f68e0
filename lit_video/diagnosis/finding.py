"""What a check finds, and checks run side by side, each on its own."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

Level = Literal["ok", "warning", "problem"]


@dataclass(frozen=True)
class Finding:
    """A line of the report.

    Args:
        level: ``problem`` keeps runs from working, ``warning`` may.
        name: what was looked at.
        text: what was found.
        advice: what to do; empty if ``ok``.
    """

    level: Level
    name: str
    text: str
    advice: str = ""


Check = Callable[[], Iterable[Finding]]


def run_checks(checks: Mapping[str, Check], seconds: float) -> Iterator[Finding]:
    """Findings of all checks, in order. One that raises, or gives no answer in time, is a finding itself.

    Args:
        checks: by name.
        seconds: after which no check is waited for; a thread that hangs, as on a dead network disk, is left behind.
    """
    running = [_Running(name, check) for name, check in checks.items()]
    end = time.monotonic() + seconds
    for one in running:
        one.thread.join(max(end - time.monotonic(), 0))
        yield from one.findings(seconds)


class _Running:
    """A check in a thread of its own."""

    def __init__(self, name: str, check: Check) -> None:
        self.name = name
        self.check = check
        self.result: list[Finding] | None = None
        self.error: Exception | None = None
        self.thread = threading.Thread(target=self._work, daemon=True)
        self.thread.start()

    def _work(self) -> None:
        try:
            self.result = list(self.check())
        except Exception as error:  # whatever it is, the other checks go on
            self.error = error

    def findings(self, seconds: float) -> list[Finding]:
        if self.result is not None:
            return self.result
        if self.error is not None:
            reason = " ".join(f"{type(self.error).__name__}: {self.error}".split())[:200]
            return [Finding("warning", self.name, f"could not be checked ({reason})", "look at it by hand")]
        advice = "something hangs there: a dead network disk, a driver; look at it by hand"
        return [Finding("problem", self.name, f"no answer within {seconds:.0f} s", advice)]
