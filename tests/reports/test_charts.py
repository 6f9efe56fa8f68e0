"""The page's charts hold the numbers that they are given, and are valid."""

import json
import re

import vl_convert

from lit_video.reports.charts import (
    CONFIG,
    Line,
    Panel,
    curves_chart,
    spec,
)
from lit_video.reports.html.views import average
from lit_video.utils.colours import DARK, LIGHT

PANELS = [
    Panel(
        "epoch", "loss", {"a": Line([(1, 2.5), (2, 1.5)], [[(1, 2), (2, 1)], [(1, 3), (2, 2)]]), "b": Line([(1, 4.0)])}
    ),
    Panel("frames", "cost", {"b": Line([(x, 10.0**x) for x in range(30)])}),
]


def tips(node):
    """Titles and fields of all tooltips."""
    if isinstance(node, dict):
        entries = node.get("tooltip", [])
        return {tip.get("title", tip["field"]) for tip in entries} | {x for each in node.values() for x in tips(each)}
    return {x for each in node for x in tips(each)} if isinstance(node, list) else set()


def test_curves_are_valid_described_and_in_the_colours_of_light_and_dark():
    chart = curves_chart(PANELS, ["a", "b"], "what")
    chart.to_dict()  # raises what Vega-Lite's schema does not know
    content = spec(chart)
    vega = vl_convert.vegalite_to_vega(json.dumps(content | {"config": CONFIG}))
    assert vega["description"] == content["description"] == "what"
    text = json.dumps(content | {"config": CONFIG})
    assert "://" not in text and tips(content)
    assert LIGHT.keys() == DARK.keys() >= set(re.findall(r"var\(--(\w+)\)", text))
    assert not re.findall(r"#[0-9a-f]{3,6}\b", text)


def test_a_mean_over_seeds_has_only_points_that_every_seed_has():
    assert average([[(0, 1.0), (1, 2.0)], [(1, 4.0), (2, 9.0)]]) == [(1, 3.0)]
