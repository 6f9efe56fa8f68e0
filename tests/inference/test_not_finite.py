"""Weights that are no numbers predict nothing: a class with a probability of NaN is none."""

import pytest
import torch

from lit_video.__main__ import main
from tests.inference.colours import trained, write


@pytest.fixture(scope="module")
def diverged(tmp_path_factory):
    folder = tmp_path_factory.mktemp("colours")
    content = torch.load(trained(folder), weights_only=False)
    content["state_dict"] = {name: value * torch.nan for name, value in content["state_dict"].items()}
    torch.save(content, folder / "diverged.ckpt")
    return folder / "diverged.ckpt"


@pytest.mark.parametrize("flags", [[], ["--every", "1"]], ids=["predict", "timeline"])
def test_no_class_is_named(flags, diverged, tmp_path, capsys):
    video = write(tmp_path / "red.mp4", ("red", 2))
    command = ["predict", str(video), "--ckpt", str(diverged), "--workers", "0", "--device", "cpu", *flags]
    assert main([*command, "-o", str(tmp_path / "out.csv")]) == 2
    shown = capsys.readouterr()
    assert f"{video}: the model's logits are not finite, so there is no prediction" in shown.err
    assert "red" not in shown.out
    assert not (tmp_path / "out.csv").exists()
