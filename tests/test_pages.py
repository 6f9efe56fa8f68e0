"""Test README.md and docs/: commands parse, quick ones run, links lead somewhere, generated pages are up to date."""

import re
import runpy
import shlex
from functools import cache

import pytest

from lit_video.__main__ import main
from tests.conftest import ROOT
from tests.printed_commands import BLOCK, of_file, of_page, of_text, refusal

PAGES = ["README.md", *(f"docs/{path.name}" for path in sorted(ROOT.glob("docs/*.md")))]
TEXTS = {page: (ROOT / page).read_text(encoding="utf-8") for page in PAGES}
TOP = ("README.md", "CONTRIBUTING.md", "REPRODUCE.md", "Makefile")
FOLDERS = {
    "lit_video": "py yaml",
    "benchmarks": "py yaml",
    "docs": "py md",
    "experiments": "yaml",
    "notebooks": "ipynb",
}
MEASURED = "docs/performance.md"  # has commands of earlier commits


@cache
def printed_by(place):
    """Return the commands that a file prints, read once."""
    return of_file(ROOT / place)


def places(folder):
    """Return the paths of the files that may print commands: in a folder, or with "" beside the folders."""
    if not folder:
        return TOP
    files = [file for ending in FOLDERS[folder].split() for file in (ROOT / folder).rglob(f"*.{ending}")]
    return sorted(file.relative_to(ROOT).as_posix() for file in files)


COMMANDS = sorted(
    {each.words for page in PAGES if page != MEASURED for each in printed_by(page) if each.program == "lit_video"}
)


@pytest.mark.parametrize("folder", ["", *FOLDERS])
def test_every_printed_command_parses(folder):
    refused = {
        (place, each.words): reason
        for place in places(folder)
        if place != MEASURED
        for each in printed_by(place)
        if (reason := refusal(each))
    }
    assert refused == {}


def test_commands_are_found_wherever_they_are_printed():
    some = [*PAGES, "Makefile", "benchmarks/model.py", "lit_video/weights/hub.py"]
    assert {each.program for place in some for each in printed_by(place)} == {"lit_video", "python", "pytest", "make"}
    for place in ("README.md", "Makefile", "benchmarks/model.py", "docs/adding.md", "lit_video/weights/hub.py"):
        assert printed_by(place), place
    tables = [place for place in places("experiments") if re.fullmatch(r"experiments/[a-z_0-9]+\.yaml", place)]
    assert tables and all(printed_by(place) for place in tables)


PLANTED = {
    "a flag of a page": (of_page, "```sh\nlit_video finetune DIR --minuts 3\n```"),
    "a command of a page": (of_page, "Then `lit_video benchmark ablation_tw` measures."),
    "a setting of a table's comment": (of_text, "lit_video fit --config ablation_tw \\\n    --datas.root DIR"),
    "a file of a comment": (of_text, "  lit_video fit --config experiments/ablation_tv.yaml"),
    "a command of a message": (of_text, "it has not been fetched: lit_video wieghts fetch NAME; or put it there"),
    "a flag of a message": (of_text, "write it again: lit_video cost --jsn"),
    "a flag of a script": (of_page, "`python -m benchmarks.evidence run PLAN --minuets 3`"),
    "a script": (of_page, "```\npython docs/scripts/no_page.py\n```"),
    "a flag of a script without a parser": (of_text, "``python docs/scripts/settings_page.py --chek``"),
    "a test": (of_page, "`.venv/bin/python -m pytest tests/test_pages.py::test_nothing`"),
    "a target of make": (of_page, "`make everything`"),
}


@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_command_that_does_not_exist_is_refused(fault):
    find, text = PLANTED[fault]
    (found,) = find(text)
    assert refusal(found)


@pytest.mark.parametrize(
    "command",
    [each for each in COMMANDS if re.match("(table|weights$)", each) and "..." not in each and "my_table" not in each],
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
    ],
)
def test_a_written_page_is_up_to_date(script, monkeypatch, capsys):
    path = ROOT / "docs/scripts" / script
    monkeypatch.setattr("sys.argv", [str(path), "--check"])
    monkeypatch.syspath_prepend(path.parent)
    with pytest.raises(SystemExit) as end:
        runpy.run_path(str(path), run_name="__main__")
    assert not end.value.code, f"{capsys.readouterr().err}python docs/scripts/{script} writes it"


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\((?!https:|#)([^)#]+)", BLOCK.sub("", TEXTS[page]))
    assert [link for link in links if not (ROOT / page).parent.joinpath(link).exists()] == []
