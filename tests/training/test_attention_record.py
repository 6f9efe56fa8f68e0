"""What a finished run shows of its model's attention, of every family that has one; test_wandb_logger: a run has it."""

import pytest
from PIL import Image

from lit_video.datamodules import TemporalSkills
from lit_video.modules import ConvNet, TimeSformer, ViViT, XViT
from lit_video.network.vit import ViTSize
from lit_video.training.callbacks.predictions import record_attention

SIZE = ViTSize(16, 2, 2)
FAMILIES = {
    "X-ViT": lambda: XViT(2, 4, 16, SIZE, 8),
    "TimeSformer": lambda: TimeSformer(2, 4, 16, SIZE, 8),
    "ViViT": lambda: ViViT(2, 4, 16, SIZE, 8, variant=2, temporal_depth=1),
    "CNN": lambda: ConvNet(2, 4, 16, "c2d", width=4),
}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A video that is tested."""
    root = tmp_path_factory.mktemp("attention")
    data = TemporalSkills(root=str(root), skills=("zoom",), pairs=(1, 1, 1), frames=4, image_size=16, num_workers=0)
    data.prepare_data()
    return data


@pytest.mark.parametrize("family", FAMILIES)
def test_a_picture_shows_what_a_model_attends_to(family, data, tmp_path):
    record_attention(FAMILIES[family](), data, tmp_path)
    picture = tmp_path / "attention.png"
    assert picture.exists() == (family != "CNN")
    assert not picture.exists() or min(Image.open(picture).size) > 300


def test_a_scheme_that_the_rollout_does_not_support_has_no_picture(data, tmp_path, monkeypatch, capsys):
    def unknown(network, clip, **options):
        raise ValueError("VideoTransformer holds layers that the rollout does not know")

    monkeypatch.setattr("lit_video.inference.attention_maps.rollout", unknown)
    record_attention(FAMILIES["X-ViT"](), data, tmp_path)
    assert not list(tmp_path.iterdir())
    assert "attention.png: not drawn, VideoTransformer holds layers" in capsys.readouterr().out
