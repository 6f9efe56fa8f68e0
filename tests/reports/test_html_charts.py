import json

import pytest
import torch

from lit_video.costs.count import count
from lit_video.modules import TimeSformer
from lit_video.reports.html.cost_curves import FILE, count_all
from lit_video.reports.html.labels import place
from lit_video.reports.html.learning import average
from lit_video.reports.html.svg import CHARACTER, Scale, around, element


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [(0, 100, [0, 20, 40, 60, 80, 100]), (-0.31, 0.22, [-0.3, -0.2, -0.1, 0, 0.1, 0.2]), (51, 54, [51, 52, 53, 54])],
)
def test_ticks_are_round_and_inside(low, high, ticks):
    found = [tick for tick in Scale(low, high, 0, 1).ticks() if round(tick, 3) in ticks]
    assert found == pytest.approx(ticks)


@pytest.mark.parametrize(("low", "high"), [(0.001, 3000), (0.13, 0.71), (20, 21), (9.9, 10.1)])
def test_logarithmic_ticks_lie_inside(low, high):
    ticks = Scale(low, high, 0, 1, log=True).ticks()
    assert 2 <= len(ticks) <= 12
    assert all(low * 0.99 <= tick <= high * 1.01 for tick in ticks)
    assert ticks == sorted(set(ticks))


def test_scales_map_ends_to_ends():
    assert [Scale(2, 4, 10, 20)(x) for x in (2, 3, 4)] == [10, 15, 20]
    assert [Scale(1, 100, 0, 10, log=True)(x) for x in (1, 10, 100)] == pytest.approx([0, 5, 10])
    for values in ([5.0], [0.0], [1.0, 9.0]):
        scale = around(values, 0, 1)
        assert all(0 < scale(value) < 1 for value in values)


def test_labels_never_cover_labels_points_or_lines():
    points = [(50.0 + 7 * i, 50.0 + 3 * i) for i in range(12)]
    names = [f"row number {i}" for i in range(12)]
    line = (0.0, 40.0, 300.0, 44.0)
    boxes = []
    for label in place(points, names, (0, 0, 300, 200), [line]):
        width = CHARACTER * len(label.words)
        left = label.x - {"start": 0, "middle": width / 2, "end": width}[label.anchor]
        boxes.append((left, label.y - 10, left + width, label.y + 3))
    assert len(boxes) >= 3
    rest = [line, *((x, y, x, y) for x, y in points)]
    for i, box in enumerate(boxes):
        for other in boxes[:i] + rest:
            apart = box[2] <= other[0] or other[2] <= box[0] or box[3] <= other[1] or other[3] <= box[1]
            assert apart
        assert box[0] >= 0 and box[2] <= 300
    assert place([(290.0, 5.0)], ["far too long for the room that there is"], (280, 0, 300, 9)) == []


def test_elements_escape_what_they_hold():
    made = element("text", "<a> & b", class_="x", data_label='"', x=1.0)
    assert made == '<text class="x" data-label="&#34;" x="1">&lt;a&gt; &amp; b</text>'


def test_a_mean_over_seeds_has_only_points_that_every_seed_has():
    assert average([[(0, 1.0), (1, 2.0)], [(1, 4.0), (2, 9.0)]]) == [(1, 3.0)]


def test_kept_cost_curves_are_what_a_network_costs():
    kept = json.loads(FILE.read_text())
    with torch.device("meta"):
        model = TimeSformer(400, attention="divided")
    assert count(model.network, 32, 224)[1] == kept["divided (T+S)"]["frames"]["32"], f"make {FILE} again"
    for curves in kept.values():
        assert curves["size"]["224"] == curves["frames"]["8"]
        for each in curves.values():
            assert list(each.values()) == sorted(each.values())


@pytest.mark.slow
def test_all_kept_cost_curves_are_what_the_networks_cost():
    assert count_all() == json.loads(FILE.read_text())
