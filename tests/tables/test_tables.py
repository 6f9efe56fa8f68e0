"""Test tables: their files, their rows of results, and runs that do not belong in them."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lit_video.__main__ import main
from lit_video.errors import UserError
from lit_video.runs.folder import write_curves
from lit_video.runs.predictions import save_logits
from lit_video.tables.reading import read_table, table_at
from lit_video.tables.rendering import certainty, render
from lit_video.tables.row_hits import RowHits
from lit_video.tables.summary import DrawCount, TableRuns, summary
from lit_video.tables.table import Row, Table
from tests import fake_runs
from tests.command_line import parse_request
from tests.fake_runs import change_result, recorded
from tests.tables.experiments import EXPERIMENTS


def write_result(folder, seed, top1, top5=90.0):
    """Write a result of this accuracy into a run's folder."""
    folder.mkdir(parents=True)
    table, scale, row, _ = folder.parts[-4:]
    names = {"table": table, "row": row, "scale": scale, "seed": seed, "identity": {"commit": "abc"}}
    costs = {"params": 2_000_000, "gmacs": 1.5, "seconds": 10.0 + seed, "test_videos": 8}
    fake_runs.write_result(folder, **names, **costs, metrics={"test/video_top1": top1, "test/video_top5": top5})


def test_a_table_shows_mean_deviation_and_difference_of_what_was_run(table, tmp_path):
    path, _ = table
    runs = tmp_path / "runs"
    for seed, top1 in enumerate((60.0, 64.0)):
        write_result(runs / "two/default/second" / f"seed{seed}", seed, top1)
    data = summary(read_table([path]), runs)
    first, second = data.rows
    numbers = first.metrics["test/video_top1"]
    assert numbers.paper is not None and numbers.ours is numbers.std is numbers.lowest is None
    assert second.metrics["test/video_top1"].ours == 62.0
    assert second.metrics["test/video_top1"].std == pytest.approx(2.8284, abs=1e-3)
    assert second.seeds == [0, 1]
    assert summary(read_table([path]), runs, seeds=[1]).rows[1].metrics["test/video_top1"].ours == 64.0


def test_every_format_holds_the_numbers(table, tmp_path):
    path, _ = table
    write_result(tmp_path / "runs/two/default/second/seed0", 0, 61.0)
    assert "diff." not in render(summary(read_table([path]), tmp_path / "runs"), "text"), "other data than the paper's"
    data = summary(replace(read_table([path]), data_set="default"), tmp_path / "runs")
    assert json.loads(render(data, "json")) == data.plain()
    for form in ("text", "markdown"):
        text = render(data, form)
        assert all(word in text for word in ("2nd", "62.5", "61.0", "-1.5", "not run", "2M", "1.5 x 3")), form
    widths = {line.count("|") for line in render(data, "markdown").splitlines()[2:]}
    assert len(widths) == 1


@pytest.mark.parametrize(("order", "text"), [(True, "7"), (False, "7 (blind)")])
def test_groups_of_classes_have_a_table_beside_what_the_scheme_reaches(table, tmp_path, order, text):
    for seed, drift in enumerate((80.0, 90.0)):
        write_result(folder := tmp_path / f"two/default/second/seed{seed}", seed, 60.0)
        metrics = {"test/video_top1": 60.0, "test/skill/zoom": 40.0, "test/skill/drift": drift}
        change_result(folder, metrics=metrics, reach=7, sees_order=order)
    printed = render(summary(read_table([table[0]]), tmp_path), "markdown")
    main_table, groups = printed.split("**Top-1 by skill, means over seeds")
    assert "drift" not in main_table
    assert "reach: largest distance" in groups and f"| 2nd | {text} | 85.0 | 40.0 |" in groups.splitlines()


