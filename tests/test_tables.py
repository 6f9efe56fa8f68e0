import json
import subprocess
import sys

import pytest

from lit_video.__main__ import main
from lit_video.errors import UserError
from lit_video.report_table import render, summary
from lit_video.tables import read_table


def write_result(folder, seed, top1, top5=90.0):
    folder.mkdir(parents=True)
    result = {
        "seed": seed,
        "commit": "abc",
        "params": 2_000_000,
        "gmacs": 1.5,
        "views": 3,
        "seconds": 10.0 + seed,
        "metrics": {"test/video_top1": top1, "test/video_top5": top5},
    }
    (folder / "result.json").write_text(json.dumps(result))


def test_a_table_shows_mean_deviation_and_difference_of_what_was_run(table, tmp_path):
    path, _ = table
    runs = tmp_path / "runs"
    for seed, top1 in enumerate((60.0, 64.0)):
        write_result(runs / "two/default/second" / f"seed{seed}", seed, top1)
    data = summary(read_table([path]), runs)
    first, second = data["rows"]
    assert first["metrics"]["test/video_top1"] == {"paper": 45.2, "ours": None, "std": None, "difference": None}
    assert second["metrics"]["test/video_top1"]["ours"] == 62.0
    assert second["metrics"]["test/video_top1"]["std"] == pytest.approx(2.8284, abs=1e-3)
    assert second["metrics"]["test/video_top1"]["difference"] == pytest.approx(-0.5)
    assert second["seeds"] == [0, 1]
    assert summary(read_table([path]), runs, seeds=[1])["rows"][1]["metrics"]["test/video_top1"]["ours"] == 64.0


def test_every_format_holds_the_numbers(table, tmp_path):
    path, _ = table
    write_result(tmp_path / "runs/two/default/second/seed0", 0, 61.0)
    data = summary(read_table([path]), tmp_path / "runs")
    assert json.loads(render(data, "json")) == json.loads(json.dumps(data))
    for form in ("text", "markdown", "latex"):
        text = render(data, form)
        assert all(word in text for word in ("2nd", "62.5", "61.0", "-1.5", "not run", "2M")), form
    widths = {line.count("|") for line in render(data, "markdown").splitlines()[2:]}
    assert len(widths) == 1
    latex = render(data, "latex").splitlines()
    assert len({line.count("&") for line in latex if line.endswith((r"\\", r"\midrule")) and "&" in line}) == 1


def test_overlays_name_the_scale(table, tmp_path):
    path, _ = table
    overlay = tmp_path / "big.yaml"
    overlay.write_text("trainer: {max_epochs: 3}\n")
    assert read_table([path]).scale == "default"
    assert read_table([path, overlay]).scale == "big"


def test_rows_are_found_by_name_and_by_index(table):
    found = read_table([table[0]])
    assert found.row("second") is found.row("1") is found.rows[1]
    for wrong in ("third", "2", "-1", ""):
        with pytest.raises(UserError, match="rows: first, second"):
            found.row(wrong)


def test_shared_settings_reach_every_row_and_a_row_wins(table):
    path, rewrite = table
    rewrite("model.window: 1}", "model.window: 1, model.ta_layers: 2}")
    first, second = read_table([path]).rows
    assert first.settings == {"model.ta_layers": 0, "model.window": 0}
    assert second.settings == {"model.ta_layers": 2, "model.window": 1}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("    second:", "    first:", r"two.yaml, line 10: 'first' is given twice"),
        ("title: Two rows", "title: [a", r"two.yaml, line \d+: expected"),
        ("title: Two rows", "titel: x", r"two.yaml: table.titel: no such key"),
        ("label: 2nd", "lable: 2nd", r"two.yaml: table.rows.second.lable: no such key"),
        ("{model.window: 0}", "3", r"two.yaml: table.rows.first.set: expected keys and values"),
        ("{model.window: 0}", "{modle.window: 0}", r"table.rows.first.set.modle.window: expected a model, data or"),
        ("{model.window: 0}", "{model.size: {width: 3}}", r"first.set.model.size: expected .* a plain value"),
        ("45.2", "many", r"table.rows.first.paper.test/video_top1: expected a number, got 'many'"),
    ],
)
def test_a_wrong_table_is_told_with_file_and_key(table, old, new, message):
    path, rewrite = table
    rewrite(old, new)
    with pytest.raises(UserError, match=message):
        read_table([path])


def test_missing_files_and_damaged_results_are_told(table, tmp_path, capsys):
    path, _ = table
    assert main(["table", "--config", str(tmp_path / "none.yaml")]) == 2
    assert "none.yaml: no such file" in capsys.readouterr().err
    (tmp_path / "runs/two/default/first/seed0").mkdir(parents=True)
    (tmp_path / "runs/two/default/first/seed0/result.json").write_text("{")
    assert main(["table", "--config", str(path), "--runs", str(tmp_path / "runs")]) == 2
    assert "result.json: damaged; delete it" in capsys.readouterr().err


@pytest.mark.parametrize("args", [["--help"], ["--version"], ["table", "--config", "experiments/ablation_tw.yaml"]])
def test_light_commands_import_no_torch(args, tiny):
    code = "import sys; from lit_video.__main__ import main as m; sys.exit(m(sys.argv[1:]) or 'torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code, *args], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout
