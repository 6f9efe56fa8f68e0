"""Test that what a message on a user's own scheme tells to do can be done as it says, and goes on."""

import re
import sys
from importlib import import_module
from types import SimpleNamespace

import pytest

from lit_video.attention import Space
from lit_video.commands.parser import parse
from lit_video.errors import UserError
from lit_video.schemes.contract import check_contract
from lit_video.schemes.own_classes import import_scheme
from lit_video.schemes.skills_table import unmeasured
from lit_video.utils.class_paths import importable

CODE = "from lit_video.attention import Space\n\n\nclass {}(Space):\n    pass\n"


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Function that writes a file of schemes; imported modules are forgotten after the test."""
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    monkeypatch.syspath_prepend(tmp_path)

    def put(name, *schemes):
        (tmp_path / name).write_text("\n\n".join(map(CODE.format, schemes)))
        return tmp_path / name

    return put


def test_a_file_of_two_schemes_is_given_with_one_as_told(write):
    path = write("two_of_mine.py", "First", "Second")
    with pytest.raises(ValueError, match=r"has 2 schemes \(First, Second\)") as error:
        import_scheme(str(path))
    (told,) = re.findall(r"; give (\S+):CLASS$", str(error.value))
    assert import_scheme(f"{told}:Second") == "two_of_mine.Second"


def test_a_module_that_is_not_found_is_given_as_a_file_as_told(write):
    path = write("one_of_mine.py", "Mine")
    with pytest.raises(ValueError, match=r"no module .* is found; give FILE\.py:CLASS"):
        import_scheme("nowhere_of_mine.Mine")
    assert import_scheme(f"{path}:Mine") == "one_of_mine.Mine"


def test_a_file_that_is_called_like_a_module_gets_another_name_as_told(write):
    path = write("json.py", "Mine")
    with pytest.raises(ValueError, match="another module is called json; give the file another name"):
        import_scheme(str(path))
    path.rename(path.with_name("my_json.py"))
    assert import_scheme(str(path.with_name("my_json.py"))) == "my_json.Mine"


def test_a_class_of_a_notebook_is_saved_in_a_file_and_imported_as_told(write):
    with pytest.raises(UserError, match="save it in a file and import it"):
        importable(type("Mine", (Space,), {"__module__": "__main__"}))
    path = write("saved_of_mine.py", "Mine")
    assert importable(import_module("saved_of_mine").Mine) == f"{path}:Mine"


class Even(Space):
    """Attention within each frame of an even number of frames."""

    def forward(self, x, grid):
        if grid.t % 2:
            raise RuntimeError("an odd number of frames")
        return super().forward(x, grid)


class Refusing(Even):
    @classmethod
    def check(cls, grid):
        if grid.t % 2:
            raise ValueError("the number of frames is odd")


class Dropping(Refusing):
    def forward(self, x, grid):
        out = super().forward(x, grid)
        return x + 2 * (out - x) if self.training else out


CONTRACT = {
    "frames and sizes": (Even, "check(grid), a classmethod, must raise ValueError for unsupported grids"),
    "training": (Dropping, "leave drop path to the model"),
}


@pytest.mark.parametrize("fault", CONTRACT)
def test_a_contract_is_kept_as_told(fault):
    scheme, advice = CONTRACT[fault]
    assert advice in check_contract(scheme).faults[fault]
    assert not check_contract(Refusing).faults


def test_reference_rows_are_run_as_told():
    told = unmeasured([SimpleNamespace(seeds=[0]), SimpleNamespace(seeds=[])])
    (command,) = re.findall(r"to run them: (.*)", told)
    assert parse(command.split()).run
