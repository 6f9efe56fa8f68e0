"""Rows that see order and have a seed where blind models end are named."""

import pytest

from lit_video.reports.markdown import ceilings


@pytest.mark.parametrize(
    ("ours", "lowest", "order", "ceiling", "expected"),
    [
        (38.0, 38.0, True, 37.5, "- t (embedded) a: 38.0, lowest seed 38.0, ceiling 37.5"),
        (43.4, 38.0, True, 37.5, "- t (embedded) a: 43.4, lowest seed 38.0, ceiling 37.5"),
        (80.0, 80.0, True, 37.5, ""),
        (36.0, 36.0, False, 37.5, ""),
        (36.0, 36.0, None, None, ""),
        (None, None, True, 37.5, ""),
    ],
)
def test_a_row_of_which_one_seed_has_not_learned_is_named(ours, lowest, order, ceiling, expected):
    metrics = {"test/video_top1": {"ours": ours, "lowest": lowest}}
    row = {"label": "a", "metrics": metrics, "sees_order": order, "blind_ceiling": ceiling}
    found = ceilings([{"table": "t", "scale": "embedded", "metric": "test/video_top1", "rows": [row]}])
    assert found.splitlines()[-1:] == ([expected] if expected else [])
