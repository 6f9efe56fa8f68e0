"""Test the natural order of names."""

import pytest

from lit_video.utils.text import natural


@pytest.mark.parametrize(
    "names",
    [
        ["0.0", "2.0", "10.0"],
        ["-10", "-2", "0", "1", "10"],
        ["1 walk", "2 run", "10 sit", "order5", "order13"],
        ["01", "1", "a", "a-2", "a-10", "²"],
        ["2022", "2022.5", "run", "run 2"],
    ],
)
def test_names_are_sorted_by_the_numbers_in_them(names):
    assert sorted(reversed(names), key=natural) == names
