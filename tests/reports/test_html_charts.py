"""Charts hold the numbers that they are given, are valid, and are saved as a PNG in the colours of paper."""

import json
import re

import numpy as np
import pytest
import torch
import vl_convert
from PIL import Image

from lit_video.modules import TimeSformer
from lit_video.network.cost import count
from lit_video.reports.charts.calibration import calibration_chart
from lit_video.reports.charts.confusion import confusion_chart
from lit_video.reports.charts.curves import Line, Panel, curves_chart
from lit_video.reports.charts.intervals import Difference, intervals_chart
from lit_video.reports.charts.scatter import Dot, scatter_chart
from lit_video.reports.charts.style import CONFIG, DARK, LIGHT, save, spec
from lit_video.reports.html.cost_curves import FILE, count_all
from lit_video.reports.html.learning import average
from lit_video.tables.statistics import Interval, calibration

COUNTS = np.array([[5, 1, 0], [0, 0, 0], [2, 0, 2]])
BINS = calibration(np.array([0.9, 0.6, 0.95]), np.array([True, False, False]), bins=5)
PANELS = [
    Panel(
        "epoch", "loss", {"a": Line([(1, 2.5), (2, 1.5)], [[(1, 2), (2, 1)], [(1, 3), (2, 2)]]), "b": Line([(1, 4.0)])}
    ),
    Panel("frames", "cost", {"b": Line([(x, 10.0**x) for x in range(30)])}, log=True),
]
DOTS = {"one table": [Dot("x", 1.0, 50.0, 0.9, 1.2), Dot("y", 10.0, 60.0)], "another": [Dot("z", 3.0, 55.0)]}
DIFFERENCES = [
    Difference("a", "b", Interval(2.0, 1.0, 3.0), 2.5),
    Difference("a", "c", Interval(0.5, -1.0, 2.0)),
    Difference("b", "c", Interval(-2.0, -3.0, -1.0), 99.0),
]
CHARTS = {
    "calibration": lambda: calibration_chart({"a": BINS, "b": BINS}, "what"),
    "confusion": lambda: confusion_chart(COUNTS, ["x", "y", "z"], "what"),
    "curves": lambda: curves_chart(PANELS, ["a", "b"], "what"),
    "intervals": lambda: intervals_chart(DIFFERENCES, "what"),
    "scatter": lambda: scatter_chart(DOTS, "GMACs", "what"),
}


def tables(chart):
    return spec(chart)["datasets"]


def tips(node):
    """Titles and fields of all tooltips."""
    if isinstance(node, dict):
        entries = node.get("tooltip", [])
        return {tip.get("title", tip["field"]) for tip in entries} | {x for each in node.values() for x in tips(each)}
    return {x for each in node for x in tips(each)} if isinstance(node, list) else set()


@pytest.mark.parametrize("name", CHARTS)
def test_charts_are_valid_described_and_name_no_url(name):
    chart = CHARTS[name]()
    chart.to_dict()  # raises what Vega-Lite's schema does not know
    content = spec(chart)
    vega = vl_convert.vegalite_to_vega(json.dumps(content | {"config": CONFIG}))
    assert vega["description"] == content["description"] == "what"
    assert "://" not in json.dumps(content)
    assert tips(content)


@pytest.mark.parametrize("name", CHARTS)
def test_charts_have_no_colours_but_those_of_light_and_dark(name):
    text = json.dumps(spec(CHARTS[name]()) | {"config": CONFIG})
    assert LIGHT.keys() == DARK.keys() >= set(re.findall(r"var\(--(\w+)\)", text))
    assert not re.findall(r"#[0-9a-f]{3,6}\b", text)


def test_curves_hold_means_and_seeds():
    data = tables(CHARTS["curves"]())
    assert [(p["row"], p["x"], p["y"]) for p in data["mean0"]] == [("a", 1, 2.5), ("a", 2, 1.5), ("b", 1, 4.0)]
    thin = [("a", 0, 1, 2), ("a", 0, 2, 1), ("a", 1, 1, 3), ("a", 1, 2, 2)]
    assert [(p["row"], p["seed"], p["x"], p["y"]) for p in data["thin0"]] == thin
    assert data["thin1"] == [] and sum(p["marked"] for p in data["mean1"]) == 10, "of 30 points every third"
    assert {"row", "epoch", "loss", "frames", "cost"} <= tips(spec(CHARTS["curves"]()))


