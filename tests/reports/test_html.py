"""Test the report: numbers and pictures of its page, which needs no other file."""

import re
from dataclasses import replace

import numpy as np
import pytest

from lit_video.__main__ import main
from lit_video.inference.result_pictures import curves_figure, style_of
from lit_video.reports.html import views
from lit_video.reports.html.collect import collect
from lit_video.runs.folder import read_finished, run_folders
from lit_video.runs.predictions import FILE, Predictions, TaskPredictions, read_predictions
from lit_video.tables.row_hits import RowHits
from lit_video.utils.colours import LIGHT
from tests.fake_runs import EXPERIMENTS, ROWS, change_result, save, seed_dir, write_table_runs

S = "S, no positions in time"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Runs like those of ``fake_runs``, and their page; tests only read both."""
    folder = tmp_path_factory.mktemp("made")
    runs = write_table_runs(folder / "runs", "timesformer_schemes", seeds=2, rows=ROWS, videos=60).parents[1]
    assert main(["report", str(runs), "-o", str(folder / "page.html"), "--experiments", str(EXPERIMENTS)]) == 0
    return runs, (folder / "page.html").read_text()


@pytest.mark.parametrize("below", ["", "fake", "fake/joint/seed1"])
def test_any_folder_of_the_tree_can_be_given_and_means_its_table(fake_runs, below):
    (section,) = collect([fake_runs / "timesformer_schemes" / below, fake_runs], EXPERIMENTS)
    assert (section.table.name, section.table.scale) == ("timesformer_schemes", "fake")
    assert len(section.finished) == 6


def test_pairs_are_paired_over_videos_in_any_order_that_they_were_kept_in(fake_runs):
    predictions = read_predictions(seed_dir(fake_runs))
    order = np.random.default_rng(1).permutation(len(predictions.video))
    task = predictions.tasks[""]
    arrays = (getattr(task, key)[order] for key in ("predicted", "rank", "confidence", "target"))
    save(seed_dir(fake_runs), Predictions(predictions.video[order], {"": TaskPredictions(*arrays, task.classes)}))
    (section,) = collect([fake_runs], EXPERIMENTS)
    pairs = section.data.pairs
    hits = {row: [read_predictions(seed_dir(fake_runs, row, s)).tasks[""].hits() for s in (0, 1)] for row in ROWS}
    pair = next(pair for pair in pairs if {pair.first, pair.second} == {"space", "divided"})
    assert pair.first == "divided"  # the paper's better one
    assert pair.paper == pytest.approx(59.5 - 36.6)
    difference = RowHits(hits).difference("divided", "space")
    assert (pair.difference, pair.low, pair.high) == (difference.value, difference.low, difference.high)
    assert section.data.agreement.rows == len(pairs) == 3


def test_the_page_says_what_is_missing(made, fake_runs, write_report):
    assert "No predictions of" not in made[1]
    (seed_dir(fake_runs, "joint") / FILE).unlink()
    assert "No predictions of ST for" in write_report(fake_runs)


@pytest.mark.parametrize("names", [{"room_actions"}, pytest.param(None, marks=pytest.mark.slow)])
def test_committed_results_make_a_page(names, write_report):
    results = EXPERIMENTS.parent / "benchmarks" / "results"
    names = names or {run.parts[-4] for run in run_folders(results)}
    page = write_report(*(results / name for name in names))
    assert all(f'id="{name}-' in page for name in names)


def matrices(page):
    """Return every confusion matrix of a page by its description: names of classes, and a list of cells a line."""
    found = {}
    for what, rows in re.findall(r'<table class="matrix.*?aria-label="(.*?)">(.*?)</table>', page, re.DOTALL):
        head, *lines = rows.strip().split("\n")
        names = re.findall("<span>(.*?)</span>", head)
        found[what] = names, [re.findall(r"<td([^>]*)>(.*?)</td>", line) for line in lines]
    return found


def pictures(page):
    """Return every picture of a page by its description for screen readers."""
    return dict(re.findall(r'<div class="picture" role="img" aria-label="(.*?)">(.*?)</div>', page, re.DOTALL))


def test_the_page_needs_nothing_beside_it(made):
    _, page = made
    ids, jumps = re.findall(r' id="([^"]+)"', page), re.findall(r'<a href="#([^"]+)"', page)
    loads = re.findall(r'(?: src| srcset| data|<link [^>]*href)="([^"]*)"', page)
    assert loads and all(load.startswith("data:") for load in loads)
    assert not re.search(r"@import|url\((?!#)|https?://", page)
    assert "connect-src" not in page and "default-src 'none'" in page and "unsafe-eval" not in page
    assert {*jumps} <= {*ids} and len(ids) == len({*ids})


def test_names_in_runs_cannot_change_the_page_and_several_tasks_have_a_matrix_each(fake_runs, write_report):
    for row in ROWS:
        for seed in (0, 1):
            predictions = read_predictions(seed_dir(fake_runs, row, seed))
            task = predictions.tasks[""]
            names = ["</script><script>alert(1)</script>", "<b>&", *task.classes[2:]]
            changed = Predictions(predictions.video, {"verb": replace(task, classes=names), "noun": task})
            save(seed_dir(fake_runs, row, seed), changed)
            change_result(
                seed_dir(fake_runs, row, seed), device="<img src=x onerror=alert(1)>", identity={"commit": "<u>"}
            )
    page = write_report(fake_runs)
    assert "alert(1)</script>" not in page and "<img" not in page and "<u>" not in page
    found = matrices(page)
    assert len(found) == 2 * len(ROWS)
    names, _ = found[f"confusion matrix of {S}, verb"]
    assert names[:2] == ["&lt;/script&gt;&lt;script&gt;alert(…", "&lt;b&gt;&amp;"]


def test_pictures_hold_the_runs(made):
    runs, page = made
    counts = sum(read_predictions(seed_dir(runs, "space", seed)).tasks[""].confusion for seed in (0, 1))
    _, lines = matrices(page)[f"confusion matrix of {S}, Space-time attention schemes"]
    assert [[int(videos or 0) for _, videos in line] for line in lines] == counts.tolist()
    percent = (100 * counts / counts.sum(1, keepdims=True)).round().astype(int)
    shares = [[int((re.findall(r"(\d+)%", style) or [0])[0]) for style, _ in line] for line in lines]
    assert shares == percent.tolist()
    (curves,) = (svg for what, svg in pictures(page).items() if what.startswith("validation loss"))
    assert all(f">{label}</text>" in curves for label in (S, "ST", "T+S"))
    (rows,) = (svg for what, svg in pictures(page).items() if what.startswith("accuracy of the rows"))
    assert ">paper (%)</text>" in rows and ">ours (%)</text>" in rows and rows.count("<use") >= 8


def test_the_matrix_of_many_classes_is_a_picture_without_names():
    names = [f"class {i}" for i in range(views.NAMED_CLASSES + 1)]
    many = views.matrix(np.eye(len(names), dtype=np.int64), names, "confusion matrix")
    assert many.keys() == {"picture"} and "class 1" not in many["picture"]["svg"]
    few = views.matrix(np.array([[3, 1], [0, 0]]), names[:2], "confusion matrix")
    assert few["lines"] == [("class 0", [(3, 75), (1, 25)]), ("class 1", [(0, 0), (0, 0)])]


def test_a_curve_is_drawn_at_its_points_and_a_mean_only_where_every_seed_has_one():
    mean = views.average([[(0, 1.0), (1, 2.0)], [(1, 4.0), (2, 9.0)]])
    assert mean == [(1, 3.0)]
    figure = curves_figure("loss", {"b": (mean, [[(0, 1.0), (1, 2.0)]])}, ["a", "b"])
    lines = [(line.get_color(), [*line.get_xdata()], [*line.get_ydata()]) for line in figure.axes[0].lines]
    assert lines == [(LIGHT["s1"], [0, 1], [1.0, 2.0]), (LIGHT["s1"], [1], [3.0])]
    assert len({str(style_of(i)) for i in range(72)}) == 72


def test_two_panels_of_curves_fit_side_by_side(made):
    """The page is 1,184 pixels wide."""
    _, page = made
    panels = {what: svg for what, svg in pictures(page).items() if " over optimizer steps, " in what}
    widths = [float(re.search(r'<svg[^>]* width="([\d.]+)pt"', svg)[1]) * 96 / 72 for svg in panels.values()]
    assert len(widths) == 4 and max(widths) < 1184 / 2 - 16


def test_heat_maps_of_a_table_stand_side_by_side(write_report, tmp_path):
    scale = write_table_runs(tmp_path / "runs", "ablation_tw", seeds=1, classes=4, videos=20)
    skills = {f"test/{kind}/{name}": 75.0 for kind in ("direction", "recognised") for name in ("drift", "zoom")}
    for folder in run_folders(scale):
        change_result(folder, metrics=read_finished(folder).result.metrics | skills)
    page = write_report(scale)
    (panels,) = re.findall(r'<div class="panels">(.*?)</div>\s*</div>\s*<details', page, re.DOTALL)
    assert panels.count("<figure>") == 2
    assert re.search(r"\.panels > div \{ flex: 1 1 24rem;", page)


def test_the_label_of_a_row_may_take_more_lines_so_that_its_numbers_are_in_sight(made):
    rules = dict(re.findall(r"^([^\n{]+) \{ ([^}]+) \}", made[1], re.MULTILINE))
    assert "white-space: nowrap" in rules["th, td"]
    assert "white-space: normal" in rules['th[scope="row"]']