def test_directions_have_their_floors_and_the_bound_of_a_sum_over_frames(table, tmp_path):
    write_result(folder := tmp_path / "two/default/second/seed0", 0, 60.0)
    metrics = {"test/video_top1": 60.0, "test/direction": 75.0, "test/recognised": 80.0}
    metrics |= {"test/direction/zoom": 90.0, "test/direction/drift": 60.0}
    two_frames = {"zoom": 100.0, "drift": 99.0}
    metrics |= {"test/recognised/zoom": 99.0, "test/recognised/drift": 61.0, "test/both_directions": 55.0}
    change_result(
        folder, metrics=metrics, reach=7, sees_order=True, sum_ceilings={"zoom": 87.5}, two_frames_ceilings=two_frames
    )
    printed = render(summary(read_table([table[0]]), tmp_path), "markdown")
    main_table, direction, recognised = re.split(r"\*\*(?:Direction|Recognised) by skill, means over seeds", printed)
    assert "| both directions ours | seeds |" in main_table
    assert "| 80.0 | 75.0 | 55.0 | seed 0 |" in main_table
    assert "one frame at a known time: 50" in direction and "50" not in recognised
    assert "| 2nd | 7 | 60.0 | 90.0 |" in direction.splitlines()
    assert "| bound of any sum over frames | 0 |  | 87.5 |" in direction.splitlines()
    assert "| best of two neighbouring frames | 1 | 99.0 | 100.0 |" in direction.splitlines()
    assert "neighbouring" not in recognised
    assert "| 2nd | 7 | 61.0 | 99.0 |" in recognised.splitlines()


def test_the_steps_that_each_skill_takes_are_printed_by_seed(table, tmp_path):
    table = read_table([table[0]])
    for seed, zoom in enumerate((80.0, 51.0)):
        write_result(folder := tmp_path / f"two/default/second/seed{seed}", seed, 60.0)
        settings = table.row("second").settings | {"data.pairs": [8, 64, 8]}
        change_result(folder, identity={"settings": recorded(settings)})
        write_curves(folder, [{"step": 250, "val/direction/drift": 90.0, "val/direction/zoom": zoom}])

    printed = render(summary(table, tmp_path), "markdown").splitlines()
    start = next(number for number, line in enumerate(printed) if line.startswith("**Steps until directions"))
    assert printed[start + 2] == "| row | drift | zoom |"
    assert printed[start + 4] == "| 2nd | 250, 250 | 250, - |"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("    second:", "    first:", r"two.yaml, line 10: 'first' is given twice"),
        ("title: Two rows", "title: [a", r"two.yaml, line \d+: did not find expected"),
        ("label: 2nd", "lable: 2nd", r"two.yaml: table.rows.second.lable: no such key"),
        ("{model.window: 0}", "{}, at: {ssv2: {window: 3}}", r"first.at.ssv2.window: expected a setting"),
        ("  rows:", "  reported: {x: {set: {}}}\n  rows:", r"table.reported.x.set: no such key; expected one of label"),
        ("45.2", "many", r"table.rows.first.paper.test/video_top1: expected a number, got 'many'"),
    ],
)
def test_a_wrong_table_is_reported_with_file_and_key(table, old, new, message):
    path, rewrite = table
    rewrite(old, new)
    with pytest.raises(UserError, match=message):
        read_table([path])


RECIPES = """\
scale: true
recipes:
  xvit:
    paper: {trainer.max_epochs: 35, model.dropout: 0.5, data.batch_size: 16}
    released: {trainer.max_epochs: 30, model.dropout: 0.5}
  timesformer:
    paper: {model.drop_path_rate: 0.1}
"""


@pytest.fixture
def scaled(table, tmp_path):
    """Table of the two rows with a family and settings for a scale, and that scale's file."""
    path, rewrite = table
    shared = "{model.dropout: 0.0, model.window: 7}"
    rewrite("  set: {model.ta_layers: 0}", f"  family: xvit\n  set: {shared}\n  at: {{big: {{model.patch_size: 32}}}}")
    rewrite("set: {model.window: 1}", "set: {model.window: 1}, at: {big: {model.window: 3, model.dropout: 0.9}}")
    overlay = tmp_path / "big.yaml"
    overlay.write_text(RECIPES)
    return path, rewrite, overlay


