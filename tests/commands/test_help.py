"""Test that every command's help describes it, with valid examples."""

import pytest

from lit_video.__main__ import main
from lit_video.commands.arguments import SETTING_FLAGS
from tests.command_line import every_parser


@pytest.mark.parametrize("command", every_parser())
def test_help_has_examples_of_flags_that_there_are(command, capsys):
    assert main([*command.split(), "--help"]) == 0
    text = capsys.readouterr().out
    assert f"usage: lit_video {command} " in text
    examples = text.partition("\nexamples:\n")[2].splitlines()
    assert examples and all(line.startswith(f"  lit_video {command}") for line in examples)
    flags = {word.split("=")[0] for line in examples for word in line.split() if word.startswith("--")}
    assert all(flag in text or flag.startswith("--data.") for flag in flags)


def test_lightnings_help_lists_settings_and_those_of_a_class(capsys):
    assert main(["fit", "--help", "all"]) == 0
    text = capsys.readouterr().out
    assert (
        all(f"{name} " in text for name in SETTING_FLAGS) and "Number of GPU nodes" in text and "--model.help" in text
    )
    assert main(["test", "--help", "all"]) == 0
    assert "Perform one evaluation epoch over the test set" in capsys.readouterr().out
    assert main(["fit", "--config", "experiments/ablation_tw.yaml", "--row", "tw1", "--model.help", "XViT"]) == 0
    assert "--model.window" in capsys.readouterr().out
