"""What the README tells people to type exists."""

import re
import shlex
from pathlib import Path

import pytest

from lit_video.__main__ import main
from lit_video.cli import CheckCLI
from lit_video.commands import parse_request

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
COMMANDS = sorted(set(re.findall(r"python -m lit_video (fit [^`\n]+)", README)))


@pytest.mark.parametrize("command", COMMANDS)
def test_fit_commands_build_every_row(command, tiny):
    request = parse_request(shlex.split(command)[1:])
    for row in request.rows:
        assert CheckCLI(request.row_args(row, 0)).model is not None


def test_commands_were_found():
    assert len(COMMANDS) >= 2


@pytest.mark.parametrize("target", sorted(set(re.findall(r"make (\w[\w-]*)", README)) - {"the"}))
def test_make_targets_exist(target):
    assert re.search(rf"^{target}:.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE)


def test_the_table_is_what_the_command_prints(tiny, capsys):
    command = "table --config experiments/ablation_tw.yaml --runs benchmarks/results --format markdown"
    assert main(command.split()) == 0
    assert capsys.readouterr().out.strip() in README


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\(([^):]+)\)", README))))
def test_links_lead_somewhere(link):
    assert (ROOT / link).exists()