def test_a_rows_settings_are_the_recipes_the_tables_and_its_own(scaled):
    path, _, overlay = scaled
    own, big = read_table([path]), read_table([path, overlay])
    assert own.row("second").settings == {"model.dropout": 0.0, "model.window": 1}
    paper = {"trainer.max_epochs": 35, "data.batch_size": 16, "model.dropout": 0.0, "model.patch_size": 32}
    assert big.row("first").settings == paper | {"model.window": 0}
    assert big.row("second").settings == paper | {"model.window": 3, "model.dropout": 0.9}
    assert big.scale == read_table([path, overlay], "paper").scale == "big"


def test_a_row_may_have_settings_of_one_recipe_at_one_scale(scaled):
    path, rewrite, overlay = scaled
    rewrite("big: {model.window: 3,", "big-released: {model.window: 4}, big: {model.window: 3,")
    assert read_table([path, overlay]).row("second").settings["model.window"] == 3
    released = read_table([path, overlay], "released").row("second").settings
    assert released["model.window"] == 4 and released["model.dropout"] == 0.9


def test_another_recipe_is_another_scale(scaled):
    path, rewrite, overlay = scaled
    released = read_table([path, overlay], "released")
    assert released.scale == "big-released"
    assert released.row("first").settings["trainer.max_epochs"] == 30
    rewrite("{label: 2nd,", "{label: 2nd, family: timesformer,")
    assert read_table([path, overlay]).row("second").settings["model.drop_path_rate"] == 0.1
    assert read_table([path, overlay], "released").row("first").settings["trainer.max_epochs"] == 30
    assert read_table([path, overlay], "released").row("second").settings["model.drop_path_rate"] == 0.1, (
        "only one recipe"
    )
    with pytest.raises(UserError, match=r"--recipe own: .*big.yaml: recipes.xvit has none; it has paper, released"):
        read_table([path, overlay], "own")
    rewrite("family: timesformer", "family: vivit")
    with pytest.raises(
        UserError, match=r"big.yaml: recipes: none for .*rows.second \(family 'vivit'\); families: xvit"
    ):
        read_table([path, overlay])


def test_a_class_comes_before_the_settings_that_it_takes(scaled, tiny):
    path, rewrite, overlay = scaled
    rewrite("set: {model.window: 1}", "set: {model.attention_type: joint, model: TimeSformer}")
    (run,) = parse_request(["--config", str(path), "--config", str(overlay), "--row", "second"]).runs
    model = run.settings["model"]
    assert model["class_path"] == "TimeSformer" and model["init_args"]["attention_type"] == "joint"


def test_the_papers_numbers_are_those_of_the_scales_data_set(table, tmp_path):
    path, rewrite = table
    rewrite(
        "paper: {test/video_top1: 62.5, test/video_top5: 87.8}",
        "paper: {ssv2: {test/video_top1: 62.5, test/video_top5: 87.8}, k400: {test/video_top1: 78.0}}",
    )
    overlay = tmp_path / "k400.yaml"
    overlay.write_text("trainer: {max_epochs: 3}\n")
    ssv2 = {"test/video_top1": 62.5, "test/video_top5": 87.8, "K400 top1": 78.0}
    assert read_table([path]).row("second").paper == ssv2
    expected = {"test/video_top1": 78.0, "SSV2 top1": 62.5, "SSV2 top5": 87.8}
    assert read_table([path, overlay]).row("second").paper == expected


def test_rows_that_only_the_paper_has_are_shown_and_never_run(table, tmp_path, capsys):
    path, rewrite = table
    rewrite("  rows:", "  reported:\n    tea: {label: TEA, paper: {test/video_top1: 65.1}}\n  rows:")
    content = read_table([path])
    assert [row.name for row in content.rows] == ["first", "second"]
    for form in ("text", "markdown"):
        text = render(summary(content, tmp_path), form)
        assert sum("paper only" in line for line in text.splitlines()) == 1
        assert "65.1" in text
    with pytest.raises(UserError, match="no row 'tea'"):
        parse_request(["--config", str(path), "--row", "tea"])


def keep(folder, hits):
    """Write predictions of two classes that are right where ``hits`` is true."""
    logits = np.stack([np.array(hits, np.float32), np.full(len(hits), 0.5, np.float32)], 1)
    save_logits(folder, np.arange(len(hits)), {"": (logits, np.zeros(len(hits), np.int64), ["a", "b"])})
    change_result(folder, test_videos=len(hits))


