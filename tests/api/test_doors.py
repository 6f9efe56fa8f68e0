"""Test that a command line is a call of a function, and that nothing below commands reads or prints one."""

import ast
import inspect
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import lit_video
from lit_video.__main__ import main
from lit_video.commands.signatures import NO_DEFAULT, signature
from lit_video.errors import RunFailed, RunStopped
from lit_video.launching.slurm import Resources
from lit_video.settings.flags import UserSetting
from tests.command_line import every_parser
from tests.conftest import EXPERIMENTS, ROOT

PACKAGE = ROOT / "lit_video"
TABLE = EXPERIMENTS / "ablation_tw.yaml"
SCALE = EXPERIMENTS / "scale/ssv2.yaml"
ROWS = {"table": [TABLE], "overlays": [SCALE], "rows": ["tw0,tw1"], "recipe": None}
WORDS = ["ablation_tw", "-c", "scale/ssv2", "--row", "tw0,tw1", "--data.root", "DIR"]
GIVEN = [UserSetting("data.root", "DIR")]
OWN = {"videos": Path("tests"), "output": Path("o"), "minutes": 2.0, "group": None, "jobs": None, "weights": "none"}
OWN |= {"split": None, "mirror": None}
OWN_WORDS = ["tests", "-o", "o", "--minutes", "2", "--weights", "none", "--data.num_workers", "0"]
WORKERS = [UserSetting("data.num_workers", "0")]

# a command with an argument of each kind -> its function, and the arguments of the call
CALLS = {
    ("fit", *WORDS, "--seeds", "1,2", "--jobs", "2"): (
        "fit",
        ROWS | {"settings": GIVEN, "seeds": [1, 2], "runs": Path("runs"), "jobs": 2, "reuse": False},
    ),
    ("sweep", *WORDS, "--launcher", "slurm", "--gpus-per-run", "4", "--time", "1:00"): (
        "sweep",
        {
            **{"tables": [TABLE], "overlays": [SCALE], "rows": ["tw0,tw1"], "recipe": None, "settings": GIVEN},
            **{"seeds": (0,), "runs": Path("runs"), "jobs": None, "gpus_per_run": 4, "reuse": False},
            "slurm": Resources(None, 4, {"time": "1:00"}),
        },
    ),
    ("table", "ablation_tw", "--runs", "tests", "--seeds", "3"): (
        "table",
        {
            **{"table": [TABLE], "overlays": [], "runs": Path("tests"), "seeds": [3]},
            **{"recipe": None, "overridden": False},
        },
    ),
    ("test", "--weights", "hub:x", "--data.root", "DIR"): (
        "test",
        {"ckpt": None, "weights": "hub:x", "configs": [], "settings": GIVEN},
    ),
    ("finetune", *OWN_WORDS, "--no-frozen", "--seed", "3"): (
        "finetune",
        OWN | {"settings": WORKERS, "frozen": False, "scheme": None, "seed": 3},
    ),
    ("profile", "joint", "--look", "--data.num_workers", "0"): (
        "profile",
        {
            **{"scheme": "joint", "train": False, "on": None, "seeds": (0,)},
            **{"output": None, "jobs": 1, "settings": WORKERS},
        },
    ),
    ("probe", "RUN", "--pairs", "4", "--image-size", "32,48"): (
        "probe",
        {
            **{"model": "RUN", "minutes": None, "pairs": 4, "num_frames": None, "image_size": [32, 48]},
            **{"mean": None, "std": None, "tokens": False, "random_weights": False},
            **{"seed": 0, "device": None, "output": None},
        },
    ),
    ("data", "check", "tests", "--dataset", "VideoFolder", "--data.root", "DIR"): (
        "check",
        {"root": Path("tests"), "dataset": "VideoFolder", "settings": GIVEN, "decode": False, "output": None},
    ),
    ("doctor", "--runs", "x"): ("doctor", {"runs": Path("x")}),
}
WITH_A_CHECKPOINT = {
    "predict": ("predict", ["tests", "--top", "2"]),
    "attention": ("attention_maps", ["tests"]),
    "embed": ("embed", ["tests"]),
    "export": ("export", ["--to", "onnx", "-o", "out"]),
}


class Called(Exception):
    """A function was called by a door."""


def calls_of(name, monkeypatch):
    """Replace a function of the package by one that only keeps its arguments; return the list of calls."""
    calls = []

    def keep(*given, **named):
        calls.append((given, named))
        raise Called

    monkeypatch.setattr(lit_video, name, keep, raising=False)
    return calls


