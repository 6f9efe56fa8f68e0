"""Test that the papers' printed costs are met to the last digit, or that the difference is explained."""

import json
import re
from functools import cache

import pytest

from lit_video.__main__ import main
from lit_video.api import cost
from lit_video.modules import TimeSformer, XViT
from lit_video.network.multiply_adds import agrees, count_params_and_macs, published, value
from lit_video.training.costs import count_published
from lit_video.utils.yaml_files import read_yaml
from tests.conftest import EXPERIMENTS, FOUR_SKILLS
from tests.tables.experiments import PAPERS, request_of, resolved, table_of

MODELS = published()
# figures that are met exactly: TimeSformer's Tables 1, 2 and 5, ViViT's Table 2
EXACT = {
    "space, S": ("85.9M", None),
    "joint space-time, ST": ("85.9M", None),
    "divided, T+S": ("121.4M", "0.59T"),
    "local-global, L+G": ("121.4M", None),
    "axial, T+W+H": ("156.8M", None),
    "TimeSformer-HR 16 x 448": (None, "5.11T"),
    "TimeSformer-L 96 x 224": (None, "7.14T"),
    "model 2": ("115.1M", None),
    "model 3": ("117.3M", None),
    "model 2, average pooling": ("86.7M", None),
}


SETTLED = [model for model in MODELS if model.label in EXACT]
EVERY = [pytest.param(one, id=one.label, marks=[pytest.mark.slow] * (one not in SETTLED)) for one in MODELS]


@cache
def counted(label):
    """Count the parameters and multiply-adds of a paper's model once for all tests."""
    (model,) = (model for model in MODELS if model.label == label)
    return count_published(model)


@pytest.mark.parametrize("model", EVERY)
def test_every_printed_figure_is_met_or_explained(model):
    params, macs = counted(model.label)
    figures = [(params, model.params), (macs * model.views, model.cost)]
    wrong = [printed for ours, printed in figures if printed and not agrees(ours, printed)]
    assert not wrong or model.note
    for ours, printed in zip((params, macs * model.views), EXACT.get(model.label, (None, None)), strict=True):
        assert printed is None or agrees(ours, printed)


def test_vivits_heading_names_the_tables_and_figures_that_print_the_costs():
    models = [model for model in MODELS if model.source.startswith("ViViT")]
    costs = {model.cost for model in models}
    numbers = set()
    for path in sorted(EXPERIMENTS.glob("vivit_*.yaml")):
        table = read_yaml(path)["table"]
        printed = {row.get("published", {}).get("cost") for row in table["rows"].values()}
        if printed & costs - {None}:
            numbers.add(re.search(r"(?:Table|Fig\.) (\d+)", table["source"])[1])

    tables = re.search(r"arXiv:\S+ (.*);", models[0].source)[1]
    assert set(re.findall(r"\d+", re.sub(r"\(.*?\)", "", tables))) == numbers


SCALES = ("ssv2", "k400", "k600", "epic100", "diving48", "howto100m", "moments")


def printed_costs():
    """Yield the papers' tables and scales in which a row has a printed cost."""
    pairs = [(path, EXPERIMENTS / f"scale/{scale}.yaml") for path in PAPERS for scale in SCALES]
    tables = [(files, table_of(*files)) for files in pairs]
    for files, table in tables:
        if table.on_papers_data and any("cost" in row.published or "params" in row.published for row in table.rows):
            yield pytest.param(*files, id=f"{table.name}-{table.scale}")


@pytest.mark.slow
@pytest.mark.parametrize(("table", "scale"), printed_costs())
def test_a_row_costs_what_its_paper_prints_or_says_why(table, scale, capsys):
    assert main(["cost", f"--config={table}", f"--config={scale}", "--json"]) == 0
    for row in json.loads(capsys.readouterr().out):
        figures = [(row["macs"], row["paper_macs"]), (row["params"], row["paper_params"])]
        apart = [abs(ours / value(printed) - 1) for ours, printed in figures if printed]
        assert row["note"] or max(apart, default=0) < 0.03, row
    for row in request_of(table, scale).rows:
        data = resolved(row.name, table, scale).datamodule
        of_a_view = "1x1"  # printed without views, as in ViViT's Table 2
        assert row.published.get("views", of_a_view) in (of_a_view, f"{data.test_clips}x{data.test_crops}"), row.name


@pytest.mark.parametrize(("frames", "side"), [(8, 224), (3, 64)])
def test_joint_attention_costs_what_its_formula_gives(frames, side):
    network = TimeSformer(400, num_frames=frames, image_size=side, size="Ti", attention_type="joint").network
    d, patches = 192, frames * (side // 16) ** 2
    n = 1 + patches
    layer = 12 * n * d**2 + 2 * n**2 * d  # projections and MLP; scores and their products with the values
    assert count_params_and_macs(network, frames, side)[1] == patches * 768 * d + 12 * layer + d * 400


def test_the_exact_window_costs_three_times_the_attention_products_inside_the_clip():
    frames, n, d = 6, 1 + 16, 192
    mixing, exact = (
        XViT(9, num_frames=frames, image_size=64, size="Ti", exact=exact).network for exact in (False, True)
    )
    pairs = 3 * frames - 2  # the first and the last frame have one neighbour
    extra = 12 * 2 * n * n * d * (pairs - frames)
    assert count_params_and_macs(exact, frames, 64)[1] - count_params_and_macs(mixing, frames, 64)[1] == extra


def test_prints_every_source_and_every_model_as_json(capsys, monkeypatch):
    monkeypatch.setattr(cost, "published", lambda: SETTLED[2:5])
    monkeypatch.setattr(cost, "count_published", lambda model: counted(model.label))
    assert main(["cost"]) == 0
    printed = capsys.readouterr().out
    assert all(model.source.split(",")[0] in printed for model in SETTLED[2:5])
    assert main(["cost", "--json"]) == 0
    rows = {row["model"]: row for row in json.loads(capsys.readouterr().out)}
    assert (rows["divided, T+S"]["params"], rows["divided, T+S"]["macs_agree"]) == (121_392_558, True)


S = "S, no positions in time"


def test_costs_of_one_table_are_those_of_its_scale(tiny, capsys):
    table = EXPERIMENTS / "timesformer_schemes.yaml"
    assert main(["cost", "--config", str(table), "--json", "--data.num_frames=4", *FOUR_SKILLS]) == 0
    rows = {row["model"]: row for row in json.loads(capsys.readouterr().out)}
    assert list(rows) == [S, "control: S, positions in time (Eq. 1)", "ST", "T+S", "L+G", "T+W+H"]
    assert rows["T+S"]["frames"] == 4
    assert rows["T+S"]["paper_params"] is None, "a smaller model than the paper's"
    assert rows[S]["macs_per_view"] < rows["ST"]["macs_per_view"]
