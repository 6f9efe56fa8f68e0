"""A finished run holds a picture of what its model attends to, of every family that has attention."""

import pytest
from PIL import Image

from lit_video.__main__ import main

pytestmark = pytest.mark.pictures
FAMILIES = {
    "X-ViT": [],
    "TimeSformer": ["--model=TimeSformer"],
    "ViViT": ["--model=ViViT", "--model.variant=2", "--model.temporal_depth=1"],
    "CNN": ["--model=ConvNet", "--model.architecture=c2d", "--model.width=4", "--model.optimization.lr=1e-3"],
}


@pytest.mark.parametrize("family", FAMILIES)
def test_a_run_shows_what_its_model_attends_to(family, table, tiny, tmp_path):
    path, rewrite = table
    rewrite("set: {model.window: 1}", "set: {}")
    rewrite("set: {model.ta_layers: 0}", "set: {}")
    size = [flag for flag in tiny if family != "CNN" or not flag.startswith("--model.size")]
    flags = [*FAMILIES[family], *size, "--trainer.logger=false", "--trainer.max_epochs=1"]
    assert main(["fit", "--config", str(path), "--row", "second", "--runs", str(tmp_path), *flags]) == 0
    picture = tmp_path / "two/default/second/seed0/attention.png"
    assert picture.exists() == (family != "CNN")
    if picture.exists():
        assert min(Image.open(picture).size) > 300


def test_a_clip_of_many_patches_has_no_picture(table, tiny, tmp_path, monkeypatch):
    monkeypatch.setattr("lit_video.training.callbacks.attention_picture.MOST_PATCHES", 15)  # the tiny clip has 16
    flags = [*tiny, "--trainer.logger=false", "--trainer.max_epochs=1"]
    assert main(["fit", "--config", str(table[0]), "--row", "second", "--runs", str(tmp_path), *flags]) == 0
    assert (tmp_path / "two/default/second/seed0/result.json").exists()
    assert not (tmp_path / "two/default/second/seed0/attention.png").exists()


def test_a_scheme_that_the_rollout_does_not_support_has_no_picture(table, tiny, tmp_path, monkeypatch, capsys):
    def unknown(network, clip):
        raise ValueError("VideoTransformer holds layers that the rollout does not know")

    monkeypatch.setattr("lit_video.training.callbacks.attention_picture.rollout", unknown)
    flags = [*tiny, "--trainer.logger=false", "--trainer.max_epochs=1"]
    assert main(["fit", "--config", str(table[0]), "--row", "second", "--runs", str(tmp_path), *flags]) == 0
    run = tmp_path / "two/default/second/seed0"
    assert (run / "result.json").exists()
    assert not (run / "attention.png").exists()
    assert "attention.png: not drawn, VideoTransformer holds layers" in capsys.readouterr().out
