"""Test mistakes of ``report``: one line each, and the old page stays."""

import sys

from lit_video.__main__ import main
from tests.fake_runs import ROWS, write_table_runs


def test_a_result_outside_of_a_table_is_one_line_and_the_old_page_stays(fake_runs, write_report, tmp_path):
    (tmp_path / "report.html").write_text("an older page")
    (fake_runs / "run.json").write_text('{"result": {}}')
    assert "run.json: not in a folder TABLE/SCALE/ROW/seedK" in write_report(fake_runs)
    assert (tmp_path / "report.html").read_text() == "an older page"
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["report.html"]


def test_what_the_page_needs_beyond_the_package_is_named(fake_runs, write_report, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)  # not installed
    monkeypatch.delitem(sys.modules, "lit_video.reports.html.page", raising=False)
    assert write_report(fake_runs) == "error: report: jinja2 is not installed; pip install 'lit_video[report]'"


def test_wrong_places_are_reported(fake_runs, write_report, tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    assert "no finished run below" in write_report(tmp_path / "empty")
    assert "give the folder of timesformer_schemes.yaml: --experiments" in write_report(
        fake_runs, experiments=tmp_path / "empty"
    )
    assert main(["report", str(fake_runs), "-o", str(tmp_path / "none" / "x.html")]) == 2
    assert "no such folder" in capsys.readouterr().err


def test_one_table_in_two_places_is_refused(fake_runs, write_report, tmp_path):
    write_table_runs(tmp_path / "again", "timesformer_schemes", seeds=1, rows=ROWS, videos=30)
    assert "lies in two folders" in write_report(fake_runs, tmp_path / "again")
