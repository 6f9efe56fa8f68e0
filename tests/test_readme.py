"""Test README.md: its commands and those of docs/commands.md as printed, its outputs, and its findings."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from lit_video.__main__ import main
from lit_video.datamodules.drawing import encode
from tests.conftest import ROOT
from tests.test_own_videos_page import form

README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = README + (ROOT / "docs/commands.md").read_text(encoding="utf-8")
LINES = [
    line
    for block in re.findall(r"^```sh\n(.*?)^```", COMMANDS, re.DOTALL | re.MULTILINE)
    for line in block.splitlines()
    if line.startswith("lit_video ")
]
DOORS = re.findall(r"```sh\n(lit_video .*?)\n```\n\n```text\n(.*?)\n```", README, re.DOTALL)
MOST_WORDS = 700
MOST_NUMBERS = 25
NETWORK = ("weights fetch", "--weights hub:")  # commands that download
LONG = {
    "fit": "--row tw0 --seeds 0 --trainer.max_epochs=1 --model.image_weights=null "
    "--data.pairs=[4,1,2] --data.lesson=null --data.fresh=0",
    "profile": "--trainer.max_steps=2 --model.image_weights=null "
    "--data.pairs=[2,1,1] --data.batch_size=4 --data.lesson=null --data.fresh=8",
    "finetune": "--minutes 0.1",
    "compare": "--minutes 0.1",
    "report": "--overridden",
}


def test_it_has_few_words_and_fewer_numbers():
    words = [word for word in README.split() if re.search(r"\w", word)]
    prose = re.sub(r"```.*?```|\]\([^)]*\)", "", README, flags=re.DOTALL)  # without blocks of code and targets of links
    numbers = re.findall(r"(?<![\w.(])[+-]?\d[\d.]*", prose)
    assert len(words) <= MOST_WORDS and len(numbers) <= MOST_NUMBERS, (len(words), numbers)


def test_there_are_three_doors_with_five_lines_of_output_each():
    assert [shlex.split(command)[1] for command, _ in DOORS] == ["finetune", "profile", "table"]
    assert all(len(lines.splitlines()) in (4, 5) for _, lines in DOORS)


def test_the_output_of_the_table_is_what_the_command_prints(capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    command, shown = DOORS[2]
    assert main(shlex.split(command)[1:]) == 0
    printed = capsys.readouterr().out.splitlines()
    for line in shown.splitlines():
        start = line.rstrip("┃│")
        assert any(other.startswith(start) for other in printed), line


@pytest.mark.slow
def test_the_output_of_profile_is_what_the_command_prints(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = re.search(r"```python\n(.*?)```", (ROOT / "docs/adding.md").read_text(), re.DOTALL)
    (tmp_path / "my_scheme.py").write_text(code[1])
    command, shown = DOORS[1]
    assert main(shlex.split(command)[1:]) == 0
    printed = capsys.readouterr().out
    assert all(line in printed.splitlines() for line in shown.splitlines())


def test_the_example_of_finetune_is_in_the_words_of_its_page():
    page = (ROOT / "docs/own_videos.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```text\n(.*?)\n```", page, re.DOTALL)
    facts, time = DOORS[0][1].splitlines()[:-1], DOORS[0][1].splitlines()[-1]
    assert [form(line) for line in facts] == [form(line) for line in example.splitlines()]
    assert time.startswith("Does time matter to this model? Yes, the direction of time decides")


def findings():
    """Return the text and the page of each finding."""
    part = README.partition("## Five findings")[2].partition("\n## ")[0]
    bullets = re.findall(r"^- (.*?)(?=^- |\Z)", part, re.MULTILINE | re.DOTALL)
    return [(" ".join(bullet.split()), re.search(r"\]\(([^)]+\.md)\)", bullet)[1]) for bullet in bullets]


def test_every_finding_is_on_its_page_with_its_intervals():
    assert len(findings()) == 5
    counted = 0
    for text, page in findings():
        content = " ".join((ROOT / page).read_text(encoding="utf-8").split())
        for interval in re.findall(r"[+-]\d+\.\d \[-?\d+\.\d, -?\d+\.\d\]|\d+\.\d ± \d+\.\d", text):
            counted += 1
            assert interval in content, interval
    assert counted >= 3


def test_the_differences_of_the_skills_page_are_those_of_the_tables():
    head = (ROOT / "docs/skills.md").read_text(encoding="utf-8").partition("\n## ")[0]
    tables = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs/results").glob("*.md"))
    printed = re.findall(r"([+-]\d+\.\d) \[(-?\d+\.\d), (-?\d+\.\d)\]", head)
    assert len(printed) >= 7
    for mean, low, high in printed:
        assert f"{mean} [{float(low):+z.1f}, {float(high):+z.1f}]" in tables, mean


def test_the_number_of_decided_claims_is_that_of_reproduce():
    page = (ROOT / "REPRODUCE.md").read_text(encoding="utf-8")
    counts = dict(re.findall(r"[:,] ([a-z][\w -]*?(?:at most N points)?) (\d+)", page.partition("\n## ")[0]))
    decided = [int(counts.get(verdict, 0)) for verdict in ("supported", "contradicted", "differ by at most N points")]
    built = [int(counts.get(f"{verdict} by construction", 0)) for verdict in ("supported", "contradicted")]
    claims = re.search(r"^(\d+) claims of the papers", page, re.MULTILINE)[1]
    sentence = f"**Trained models decide {sum(decided)} of {claims} claims** so far; {sum(built)} hold by construction"
    assert sentence in " ".join(README.split())
    assert sum(map(int, counts.values())) == int(claims)


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
        command = line.strip()
        if any(words in command for words in NETWORK):
            continue
        run = next((folder.relative_to(copy) for folder in copy.glob("own/my_videos/runs/*/own/all/seed0")), "RUN")
        replaced = command.replace("VIDEO", "'my_videos/wave/wave (0).mp4'").replace("RUN", str(run))
        if "--look" not in command:  # trains nothing
            replaced += f" {LONG.get(shlex.split(command)[1], '')}"
        shell = ["bash", "-c", f". .venv/bin/activate && {replaced}"]
        done = subprocess.run(shell, cwd=copy, env=environment, capture_output=True, text=True, timeout=900)
        assert done.returncode == 0, f"{replaced}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    assert Path(copy / "maps.png").stat().st_size > 1000
