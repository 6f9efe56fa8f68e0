"""Test the blocks of README.md as printed, in order, in a shell, in a fresh copy of the repository."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from lit_video.datamodules.drawing import encode
from tests.conftest import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
LINES = [
    line for block in re.findall(r"^```sh\n(.*?)^```", README, re.DOTALL | re.MULTILINE) for line in block.splitlines()
]
NETWORK = ("weights fetch", "--weights hub:")  # commands that download
LONG = {
    "fit": "--row tw0 --seeds 0 --trainer.max_epochs=1 --model.image_weights=null --data.pairs=[4,1,2]",
    "finetune": "--minutes 0.1",
    "compare": "--minutes 0.1",
    "report": "--overridden",
}


def test_what_real_video_shows_is_in_the_results_with_its_verdict():
    rows = [
        row
        for page in sorted((ROOT / "docs/results").glob("*.md"))
        for row in page.read_text(encoding="utf-8").splitlines()
        if row.startswith("|follow-up: the same rows on depth video")
    ]
    page = (ROOT / "docs/real_video.md").read_text(encoding="utf-8")
    bullets = re.findall(r"^- \*\*(.*?)(?=^- |^$)", README.partition("## What real video shows")[2], re.M | re.S)
    said = [re.findall(r"([+-]\d+\.\d)\s+\[(-?\d+\.\d), (-?\d+\.\d)\]", bullet) for bullet in bullets]
    assert [len(differences) for differences in said] == [2]
    for first, *others in said:
        mean, low, high = first
        written = f"{mean} [{float(low):+z.1f}, {float(high):+z.1f}]"
        verdicts = [row.split("|")[-2] for row in rows if written in row]
        assert verdicts == ["not run: needs the control"], written
        for mean, low, high in others:
            assert f"{mean} [{low}, {high}]" in page


@pytest.mark.slow
def test_every_command_runs_as_printed(tmp_path):
    """Run all commands, with more flags for trainings, which take minutes."""
    copy = tmp_path / "lit_video"
    shutil.copytree(
        ROOT, copy, ignore=shutil.ignore_patterns(".git", ".venv", "runs", "own", "build", "site", ".*_cache")
    )
    (copy / ".venv").symlink_to(sys.prefix)
    rng = np.random.default_rng(0)
    for label in ("wave", "clap", "jump"):
        (copy / "my_videos" / label).mkdir(parents=True)
        for i in range(10):
            encode(copy / f"my_videos/{label}/{label} ({i}).mp4", rng.integers(0, 255, (8, 24, 32, 3), np.uint8), 8)
    code = re.search(r"```python\n(.*?)```", (ROOT / "docs/adding.md").read_text(), re.DOTALL)
    (copy / "my_scheme.py").write_text(code[1])
    environment = dict(os.environ, PYTHONPATH=str(copy), LIT_VIDEO_DATA=str(tmp_path / "data"), WANDB_MODE="offline")
    for line in LINES:
        command = line.partition("  #")[0].strip()
        if command.startswith("make ") or any(words in command for words in NETWORK):
            continue
        run = next((folder.relative_to(copy) for folder in copy.glob("own/my_videos/runs/*/own/all/seed0")), "RUN")
        replaced = command.replace("VIDEO", "'my_videos/wave/wave (0).mp4'").replace("RUN", str(run))
        replaced += " " + next((more for name, more in LONG.items() if shlex.split(command)[1] == name), "")
        shell = ["bash", "-c", f". .venv/bin/activate && {replaced}"]
        done = subprocess.run(shell, cwd=copy, env=environment, capture_output=True, text=True, timeout=900)
        assert done.returncode == 0, f"{replaced}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    assert Path(copy / "maps.png").stat().st_size > 1000
