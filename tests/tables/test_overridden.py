"""Test that a run with other settings than its row's is refused, or labelled with the difference."""

import pytest

from lit_video.__main__ import main
from lit_video.experiment.spec import Spec
from lit_video.runs.folder import read_finished
from lit_video.runs.record import Override
from lit_video.tables.reading import read_table
from lit_video.tables.summary import summary
from tests.command_line import parse_request
from tests.fake_runs import change_result, write_result

SETTINGS = {"trainer": {"max_epochs": 3, "devices": 2}, "data": {"init_args": {"root": "elsewhere"}}}


@pytest.fixture
def runs(table, tmp_path):
    """Folder of the runs of both rows, trained as the table says."""
    table[0].write_text(
        f"trainer: {{max_epochs: 3, devices: 1}}\n{table[0].read_text().split('trainer: ')[1].partition(chr(10))[2]}"
    )
    for row in ("first", "second"):
        folder = tmp_path / "runs/two/default" / row / "seed0"
        folder.mkdir(parents=True)
        write_result(
            folder,
            table="two",
            scale="default",
            row=row,
            seed=0,
            gmacs=1,
            metrics={"test/video_top1": 50.0},
            test_videos=4,
        )
        change_result(folder, identity={"settings": SETTINGS})
    return tmp_path / "runs"


def overridden(runs):
    folder = runs / "two/default/second/seed0"
    change_result(folder, overridden={"trainer.max_steps": [-1, 6]})
    return "trainer.max_steps", "trainer.max_steps 6, not -1"


def edited(runs):
    """Run both rows for 3 epochs, and then let the table ask for 5."""
    path = runs.with_name("two.yaml")
    path.write_text(path.read_text().replace("max_epochs: 3", "max_epochs: 5"))
    return "trainer.max_epochs", "trainer.max_epochs 3, not 5"


def test_devices_and_folders_are_nobodys_business(runs, table, capsys):
    assert main(["table", "--config", str(table[0]), "--runs", str(runs)]) == 0
    assert "devices" not in (printed := capsys.readouterr().out) and "root" not in printed


@pytest.mark.parametrize("change", [overridden, edited])
def test_a_run_with_other_settings_is_refused_or_labelled(change, runs, table, tmp_path, capsys):
    key, label = change(runs)
    commands = [
        ["table", "--config", str(table[0]), "--runs", str(runs)],
        ["report", str(runs), "--experiments", str(tmp_path), "-o", str(tmp_path / "page.html")],
    ]
    for command in commands:
        assert main(command) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert str(runs / "two/default") in line and key in line and "--overridden" in line
        assert main([*command, "--overridden"]) == 0
    assert label in (tmp_path / "page.html").read_text()
    (_, second) = summary(read_table([table[0]]), runs, overridden=True).rows
    assert second.label == f"2nd ({label})"


OWN = """\
data: VideoCSV
{model}
table: {{title: Own, rows: {{one: {{set: {{data.batch_size: 8}}}}}}}}
"""
FLAGS = ["--data.root=videos", "--data.batch_size=4", "--trainer.max_epochs=3"]


@pytest.mark.parametrize(
    ("model", "flags", "changed"),
    [
        ("model: TimeSformer", [], {"data.batch_size": Override(8, 4), "trainer.max_epochs": Override(None, 3)}),
        (
            "# the model is left to the user",
            ["--model=TimeSformer"],
            {
                "data.batch_size": Override(None, 4),
                "model": Override(None, "lit_video.modules.TimeSformer"),
                "trainer.max_epochs": Override(None, 3),
            },
        ),
    ],
)
def test_flags_are_recorded_though_the_table_leaves_its_data_or_model_to_them(model, flags, changed, tmp_path):
    path = tmp_path / "own.yaml"
    path.write_text(OWN.format(model=model))
    (run,) = parse_request(["--config", str(path), *FLAGS, *flags]).runs
    assert Spec(run).overridden == changed


def test_a_run_records_what_its_flags_changed(table, tiny, tmp_path, capsys):
    flags = ["--trainer.max_epochs=1", "--trainer.logger=false", "--checkpoint_every=9"]
    callback = ["--trainer.callbacks+=EarlyStopping", "--trainer.callbacks.monitor=val/loss"]
    command = ["--config", str(table[0]), "--runs", str(tmp_path / "runs")]
    assert main(["fit", *command, "--row", "second", *tiny, *flags, *callback]) == 0
    changed = read_finished(tmp_path / "runs/two/default/second/seed0").overridden
    assert changed["trainer.max_epochs"].used == 1
    assert changed["data.pairs"].used == [2, 1, 1]
    assert not changed.keys() & {"trainer.logger", "checkpoint_every", "data.num_workers"}
    assert main(["table", *command]) == 2
    assert main(["table", *command, "--overridden"]) == 0
    assert "max_epochs 1, not " in capsys.readouterr().out
