"""The workspace and the report that W&B is given, as files; and the errors without its key or library."""

import json
import re
from importlib.util import find_spec
from pathlib import Path

import pytest
import wandb_workspaces.reports.v2 as wr

from lit_video.__main__ import main
from lit_video.commands import dashboard as command
from lit_video.reports.wandb.panels import varied
from lit_video.reports.wandb.report import build_report, commands, table_panels
from lit_video.reports.wandb.specification import (
    checked,
    read_report,
    read_workspace,
    written_report,
    written_workspace,
)
from lit_video.reports.wandb.workspace import build_workspace
from lit_video.tables.reading import read_table
from lit_video.tables.table import Row, Table
from lit_video.utils.yaml_files import read_yaml
from tests.conftest import ROOT

NAMES = sorted(path.stem for path in (ROOT / "experiments").glob("*.yaml"))


@pytest.fixture(autouse=True)
def in_the_repository(monkeypatch, tmp_path):
    """Without a key, and where the experiments are."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("WANDB_API_KEY", raising=False)


def tables(*names):
    return [read_table([Path(f"experiments/{name}.yaml")]) for name in names or NAMES]


def strings(node, key):
    """Every value under a key, anywhere in a JSON document."""
    if isinstance(node, dict):
        yield from (value for name, value in node.items() if name == key)
        node = list(node.values())
    for part in node if isinstance(node, list) else ():
        yield from strings(part, key)


def test_the_dry_run_writes_both_and_says_what_is_in_them(tmp_path, capsys):
    assert main(["dashboard", "--dry-run", "-o", str(tmp_path / "new/folder")]) == 0
    printed = capsys.readouterr().out
    folder = tmp_path / "new/folder"
    assert sorted(path.name for path in folder.iterdir()) == ["report.json", "workspace.json"]
    workspace, report = (json.loads((folder / name).read_text()) for name in ("workspace.json", "report.json"))
    assert workspace["project"] == report["project"]["name"] == "lit_video"
    accessors = set()  # everything that the files look up in runs, read from the files alone
    for text in json.dumps(workspace), json.dumps(report):
        accessors |= set(re.findall(r'"(config|summary):([\w/]+?)(?:\.value)?"', text))
    assert {("config", "window"), ("config", "gmacs"), ("summary", "test/video_top1")} <= accessors
    columns = {("config", "scale")}  # of the table of runs, not of a panel
    for kind, key in accessors - columns:
        assert f"{kind} {key}" in printed
    for key in ("mediaKeys", "metrics"):
        for name in {name for part in (workspace, report) for value in strings(part, key) for name in value}:
            assert f" {name}" in printed
    assert set(strings(report, "type")) >= {"heading", "code-block", "markdown-block", "panel-grid"}
    assert str(folder / "workspace.json") in printed


def test_what_is_written_is_read_back_the_same():
    workspace, report = build_workspace(tables(), "us", "p"), build_report(tables(), "us", "p", look_up=False)
    again = read_workspace(written_workspace(workspace))
    for name in ("entity", "project", "name", "sections", "settings", "runset_settings"):
        assert getattr(again, name) == getattr(workspace, name), name
    assert written_workspace(again) == written_workspace(workspace)
    reread = read_report(written_report(report))
    for name in ("entity", "project", "title", "description", "width"):
        assert getattr(reread, name) == getattr(report, name), name
    assert len(reread.blocks) == len(report.blocks)
    for old, new in zip(report.blocks, reread.blocks, strict=True):
        if isinstance(old, wr.PanelGrid):  # a set of runs that was read keeps its text too, and is not equal for that
            assert new.panels == old.panels
            for name in ("name", "filters", "groupby", "order", "pinned_columns", "column_order"):
                assert getattr(new.runsets[0], name) == getattr(old.runsets[0], name), name
        else:
            assert new == old
    assert written_report(reread) == written_report(report)


def test_panels_do_not_lie_on_each_other():
    report = build_report(tables("ablation_tw"), "", "p", look_up=False)
    (grid,) = (block for block in report.blocks if isinstance(block, wr.PanelGrid))
    taken = set()
    for panel in grid.panels:
        box = panel.layout
        cells = {(x, y) for x in range(box.x, box.x + box.w) for y in range(box.y, box.y + box.h)}
        assert not cells & taken
        assert box.x + box.w <= 24
        taken |= cells


@pytest.mark.parametrize("name", NAMES)
def test_every_table_has_its_text_its_runs_and_its_panels(name):
    (table,) = tables(name)
    heading, source, code, rows, grid = build_report([table], "", "p", look_up=False).blocks[2:]
    section = read_yaml(table.path)["table"]
    assert section["title"] in heading.text
    assert section["source"] in source.text
    assert f"python -m lit_video fit --config experiments/{name}.yaml" in code.code.splitlines()[0]
    assert all(line.startswith("python -m lit_video fit --config") for line in code.code.splitlines())
    for row, content in section["rows"].items():
        assert f"| {row} | {content['label']} |" in rows.text
    expected = f"Config(\"table\") in ['{name}'] and Config(\"scale\") in ['{section['scale']}']"
    assert grid.runsets[0].filters == expected
    assert grid.runsets[0].groupby == ["config.row.value"]
    kinds = [type(panel) for panel in grid.panels]
    for kind in (wr.BarPlot, wr.ScatterPlot, wr.ParallelCoordinatesPlot, wr.LinePlot, wr.RunComparer, wr.MediaBrowser):
        assert kind in kinds


def table(rows, metric="test/video_top1", name="made"):
    return Table(name, Path("made.yaml"), "here", "Made", "nowhere", metric, rows)


def test_coordinates_are_the_settings_in_which_rows_differ():
    rows = [
        Row("a", "A", {"model": "XViT", "model.window": 1, "model.size": {"width": 8}, "data.frames": 4}, {}),
        Row("b", "B", {"model": "ViViT", "model.size": {"width": 9}, "data.frames": 4}, {}),
    ]
    assert varied([table(rows)]) == ["scheme", "window", "size_width"]
    (plot,) = (panel for panel in table_panels(table(rows)) if isinstance(panel, wr.ParallelCoordinatesPlot))
    names = ["scheme", "window", "size_width", "frames", "seed", "gmacs", "test/video_top1"]
    assert [column.metric.name for column in plot.columns] == names


def test_the_papers_numbers_are_drawn_where_there_are_some_and_under_its_name():
    def drawn(paper):
        (plot,) = (p for p in table_panels(table([Row("a", "A", {}, paper)])) if isinstance(p, wr.BarPlot))
        return [metric.name for metric in plot.metrics]

    assert drawn({"test/video_top1": 62.5}) == ["test/video_top1", "paper/test/video_top1"]
    assert drawn({"K400 top1": 62.5}) == ["test/video_top1"]


def test_tables_of_several_metrics_have_a_comparison_each():
    made = [table([], "test/action_top1"), table([], name="other")]
    panels = build_workspace(made, "", "p").sections[0].panels
    assert {panel.y.name for panel in panels if isinstance(panel, wr.ScatterPlot)} == {
        "test/action_top1",
        "test/video_top1",
    }


def test_a_table_without_commands_in_its_head_has_the_plain_one(tmp_path):
    path = tmp_path / "own.yaml"
    path.write_text("table: {title: Own}\n")
    assert commands(read_table([path])) == [f"python -m lit_video fit --config {path}"]


@pytest.mark.parametrize(("recipe", "scale"), [([], "ssv2"), (["--recipe", "released"], "ssv2-released")])
def test_tables_scale_and_recipe_can_be_chosen(recipe, scale, tmp_path, capsys):
    flags = ["--table", "ablation_tw", "--scale", "ssv2", "--project", "mine", "--entity", "us", *recipe]
    assert main(["dashboard", "--dry-run", "-o", str(tmp_path), *flags]) == 0
    workspace = json.loads((tmp_path / "workspace.json").read_text())
    assert (workspace["entity"], workspace["project"]) == ("us", "mine")
    (filters,) = (value["filters"] for value in strings(workspace, "filters") if isinstance(value, dict))
    assert [(leaf["key"]["name"], leaf["op"], leaf["value"]) for leaf in filters] == [
        ("table", "IN", ["ablation_tw"]),
        ("scale", "IN", [scale]),
    ]
    assert "avletters" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ([], "no W&B API key: run wandb login or set WANDB_API_KEY, or look at the files of --dry-run"),
        (["--table", "nowhere", "--dry-run"], "--table: no table 'nowhere'; tables: "),
        (["--scale", "nowhere", "--dry-run"], "--scale: no experiments/scale/nowhere.yaml; scales: "),
        (["-o", "somewhere"], "-o is for --dry-run"),
        (["--dry-run", "-o", "README.md"], "-o: cannot write README.md (File exists); give another folder"),
        (["--sideways"], "unrecognized arguments: --sideways"),
    ],
)
def test_mistakes_are_reported_in_one_line(flags, message, capsys):
    assert main(["dashboard", *flags]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"error: {message}")


def test_elsewhere_there_are_no_tables(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["dashboard", "--dry-run"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line == f"error: no tables in {tmp_path}/experiments; run this in the repository's root"


def test_without_the_extra_the_command_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setattr(command, "find_spec", lambda name: None if name == "wandb_workspaces" else find_spec(name))
    assert main(["dashboard", "--dry-run"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: dashboard needs wandb-workspaces: pip install 'lit_video[dashboard]'")


def test_a_library_that_does_not_keep_what_it_is_given_is_reported(monkeypatch):
    monkeypatch.setattr(
        "lit_video.reports.wandb.specification.read_report", lambda text: wr.Report(project="p", entity="")
    )
    workspace, report = build_workspace(tables(), "", "p"), build_report(tables(), "", "p", look_up=False)
    with pytest.raises(command.UserError, match="reads another report than it writes; install the version"):
        checked(workspace, report)
