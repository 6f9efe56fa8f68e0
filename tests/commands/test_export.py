"""Test that an export opens in transformers' pipeline with the model's own probabilities, or is refused."""

import numpy as np
import pytest
import torch

from lit_video.__main__ import main
from lit_video.attention import Joint
from lit_video.inference.predict import load
from lit_video.modules import TimeSformer, ViViT
from lit_video.network.vit import ViTSize
from lit_video.weights.reading import read_weights
from lit_video.weights.settings import pixel_settings
from tests.checkpoints import untrained

transformers = pytest.importorskip("transformers", reason="transformers is not installed")

SHAPE, CLASSES = dict(num_frames=4, image_size=32), ["run", "jump", "sit", "lie"]
TIMESFORMER, VIVIT = ("hf-timesformer", TimeSformer), ("hf-vivit", ViViT)
SMALL = dict(num_classes=4, size=ViTSize(16, 2, 2), patch_size=8)


class Mirrored(Joint):
    """User's scheme whose parameters have the names of joint attention."""

    def forward(self, x, grid):
        return super().forward(x, grid).flip(1)


def size(**options):
    return {"size": ViTSize(**dict(embed_dim=16, depth=2, num_heads=2) | options)}


SIZES = [size(gelu="none"), size(gelu="tanh"), size(gelu="quick"), size(eps=0.1, num_heads=4), size(mlp_ratio=2.53)]
COMMON = [{}, {"several_labels": True}, {"dropout": 0.5, "drop_path_rate": 0.5}, *SIZES]
SCHEMES = ("divided", "joint", "lit_video.attention.divided.Divided")
ACCEPTED = [(TIMESFORMER, {"attention_type": kind} | options) for kind in SCHEMES for options in COMMON]
ACCEPTED += [(VIVIT, options) for options in [*COMMON, {"tubelet_size": 1}, {"tubelet_size": 4}, {"zero_head": True}]]
NO_PLACE, ONE = "has no place for", "has attention (joint) with a class token"
REFUSED = [
    *[(TIMESFORMER, {"attention_type": kind}, NO_PLACE) for kind in ("axial", "local_global", "sliding_global")],
    (TIMESFORMER, {"attention_type": f"{__name__}.Mirrored"}, "(joint, divided, space) with a class token"),
    (TIMESFORMER, {"attention_type": "space"}, "with space attention, transformers gives the logits of every frame"),
    *[(TIMESFORMER, {"positions": kind}, "has positions in space and time") for kind in ("none", "space")],
    (TIMESFORMER, {"cls_in_time": True}, "has no class token in time"),
    (TIMESFORMER, {"hidden_head": True}, NO_PLACE),
    *[
        (kind, options, NO_PLACE)
        for kind in (TIMESFORMER, VIVIT)
        for options in (size(norm_pre=True), size(registers=2))
    ],
    *[(kind, {"probe": "attentive"}, NO_PLACE) for kind in (TIMESFORMER, VIVIT)],
    *[(kind, {"image_size": (32, 48)}, "preprocessors crop squares; use --to pt2") for kind in (TIMESFORMER, VIVIT)],
    *[(kind, {"num_classes": {"verb": 2, "noun": 2}}, "have one head") for kind in (TIMESFORMER, VIVIT)],
    *[(VIVIT, {"variant": variant}, message) for variant, message in ((2, NO_PLACE), (3, NO_PLACE), (4, ONE))],
    *[(VIVIT, {"pool": pool}, ONE) for pool in ("mean", "fc_norm")],
    (VIVIT, {"tubelet_size": 1, "sampled_frames": 2}, "uniform frame sampling"),
    ((TIMESFORMER[0], ViViT), {}, "is no checkpoint of a TimeSformer"),
]


def export(case, options, tmp_path, **data):
    target, family = case
    model = family(**SMALL | SHAPE | options)
    ckpt = untrained(model, tmp_path / "last.ckpt", CLASSES, **data)
    return ckpt, main(["export", "--to", target, "--ckpt", str(ckpt), "-o", str(tmp_path / "out")])


@pytest.mark.parametrize(("case", "options"), ACCEPTED)
def test_the_pipeline_gives_the_probabilities_of_the_model(case, options, tmp_path):
    ckpt, status = export(case, options, tmp_path, **SHAPE, mean=0.4, std=0.3)
    assert status == 0
    frames = np.random.default_rng(0).integers(0, 256, (4, 24, 24, 3), dtype=np.uint8)
    found = transformers.pipeline("video-classification", str(tmp_path / "out"))(frames)
    trained = load(ckpt)
    with torch.no_grad():
        logits = trained.model(trained.transform(frames)[-1:])[0]
    expected = logits.sigmoid() if options.get("several_labels") else logits.softmax(0)
    scores = {one["label"]: one["score"] for one in found}
    torch.testing.assert_close(torch.tensor([scores[name] for name in CLASSES]), expected, atol=1e-5, rtol=1e-5)
    assert pixel_settings(read_weights(tmp_path / "out")) == {"mean": 0.4, "std": 0.3}


@pytest.mark.parametrize("data", [{}, SHAPE], ids=["no data module", "data module"])
@pytest.mark.parametrize(("case", "options", "message"), REFUSED)
def test_what_transformers_has_not_is_refused_in_one_line(case, options, message, data, tmp_path, capsys):
    shape = {key: options.get(key, value) for key, value in data.items()}
    _, status = export(case, options, tmp_path, **shape)
    error = capsys.readouterr().err
    assert (status, error.count("\n")) == (2, 1)
    assert message in error
    assert not (tmp_path / "out").exists()
