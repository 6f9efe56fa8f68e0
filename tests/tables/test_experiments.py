"""Experiments are data, and stay right: the numbers are the papers', every row runs (test_scales: builds)."""

import numpy as np
import pytest
import torch

from lit_video.__main__ import main
from lit_video.datamodules.drawing import encode
from lit_video.tables.reading import read_table
from lit_video.tables.results import read_result
from lit_video.training.cli import BuildCLI
from lit_video.training.run import build_row
from lit_video.utils.yaml_files import read_yaml
from tests.command_line import parse_request
from tests.tables.experiments import EXPERIMENTS, OWN, PAPERS

# their videos are not in the repository
AVLETTERS, ROOMS = EXPERIMENTS / "avletters.yaml", EXPERIMENTS / "room_actions.yaml"


@pytest.mark.parametrize("table", PAPERS, ids=lambda path: path.stem)
def test_every_table_says_its_source_and_its_command(table):
    content = read_table([table])
    assert "arXiv:" in content.source
    assert "Table" in content.source or "Fig" in content.source
    assert all(row.paper for row in content.rows) or "Fig" in content.source, "figures have no printed numbers"
    assert all(row.paper for row in content.reported)
    header = table.read_text().partition("\ntrainer:")[0]
    assert f"--config experiments/{table.name}" in header
    assert f"--config experiments/{table.name} --config experiments/scale/" in header
    needs = ("GPU", "hardware and hours not given", "nothing is trained")
    assert any(words in header for words in needs), "what the paper's scale needs"
    labels = [row.label for row in [*content.rows, *content.reported]]
    assert len(set(labels)) == len(labels)


@pytest.mark.parametrize("table", OWN, ids=lambda path: path.stem)
def test_our_own_tables_say_so(table):
    assert "No paper printed this table." in table.read_text()
    assert not any(row.paper for row in read_table([table]).rows)


@pytest.fixture(scope="session")
def rooms(tmp_path_factory):
    """A folder like that of room_actions: each of its recordings with two videos."""
    folder, data = tmp_path_factory.mktemp("rooms"), read_yaml(ROOMS)["data"]["init_args"]
    recordings = [*data["train_values"], *data["val_values"]]
    rows = [(f"{one}_{label}.mp4", label, one) for one in recordings for label in ("walk", "standup")]
    for path, *_ in rows:
        encode(folder / path, np.random.default_rng(0).integers(0, 255, (16, 32, 48, 3), np.uint8), 12)
    (folder / "labels.csv").write_text("\n".join(map(",".join, [("path", "label", "recording"), *rows])) + "\n")
    return folder


