"""Test the page on drawn videos: its table of starts is that of the records."""

import json

from benchmarks.starts import cell
from tests.conftest import ROOT

PAGE = (ROOT / "docs/drawn_videos.md").read_text(encoding="utf-8")
RECORDS = ("starts_test.json", "starts_test_few.json")


def test_the_table_of_starts_is_that_of_the_records():
    results = [
        result for name in RECORDS for result in json.loads((ROOT / "benchmarks/results/cpu" / name).read_text())
    ]
    assert {result["part"] for result in results} == {"test"}
    assert {result["minutes"] for result in results} == {10.0}

    lines = PAGE.partition("## What they gain\n")[2].partition("\n## ")[0].splitlines()
    rows = [[text.strip() for text in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    header, _, *body = rows
    starts = [text.strip("`") for text in header[1:]]
    assert {row[0] for row in body} >= {result["set"] for result in results}
    assert set(starts) >= {result["start"] for result in results}
    for name, *cells in body:
        assert cells == [cell(results, name, start) for start in starts], name
