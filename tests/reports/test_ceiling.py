"""Rows that ended where blind models do are named, on either side."""

import pytest

from lit_video.reports.markdown import ceilings


def row(label, ours, order, ceiling=37.5, lowest=None):
    return {
        "label": label,
        "metrics": {"test/video_top1": {"ours": ours, "lowest": lowest or ours}} if ours is not None else {},
        "sees_order": order,
        "blind_ceiling": ceiling,
    }


def text(*rows):
    return ceilings([{"table": "t", "scale": "embedded", "metric": "test/video_top1", "rows": list(rows)}])


def test_rows_that_have_learned_and_blind_rows_below_are_counted_only():
    assert "0 of 2 rows see order and have not learned.\n\n\nBlind rows above their ceiling: none." in text(
        row("a", 80.0, True), row("b", 36.0, False), row("not run", None, None, None)
    )


HAVE_NOT = "1 of 1 rows see order and have not learned:\n\n- t (embedded) "
ABOVE = "Blind rows above their ceiling: "


@pytest.mark.parametrize(
    ("judged", "expected"),
    [
        (row("a", 38.0, True), HAVE_NOT + "a: 38.0, lowest seed 38.0, ceiling 37.5\n"),
        (row("a", 43.4, True, lowest=38.0), HAVE_NOT + "a: 43.4, lowest seed 38.0, ceiling 37.5\n"),
        (row("b", 36.0, False, lowest=35.0), ABOVE + "none."),
        (row("b", 60.0, False), ABOVE + "t (embedded) b: 60.0, lowest seed 60.0, ceiling 37.5."),
    ],
)
def test_a_row_of_which_one_seed_has_not_learned_and_a_blind_one_above_are_named(judged, expected):
    assert expected in text(judged)


def test_rows_that_do_not_say_are_not_judged():
    old = row("old", 80.0, None, None)
    assert text(old) == ""
    assert "1 more rows have no ceiling: other data" in text(old, row("new", 80.0, 20.0, True))
