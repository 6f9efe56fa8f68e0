"""A trained model opens in transformers, with equal logits."""

import pytest
import torch

from lit_video.__main__ import main
from lit_video.modules import TimeSformer, ViViT
from lit_video.weights.reading import read_weights
from lit_video.weights.release_settings import pixel_settings

transformers = pytest.importorskip("transformers", reason="transformers is not installed")

FAMILIES = {
    "divided": ("timesformer_schemes", "divided", "hf-timesformer", TimeSformer, "TimesformerForVideoClassification"),
    "joint": ("timesformer_schemes", "joint", "hf-timesformer", TimeSformer, "TimesformerForVideoClassification"),
    "vivit": ("vivit_models", "model1", "hf-vivit", ViViT, "VivitForVideoClassification"),
}


@pytest.fixture
def checkpoint(fitted):
    return lambda table, row: fitted(table, row, "--data.image_size=32", "--data.mean=0.4") / "last.ckpt"


@pytest.mark.parametrize("case", FAMILIES)
def test_transformers_opens_it_with_equal_logits(case, checkpoint, tmp_path):
    table, row, target, family, name = FAMILIES[case]
    ckpt = checkpoint(table, row)
    assert main(["export", "--to", target, "--ckpt", str(ckpt), "-o", str(tmp_path / "out")]) == 0
    theirs, loading = getattr(transformers, name).from_pretrained(tmp_path / "out", output_loading_info=True)
    assert not loading["missing_keys"]
    assert not loading["unexpected_keys"]
    ours = family.load_from_checkpoint(ckpt, map_location="cpu").eval().double()
    clip = torch.randn(2, 3, 4, 32, 32, dtype=torch.float64)
    with torch.no_grad():  # transformers rounds a constant of ViViT's GELU to seven digits
        logits = theirs.eval().double()(clip.transpose(1, 2)).logits
        torch.testing.assert_close(logits, ours(clip), atol=1e-6, rtol=1e-6)
    frames = torch.randint(0, 256, (4, 32, 32, 3), dtype=torch.uint8)
    processor = transformers.AutoImageProcessor.from_pretrained(tmp_path / "out")
    pixels = processor(list(frames.numpy()), return_tensors="pt")["pixel_values"]
    expected = (frames.permute(0, 3, 1, 2)[None] / 255 - 0.4) / 0.5
    torch.testing.assert_close(torch.as_tensor(pixels), expected, atol=1e-5, rtol=1e-5)
    assert pixel_settings(read_weights(tmp_path / "out")) == {"mean": 0.4, "std": 0.5}


@pytest.mark.parametrize(
    ("table", "row", "target", "message"),
    [
        ("timesformer_schemes", "axial", "hf-timesformer", "has no place for blocks.0.scheme.row_attn"),
        ("vivit_models", "model2", "hf-vivit", "VivitForVideoClassification has no place for aggregate."),
        ("vivit_models", "model1", "hf-timesformer", "is no checkpoint of a TimeSformer"),
    ],
)
def test_what_has_no_place_there_is_reported_in_one_line(table, row, target, message, checkpoint, tmp_path, capsys):
    ckpt = checkpoint(table, row)
    capsys.readouterr()
    assert main(["export", "--to", target, "--ckpt", str(ckpt), "-o", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_missing_or_damaged_checkpoint_is_reported(tmp_path, capsys):
    damaged = tmp_path / "last.ckpt"
    damaged.write_bytes(b"nothing")
    for path, message in ((tmp_path / "no.ckpt", "no such file"), (damaged, "is damaged, or no checkpoint")):
        assert main(["export", "--to", "hf-vivit", "--ckpt", str(path), "-o", str(tmp_path / "out")]) == 2
        assert message in capsys.readouterr().err
