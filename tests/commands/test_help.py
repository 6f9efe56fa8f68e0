"""Every command says what it does, on a screen, with examples that it takes."""

import pytest

from lit_video.__main__ import main
from lit_video.commands.arguments import SETTINGS
from lit_video.commands.parser import COMMANDS
from tests.command_line import every_parser

PARSERS = every_parser()


def test_all_commands_are_listed_with_a_line_each(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "110")
    assert main([]) == 0
    text = capsys.readouterr().out
    assert main(["--help"]) == 0 and capsys.readouterr().out == text
    lines = [line.split() for line in text.splitlines() if line.startswith("    ")]
    assert [words[0] for words in lines] == [*COMMANDS] and all(len(words) > 2 for words in lines)


@pytest.mark.parametrize("command", PARSERS)
def test_help_fits_on_a_screen_and_has_examples(command, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    assert main([*command.split(), "--help"]) == 0
    text = capsys.readouterr().out
    assert f"usage: lit_video {command} " in text
    assert len(text.splitlines()) <= 60
    before_options = text.split("\n\n")[1]
    assert before_options[0].isupper() and before_options.rstrip().endswith(".")
    examples = text.partition("\nexamples:\n")[2].splitlines()
    assert examples and all(line.startswith(f"  lit_video {command}") for line in examples)
    flags = {word.split("=")[0] for line in examples for word in line.split() if word.startswith("--")}
    assert all(flag in text or flag.startswith("--data.") for flag in flags)


def test_lightnings_help_lists_settings_and_those_of_a_class(capsys):
    assert main(["fit", "--help", "all"]) == 0
    text = capsys.readouterr().out
    assert all(f"{name} " in text for name in SETTINGS) and "Number of GPU nodes" in text and "--model.help" in text
    assert main(["fit", "--config", "experiments/ablation_tw.yaml", "--row", "tw1", "--model.help", "XViT"]) == 0
    assert "--model.window" in capsys.readouterr().out
