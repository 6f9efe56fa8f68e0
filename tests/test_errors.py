"""Errors of users' code: the line names the user's file, wherever it is."""

import importlib.util

import pytest
import torch

from lit_video.errors import fault_of


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
