"""A run on clips that are no squares, from the command line: trained, tested, drawn, exported and used."""

import pytest
import torch
from PIL import Image

from lit_video.__main__ import main
from lit_video.runs.results import read_result
from lit_video.utils.files import data_folder
from lit_video.weights.reading import CHECKPOINT_KEY


@pytest.mark.slow
@pytest.mark.pictures
def test_a_run_on_wide_clips_is_tested_drawn_exported_and_predicts(table, tiny, tmp_path, capsys):
    flags = [*tiny, "--data.image_size=[16,32]", "--trainer.max_epochs=1", "--trainer.logger=false"]
    assert main(["fit", "--config", str(table[0]), "--row", "second", "--runs", str(tmp_path), *flags]) == 0
    (run,) = tmp_path.glob("*/*/second/seed0")
    assert read_result(run)["metrics"]["test/video_top1"] >= 0
    stored = torch.load(run / "last.ckpt", weights_only=False)[CHECKPOINT_KEY]["data"]
    assert stored["image_size"] == (16, 32)
    with Image.open(run / "attention.png") as picture:
        assert min(picture.size) > 100
    assert main(["export", "--ckpt", str(run), "--to", "pt2", "-o", str(tmp_path / "pt2")]) == 0
    program = torch.export.load(tmp_path / "pt2/model.pt2").module()
    assert len(program(torch.randn(2, 3, 4, 16, 32))) == 2
    assert "16 x 32 pixels" in (tmp_path / "pt2/README.md").read_text()
    video = next(data_folder().rglob("*.mp4"))
    capsys.readouterr()
    assert main(["predict", str(video), "--ckpt", str(run)]) == 0
    assert video.name in capsys.readouterr().out
