"""Errors of users' code: the line names the user's file, wherever it is."""

import importlib.util

import pytest
import torch

from lit_video.__main__ import main
from lit_video.errors import UserError, fault_of
from lit_video.experiment.cli import user_errors


@pytest.mark.parametrize("folder", ["own", "lit_video", "torch", "lit_video/.venv/lib/torch"])
def test_a_fault_names_the_last_line_of_the_users_code(tmp_path, folder):
    file = tmp_path / folder / "mine.py"
    file.parent.mkdir(parents=True)
    file.write_text("from torch import zeros\n\n\ndef product():\n    return zeros(2) @ zeros(3)\n")
    spec = importlib.util.spec_from_file_location("mine", file)
    mine = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(mine)

    with pytest.raises(RuntimeError) as raised:
        mine.product()

    assert fault_of(raised.value).endswith(" (mine.py, line 5)")


def test_a_fault_without_a_users_frame_names_no_file():
    try:
        torch.nn.Module().forward()
    except NotImplementedError as error:
        fault = fault_of(error.with_traceback(error.__traceback__.tb_next))
    assert fault.startswith("NotImplementedError") and "line" not in fault


@pytest.mark.parametrize("path", ["/home/me/lit_video/runs", "lit_video.modules.XViT"])
def test_a_fault_of_the_program_is_no_mistake_of_the_user_whatever_its_message_names(path):
    with pytest.raises(TypeError, match="expected str"), user_errors(lambda key: "row first"):
        raise TypeError(f"expected str, got {path}")


def test_what_jsonargparse_cannot_take_is_a_mistake_of_the_user():
    code = """raise TypeError('Parser key "model.window": Value not boolean: 3.')"""
    with pytest.raises(UserError, match=r"row first: model\.window"), user_errors(lambda key: "row first"):
        exec(code, {"__name__": "jsonargparse._actions"})


@pytest.mark.parametrize(("module", "is_fault"), [("lit_video_of_mine", False), ("lit_video.nothing", True)])
def test_a_missing_module_is_the_user_s_unless_it_is_this_package_s(module, is_fault, monkeypatch, capsys):
    def missing(_):
        raise ModuleNotFoundError(f"No module named {module!r}", name=module)

    monkeypatch.setattr("lit_video.__main__.parse", missing)
    if is_fault:
        with pytest.raises(ModuleNotFoundError):
            main(["doctor"])
        return
    assert main(["doctor"]) == 2
    assert module in capsys.readouterr().err