@pytest.mark.parametrize("words", CALLS, ids=" ".join)
def test_a_command_calls_its_function_with_its_words(words, monkeypatch):
    name, named = CALLS[words]
    assert callable(getattr(lit_video, name))
    calls = calls_of(name, monkeypatch)
    with pytest.raises(Called):
        main(list(words))
    assert calls == [((), named)]


def test_names_of_weights_are_given_one_by_one(monkeypatch):
    calls = calls_of("fetch_weights", monkeypatch)
    with pytest.raises(Called):
        main(["weights", "fetch", "a", "b"])
    assert calls == [(("a", "b"), {})]


@pytest.mark.parametrize("command", every_parser())
def test_a_function_s_arguments_are_read_as_python_has_them(command):
    """The file's own words and Python's signature agree: names, defaults, and what is given by name alone."""
    name = function_of(command)
    arguments = signature(name).arguments
    parameters = inspect.signature(getattr(lit_video, name)).parameters
    assert [*arguments] == [key for key in parameters if parameters[key].kind != inspect.Parameter.VAR_POSITIONAL]
    for key, argument in arguments.items():
        parameter = parameters[key]
        assert argument.by_name == (parameter.kind == parameter.KEYWORD_ONLY)
        assert argument.default == (NO_DEFAULT if parameter.default is parameter.empty else parameter.default)
        assert argument.text, f"{name}: {key} is not explained"


def function_of(command):
    """Return the name of the function that a command is a door to."""
    return import_module(f"lit_video.commands.{command.replace(' ', '_')}").FUNCTION


@pytest.mark.parametrize("command", WITH_A_CHECKPOINT)
def test_a_command_of_a_trained_model_calls_its_function(command, run, tmp_path, monkeypatch):
    name, words = WITH_A_CHECKPOINT[command]
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/video.mp4").write_bytes(b"")
    monkeypatch.chdir(tmp_path)
    calls = calls_of(name, monkeypatch)
    with pytest.raises(Called):
        main([command, *words, "--ckpt", str(run)])
    ((_, named),) = calls
    assert named["ckpt"] == run / "last.ckpt"


@pytest.mark.parametrize("command", every_parser())
def test_a_command_has_all_arguments_of_its_function(command):
    """Arguments that no flag gives are objects, which the command makes of flags of its own."""
    name = function_of(command)
    assert name in lit_video.__all__
    parser = every_parser()[command]
    arguments = {action.dest for action in parser._actions} | ({"settings"} if parser.settings else set())
    assert signature(name).arguments.keys() - arguments <= {"evaluation", "slurm"}


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (RunStopped("stopped at a checkpoint", 75), 75, ""),
        (RunFailed("row first: no result"), 1, "error: row first: no result\n"),
    ],
)
def test_how_runs_ended_is_the_exit_status(error, status, said, monkeypatch, capsys):
    def ended(**asked):
        raise error

    monkeypatch.setattr(lit_video, "fit", ended, raising=False)
    assert main(["fit", "ablation_tw"]) == status
    assert capsys.readouterr() == ("", said)


@cache
def trees():
    return list(_trees())


def _trees():
    for path in sorted(PACKAGE.rglob("*.py")):
        yield path.relative_to(PACKAGE).as_posix(), ast.parse(path.read_text())


def test_only_the_entry_reads_a_command_line():
    """No command calls another by words; ``experiment/cli.py`` gives Lightning words for its help alone."""
    reads = set()
    for name, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and (node.attr == "argv" or node.attr == "parse_args"):
                reads.add(name)
            if isinstance(node, ast.ImportFrom) and node.module == "lit_video.commands.parser":
                imported = {alias.name for alias in node.names}
                assert name.startswith("commands/") or name == "__main__.py", name
                assert name == "__main__.py" or not imported & {"parse", "tree"}, name
    assert reads == {"__main__.py", "commands/parser.py"}


def test_only_commands_print():
    printing = {"__main__.py", "utils/messages.py"}
    for name, tree in trees():
        if name.startswith("commands/") or name in printing:
            continue
        names = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == "print"]
        assert not names, f"{name}, line {names[0].lineno}"


def test_a_result_shows_the_same_parts_in_a_terminal_as_in_a_notebook():
    """A notebook may add a picture."""
    for name, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and "Shown" in {getattr(base, "id", "") for base in node.bases}:
                methods = {method.name for method in node.body if isinstance(method, ast.FunctionDef)}
                assert "parts" in methods and "__str__" not in methods, f"{name}: {node.name}"
