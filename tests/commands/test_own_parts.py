"""Test the parts, loss and metric of docs/adding.md, as printed: trained by name, part of a run's identity, refused."""

import json
import re
import sys

import pytest
from lightning.pytorch.callbacks import EarlyStopping

from lit_video.__main__ import main
from lit_video.engine.checkpoints import refuse_unknown_values
from lit_video.errors import UserError
from lit_video.experiment.cli import VideoCLI
from lit_video.experiment.request import build_request
from lit_video.modules import XViT
from lit_video.network.vit import ViTSize
from lit_video.schemes.own_classes import KINDS
from lit_video.settings.effects import OWN_CODE
from lit_video.settings.flags import read_flags
from tests.commands.conftest import one_line
from tests.conftest import ROOT

PAGE = (ROOT / "docs/adding.md").read_text(encoding="utf-8")
BLOCKS = dict(re.findall(r"```python\n# (my_\w+\.py)\n(.*?)```", PAGE, re.DOTALL))
POINTS = {f"my_{name}.py": name for name in OWN_CODE if name != "attention_type"}


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Folder of the page's files, from which modules are imported; they are forgotten after the test."""
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    folder = tmp_path / "own"
    folder.mkdir()
    for name in POINTS:
        (folder / name).write_text(BLOCKS[name], encoding="utf-8")
    return folder


@pytest.fixture
def words(files, table, tiny, tmp_path):
    """Command that trains a row with every point of the page."""
    given = [f"--model.{name}={files / file}" for file, name in POINTS.items()]
    return ["fit", "--config", str(table[0]), "--row", "first", "--runs", str(tmp_path / "runs"), *tiny, *given]


def test_every_setting_that_names_a_class_has_a_kind_and_an_example():
    assert [*KINDS] == [*OWN_CODE]
    assert {*POINTS} | {"my_scheme.py"} == {*BLOCKS}
    assert all(len(block.strip().splitlines()) <= 20 for block in BLOCKS.values() if "class EvenFrames" not in block)


def test_python_takes_the_class(files, monkeypatch):
    monkeypatch.syspath_prepend(files)
    (block,) = re.findall(r"```python\n(from my_readout.*?)```", PAGE, re.DOTALL)
    names = {}
    exec(block, names)
    assert type(names["model"].network.readout) is names["Largest"]
    assert names["model"].hparams["readout"] == "my_readout.Largest"


@pytest.mark.slow
def test_a_run_with_all_of_them_is_another_run_once_their_code_changes(words, files, tmp_path, capsys):
    """Train with every point, read the record, resume with changed code, and test without and with the files."""
    monitor = "--trainer.callbacks+=ModelCheckpoint"
    assert (
        main([*words, monitor, "--trainer.callbacks.monitor=val/mean_per_class", "--trainer.callbacks.mode=max"]) == 0
    )
    run = next((tmp_path / "runs").glob("*/*/*/seed0"))
    record = json.loads((run / "run.json").read_text())
    model = record["identity"]["settings"]["model"]["init_args"]
    assert {name: model[name].partition(".")[0] for name in POINTS.values()} == {
        name: file.removesuffix(".py") for file, name in POINTS.items()
    }
    assert {f"model.init_args.{name}" for name in POINTS.values()} <= record["identity"]["weights"].keys()
    assert 0 <= record["result"]["metrics"]["test/mean_per_class"] <= 100

    capsys.readouterr()
    loss = files / "my_loss.py"
    loss.write_text(loss.read_text().replace("** 2", "** 3"))
    assert (
        main([*words, monitor, "--trainer.callbacks.monitor=val/mean_per_class", "--trainer.callbacks.mode=max"]) == 2
    )
    assert "model.init_args.loss" in one_line(capsys)

    for file in POINTS:
        del sys.modules[file.removesuffix(".py")]
    assert main(["test", "--ckpt", str(run)]) == 2
    assert "--scheme" in one_line(capsys)
    assert not {file.removesuffix(".py") for file in POINTS} & sys.modules.keys()
    schemes = [word for file in POINTS for word in ("--scheme", str(files / file))]
    assert main(["test", "--ckpt", str(run), *schemes]) == 0


MISTAKES = {
    "a file that is not there": ("loss", "{}/none.py", "no such file"),
    "a class of another kind": ("loss", "{}/my_metric.py", "lit_video.modules.losses.ClipLoss"),
    "a name that the file lacks": ("readout", "{}/my_readout.py:Smallest", "Largest"),
    "a module that is not there": ("aggregation", "no_module.Recurrent", "no_module"),
    "an embedding of another family": ("embedding", "{}/wrong_embedding.py", "FrameEmbedding"),
    "logits of another number": ("aggregation", "{}/wrong_aggregation.py", "OneLogit"),
    "a metric without a value that results need": ("metric", "{}/wrong_metric.py", "top1"),
}
WRONG = {
    "wrong_embedding.py": (
        "from lit_video.network.embedding import ClipEmbedding\n\n\nclass Other(ClipEmbedding):\n    pass\n"
    ),
    "wrong_aggregation.py": (
        "from lit_video.network.parts import Aggregation\n\n\nclass OneLogit(Aggregation):\n"
        "    def forward(self, x):\n        return x.mean((1, 2))[:, None]\n"
    ),
    "wrong_metric.py": (
        "from lit_video.modules.metrics import VideoAccuracy\n\n\nclass OnlyLoss(VideoAccuracy):\n"
        "    def compute(self):\n        return {'loss': super().compute()['loss']}\n"
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_line_before_anything_is_trained(mistake, words, files, tmp_path, capsys):
    name, text, expected = MISTAKES[mistake]
    for file, code in WRONG.items():
        (files / file).write_text(code)
    assert main([*words, f"--model.{name}={text.format(files)}"]) == 2
    line = one_line(capsys)
    assert "model" in line and name in line and expected in line, line
    assert not [*(tmp_path / "runs").rglob("last.ckpt")]


def test_a_monitor_of_a_value_that_the_metric_lacks_is_refused(words, capsys):
    assert main([*words, "--trainer.callbacks=EarlyStopping", "--trainer.callbacks.monitor=val/f1"]) == 2
    line = one_line(capsys)
    assert "val/f1" in line and "val/mean_per_class" in line


@pytest.mark.parametrize(
    "monitor", ["val/loss", "val/clip_top1", "val/clip_top1/dataloader_idx_1", "val/verb_top1", "train/loss"]
)
def test_values_of_the_usual_metric_may_be_monitored(monitor):
    model = XViT({"verb": 3, "noun": 2}, 4, 16, size=ViTSize(16, 1, 2), patch_size=8)
    refuse_unknown_values([EarlyStopping(monitor)], model)
    with pytest.raises(UserError, match="val/adverb_top1"):
        refuse_unknown_values([EarlyStopping("val/adverb_top1")], model)


def test_an_unset_class_is_no_part_of_the_identity():
    (run,) = build_request([ROOT / "experiments/ablation_tw.yaml"], ["tw1"]).runs
    settings = VideoCLI(run.settings).resolved()
    assert not {*OWN_CODE} & settings["model"]["init_args"].keys()

    given = read_flags(["--model.loss=my_loss.py"])
    (run,) = build_request([ROOT / "experiments/ablation_tw.yaml"], ["tw1"], user_settings=given).runs
    assert VideoCLI(run.settings).resolved()["model"]["init_args"]["loss"] == "my_loss.py"
