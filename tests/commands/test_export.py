"""A trained model opens in transformers, with equal logits."""

import pytest
import torch

from lit_video.__main__ import main
from lit_video.datamodules import TemporalSkills
from lit_video.inference.checkpoints import load
from lit_video.modules import TimeSformer, ViViT
from lit_video.network.vit import ViTSize
from lit_video.weights.reading import read_weights
from lit_video.weights.settings import pixel_settings
from tests.checkpoints import trained
from tests.commands.conftest import run_readme

transformers = pytest.importorskip("transformers", reason="transformers is not installed")

FAMILIES = {
    "divided": ("hf-timesformer", "TimesformerForVideoClassification"),
    "joint": ("hf-timesformer", "TimesformerForVideoClassification"),
    "model1": ("hf-vivit", "VivitForVideoClassification"),
}


def model_of(name):
    shape = (4, 4, 32, ViTSize(16, 2, 2), 8)
    return ViViT(*shape, variant=int(name[-1])) if name.startswith("model") else TimeSformer(*shape, attention=name)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    """The checkpoint of a model by its name, trained for a step."""
    folder = tmp_path_factory.mktemp("exported")
    clips = dict(frames=4, image_size=32, batch_size=4, num_workers=0, mean=0.4)

    def make(name):
        path = folder / f"{name}.ckpt"
        data = TemporalSkills(root=str(folder), skills=("zoom", "drift"), pairs=(1, 1, 1), **clips)
        return path if path.exists() else trained(model_of(name), data, path)

    return make


@pytest.mark.parametrize("case", FAMILIES)
def test_transformers_opens_it_with_equal_logits(case, checkpoint, tmp_path, monkeypatch):
    target, name = FAMILIES[case]
    ckpt = checkpoint(case)
    assert main(["export", "--to", target, "--ckpt", str(ckpt), "-o", str(tmp_path / "out")]) == 0
    theirs, loading = getattr(transformers, name).from_pretrained(tmp_path / "out", output_loading_info=True)
    assert not loading["missing_keys"]
    assert not loading["unexpected_keys"]
    ours = load(ckpt).model.double()
    clip = torch.randn(2, 3, 4, 32, 32, dtype=torch.float64)
    with torch.no_grad():  # transformers rounds a constant of ViViT's GELU to seven digits
        logits = theirs.eval().double()(clip.transpose(1, 2)).logits
        torch.testing.assert_close(logits, ours(clip), atol=1e-6, rtol=1e-6)
        clip, logits = run_readme(tmp_path / "out", monkeypatch)
        torch.testing.assert_close(logits.double(), ours(clip.transpose(1, 2).double()), atol=1e-5, rtol=1e-5)
    frames = torch.randint(0, 256, (4, 32, 32, 3), dtype=torch.uint8)
    processor = transformers.AutoImageProcessor.from_pretrained(tmp_path / "out")
    pixels = processor(list(frames.numpy()), return_tensors="pt")["pixel_values"]
    expected = (frames.permute(0, 3, 1, 2)[None] / 255 - 0.4) / 0.5
    torch.testing.assert_close(torch.as_tensor(pixels), expected, atol=1e-5, rtol=1e-5)
    assert pixel_settings(read_weights(tmp_path / "out")) == {"mean": 0.4, "std": 0.5}


@pytest.mark.parametrize(
    ("name", "target", "message"),
    [
        ("axial", "hf-timesformer", "has no place for blocks.0.scheme.row_attn"),
        ("model1", "hf-timesformer", "is no checkpoint of a TimeSformer"),
    ],
)
def test_what_has_no_place_there_is_reported_in_one_line(name, target, message, checkpoint, tmp_path, capsys):
    ckpt = checkpoint(name)
    capsys.readouterr()
    assert main(["export", "--to", target, "--ckpt", str(ckpt), "-o", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()
