"""Test that REPRODUCE.md and docs/results hold the results, nothing else, and are up to date."""

import json

import numpy as np
import pytest

import lit_video
from benchmarks.papers.__main__ import main
from lit_video.datamodules.temporal_skills import VERSION
from tests.conftest import ROOT
from tests.fake_runs import change_result
from tests.tables.test_tables import keep, write_result


@pytest.fixture
def experiments(table, tmp_path):
    """Folder of experiments: the two rows, another table without results, and a scale."""
    path, _ = table
    folder = tmp_path / "experiments"
    (folder / "scale").mkdir(parents=True)
    (folder / "scale" / "ssv2.yaml").write_text("trainer: {max_epochs: 3}\n")
    (folder / "two.yaml").write_text(path.read_text())
    (folder / "other.yaml").write_text(path.read_text())
    return folder


def write(experiments, runs):
    for row, share in (("first", 20), ("second", 80)):
        for seed in (0, 1):
            folder = runs / "two/default" / row / f"seed{seed}"
            write_result(folder, seed, float(share))
            keep(folder, np.arange(100) < share)
            change_result(folder, device="a machine")
    page = experiments.parent / "page.md"
    command = ["--experiments", str(experiments), "--results", str(runs), "-o", str(page)]
    return command, experiments.parent / "docs/results/ours.md"


def test_the_page_says_what_was_run_and_what_was_not(experiments, tmp_path):
    command, page = write(experiments, tmp_path / "runs")
    assert main(command) == 0
    text = page.read_text()
    assert "|[two (default)](#two-default)|a test|default|2 of 2|0, 1|run|" in text
    assert f"|other|a test|default|0 of 2||not run in version {VERSION}|" in text
    assert "Not run at all: the scales ssv2." in (experiments.parent / "page.md").read_text()
    assert "### two (default)" in text
    assert "commits abc; on a machine. Tested on 100 videos." in text
    assert "<details>" not in text
    assert "Of its 1 orderings of two rows, all tested at once (Holm), our runs support 1" in text
    assert "### other" not in text


def test_a_table_on_the_skills_without_runs_is_not_run_in_this_version(experiments, tmp_path):
    command, page = write(experiments, tmp_path / "runs")
    (experiments / "parts").mkdir()
    (experiments / "parts/skills.yaml").write_text("class_path: lit_video.datamodules.TemporalSkills\n")
    rows = "{title: T, source: a test, rows: {first: {label: 1st}}}"
    (experiments / "named.yaml").write_text(f"data: parts/skills.yaml\ntable: {rows}\n")
    (experiments / "real.yaml").write_text(f"data: {{class_path: VideoCSV}}\ntable: {rows}\n")
    (experiments / "bare.yaml").write_text(f"table: {rows}\n")
    assert main(command) == 0
    text = page.read_text()
    assert f"|named|a test|default|0 of 1||not run in version {VERSION}|" in text
    assert "|real|a test|default|0 of 1||not run|" in text
    assert "|bare|a test|default|0 of 1||not run|" in text
    summary = (experiments.parent / "page.md").read_text()
    assert f"Not run in version {VERSION} of TemporalSkills" in summary and "2 of the 3 tables" in summary


def test_a_table_that_was_run_elsewhere_alone_is_listed_at_its_own_scale_too(experiments, tmp_path):
    command, page = write(experiments, tmp_path / "runs")
    (tmp_path / "runs/two/default").rename(tmp_path / "runs/two/kept")
    for folder in (tmp_path / "runs/two/kept").glob("*/*"):
        change_result(folder, scale="kept")
    assert main(command) == 0
    text = page.read_text()
    assert f"|two|a test|default|0 of 2||not run in version {VERSION}|" in text
    assert "|[two (kept)](#two-kept)|a test|kept|2 of 2|0, 1|run|" in text


@pytest.mark.parametrize("scale", ["ssv2", "ssv2+more", "more+ssv2", "ssv2-released"])
def test_a_scale_that_was_run_with_another_or_by_a_recipe_was_run(experiments, tmp_path, scale):
    command, page = write(experiments, tmp_path / "runs")
    recipes = "scale: true\nrecipes: {'': {paper: {}, released: {}}}\n"
    (experiments / "scale" / "ssv2.yaml").write_text(recipes)
    write_result(tmp_path / f"runs/two/{scale}/first/seed0", 0, 20.0)
    assert main(command) == 0
    assert f"|[two ({scale})](#two-{scale.replace('+', '')})|" in page.read_text()
    assert "Not run at all" not in (experiments.parent / "page.md").read_text()


def test_runs_of_a_table_that_is_not_there_are_not_passed_over(experiments, tmp_path, capsys):
    command, page = write(experiments, tmp_path / "runs")
    (experiments / "two.yaml").rename(experiments / "renamed.yaml")
    assert main(command) == 2 and not page.exists()
    assert f"/runs: {experiments} has no two.yaml, whose runs would be left out; give" in capsys.readouterr().err


def test_the_page_is_checked_against_the_results(experiments, tmp_path, capsys):
    command, page = write(experiments, tmp_path / "runs")
    assert main([*command, "--check"]) == 1
    assert "out of date; run python -m benchmarks.papers" in capsys.readouterr().out
    assert not page.exists()
    assert main(command) == 0
    assert main([*command, "--check"]) == 0
    result = tmp_path / "runs/two/default/first/seed0/run.json"
    result.write_text(result.read_text().replace("a machine", "another"))
    assert main([*command, "--check"]) == 1


def test_a_page_that_differs_by_a_rounding_is_kept_and_named(experiments, tmp_path, capsys):
    command, page = write(experiments, tmp_path / "runs")
    assert main(command) == 0
    as_elsewhere = page.read_text().replace("|20.0 ± 0.0|", "|20.1 ± 0.0|")
    page.write_text(as_elsewhere)
    capsys.readouterr()

    for flags in (["--check"], []):
        assert main([*command, *flags]) == 0
        said = capsys.readouterr().out
        assert said.startswith(f"{page}: kept, though last digits differ (20.1 is 20.0 here); del")
        assert said.endswith("\nup to date\n")
    assert page.read_text() == as_elsewhere
    page.write_text(as_elsewhere.replace("|20.1 ± 0.0|", "|20.2 ± 0.0|"))
    assert main([*command, "--check"]) == 1


def test_the_repositorys_pages_are_up_to_date_and_the_first_is_short(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    assert main(["--check"]) == 0, capsys.readouterr().out
    assert (ROOT / "REPRODUCE.md").stat().st_size <= 25_000


def test_kept_costs_are_those_of_the_repositorys_models():
    kept = json.loads((ROOT / "benchmarks/results/timesformer_cost/k400/cost.json").read_text())
    table, scale = "experiments/timesformer_cost.yaml", "experiments/scale/k400.yaml"
    (row,) = lit_video.cost(table, scale, rows="divided_96x224").rows
    assert row == kept[-1] and row["macs"] == pytest.approx(7.14e12, rel=0.005) and len(kept) == 12
