"""Test that a parser has the arguments, choices, defaults and words of the function that it is derived from."""

import pytest

from lit_video.commands.parser import tree
from lit_video.commands.signatures import flag_help, signature
from tests.command_line import every_parser


def flags(command):
    """Return the actions of a command by the argument that they set."""
    return {action.dest: action for action in every_parser()[command]._actions}


def test_a_type_decides_how_a_flag_is_read():
    of_probe = flags("probe")
    assert of_probe["num_frames"].option_strings == ["--num-frames"]
    assert of_probe["num_frames"].type("8") == 8
    assert of_probe["image_size"].type("32,48") == [32, 48]
    assert of_probe["device"].choices == ["cpu", "cuda"]
    assert of_probe["random_weights"].nargs == 0
    assert flags("finetune")["mirror"].option_strings == ["--mirror", "--no-mirror"]
    assert flags("data prepare")["preset"].choices == ["small", "fast", "fastest"]
    assert flags("export")["to"].required and not flags("test")["ckpt"].required


@pytest.mark.parametrize("command", every_parser())
def test_own_flags_are_spelled_with_dashes(command):
    parser = every_parser()[command]
    spelled = [word for action in parser._actions for word in action.option_strings]
    assert not [word for word in spelled if "_" in word]


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("minutes of training; ``None`` for 10 on a CPU.", "minutes of training (default: 10 on a CPU)"),
        ("a probe; ``None``: on a CPU; not on a GPU.", "a probe (default: on a CPU; not on a GPU)"),
        ("``None`` for a GPU if there is one.", "(default: a GPU if there is one)"),
        ("column, or ``none`` to divide at random.", "column, or none to divide at random"),
        ("a run, see :func:`~lit_video.load`.", "a run, see lit_video.load"),
    ],
)
def test_what_none_stands_for_is_the_default(words, shown):
    assert flag_help(words) == shown


def test_defaults_are_those_of_the_function():
    assert flags("compare")["seeds"].default == signature("compare").arguments["seeds"].default == (0, 1, 2)
    assert "(default: 0,1,2)" in flags("compare")["seeds"].help
    assert "(default: 8)" in flags("predict")["batch"].help


def test_a_command_says_what_its_function_says():
    text = tree("doctor").commands["doctor"].description
    assert text.startswith(signature("doctor").text) and text.endswith("Exit status 1: there is a problem.")
