"""Checks that could crash or hang, in a process of their own."""

import json
import subprocess
import sys
from typing import Any

SECONDS = 90  # the first import of PyTorch from a cold network disk takes a minute


def probe(module: str) -> dict[str, Any]:
    """The JSON that a module of this package prints, run as a program.

    Raises:
        RuntimeError: it ends with an error, or is killed (with its last line), or hangs.
    """
    command = [sys.executable, "-m", f"lit_video.diagnosis.{module}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"no answer within {SECONDS} s") from None
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"ended with {done.returncode} and no message"]
        raise RuntimeError(lines[-1][:200])
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result
