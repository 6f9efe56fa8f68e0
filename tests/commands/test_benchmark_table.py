"""Throughput of a table's rows: complete, kept where the report reads it, bad input reported. Never how fast."""

import json

from lit_video.__main__ import main
from lit_video.tables.results import read_throughput


def bench(table, runs, *flags):
    return main(["benchmark", "table", "--config", str(table), "--runs", str(runs), "--batch=1", *flags])


def test_every_row_is_timed_and_compared_with_the_first(table, tiny, tmp_path, capsys):
    path, rewrite = table
    rewrite("paper: {test/video_top1: 45.2}", "paper: {throughput: 312}")
    rewrite("paper: {test/video_top1: 62.5, test/video_top5: 87.8}", "paper: {throughput: 304}")
    assert bench(path, tmp_path, "--repeats=3", *tiny) == 0
    kept = json.loads((tmp_path / "two/default/throughput.json").read_text())
    assert kept["rows"].keys() == {"first", "second"}
    for row in kept["rows"].values():
        assert 0 < row["low"] <= row["clips_per_second"] <= row["high"]
    assert kept["rows"]["first"]["ratio"] == 1
    assert {"command", "commit", "device", "versions", "batch", "repeats"} <= kept.keys()
    assert read_throughput(tmp_path / "two/default") == kept
    printed = capsys.readouterr().out
    assert "0.974" in printed, "the paper's ratio"
    assert "2nd" in printed