def test_a_confusion_matrix_holds_the_counts():
    content = spec(CHARTS["confusion"]())
    cells = np.zeros((3, 3), int)
    for cell in content["datasets"]["cells"]:
        cells[cell["i"], cell["j"]] = cell["videos"]
    np.testing.assert_array_equal(cells, COUNTS)
    assert content["params"][0] == {"name": "names", "value": ["x", "y", "z"]}
    vega = vl_convert.vegalite_to_svg(json.dumps(content | {"config": CONFIG}))
    opacities = [float(x) for x in re.findall(r'fill-opacity="([\d.]+)"', vega)]
    assert sorted(opacities)[-4:] == pytest.approx([1 / 6, 0.5, 0.5, 5 / 6], abs=0.01)


@pytest.mark.parametrize(("classes", "named", "numbered"), [(8, True, True), (30, True, False), (40, False, False)])
def test_a_confusion_matrix_has_names_and_numbers_where_there_is_room(classes, named, numbered):
    content = spec(confusion_chart(np.eye(classes, dtype=int), [f"c{i}" for i in range(classes)], "what"))
    svg = vl_convert.vegalite_to_svg(json.dumps(content | {"config": CONFIG}))
    assert ("c3" in re.findall(">(c3)</text>", svg)) == named
    assert (svg.count(">1</text>") == classes) == numbered
    assert (content["layer"][0]["encoding"]["fillOpacity"]["scale"]["type"] == "sqrt") == (classes > 32)


def test_calibration_holds_the_bins():
    points = tables(CHARTS["calibration"]())["bins"]
    assert [p["videos"] for p in points] == 2 * BINS.count.tolist()
    full = [(p["confidence"], p["accuracy"]) for p in points if p["videos"]]
    assert full == 2 * [(60.0, 0.0), (92.5, 50.0)]
    assert all(p["confidence"] is None for p in points if not p["videos"])


def test_intervals_are_hollow_around_zero_and_hold_the_paper_on_their_scale():
    content = spec(CHARTS["intervals"]())
    pairs = content["datasets"]["pairs"]
    assert [(p["pair"], p["ours"], p["low"], p["high"], p["paper"]) for p in pairs] == [
        ("a − b", 2.0, 1.0, 3.0, 2.5), ("a − c", 0.5, -1.0, 2.0, None), ("b − c", -2.0, -3.0, -1.0, 99.0),
    ]  # fmt: skip
    assert [p["inside"] for p in pairs] == ["var(--s0)", "var(--ground)", "var(--s1)"]
    low, high = content["layer"][0]["encoding"]["x"]["scale"]["domain"]
    assert -4 < low < -3 and 3 < high < 4
    assert {"pair", "ours", "low", "high", "paper"} <= tips(content)


def test_a_scatter_holds_dots_and_their_spans():
    content = spec(CHARTS["scatter"]())
    assert [(p["row"], p["label"], p["x"], p["y"], p["low"]) for p in content["datasets"]["dots"]] == [
        ("one table", "x", 1.0, 50.0, 0.9), ("one table", "y", 10.0, 60.0, None), ("another", "z", 3.0, 55.0, None),
    ]  # fmt: skip
    assert [layer["name"] for layer in content["layer"]] == ["spans", "dots"]
    without = spec(scatter_chart({"t": [Dot("x", 1.0, 50.0)]}, "GMACs", "what"))
    assert [layer["name"] for layer in without["layer"]] == ["dots"]
    assert "middle half, low" in tips(content) and "middle half, low" not in tips(without)


def test_a_png_is_white_and_in_the_colours_of_paper(tmp_path):
    save(CHARTS["confusion"](), "title", tmp_path / "x.png")
    image = Image.open(tmp_path / "x.png").convert("RGB")
    colours = {colour for _, colour in image.getcolors(10**6)}
    assert image.getpixel((image.width - 1, 0)) == (255, 255, 255) and image.width > 500
    assert any(np.abs(np.subtract(colour, (66, 122, 207))).max() < 4 for colour in colours), "5 of 6: 83 % of the blue"


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


@pytest.mark.parametrize(("epochs", "ticks"), [(1, [1]), (2, [1, 2]), (3, [1, 2, 3]), (30, [5, 10, 15, 20, 25, 30])])
def test_epochs_of_a_learning_curve_are_whole(epochs, ticks):
    line = Line([(epoch, 1.0 / epoch) for epoch in range(1, epochs + 1)])
    chart = curves_chart([Panel("epoch", "loss", {"a": line})], ["a"], "what")
    texts = re.findall(r"<text[^>]*>([^<]+)</text>", vl_convert.vegalite_to_svg(json.dumps(spec(chart))))
    assert texts[: texts.index("epoch")] == [str(tick) for tick in ticks]
