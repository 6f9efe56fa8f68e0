"""Experiments are data, and none of them rots: every row at every scale builds, every row runs."""

import json
from pathlib import Path

import pytest
import torch

from lit_video.__main__ import main
from lit_video.cli import CheckCLI, VideoCLI, refuse_ignored
from lit_video.commands import parse_request
from lit_video.table_file import read_table
from lit_video.yamlfile import read_yaml

EXPERIMENTS = Path(__file__).parent.parent / "experiments"
AVLETTERS = EXPERIMENTS / "avletters.yaml"  # no paper's, and its videos are not in the repository
TABLES = sorted(set(EXPERIMENTS.glob("*.yaml")) - {AVLETTERS})


def family(path):
    """Class of the model that a table or a scale is for."""
    model = read_yaml(path)["model"]
    return (read_yaml(path.parent / model) if isinstance(model, str) else model)["class_path"]


SCALES = [
    (table, scale)
    for table in TABLES
    for scale in (None, *sorted((EXPERIMENTS / "scale").glob("*.yaml")))
    if scale is None or family(scale) == family(table)
]


def request(table, scale=None, flags=()):
    configs = [arg for path in (table, scale) if path for arg in ("--config", str(path))]
    return parse_request([*configs, *flags])


@pytest.mark.parametrize(("table", "scale"), SCALES, ids=lambda path: path.stem if path else "own")
def test_every_row_builds_at_every_scale(table, scale, tiny):
    asked = request(table, scale)
    for row in asked.rows:
        args = asked.row_args(row, 0)
        refuse_ignored(args, row.name)
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


def test_every_row_of_avletters_runs_and_is_tested_in_every_order(letters, tmp_path):
    for row in read_table([AVLETTERS]).rows:
        flags = [f"--data.root={letters}", "--data.num_workers=0", "--trainer.max_epochs=1", "--trainer.logger=false"]
        assert main(["fit", "--config", str(AVLETTERS), "--row", row.name, "--runs", str(tmp_path), *flags]) == 0
        result = json.loads((tmp_path / "avletters" / "cpu" / row.name / "seed0" / "result.json").read_text())
        assert result["video_counts"] == {split: {"listed": 8, "used": 8} for split in ("train", "val")}
        assert result["test_videos"] == 8
        assert result["test_broken"] == 0
        assert {key.split("/")[0] for key in result["metrics"]} == {"test", "reversed", "shuffled", "static"}
    assert main(["table", "--config", str(AVLETTERS), "--runs", str(tmp_path)]) == 0


def test_the_tables_numbers_are_the_papers():
    rows = {row.name: row.paper for row in read_table([EXPERIMENTS / "ablation_tw.yaml"]).rows}
    # X-ViT, arXiv:2106.05968, Table 1: top-1 and top-5 of t_w = 0, 1, 2, 2 (Bo.)
    expected = {"tw0": (45.2, 71.4), "tw1": (62.5, 87.8), "tw2": (60.5, 86.4), "tw2_boundary": (60.4, 86.2)}
    assert {name: (p["test/video_top1"], p["test/video_top5"]) for name, p in rows.items()} == expected


def test_the_numbers_of_timesformer_and_vivit_are_the_papers():
    # TimeSformer, arXiv:2102.05095, Tables 1 and 4: SSv2, K400; ViViT, arXiv:2103.15691, Table 2: K400, Epic
    expected = {
        "timesformer_schemes": [(36.6, 76.9), (58.5, 77.4), (59.5, 78.0), (56.3, 75.9), (56.2, 73.5)],
        "timesformer_positions": [(45.8, 75.4), (52.5, 77.8), (59.5, 78.0)],
        "vivit_models": [(80.0, 43.1), (78.8, 43.7), (77.4, 39.1), (76.3, 39.5), (75.8, 38.8)],
    }
    for name, numbers in expected.items():
        assert [tuple(row.paper.values()) for row in read_table([EXPERIMENTS / f"{name}.yaml"]).rows] == numbers


BLIND = [
    ("ablation_tw", "tw0"),
    ("timesformer_schemes", "space"),
    ("timesformer_positions", "none"),
    ("timesformer_positions", "space"),
]
SEEING = [("timesformer_positions", "space_time"), ("timesformer_schemes", "joint"), ("vivit_models", "model1")]


def logits_of_pairs(table, row, tiny):
    """Test logits of a row with random weights, of the videos as rendered and of the same played backwards."""
    request = parse_request(["--config", str(EXPERIMENTS / f"{table}.yaml"), "--data.pairs=[1,1,2]", *FEW])
    cli = VideoCLI(
        [*request.row_args(read_table([EXPERIMENTS / f"{table}.yaml"]).row(row), 0), "--trainer.logger=false"]
    )
    model, data = cli.model.eval(), cli.datamodule
    torch.manual_seed(0)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    data.prepare_data()
    data.setup("test")
    found = {}
    for raw in data.test_dataloader():
        batch = data.on_after_batch_transfer(raw, 0)
        with torch.no_grad():
            logits = model(batch["clip"])
        for video, view, target, row_logits in zip(batch["video"], batch["view"], batch["target"], logits, strict=True):
            found[int(video), int(view)] = (int(target), row_logits)
    per_class = len(found) // 8
    ordered = [found[key] for key in sorted(found)]
    pairs = [ordered[2 * i * per_class : 2 * (i + 1) * per_class] for i in range(4)]
    return [(a, b) for shape in pairs for a, b in zip(shape[:per_class], shape[per_class:], strict=True)]


FEW = ["--data.num_workers=0", "--data.batch_size=8"]


@pytest.mark.parametrize(("table", "row"), BLIND)
def test_a_row_blind_to_order_cannot_pass_the_ceiling_of_appearance(table, row, tiny):
    """Whatever its weights: it gives both videos of a pair the same logits, and they have different labels."""
    pairs = logits_of_pairs(table, row, tiny)
    assert len(pairs) >= 8
    for (first, a), (second, b) in pairs:
        assert second == first + 1
        torch.testing.assert_close(a, b, atol=2e-5, rtol=2e-5)


@pytest.mark.parametrize(("table", "row"), SEEING)
def test_a_row_that_tells_order_gives_a_pair_different_logits(table, row, tiny):
    assert max((a - b).abs().max() for (_, a), (_, b) in logits_of_pairs(table, row, tiny)) > 1e-3