def test_a_table_says_how_far_it_agrees_with_the_paper(table, tmp_path):
    path, _ = table
    runs = tmp_path / "runs"
    for row, share in (("first", 10), ("second", 90)):
        for seed in (0, 1):
            folder = runs / f"two/default/{row}/seed{seed}"
            write_result(folder, seed, float(share))
            keep(folder, np.arange(100) < share)
    data = summary(read_table([path]), runs)
    assert data.agreement.tau == 1.0
    assert (data.agreement.supported, data.agreement.contradicted) == (1, 0)
    (pair,) = data.pairs
    assert (pair.first, pair.second, pair.difference) == ("second", "first", 80.0)
    assert 65 < pair.low < 80 < pair.high < 95
    text = render(data, "text", pairs=True)
    assert (
        "Kendall's tau +1.00. Of its 1 orderings of two rows, all tested at once (Holm), our runs support 1, contr"
        in text
    )
    text = render(summary(read_table([path]), runs, seeds=[0]), "text", pairs=True)
    assert "One seed gives numbers and no order: add --seeds 0,1,2" in text and "Kendall" not in text
    assert f"+80.0 [+{pair.low:.1f}, +{pair.high:.1f}]" in text


def with_seeds(seeds):
    """Return the summary of a table whose rows a, b, ... were run with these seeds."""
    rows = [Row(name, name, {}, {}) for name in "abc"[: len(seeds)]]
    by_row = {}
    for row, of_row in zip(rows, seeds, strict=True):
        by_row[row.name] = [fake_runs.fake_run({}, row=row.name, seed=seed) for seed in of_row]
    return TableRuns(Table("t", Path("t.yaml"), "own", "", "", rows=rows), by_row, {}, RowHits(), {}).data


@pytest.mark.parametrize(
    ("seeds", "said"),
    [
        (([0, 1], [0], []), "test videos, and over seeds in rows of several; rows have different seeds (1 to 2 each)"),
        (([0], [3], []), "test videos. One seed gives numbers and no order: add --seeds 0,1,2"),
        (([0, 1], [0, 1], []), "test videos and seeds"),
    ],
)
def test_what_the_intervals_cover_is_said_of_the_rows_that_it_holds_for(seeds, said):
    assert certainty(with_seeds(seeds)).startswith(f"95 % intervals over {said}")


@pytest.mark.parametrize(
    ("seeds", "said"),
    [
        (([0, 1, 2], [0, 1, 2], []), None),
        (([0, 1, 2], [0, 1, 2, 3, 4], []), "3 to 5 each"),
        (([0], [0, 1, 2], [0, 1, 2, 3]), "1 to 4 each"),
        (([0, 1], [0, 2], []), "2 each"),
    ],
)
def test_a_table_whose_rows_have_different_seeds_says_so(seeds, said):
    text = certainty(with_seeds(seeds))
    assert ("different seeds" in text) == (said is not None)
    assert said is None or said in text


def test_the_draws_of_a_test_are_said():
    assert "4 persons" in certainty(replace(with_seeds([[0, 1]]), draws=DrawCount("person", 4)))


@pytest.mark.parametrize(
    ("scale", "same"), [("ssv2", 1), ("more+ssv2-released", 1), ("mini-ssv2", 0), ("ssv2-small+more", 0)]
)
def test_a_scale_is_on_the_papers_data_only_if_an_overlay_has_its_name(scale, same, table):
    assert replace(read_table([table[0]]), data_set="ssv2", scale=scale).on_papers_data == bool(same)


def test_a_scale_without_its_overlay_does_not_get_numbers_of_another_data_set(table, tmp_path):
    path, rewrite = table
    rewrite(
        "paper: {test/video_top1: 45.2}", "paper: {charades: {test/video_top1: 45.2}, jester: {test/video_top1: 11.0}}"
    )
    with pytest.raises(
        UserError, match=r"scale jester has no overlay in .*, and the paper's numbers would be of charades"
    ):
        table_at(path, "jester")
    assert table_at(path, "charades").papers["first"] == table_at(path, "embedded").papers["first"] == 45.2
    (tmp_path / "scale").mkdir()
    (tmp_path / "scale/jester.yaml").write_text("trainer: {max_epochs: 3}\n")
    assert table_at(path, "jester").papers["first"] == 11.0