def test_videos_that_are_absent_are_named_with_their_source(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LIT_VIDEO_DATA", str(tmp_path))
    assert main(["fit", "--config", str(ROOMS), "--row", "xvit1", "--runs", str(tmp_path / "runs")]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert f"data.root: {tmp_path / 'room_actions'} does not exist; give the folder that holds FIR-Image" in line


def test_rows_called_spatial_only_know_no_time_or_say_that_they_do(letters, rooms):
    """Averages over frames are blind without positions in time alone."""
    roots = {"avletters": [f"--data.root={letters}"], "room_actions": [f"--data.root={rooms}"], "xvit_throughput": []}
    for table, flags in roots.items():
        request = parse_request(["--config", str(EXPERIMENTS / f"{table}.yaml"), *flags])
        (row,) = [row for row in request.rows if row.label.startswith("spatial-only")]
        positions = build_row(request, row, 0).resolved()["model"]["init_args"]["positions"]
        assert (positions == "space-time") == ("positions in time" in row.label), table


def fast_run(table, row, runs):
    flags = ["--data.pairs=[4,1,1]", "--data.batch_size=8", "--data.num_workers=0", "--trainer.fast_dev_run=true"]
    return main(["fit", "--config", str(table), "--row", row.name, "--runs", str(runs), *flags])


@pytest.mark.parametrize("name", ["ablation_tw", "timesformer_cnns", "vivit_models"])
def test_a_row_of_every_family_runs(name, tiny, tmp_path):
    table = EXPERIMENTS / f"{name}.yaml"
    assert fast_run(table, read_table([table]).rows[0], tmp_path) == 0


@pytest.mark.slow
@pytest.mark.parametrize("table", [*PAPERS, EXPERIMENTS / "causal.yaml"], ids=lambda path: path.stem)
def test_every_row_runs(table, tiny, tmp_path):
    for row in read_table([table]).rows:
        assert fast_run(table, row, tmp_path) == 0, row.name


def run_letters(letters, name, runs):
    """Train a row on the videos of letters; it must have been tested in every order."""
    flags = [f"--data.root={letters}", "--data.batch_size=8", "--trainer.max_epochs=1", "--trainer.logger=false"]
    flags += ["--trainer.check_val_every_n_epoch=1"]
    assert main(["fit", "--config", str(AVLETTERS), "--row", name, "--runs", str(runs), *flags]) == 0
    result = read_result(runs / "avletters" / "cpu" / name / "seed0")
    assert result["video_counts"] == {split: {"listed": 8, "used": 8} for split in ("train", "val")}
    assert result["test_videos"] == 8
    assert result["test_broken"] == 0
    assert {key.split("/")[0] for key in result["metrics"]} == {"test", "reversed", "shuffled", "static"}


def test_a_row_of_avletters_runs_and_is_tested_in_every_order(letters, tmp_path):
    run_letters(letters, read_table([AVLETTERS]).rows[0].name, tmp_path)
    assert main(["table", "--config", str(AVLETTERS), "--runs", str(tmp_path)]) == 0


@pytest.mark.slow
def test_every_row_of_avletters_runs_and_is_tested_in_every_order(letters, tmp_path):
    for row in read_table([AVLETTERS]).rows[1:]:
        run_letters(letters, row.name, tmp_path)


def test_rows_of_letters_differ_in_the_length_of_training_alone(letters):
    request = parse_request(["--config", str(AVLETTERS.with_name("avletters_length.yaml")), f"--data.root={letters}"])
    epochs = {row.name: build_row(request, row, 0).config.trainer.max_epochs for row in request.rows}
    assert epochs == {f"e{count}": count for count in (6, 12, 25, 50, 100)}


def test_a_row_of_rooms_runs_on_recordings_of_its_own(rooms, tmp_path):
    flags = [f"--data.root={rooms}", "--data.batch_size=8", "--model.image_weights=null", "--trainer.logger=false"]
    flags += ["--trainer.max_epochs=1", "--trainer.check_val_every_n_epoch=1", "--runs", str(tmp_path / "runs")]
    assert main(["fit", "--config", str(ROOMS), "--row", "xvit1", *flags]) == 0
    result = read_result(tmp_path / "runs" / "room_actions" / "cpu" / "xvit1" / "seed0")
    assert result["video_counts"] == {"train": {"listed": 8, "used": 8}, "val": {"listed": 4, "used": 4}}


# X-ViT, arXiv:2106.05968, typed a second time: top-1 and top-5 of every row, those of the paper alone first
XVIT = {
    "ablation_tw": [(45.2, 71.4), (62.5, 87.8), (60.5, 86.4), (60.4, 86.2)],
    "ablation_layers": [(61.7, 86.5), (61.6, 86.3), (61.2, 86.4), (62.6, 87.8)],
    "ablation_ta": [(62.4, 87.8), (64.4, 89.3), (64.5, 89.3), (64.5, 89.3)],
    "ablation_mixed": [(56.6, 83.5), (63.1, 88.8), (63.1, 88.8), (62.5, 88.6), (64.4, 89.3)],
    "ablation_ratio": [(45.2,), (56.6,), (64.3,), (64.4,), (62.5,)],
    "ablation_size": [(54.7, 82.8), (57.0, 84.6), (61.1, 88.0), (60.5, 87.4), (61.8, 88.3), (64.4, 89.3)],
    "ablation_summary": [
        (62.4, 87.8, 77.8, 93.7),
        (63.7, 88.9, 78.7, 93.7),
        (63.4, 88.9, 78.0, 93.2),
        (64.4, 89.3, 78.5, 93.7),
    ],
    "xvit_k400": [
        *[(73.5, 91.2), (73.7, 91.6), (76.1, 92.5), (74.7,), (77.7, 93.3), (79.2,), (79.2, 93.8), (79.4, 94.4)],
        *[(78.7, 93.5), (79.8, 93.9), (80.4, 94.6)],
        *[(80.7, 94.7), (80.6, 94.7), (78.5, 93.7), (79.4, 93.9), (80.2, 94.7), (80.7, 94.7)],
    ],
    "xvit_k600": [
        *[(79.8, 94.4), (81.5, 95.6), (81.8, 95.1)],
        *[(81.9, 95.5), (82.4, 96.0), (82.5, 95.6), (82.5, 95.4), (84.5, 96.3)],
    ],
    "xvit_ssv2": [
        *[(48.8, 77.6), (61.7,), (63.3, 88.5), (64.2, 89.8), (64.7, 89.4), (65.1, 89.9)],
        *[(62.4,), (65.4, 89.8), (64.4, 89.3), (66.2, 90.6), (67.2, 90.8), (66.4, 90.7)],
    ],
    "xvit_epic": [
        *[(33.2, 60.2, 46.0), (35.3, 65.9, 45.4), (36.7, 66.0, 47.2), (38.3, 67.9, 49.0), (38.5, 65.6, 50.0)],
        *[(44.0, 66.4, 56.8), (41.5, 66.7, 53.3), (44.3, 68.7, 56.4)],
    ],
    "xvit_throughput": [(312,), (304,)],
}


@pytest.mark.parametrize("name", XVIT)
def test_the_numbers_of_xvits_tables_are_the_papers(name):
    table = read_table([EXPERIMENTS / f"{name}.yaml"])
    assert [tuple(row.paper.values()) for row in [*table.reported, *table.rows]] == XVIT[name]


def test_every_table_of_xvit_is_there():
    sources = " ".join(read_table([EXPERIMENTS / f"{name}.yaml"]).source for name in XVIT)
    for number in ("1", "2a", "2b", "2c", "2d", "3", "4", "5", "6", "7", "8"):
        assert f"Table {number} (" in sources, number


BLIND = [
    ("ablation_tw", "tw0"),
    ("ablation_ratio", "none_average"),
    ("ablation_ratio", "none"),
    ("ablation_mixed", "nothing"),
    ("timesformer_schemes", "space"),
    ("timesformer_positions", "none"),
    ("timesformer_positions", "space"),
]
SEEING = [
    ("ablation_layers", "odd"),
    ("ablation_layers", "second_half"),
    ("ablation_ratio", "half"),
    ("ablation_mixed", "key"),
    ("timesformer_positions", "space_time"),
    ("timesformer_schemes", "joint"),
    ("vivit_models", "model1"),
]


def logits_of_pairs(table, row, tiny):
    """Test logits of a row with random weights, of the videos as rendered and of the same played backwards."""
    request = parse_request(["--config", str(EXPERIMENTS / f"{table}.yaml"), "--data.pairs=[1,1,2]", *FEW])
    built = build_row(request, request.table.row(row), 0, BuildCLI)
    model, data = built.model.eval().double(), built.datamodule
    torch.manual_seed(0)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    data.prepare_data()
    data.setup("test")
    logits_of = {}
    for raw in data.test_dataloader():
        batch = data.on_after_batch_transfer(raw, 0)
        with torch.no_grad():
            logits = model(batch["clip"].double())
        for video, view, target, row_logits in zip(batch["video"], batch["view"], batch["target"], logits, strict=True):
            logits_of[int(video), int(view)] = (int(target), row_logits)
    per_class = len(logits_of) // data.num_classes
    ordered = [logits_of[key] for key in sorted(logits_of)]
    pairs = [ordered[2 * i * per_class : 2 * (i + 1) * per_class] for i in range(len(data.skills))]
    return [(a, b) for kind in pairs for a, b in zip(kind[:per_class], kind[per_class:], strict=True)]


FEW = ["--data.num_workers=0", "--data.batch_size=8"]


@pytest.mark.parametrize(("table", "row"), BLIND)
def test_a_row_blind_to_order_cannot_pass_the_ceiling_of_appearance(table, row, tiny):
    """With any weights: it gives both videos of a pair the same logits, and they have different labels."""
    pairs = logits_of_pairs(table, row, tiny)
    assert len(pairs) >= 8
    for (first, a), (second, b) in pairs:
        assert second == first + 1
        torch.testing.assert_close(a, b, atol=1e-10, rtol=1e-10)


@pytest.mark.parametrize(
    ("table", "row"), [*SEEING[:2], *(pytest.param(*one, marks=pytest.mark.slow) for one in SEEING[2:])]
)
def test_a_row_that_sees_order_gives_a_pair_different_logits(table, row, tiny):
    assert max((a - b).abs().max() for (_, a), (_, b) in logits_of_pairs(table, row, tiny)) > 1e-3
