import subprocess
import sys

import pytest

ENDING = """
import atexit, os, signal, sys
from lit_video import __main__ as program

def interrupted():
    for number in {signals}:
        os.kill(os.getpid(), number)
    print("the end")

atexit.register(interrupted)
program.main = lambda argv: {status}
program.run()
"""


@pytest.mark.parametrize("status", [0, 1])
@pytest.mark.parametrize(
    ("signals", "said"),
    [("[signal.SIGTERM]", "the end\n"), ("[signal.SIGUSR1]", "the end\n"), ("[signal.SIGTERM, signal.SIGINT]", "")],
)
def test_a_signal_that_comes_when_the_work_is_done_changes_no_status(status, signals, said):
    done = subprocess.run(
        [sys.executable, "-c", ENDING.format(signals=signals, status=status)], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (status, said, "")