@pytest.mark.parametrize("overlays", [["ssv2"], ["ssv2", "mine"]])
def test_other_videos_are_not_shown_beside_the_papers_numbers(overlays, tmp_path):
    """Refuse ``fit --config scale/ssv2 --data VideoFolder``, and an overlay that sets another class."""
    (tmp_path / "mine.yaml").write_text("data: {class_path: VideoFolder}\n")
    files = {"ssv2": EXPERIMENTS / "scale/ssv2.yaml", "mine": tmp_path / "mine.yaml"}
    read = read_table([EXPERIMENTS / "ablation_tw.yaml", *map(files.get, overlays)])
    for name, refused in (("lit_video.datamodules.VideoFolder", True), ("lit_video.datamodules.SomethingV2", False)):
        why = read.overridden(read.rows[0], {"data.class_path": name})
        assert why.startswith(f"data is {name}, scale {read.scale} has SomethingV2; other") if refused else not why


@pytest.mark.parametrize("metric", ["test/video_top5", "reversed/video_top1", "test/skill/drift"])
def test_predictions_are_not_compared_for_a_metric_that_counts_something_else(metric, table, tmp_path):
    path, rewrite = table
    rewrite("source: a test", f"source: a test\n  metric: {metric}")
    for row, share in (("first", 10), ("second", 90)):
        folder = tmp_path / f"two/default/{row}/seed0"
        write_result(folder, 0, 50.0)
        change_result(folder, metrics={metric: 50.0})
        keep(folder, np.arange(100) < share)  # hits of top-1 on unchanged videos
    data = summary(read_table([path]), tmp_path)
    assert [row.metrics[metric].ours for row in data.rows] == [50.0, 50.0]
    assert data.pairs == []


@pytest.mark.parametrize(("videos", "target"), [((10, 20), (0, 0)), ((10, 10), (0, 1))], ids=["videos", "labels"])
def test_rows_tested_on_other_videos_or_labels_are_not_compared(videos, target, table, tmp_path):
    path, _ = table
    for row, count, label in zip(("first", "second"), videos, target, strict=True):
        write_result(folder := tmp_path / f"two/default/{row}/seed0", 0, 50.0)
        logits = np.eye(2, dtype=np.float32)[np.arange(count) % 2]
        save_logits(folder, np.arange(count), {"": (logits, np.full(count, label), ["a", "b"])})
        change_result(folder, test_videos=count)
    data = summary(read_table([path]), tmp_path)
    assert data.pairs == []
    assert data.agreement.without == {"not testable here": 1}
    assert "2nd > first (not comparable" in render(data, "text")


@pytest.mark.parametrize("key", ["data", "params", "views", "test_videos", "global_batch", "steps"])
def test_a_seed_that_was_trained_or_tested_otherwise_is_no_seed_of_its_row(table, tmp_path, key):
    """Refuse ``fit --seeds 1 --trainer.max_epochs 1`` after ``fit --seeds 0``; rows may differ, except in data."""
    of_second = 7 if key == "data" else 8
    for row, seed, value in (("first", 0, 7), ("second", 0, of_second), ("second", 1, 9)):
        write_result(folder := tmp_path / f"two/default/{row}/seed{seed}", seed, 50.0)
        change_result(folder, **({"identity": {"data": str(value)}} if key == "data" else {key: value}))
    with pytest.raises(
        UserError, match=rf"second/seed1: {key} is 9, but in .*second/seed0 it is {of_second}: they do not"
    ):
        summary(read_table([table[0]]), tmp_path)
    assert [row.seeds for row in summary(read_table([table[0]]), tmp_path, seeds=[0]).rows] == [[0], [0]]


