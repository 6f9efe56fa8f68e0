"""Test which differences of two pages are roundings."""

import pytest

from benchmarks.roundings import roundings_apart

PAGE = """\
│ t_w = 1 │  9.9 │ +0.0 [-5.7, +5.7] │
└─────────┴──────┴───────────────────┘
**Of 6 orderings, 5 hold** (arXiv:2102.05095; `--lr 0.01`; 99.9M): 8.0 ± 0.1.
"""
ROUNDED = {
    "the same": ([], {}),
    "another sign of zero": ([("+0.0", "-0.0")], {"+0.0": "-0.0"}),
    "on the other side of zero": ([("+0.0", "-0.1")], {"+0.0": "-0.1"}),
    "at the end of a sentence": ([("0.1", "0.2")], {"0.1.": "0.2."}),
    "a wider column": ([("9.9", "10.0")], {" 9.9": "10.0", "──────": "───────"}),
    "fewer digits": ([("8.0", "7.99")], {"8.0": "7.99"}),
}
OTHERWISE = {
    "two units": {"+5.7": "+5.9"},
    "two units of the finer number": {"8.0": "7.98"},
    "a count": {"5 hold": "4 hold"},
    "a word": {"hold": "held"},
    "emphasis": {"**": ""},
    "a source": {"2102.05095": "2102.05096"},
    "a command": {"0.01": "0.02"},
    "a unit": {"99.9M": "100.0M"},
    "a number more": {"8.0": "8.0 8.0"},
    "spaces alone": {"│  9.9": "│ 9.9"},
}


def changed(changes):
    text = PAGE
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize("how", ROUNDED)
def test_pages_that_differ_by_a_rounding_are_equal_but_for_these_numbers(how):
    pairs, changes = ROUNDED[how]
    assert roundings_apart(PAGE, changed(changes)) == pairs


@pytest.mark.parametrize("how", OTHERWISE)
def test_pages_that_differ_otherwise_are_not_equal(how):
    assert roundings_apart(PAGE, changed(OTHERWISE[how])) is None
