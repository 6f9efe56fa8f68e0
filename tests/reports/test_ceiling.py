"""Rows that ended where blind models do are named, on either side."""

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
    assert "Of 2 rows, see order and have not learned: none. Blind and above: none." in text(
        row("a", 80.0, True), row("b", 36.0, False), row("not run", None, None, None)
    )


def test_a_row_that_sees_order_and_has_not_learned_is_named():
    assert "have not learned: t (embedded) a: 38.0, lowest seed 38.0, ceiling 37.5." in text(row("a", 38.0, True))


def test_a_row_of_which_one_seed_has_not_learned_is_named():
    """Issue 13: every row that can see order leaves the ceiling in all seeds."""
    named = "have not learned: t (embedded) a: 43.4, lowest seed 38.0, ceiling 37.5."
    assert named in text(row("a", 43.4, True, lowest=38.0))
    assert "Blind and above: none." in text(row("b", 36.0, False, lowest=35.0))


def test_a_blind_row_above_the_ceiling_is_named():
    assert "Blind and above: t (embedded) b: 60.0, lowest seed 60.0, ceiling 37.5." in text(row("b", 60.0, False))


def test_rows_that_do_not_say_are_not_judged():
    found = text(row("old", 80.0, None, None))
    assert "have not learned" not in found
    assert "1 rows are of other data" in found
