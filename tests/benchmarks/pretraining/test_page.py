"""Test the page on drawn videos: its tables of starts are those of the records."""

import json
from statistics import mean
from typing import Any

import pytest
from scipy.stats import ttest_1samp

from benchmarks.pretraining.transfer import transfer_rows
from benchmarks.starts import PARTS, cell, gain
from tests.conftest import ROOT

PAGE = (ROOT / "docs/drawn_videos.md").read_text(encoding="utf-8")
RECORDS = ("starts_test.json", "starts_test_few.json")


@pytest.fixture(scope="module")
def results() -> list[dict[str, Any]]:
    """Runs of the test."""
    return [result for name in RECORDS for result in json.loads((ROOT / "benchmarks/results/cpu" / name).read_text())]


def tables():
    """Return the section's tables, each as its rows of cells."""
    section = PAGE.partition("## What they gain\n")[2].partition("\n## ")[0]
    parts = [part.splitlines() for part in section.split("\n\n") if part.startswith("|")]
    return [[[text.strip() for text in line.strip("|").split("|")] for line in lines] for lines in parts]


def table_after(words: str) -> list[list[str]]:
    """Return the rows of cells of the page's first table after some words."""
    after = PAGE.partition(words)[2]
    lines = after[after.index("\n|") + 1 :].partition("\n\n")[0].splitlines()
    return [[text.strip() for text in line.strip("|").split("|")] for line in lines]


def test_the_table_of_transfer_is_that_of_the_record():
    record = json.loads((ROOT / "benchmarks/results/cpu/pretraining_transfer.json").read_text())
    _, _, *body = table_after("the mean of\nthe patches' tokens")
    rows = transfer_rows(record["accuracies"], ["avletters", "room_actions", "utd_mhad"])
    assert [[row[0].replace("`", ""), *row[1:]] for row in body] == rows


def test_the_targets_are_compared_as_in_the_records():
    """Compare the table with the records, and the gain with the t interval over sets of one seed each."""
    targets = json.loads((ROOT / "benchmarks/results/cpu/starts_trials_targets.json").read_text())
    assert {(run["part"], run["minutes"], run["seed"]) for run in targets} == {("trials", 3.0, 0)}
    top1 = {(run["set"], run["start"]): run["top1"] for run in targets}

    header, _, *body = table_after("starts_trials_targets.json))")
    starts = [text.strip("`") for text in header[1:]]
    assert {(row[0], start) for row in body for start in starts} >= set(top1)
    for name, *cells in body:
        assert cells == [f"{top1[name, start]:.1f}" if (name, start) in top1 else "not run" for start in starts], name

    differences = [top1[name, "small"] - top1[name, "small_labels"] for name, *_ in body]
    low, high = ttest_1samp(differences, 0.0).confidence_interval(0.95)
    assert f"`small` is {mean(differences):+z.1f} [{low:+z.1f}, {high:+z.1f}] over `small_labels`" in PAGE


def test_the_table_of_starts_is_that_of_the_records(results):
    assert {result["part"] for result in results} == {"test"}
    assert {result["minutes"] for result in results} == {10.0}

    header, _, *body = tables()[0]
    starts = [text.strip("`") for text in header[1:]]
    assert {row[0] for row in body} >= {result["set"] for result in results}
    assert set(starts) >= {result["start"] for result in results}
    for name, *cells in body:
        assert cells == [cell(results, name, start) for start in starts], name


def test_the_gains_are_those_of_the_records(results):
    names = list(dict.fromkeys(result["set"] for result in results))
    whole = [name for name in names if name in PARTS["test"]]
    few = [name for name in names if name not in whole]

    _, _, *body = tables()[1]
    for text, *cells in body:
        start, _, control = text.replace("`", "").partition(" over ")
        assert cells == [gain(results, whole, start, control), gain(results, few, start, control)], text
    lips = gain(results, ["avletters"], "drawn", "plain")
    assert f"Lips with all training videos gain nothing that three seeds can tell: {lips}" in " ".join(PAGE.split())


def test_the_gain_on_the_page_of_commands_is_that_of_the_records(results):
    """Compare the page's figures with the means of the whole sets, and the interval with that of the gain."""
    whole = list(PARTS["test"])
    drawn, scratch = (
        mean(float(cell(results, name, start).split()[0]) for name in whole) for start in ("drawn", "scratch")
    )
    low, high = gain(results, whole, "drawn", "scratch").partition("[")[2].strip("]").split(", ")
    page = " ".join((ROOT / "docs/commands.md").read_text(encoding="utf-8").split())
    assert f"it has {drawn:.1f} % of the test videos of three real sets right" in page
    assert f"right, {scratch:.1f} % without these weights (means of three seeds; 95 % interval of" in page
    assert f"the gain {low} to {high} points, over seeds, for these videos)" in page

    few = {result["set"] for result in results} - {*whole}
    over_scratch = gain(results, sorted(few), "drawn", "scratch").partition("[")[2]
    assert over_scratch.startswith("-"), "its interval includes 0, so the page calls the gain not certain"
