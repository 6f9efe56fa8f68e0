"""README.md and docs/: every command parses, the quick ones run, every setting exists, every link leads somewhere."""

import re
import shlex
import subprocess
import sys
from contextlib import redirect_stdout
from dataclasses import fields
from io import StringIO
from pathlib import Path

import pytest

from lit_video.__main__ import main
from lit_video.commands.arguments import SHARED
from lit_video.commands.parser import parse
from lit_video.errors import UserError
from lit_video.modules.optimization import Optimization
from lit_video.network.vit import ViTSize
from lit_video.utils.yaml_files import find_config
from tests.command_line import every_parser, parse_request
from tests.conftest import ROOT
from tests.tables.experiments import request_of, resolved

PAGES = ["README.md", *(f"docs/{path.name}" for path in sorted(ROOT.glob("docs/*.md")))]
TEXTS = {page: (ROOT / page).read_text(encoding="utf-8") for page in PAGES}
BLOCK = re.compile(r"^```\w*\n(.*?)^```", re.DOTALL | re.MULTILINE)
CALL = re.compile(r"(?:^|-m |[ \"])lit_video (?!COMMAND)([a-z][^\n\"]*)")
SETTING = re.compile(r"--(?:model|data|trainer)(?:\.[a-z]\w*)+")

OTHER_SETTINGS = ("--global_batch=32", "--model=my_video.Focal", "--model=my_video.OneCycle")


