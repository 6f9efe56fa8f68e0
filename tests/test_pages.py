"""Test README.md and docs/: commands parse, quick ones run, links lead somewhere, generated pages are up to date."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from lit_video.__main__ import main
from lit_video.commands.arguments import SHARED
from lit_video.commands.parser import parse
from lit_video.errors import UserError
from lit_video.utils.yaml_files import find_config
from tests.conftest import ROOT

PAGES = ["README.md", *(f"docs/{path.name}" for path in sorted(ROOT.glob("docs/*.md")))]
TEXTS = {page: (ROOT / page).read_text(encoding="utf-8") for page in PAGES}
BLOCK = re.compile(r"^```\w*\n(.*?)^```", re.DOTALL | re.MULTILINE)
CALL = re.compile(r"(?:^|-m |[ \"])lit_video (?!COMMAND)([a-z][^\n\"]*)")
SETTING = re.compile(r"--(?:model|data|trainer)(?:\.[a-z]\w*)+")
OTHER_SETTINGS = ("--global_batch=32", "--model=my_video.Focal", "--model=my_video.OneCycle")


def commands(text):
    """Return the commands of a page, in its blocks and sentences, without ``lit_video`` and comments."""
    spans = [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", BLOCK.sub("", text))]
    lines = [line for block in BLOCK.findall(text) for line in block.splitlines()] + spans
    lines = [re.sub(r"\$[A-Z_a-z]+", "0", line) for line in lines]  # variables of a script
    return {call[1].partition(" #")[0].strip() for line in lines if (call := CALL.search(line))}


MEASURED = "docs/performance.md"  # has commands of earlier commits
COMMANDS = sorted(set().union(*(commands(text) for page, text in TEXTS.items() if page != MEASURED)))


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_parses(command, monkeypatch):
    monkeypatch.setitem(SHARED["--ckpt"], "type", Path)
    for name in ("--config", "tables"):
        monkeypatch.setitem(
            SHARED[name], "type", lambda text: find_config("ablation_tw" if text[:2].isupper() else text)
        )
    plain = command.replace("...", "").replace(" SEED", " 0")
    words = shlex.split(re.sub(r"\|[\w|]+", "", plain))  # the first of A|B|C
    try:
        assert all(SETTING.match(setting) or setting in OTHER_SETTINGS for setting in parse(words).settings)
    except UserError as error:
        missing = re.search(r"^[\w./|-]+: no such (file|folder)", str(error))  # placeholders such as VIDEO
        assert missing or ("..." in command and "arguments are required" in str(error))


@pytest.mark.parametrize(
    "command", [each for each in COMMANDS if re.match("(table|weights$)", each) and "..." not in each]
)
def test_a_quick_command_runs(command, tmp_path, monkeypatch):
    for name in ("experiments", "benchmarks", "REPRODUCE.md"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    assert main(shlex.split(command)) == 0
    if written := re.search(r"--plot (\S+)", command):
        assert (tmp_path / written[1]).stat().st_size > 5000


@pytest.mark.parametrize(
    "script",
    [
        "settings_page.py",
        pytest.param("image_weights_page.py", marks=pytest.mark.slow),
        pytest.param("skills_page.py", marks=pytest.mark.slow),
    ],
)
def test_a_written_page_is_up_to_date(script):
    command = [sys.executable, f"docs/scripts/{script}", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stderr}python docs/scripts/{script} writes it"


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\((?!https:|#)([^)#]+)", BLOCK.sub("", TEXTS[page]))
    assert [link for link in links if not (ROOT / page).parent.joinpath(link).exists()] == []