def test_a_seed_with_another_rate_is_no_seed_of_its_row_and_one_of_other_code_is(table, tmp_path):
    for seed, rate in ((0, 0.1), (1, 0.1), (2, 0.2)):
        settings = {"seed_everything": seed, "data": {"init_args": {"num_workers": seed}}, "model": {"lr": rate}}
        write_result(folder := tmp_path / f"two/default/second/seed{seed}", seed, 50.0)
        change_result(folder, identity={"settings": settings, "commit": f"{seed}"})
    with pytest.raises(UserError, match=r"second/seed2: model.lr is 0.2, but in .*second/seed0 it is 0.1: they do not"):
        summary(read_table([table[0]]), tmp_path)
    assert summary(read_table([table[0]]), tmp_path, seeds=[0, 1]).rows[1].seeds == [0, 1]


def test_a_row_says_what_its_numbers_do_not_show(table, tmp_path, capsys):
    """Results like those of ``--trainer.limit_test_batches 1``, and of a training that was made longer."""
    for seed in (0, 1):
        write_result(folder := tmp_path / f"two/default/second/seed{seed}", seed, 50.0)
        longer = {"key": "trainer.max_epochs", "from": 1, "to": 2}
        change_result(folder, test_left_out=3, changes=[longer] * seed + [{"key": "commit", "from": "a", "to": "b"}])
    assert main(["table", str(table[0]), "--runs", str(tmp_path)]) == 0
    said = "2nd (3 test videos left out) (trainer.max_epochs changed during the training)"
    assert said in capsys.readouterr().out


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("trainer.max_steps", (64, 1024)),
        ("data.init_args.test_crops", (1, 3)),
        ("model.init_args.dropout", (0.0, 0.1)),
        ("model.init_args.optimization.lr", (0.1, 0.2)),
    ],
)
@pytest.mark.parametrize("same_class", [True, False])
def test_rows_that_differ_in_what_the_table_does_not_vary_are_refused(table, tmp_path, key, values, same_class):
    """Refuse ``fit --row second --trainer.max_steps 1024``; another class of model may have other defaults."""
    path, rewrite = table
    if not same_class:
        rewrite("{model.window: 1}", "{model: ViViT}")
    models = ("XViT", "XViT" if same_class else "ViViT")
    for window, (row, model, value) in enumerate(zip(("first", "second"), models, values, strict=True)):
        settings = {"model": {"class_path": model, "init_args": {"window": window}}}
        group, *inner, name = key.split(".")
        of_group = settings.setdefault(group, {})
        for part in inner:
            of_group = of_group.setdefault(part, {})
        of_group[name] = value
        write_result(folder := tmp_path / f"two/default/{row}/seed0", 0, 50.0)
        change_result(folder, identity={"settings": settings})
    read = read_table([path])
    if key == "model.init_args.dropout" and not same_class:
        assert len(summary(read, tmp_path, overridden=True).rows) == 2
        return
    with pytest.raises(
        UserError, match=rf"second/seed0: {key} is {values[1]}, but in .*first/seed0 it is {values[0]}: they"
    ):
        summary(read, tmp_path)
    rewrite("{model.window: 0}", f"{{model.window: 0, {key.replace('.init_args', '')}: {values[0]}}}")
    assert len(summary(read_table([path]), tmp_path, overridden=True).rows) == 2, "rows of the table set it"


@pytest.mark.parametrize("flag", ["model.window", "model"])
def test_a_run_without_its_rows_own_settings_is_no_run_of_the_row(table, tmp_path, flag):
    """Refuse ``fit --row second --model.window 3``."""
    path, rewrite = table
    rewrite("{model.window: 1}", "{model: XViT, model.window: 1}")
    right = {"class_path": "lit_video.modules.XViT", "init_args": {"window": 1, "ratio": 0.25}}  # a ratio for all rows
    wrong = right | ({"class_path": "lit_video.modules.ViViT"} if flag == "model" else {"init_args": {"window": 3}})
    write_result(folder := tmp_path / "two/default/second/seed0", 0, 50.0)
    change_result(folder, identity={"settings": {"model": wrong}})
    with pytest.raises(
        UserError, match=rf"second/seed0: {flag} is .*(3|ViViT), row second sets (1|XViT); move it away"
    ):
        summary(read_table([path]), tmp_path)
    change_result(folder, identity={"settings": {"model": right}})
    assert summary(read_table([path]), tmp_path).rows[1].seeds == [0]
