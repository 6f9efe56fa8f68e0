"""Every command says what it does, on a screen, with examples that it takes."""

import pytest

from lit_video.__main__ import COMMANDS, main
from lit_video.commands.examples import EXAMPLES

LISTS = {"data"}  # of commands


def helped(command, capsys):
    try:
        assert main([*command.split(), "--help"]) == 0
    except SystemExit as stop:
        assert not stop.code
    return capsys.readouterr().out


@pytest.mark.parametrize("command", [*COMMANDS, "data check", "data stats", "data prepare"])
def test_help_fits_on_a_screen_and_has_examples(command, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    text = helped(command, capsys)
    assert len(text.splitlines()) <= 60
    if command in LISTS:
        return
    assert f"usage: python -m lit_video {command} " in text
    before_options = text.split("\n\n")[1]
    assert before_options[0].isupper() and before_options.rstrip().endswith(".")
    assert len(EXAMPLES[command]) == 2
    flags = {word.split("=")[0] for example in EXAMPLES[command] for word in example.split() if word.startswith("--")}
    for flag in flags:
        assert flag in text or flag.startswith("--data."), flag
    for example in EXAMPLES[command]:
        assert f"  python -m lit_video {command} {example}".rstrip() in text


def test_settings_have_a_help_of_their_own(capsys):
    everything = helped("fit --help all".replace(" --help all", ""), capsys)
    assert "--help all" in everything
    assert main(["fit", "--help", "all"]) == 0
    assert "--trainer.accumulate_grad_batches" in capsys.readouterr().out
    assert main(["fit", "--model.help", "XViT"]) == 0
    assert "--model.window" in capsys.readouterr().out


def test_a_group_of_commands_lists_them(capsys):
    assert main(["benchmark", "--help"]) == 0
    assert "benchmark is one of: benchmark table; each has --help" in capsys.readouterr().out
    assert main(["benchmark"]) == 2