def spans(text):
    """What stands between backquotes in sentences, in one line each."""
    return [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", BLOCK.sub("", text))]


def commands(text):
    """The commands of a page, in its blocks and sentences, without ``lit_video`` and comments."""
    lines = [line for block in BLOCK.findall(text) for line in block.splitlines()] + spans(text)
    lines = [re.sub(r"\$[a-z]+", "0", line) for line in lines]  # of a script
    return {call[1].partition(" #")[0].strip() for line in lines if (call := CALL.search(line))}


MAKE = "\n".join(span for text in TEXTS.values() for span in [*BLOCK.findall(text), *spans(text)])


PARSERS = every_parser()


def name_of(words):
    return next(" ".join(words[:n]) for n in (2, 1) if " ".join(words[:n]) in PARSERS)


MEASURED = "docs/performance.md"  # its commands are of the commits beside them
COMMANDS = sorted(set().union(*(commands(text) for page, text in TEXTS.items() if page != MEASURED)))
WHOLE = [command for command in COMMANDS if "..." not in command]


def some(pattern):
    return [command for command in WHOLE if re.search(pattern, command)]


def test_the_pages_have_commands():
    assert {name_of(command.split()) for command in COMMANDS} >= PARSERS.keys()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_parses(command, monkeypatch):
    monkeypatch.setitem(SHARED["--ckpt"], "type", Path)
    for name in ("--config", "tables"):
        monkeypatch.setitem(
            SHARED[name], "type", lambda text: find_config("ablation_tw" if text[:2].isupper() else text)
        )
    plain = command.replace("...", "").replace(" SEED", " 0")
    words = shlex.split(re.sub(r"\|[\w|]+", "", plain))  # of A|B|C the first
    try:
        assert all(SETTING.match(setting) or setting in OTHER_SETTINGS for setting in parse(words).settings)
    except UserError as error:
        missing = re.search(r"^[\w./|-]+: no such (file|folder)", str(error))  # names of a page, such as VIDEO
        assert missing or ("..." in command and "arguments are required" in str(error))


@pytest.fixture(scope="module")
def flags():
    """The options of all commands."""
    return {option for parser in PARSERS.values() for action in parser._actions for option in action.option_strings}


@pytest.fixture(scope="module")
def settings():
    """The settings of the trainer, and of a few models and data sets."""
    helps = [
        "--help all",
        "--data.help VideoCSV",
        "--model.help XViT",
        "--model.help TimeSformer",
        "--model.help ViViT",
        "--data.help TemporalSkills",
    ]
    with redirect_stdout(StringIO()) as printed:
        for words in helps:
            main(["fit", *words.split()])
    parts = {"size": ViTSize, "optimization": Optimization}
    inner = {f"--model.{part}.{field.name}" for part, kind in parts.items() for field in fields(kind)}
    return inner | set(re.findall(r"--[\w.]+", printed.getvalue()))


OTHERS = r"srun|sbatch|torchrun|pip|python (-m )?benchmarks|scontrol|#SBATCH|--requeue|--open-mode|make|\.\.\. "
BY_PROGRAMS = {"docs/faults.md", "docs/scaling.md", MEASURED}


@pytest.mark.parametrize("page", sorted({*PAGES} - BY_PROGRAMS))
def test_flags_in_sentences_exist(page, flags, settings):
    """Of our commands; callbacks and loggers of Lightning have settings of their own."""
    ours = [span for span in spans(TEXTS[page]) if not re.match(OTHERS, span)]
    named = {flag for span in ours for flag in re.findall(r"(?<![\w-])--[a-z][\w.-]*", span)}
    named |= {flag for block in BLOCK.findall(TEXTS[page]) for flag in SETTING.findall(block)}
    named = {flag for flag in named if not flag.startswith(("--trainer.callbacks.", "--trainer.logger."))}
    assert named - flags - settings - {"--model", "--data"} - {"--model.X", "--data.X", "--trainer.X"} == set()


FITS = {re.sub(r" --(seeds|jobs) \S+", "", command) for command in some("^fit .*experiments/")}


@pytest.mark.parametrize("command", sorted(FITS))
def test_a_fit_builds_its_first_row_and_its_last(command, letters, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    (tmp_path / "my_scheme.py").write_text(BLOCK.findall(TEXTS["docs/adding.md"])[0])
    command = command.replace("my_scheme.py", str(tmp_path / "my_scheme.py"))
    files, flags, words = [], [], iter(shlex.split(command.replace("DIR", str(letters)))[1:])
    for word in words:
        files.append(ROOT / next(words)) if word == "--config" else flags.append(word)
    rows = request_of(*files, flags=tuple(flags)).rows
    for row in (rows[0], rows[-1]):
        assert resolved(row.name, *files, flags=tuple(flags)).model is not None


@pytest.mark.parametrize("command", some("^fit .*trainer.(devices|num_nodes)"))
def test_a_fit_of_a_cluster_names_one_row(command):
    assert parse_request(shlex.split(command)[1:]).single


def test_the_array_of_a_script_has_every_run_once():
    (script,) = [block for block in BLOCK.findall(TEXTS["docs/clusters.md"]) if "#SBATCH" in block]
    last = int(re.search(r"--array=0-(\d+)", script)[1])
    done = []
    for task in range(last + 1):
        command = ["env", f"SLURM_ARRAY_TASK_ID={task}", "bash", "-ec", "srun() { printf '%s\\n' \"$@\"; }\n" + script]
        words = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
        request = parse_request(words[words.index("fit") + 1 :])
        assert request.single
        done.append((request.seeds[0], request.rows[0].name))
    assert sorted(done) == sorted((seed, row.name) for seed in range(3) for row in request.table.rows)


@pytest.mark.parametrize("command", some("^sweep experiments"))
def test_a_sweep_is_understood(command, tmp_path, capsys):
    assert main([*shlex.split(command), "--runs", str(tmp_path), "--status"]) == 0
    assert re.search(r"(\d+) runs: \1 not started", capsys.readouterr().out)


@pytest.mark.parametrize("command", some("^(table|weights$|dashboard)"))
def test_a_quick_command_runs(command, tmp_path, monkeypatch):
    for name in ("experiments", "benchmarks", "REPRODUCE.md"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "docs").mkdir()
    monkeypatch.chdir(tmp_path)
    assert main(shlex.split(command)) == 0
    written = re.search(r"(?:-o|--plot) (\S+)", command)
    assert not written or (tmp_path / written[1]).stat().st_size > 1000


def test_the_page_of_settings_is_of_the_experiments_and_explains_every_difference():
    done = subprocess.run(
        [sys.executable, "docs/scripts/settings_page.py", "--check"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{done.stderr}python docs/scripts/settings_page.py writes it"


@pytest.mark.slow
def test_the_page_of_image_models_is_of_timm_s():
    done = subprocess.run([sys.executable, "docs/scripts/image_weights_page.py", "--check"], cwd=ROOT)
    assert done.returncode == 0, "python docs/scripts/image_weights_page.py writes it"


@pytest.mark.parametrize("command", some(r"^table .* --plot docs/"))
def test_pictures_of_tables_are_of_the_results(command, tmp_path):
    """By their words: lines differ with the machine's fonts."""
    *command, name = command.split()
    assert main([*command, str(tmp_path / "drawn.svg")]) == 0
    drawn, shown = (re.findall(r">([^<>]+)<", path.read_text()) for path in (tmp_path / "drawn.svg", ROOT / name))
    assert len(drawn) > 40 and drawn == shown


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\((?!https:|#)([^)#]+)", BLOCK.sub("", TEXTS[page]))
    assert [link for link in links if not (ROOT / page).parent.joinpath(link).exists()] == []


@pytest.mark.parametrize("target", sorted(set(re.findall(r"^ *make ([a-z][\w-]*)", MAKE, re.MULTILINE))))
def test_make_targets_exist(target):
    assert re.search(rf"^{target}:.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE)


def test_the_python_in_sentences_runs():
    """Names after ``import lit_video`` alone, and the model, built without memory."""
    text = "\n".join(TEXTS.values())
    names = re.findall(r"`(lit_video\.[\w.]+)\(", text)
    (model,) = re.findall(r"`(lit_video\.modules\.XViT\([^`]*\))`", text)
    assert len(names) >= 4
    lines = ["import lit_video", *(f"assert callable({name})" for name in names), "import torch"]
    lines += ["with torch.device('meta'):", f"    {model}"]
    exec("\n".join(lines), {})
