"""Test that what a message tells a user to do can be done as it says, and goes on."""

import re
import shlex

import pytest

from lit_video.__main__ import main
from tests.commands.test_mistakes import TRIED
from tests.conftest import ROOT

IMPERATIVE = re.compile(r"\b(add|choose|give|leave|name|set|did you mean|here it is)\b")
SHOWN = "--row tw1 --print-config"
# a mistake of tests/commands/test_mistakes.py -> what its message says, typed
OBEYED = {
    "train": "fit TABLE --row tw1 --print-config",
    "evaluate --ckpt RUN": "test --help",
    "repport": "report PACK -o out/report.html",
    "fit": "fit ablation_tw --row tw1 --print-config",
    "fit --config experiments/ablation_tx.yaml": f"fit --config experiments/ablation_tw.yaml {SHOWN}",
    "fit TABLE --trainer.epochs 3": f"fit TABLE --trainer.max_epochs 3 {SHOWN}",
    "fit TABLE --data=VideoFoldr": f"fit TABLE --data=VideoFolder --data.root videos {SHOWN}",
    "fit TABLE --row tw9": "fit TABLE --row tw2 --print-config",
    "fit TABLE --seed 3": f"fit TABLE --seeds 3 {SHOWN}",
    "sweep experiments/skills.yaml --mem 3G": "sweep experiments/skills.yaml --mem 3G --launcher slurm --dry-run",
    "sweep TABLE --gpus 2": f"fit TABLE --trainer.accelerator=cpu --trainer.devices 2 {SHOWN}",
    "report nowhere": "report PACK -o out/report.html",
    "fit TABLE --print_config": f"fit TABLE {SHOWN}",
    "fit TABLE --num_workers 3": f"fit TABLE --data.num_workers 3 {SHOWN}",
    "cost --row tw1": "cost ablation_tw --row tw1",
    "data": "data check --help",
    "prepare": "data prepare --help",
    "fit TABLE --recipe paper": f"fit TABLE --config scale/ssv2 --recipe paper {SHOWN} CPU",
    "fit TABLE --model.cls_in_time=true": f"fit TABLE {SHOWN}",
    "fit TABLE --data.seed=7": "fit TABLE --seeds 7 --row tw1 --print-config",
    "report": "report PACK -o out/report.html",
}
CPU = "--trainer.accelerator=cpu --trainer.devices=1 --trainer.strategy=auto"


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Working directory with the tables, and a folder for what is written."""
    (tmp_path / "out").mkdir()
    (tmp_path / "experiments").symlink_to(ROOT / "experiments")
    for split in ("train", "val", "test"):
        for label in ("a", "b"):
            (tmp_path / "videos" / split / label).mkdir(parents=True)
            (tmp_path / "videos" / split / label / "1.mp4").write_bytes(b"")
    monkeypatch.chdir(tmp_path)


def typed(line):
    """Return the words of a line, with its places filled in."""
    pack = min((ROOT / "benchmarks/results").glob("*.tar.xz"), key=lambda path: path.stat().st_size)
    for place, text in {"TABLE": "--config experiments/ablation_tw.yaml", "PACK": str(pack), "CPU": CPU}.items():
        line = re.sub(rf"\b{place}\b", text, line)
    return shlex.split(line)


@pytest.mark.parametrize("mistake", OBEYED)
def test_what_the_message_says_goes_on(mistake, here, capsys):
    shown = "--print-config" if mistake.startswith("fit TABLE") else ""  # a mistake that is none trains nothing
    assert main(typed(f"{mistake} {shown}")) == 2
    message = capsys.readouterr().err
    assert IMPERATIVE.search(message), message
    assert main(typed(OBEYED[mistake])) == 0, message


def test_the_mistakes_that_are_listed_have_an_obeyed_command_or_advice_that_a_user_must_fill_in():
    """Messages that name the user's own file or a download are obeyed by tests of these commands."""
    own = re.compile(
        r"finetune|compare|predict|probe|test\b|weights|profile|data prepare|table|sweep TABLE --jobs|\.\."
    )
    told = [line for line, message in TRIED if IMPERATIVE.search(message)]
    assert [line for line in told if line not in OBEYED and not own.match(line) and ".." not in line] == []
