import re

import pytest

from lit_video.__main__ import main
from lit_video.tables.predictions import FILE, Predictions, TaskPredictions, read_predictions, save_predictions
from tests.fake_runs import ROWS, change_result, seed_dir, write_result, write_table_runs


def damage(name):
    return lambda runs: (seed_dir(runs) / name).write_bytes((seed_dir(runs) / name).read_bytes()[:90])


def other_classes(runs):
    predictions = read_predictions(seed_dir(runs, "joint"))
    task = predictions.tasks[""]
    changed = TaskPredictions(task.logits, task.target, [*task.classes[:-1], "another"])
    save_predictions(seed_dir(runs, "joint"), Predictions(predictions.video, {"": changed}))


def other_videos(runs):
    predictions = read_predictions(seed_dir(runs, "joint"))
    save_predictions(seed_dir(runs, "joint"), Predictions(predictions.video + 1, predictions.tasks))


def other_row(runs):
    (runs / "timesformer_schemes/fake/strange/seed0").mkdir(parents=True)
    write_result(
        runs / "timesformer_schemes/fake/strange/seed0",
        table="timesformer_schemes", row="strange", scale="fake", seed=0, gmacs=1.0, metrics={}, test_videos=60,
    )  # fmt: skip


def wrong_throughput(runs):
    (runs / "timesformer_schemes/fake/throughput.json").write_text('{"rows": {"space": {"low": 1}}}')


@pytest.mark.parametrize(
    ("damage_runs", "message"),
    [
        (damage("result.json"), r"space/seed0/result.json: damaged; delete it and run the row again"),
        (damage(FILE), r"space/seed0/predictions.npz: damaged; "),
        (lambda runs: (seed_dir(runs) / "curves.csv").write_text("epoch\nx\n"), r"seed0/curves.csv: damaged"),
        (lambda runs: change_result(seed_dir(runs), views=None), r"of another version of lit_video \(it has no views"),
        (lambda runs: change_result(seed_dir(runs), metrics=[1]), r"result.json: metrics are not names and numbers"),
        (lambda runs: change_result(seed_dir(runs), row="joint"), r"says row 'joint', but lies in .* 'space'; move"),
        (lambda runs: change_result(seed_dir(runs), seed=3), r"says seed 3, but lies in the folder of 0"),
        (lambda runs: change_result(seed_dir(runs), table="x"), r"says table 'x', but lies .* 'timesformer_schemes'"),
        (lambda runs: change_result(seed_dir(runs, "joint"), data_digest="2"), r"space/seed0 has data_digest 00fake00"),
        (lambda runs: change_result(seed_dir(runs, "joint"), test_videos=9), r"joint/seed0 9: measured on other vid"),
        (other_classes, r"space/seed0 and .*joint/seed0 have other classes \(class 7 is 'class 7.*' and 'another'\)"),
        (other_videos, r"space/seed0 and .*joint/seed0 were tested on other videos \(video 0 is in only one\)"),
        (other_row, r"fake/strange: .*timesformer_schemes.yaml has no row 'strange'; rows: space, joint, divided"),
        (wrong_throughput, r"throughput.json: damaged; delete it and measure again"),
        (lambda runs: (runs / "result.json").write_text("{}"), r"result.json: not in a folder TABLE/SCALE/ROW/seedK"),
    ],
)
def test_what_does_not_fit_is_reported_in_one_line_and_the_old_page_stays(
    fake_runs, write_report, tmp_path, damage_runs, message
):
    whole = write_report(fake_runs)
    damage_runs(fake_runs)
    assert re.search(message, write_report(fake_runs))
    assert (tmp_path / "report.html").read_text() == whole
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["report.html"]


def test_wrong_places_are_reported(fake_runs, write_report, tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    assert "no finished run below" in write_report(tmp_path / "empty")
    assert "none: no such folder" in write_report(tmp_path / "none")
    assert "give the folder of timesformer_schemes.yaml: --experiments" in write_report(
        fake_runs, experiments=tmp_path / "empty"
    )
    assert "--experiments" in write_report(fake_runs, experiments=tmp_path / "none")
    assert main(["report", str(fake_runs), "-o", str(tmp_path)]) == 2
    assert main(["report", str(fake_runs), "-o", str(tmp_path / "none" / "x.html")]) == 2
    assert main(["report"]) == 2
    errors = capsys.readouterr().err.splitlines()
    assert ["is a folder" in errors[0], "no such folder" in errors[1], "RUNS" in errors[2]] == [True] * 3


def test_one_table_in_two_places_is_refused(fake_runs, write_report, tmp_path):
    write_table_runs(tmp_path / "again", "timesformer_schemes", seeds=1, rows=ROWS, videos=30)
    assert "lies in" in write_report(fake_runs, tmp_path / "again")
