"""Test that a checkpoint is found by its file or by its run's folder."""

import re
import shutil
import sys
from pathlib import Path

import pytest
import torch
from msgspec import to_builtins

from lit_video.__main__ import main
from lit_video.own_videos.starts import start_from
from lit_video.reports.card import model_card
from lit_video.runs.chosen_checkpoint import find_checkpoint
from lit_video.runs.folder import read_finished, read_record, update_record
from lit_video.weights.hub import find_start, weights_path
from lit_video.weights.reading import tensors_digest, without_prefixes
from tests.fake_runs import change_result


def tested_weights(run, **changes):
    """Return what a run records of its tested checkpoint, with changes."""
    return to_builtins(read_finished(run).result.weights) | changes


def test_of_a_run_with_several_checkpoints_it_is_the_tested_one(run, tmp_path, capsys):
    folder = tmp_path / "runs" / "/".join(run.parts[-4:])
    shutil.copytree(run, folder)
    (folder / "best").mkdir()
    shutil.copy(folder / "last.ckpt", folder / "best" / "epoch=1.ckpt")
    change_result(folder, weights=tested_weights(run, file="best/epoch=1.ckpt"))
    for find in (find_checkpoint, find_start, weights_path):
        assert find(str(folder)) == folder / "best/epoch=1.ckpt"
    start_from(str(folder))
    assert capsys.readouterr().out == f"--weights {folder}: starts from the run's tested checkpoint, epoch=1.ckpt\n"

    update_record(folder, result=None)
    start_from(str(folder))
    assert capsys.readouterr().out == f"--weights {folder}: starts from the run's last checkpoint, last.ckpt\n"


def test_a_run_is_tested_with_its_own_settings(run, capsys):
    assert main(["test", "--ckpt", str(run), "--trainer.accelerator=cpu"]) == 0
    expected = read_finished(run).result.metrics["test/video_top1"]
    assert re.search(rf"test/video_top1 {expected:.2f}\n", capsys.readouterr().out)


def test_a_copy_under_another_name_is_tested_and_of_its_trainer_no_class_is_taken(run, tmp_path, monkeypatch):
    copy = shutil.copytree(run, tmp_path / "copy")
    (tmp_path / "evil.py").write_text("from lightning import Callback\nclass Evil(Callback): pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    settings = read_record(copy).identity.settings
    settings["trainer"] |= {"callbacks": [{"class_path": "evil.Evil"}], "profiler": {"class_path": "evil.Evil"}}
    change_result(copy, identity={"settings": settings})
    assert find_checkpoint(str(copy)) == copy / "last.ckpt"
    assert main(["test", "--ckpt", str(copy), "--trainer.accelerator=cpu"]) == 0
    assert "evil" not in sys.modules


def test_numbers_that_are_not_finite_are_no_result(run, tmp_path, capsys):
    copy = tmp_path / "/".join(run.parts[-4:])
    shutil.copytree(run, copy)
    checkpoint = torch.load(run / "last.ckpt", weights_only=False)
    checkpoint["state_dict"]["network.norm.weight"][0] = torch.nan
    torch.save(checkpoint, copy / "last.ckpt")
    digest = tensors_digest(without_prefixes(checkpoint["state_dict"]))
    change_result(copy, weights=tested_weights(run, digest=digest))
    assert main(["test", "--ckpt", str(copy), "--trainer.accelerator=cpu"]) == 1
    printed = capsys.readouterr()
    assert f" is nan in the test of {copy / 'last.ckpt'}: no result" in printed.err
    assert "_top1" not in printed.out


@pytest.mark.slow
def test_a_run_goes_on_without_the_file_of_its_start(run, root, tiny, tmp_path, capsys):
    start = Path(shutil.copy(run / "last.ckpt", tmp_path / "start.ckpt"))
    named = [f"--trainer.callbacks.{each}" for each in ("monitor=val/loss", "filename={val/loss:.3f}")]
    flags = [*tiny, f"--data.root={root}", "--data.image_size=[16,8]", "--trainer.callbacks+=ModelCheckpoint", *named]
    table = ["--config", "tests/small/ablation_tw.yaml", "--row", "tw1", "--runs", str(tmp_path / "runs")]
    fit = ["fit", *table, *flags, f"--model.weights={start}", "--trainer.logger=false"]
    assert main([*fit, "--trainer.max_epochs=1"]) == 0
    start.unlink()
    (folder,) = (tmp_path / "runs").glob("*/*/tw1/seed0")
    assert find_checkpoint(str(folder)).parent.parent == folder / "best"
    capsys.readouterr()
    assert main(["test", "--ckpt", str(folder), "--trainer.accelerator=cpu"]) == 0
    assert main(["export", "--to", "safetensors", "--ckpt", str(folder), "-o", str(tmp_path / "out")]) == 0
    assert model_card(folder) in (tmp_path / "out/README.md").read_text(), "the tested checkpoint has the run's card"
    capsys.readouterr()
    assert main([*fit, "--trainer.max_epochs=2"]) == 0
    assert "going on from" in capsys.readouterr().out
