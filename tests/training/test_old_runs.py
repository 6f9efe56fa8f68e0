"""Runs that an older lit_video began or finished are continued and read by this one, though its classes have moved.

``old_run/finished`` and ``old_run/stopped`` were made at commit 359bac1, before the package's folders, by

    LIT_VIDEO_DATA=/tmp/data python -m lit_video fit --config experiments/ablation_tw.yaml --row tw1 --runs /tmp/runs

with ``FLAGS``; a SIGKILL ended the stopped one after step 5 of 8. They name classes by their modules of that time; its
settings of the table are in ``tests/moving_shapes``.
"""

import json
import re
import shutil

import pytest

from lit_video.__main__ import main
from lit_video.tables.learning_curve import read_curves
from tests.conftest import OLD_RUN

TABLE = ["--config", "tests/moving_shapes/ablation_tw.yaml"]
FLAGS = [
    "--data.pairs=[2,1,1]",
    "--data.frames=4",
    "--data.image_size=16",
    "--data.batch_size=4",
    "--data.num_workers=0",
    "--model.size.width=8",
    "--model.size.depth=1",
    "--model.size.heads=2",
    "--trainer.max_epochs=2",
    "--trainer.log_every_n_steps=2",
    "--trainer.check_val_every_n_epoch=1",
    "--trainer.logger=false",
    "--checkpoint_every=0",
]
pytestmark = pytest.mark.usefixtures("tiny")


@pytest.fixture
def fit(tmp_path):
    """Run the command again in a copy of an old run's folder whose settings are changed: exit status and folder."""

    def again(name, old="", new="", flags=()):
        folder = tmp_path / "ablation_tw/embedded/tw1/seed0"
        shutil.copytree(OLD_RUN / name, folder)
        config = (folder / "config.yaml").read_text()
        assert old in config
        (folder / "config.yaml").write_text(config.replace(old, new) if old else config)
        return main(["fit", *TABLE, "--row", "tw1", "--runs", str(tmp_path), *FLAGS, *flags]), folder

    return again


def test_a_finished_run_is_skipped_and_read_by_table(fit, tmp_path, capsys):
    status, folder = fit("finished")
    assert status == 0
    assert "finished, skipped" in capsys.readouterr().out
    assert (folder / "result.json").read_bytes() == (OLD_RUN / "finished/result.json").read_bytes()
    assert main(["table", *TABLE, "--runs", str(tmp_path), "--format", "json"]) == 0
    assert "12.5" in capsys.readouterr().out


@pytest.mark.parametrize("module", ["lit_video.datamodules", "lit_video.video.sampling"])
def test_a_stopped_run_goes_on(module, fit):
    status, folder = fit("stopped", "lit_video.datamodules.Dense", f"{module}.Dense")
    assert status == 0
    result, expected = (json.loads((path / "result.json").read_text()) for path in (folder, OLD_RUN / "finished"))
    assert result["steps"] == expected["steps"] == 8
    assert result["metrics"].keys() == expected["metrics"].keys()
    old, new = (read_curves(path) for path in (OLD_RUN / "stopped", folder))
    assert old == new[:-1], "the first epoch's point is kept, the second's added"
    assert "train/clip_top1" not in new[-1], "the older lit_video did not count the epoch's first steps"


def test_a_stopped_run_goes_on_with_its_own_batches_of_a_step_only(fit, capsys):
    status, _ = fit("stopped", flags=["--data.batch_size=2", "--global_batch=4"])
    assert status == 2
    assert "the checkpoint is an older lit_video's, with 1, now it is 2; go on with" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("old", "new", "now"),
    [
        ("lit_video.datamodules.Dense", "lit_video.datamodules.Segments", "Segments, now it is Dense"),
        ("lit_video.datamodules.Dense", "mine.Dense", "mine.Dense, now it is Dense"),
        ("lit_video.modules.XViT", "lit_video.modules.ViViT", "ViViT, now it is XViT"),
        ("seconds: 1.0", "seconds: 0.5", "0.5, now it is 1.0"),
    ],
)
def test_a_run_with_another_class_or_setting_is_refused(old, new, now, fit, capsys):
    assert fit("stopped", old, new)[0] == 2
    assert f"= {now}; give another --runs" in capsys.readouterr().err


@pytest.mark.parametrize("module", ["", "sampling.", "no_longer.here."])
def test_an_old_configuration_and_checkpoint_are_tested(module, tmp_path, capsys):
    config = (OLD_RUN / "finished/config.yaml").read_text()
    assert config.count("lit_video.datamodules.") == 2
    (tmp_path / "config.yaml").write_text(config.replace("lit_video.datamodules.", f"lit_video.datamodules.{module}"))
    checkpoint = str(OLD_RUN / "finished/last.ckpt")
    assert main(["test", "--config", str(tmp_path / "config.yaml"), "--ckpt", checkpoint]) == 0
    assert re.search(r"test/video_top1 12\.50\b", capsys.readouterr().out)


def test_an_old_checkpoint_predicts(data_root, tmp_path, capsys):
    from lit_video.datamodules import MovingShapes

    data = MovingShapes(root=str(data_root), pairs=(2, 1, 1))
    data.prepare_data()
    videos = sorted(map(str, data.root.glob("test/*/*.mp4")))
    output = tmp_path / "out.json"
    assert main(["predict", "--ckpt", str(OLD_RUN / "finished/last.ckpt"), *videos, "-o", str(output)]) == 0
    names = [video["class"][0]["name"] for video in json.loads(output.read_text())["videos"]]
    right = sum(path.split("/")[-2] == name for path, name in zip(videos, names, strict=True))
    assert 100 * right / len(videos) == 12.5  # as in the run's result
