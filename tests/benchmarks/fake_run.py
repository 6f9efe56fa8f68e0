"""Fake run of a second that does not import lit_video: ``fake_run.py RUN_DIR RIGHT HABIT``.

RIGHT is a folder with the right ``run.json`` and ``last.ckpt``; HABIT is the run's fault, or ``none``.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path


def main(run_dir: Path, right: Path, habit: str) -> int:
    def stop(*_):
        if habit == "orphan":
            subprocess.Popen(["sleep", "60"], start_new_session=True)
        print("stopped by SIGTERM; the same command again goes on from here", file=sys.stderr, flush=True)
        os._exit(143)

    signal.signal(signal.SIGTERM, stop)
    run_dir.mkdir(parents=True, exist_ok=True)
    again = (run_dir / "run.json").exists()
    (run_dir / "run.json").write_text(json.dumps({"state": {"state": "training", "pid": os.getpid()}}))
    time.sleep(0 if again else 1)
    if habit == "hangs":
        time.sleep(3600)
    if habit == "works":
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        while time.process_time() < 0.4:
            pass
    if again and habit == "crash":
        os.kill(os.getpid(), signal.SIGABRT)
    for name in ("last.ckpt", "curves.csv", "predictions.npz", "run.json"):
        shutil.copy(right / name, run_dir)
    if again and habit == "wrong":
        (run_dir / "run.json").write_text((right / "run.json").read_text().replace("50.0", "62.5"))
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]))
