"""Experiments are data, and none of them rots: every row at every scale builds, every row runs."""

from pathlib import Path

import pytest

from lit_video.__main__ import main
from lit_video.cli import CheckCLI, refuse_linked
from lit_video.commands import parse_request
from lit_video.tables import read_table

EXPERIMENTS = Path(__file__).parent.parent / "experiments"
TABLES = sorted(EXPERIMENTS.glob("*.yaml"))
SCALES = [None, *sorted((EXPERIMENTS / "scale").glob("*.yaml"))]


def request(table, scale=None, flags=()):
    configs = [arg for path in (table, scale) if path for arg in ("--config", str(path))]
    return parse_request([*configs, *flags])


@pytest.mark.parametrize("scale", SCALES, ids=lambda path: path.stem if path else "own")
@pytest.mark.parametrize("table", TABLES, ids=lambda path: path.stem)
def test_every_row_builds_at_every_scale(table, scale, tiny):
    asked = request(table, scale)
    for row in asked.rows:
        args = asked.row_args(row, 0)
        refuse_linked(args, row.name)
        cli = CheckCLI(args)
        assert cli.model.network is not None
        assert cli.resolved()["data"]["class_path"].endswith("SomethingV2" if scale else "MovingShapes")
        for key, value in row.settings.items():  # what a table varies survives the change of scale
            node = cli.resolved()[key.split(".")[0]]["init_args"]
            assert node[key.split(".")[1]] == value


@pytest.mark.parametrize("table", TABLES, ids=lambda path: path.stem)
def test_every_table_says_its_source_and_its_command(table):
    found = read_table([table])
    assert "arXiv:" in found.source
    assert "Table" in found.source or "Fig" in found.source
    assert all(row.paper for row in found.rows)
    assert f"fit --config experiments/{table.name}" in table.read_text()
    assert len({row.label for row in found.rows}) == len(found.rows)


@pytest.mark.parametrize("table", TABLES, ids=lambda path: path.stem)
def test_every_row_runs(table, tiny, tmp_path):
    for row in read_table([table]).rows:
        flags = ["--data.pairs=[4,1,1]", "--data.num_workers=0", "--trainer.fast_dev_run=true"]
        assert main(["fit", "--config", str(table), "--row", row.name, "--runs", str(tmp_path), *flags]) == 0


def test_the_tables_numbers_are_the_papers():
    rows = {row.name: row.paper for row in read_table([EXPERIMENTS / "ablation_tw.yaml"]).rows}
    # X-ViT, arXiv:2106.05968, Table 1: top-1 and top-5 of t_w = 0, 1, 2, 2 (Bo.)
    expected = {"tw0": (45.2, 71.4), "tw1": (62.5, 87.8), "tw2": (60.5, 86.4), "tw2_boundary": (60.4, 86.2)}
    assert {name: (p["test/video_top1"], p["test/video_top5"]) for name, p in rows.items()} == expected
