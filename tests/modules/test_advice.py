"""Test that what a message says of a line of Python can be typed, and goes on."""

import re
import sys

import lightning
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader

import lit_video
from lit_video.inference.ranking import ranked_videos
from lit_video.inference.rollout import Recording
from lit_video.modules import Perceiver, TimeSformer, ViViT, XViT
from lit_video.modules.classifier import VideoClassifier
from lit_video.modules.optimization import Optimization, make_optimizer, make_schedule
from lit_video.network.streaming import Stream
from lit_video.network.vit import ViTSize
from tests.checkpoints import QUIET

SMALL = ViTSize(16, 1, 2)


def recorded(function):
    """Return the attention weights of a function of tokens, as attention maps do."""
    with Recording() as recording:
        function(torch.zeros(2, 2, 8))
    return recording.weights


NAMES = {
    "XViT": XViT,
    "TimeSformer": TimeSformer,
    "ViViT": ViViT,
    "Perceiver": Perceiver,
    "VideoClassifier": VideoClassifier,
    "Optimization": Optimization,
    "ViTSize": ViTSize,
    "make_optimizer": make_optimizer,
    "make_schedule": make_schedule,
    "sgd": torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1),
    "Stream": Stream,
    "Trainer": lightning.Trainer,
    "small": {"num_frames": 4, "image_size": 16, "size": SMALL, "patch_size": 8},
    "grey": torch.zeros(2, 1, 4, 16, 16),
    "clip": torch.zeros(1, 3, 4, 16, 16),
    "torch": torch,
    "nn": nn,
    "lit_video": lit_video,
    "ranked_videos": ranked_videos,
    "recorded": recorded,
    "F": F,
}
MODEL = "XViT(4, **small)"
CAUSAL = "XViT(4, causal=True, positions='space', ta_layers=0, **small)"
# a line; the advice; the line after it
TOLD = [
    ("XViT(4, embed_dim=16, depth=1, num_heads=2, **small)", "give size=ViTSize(embed_dim, depth, num_heads)", MODEL),
    ("XViT(4, pretrained=True, **small)", "lit_video.from_pretrained(NAME)", "lit_video.from_pretrained('drawn')"),
    ("XViT(4, pretrained=True, **small)", "lit_video.list_models()", "lit_video.list_models('timesformer-*')[0]"),
    ("XViT(4, in_chans=1, **small)", "clip.expand(-1, 3, -1, -1, -1)", f"{MODEL}(grey.expand(-1, 3, -1, -1, -1))"),
    (
        "XViT(4, lr=0.1, **small)",
        "give optimization=Optimization(lr=",
        "XViT(4, optimization=Optimization(lr=0.1), **small)",
    ),
    ("XViT(4, windw=1, **small)", "did you mean window?", "XViT(4, window=1, **small)"),
    ("XViT(1, **small)", "give at least two,", "XViT(2, **small)"),
    ("XViT(1, **small)", "or several_labels", "XViT(1, several_labels=True, **small)"),
    ("XViT(4, causal=True, positions='space-time', **small)", "give space or none", CAUSAL),
    ("XViT(4, causal=True, positions='space-time', **small)", "or none", CAUSAL.replace("'space'", "'none'")),
    (
        "XViT(4, causal=True, summary=True, positions='space', **small)",
        "give own",
        "XViT(4, causal=True, summary='own', positions='space', **small)",
    ),
    (
        "TimeSformer(4, attention_type='joint', cls_in_time=True, **small)",
        "set cls_in_time false",
        "TimeSformer(4, attention_type='joint', cls_in_time=False, **small)",
    ),
    ("XViT(4, ta_attention='slf', **small)", "self", "XViT(4, ta_attention='self', **small)"),
    (
        "Optimization(cooldown=0.2, whole_cosine=True)",
        "give one of the three",
        "Optimization(cooldown=0.2)",
    ),
    ("Optimization('muon', decay_all=True)", "is for sgd and adamw", "Optimization('adamw', decay_all=True)"),
    ("ViViT(4, pool='fc_norm', position_std=0.02, **small)", "set it to null", "ViViT(4, pool='fc_norm', **small)"),
    (
        f"[stream := Stream({CAUSAL}.eval().network), stream(clip), stream(torch.cat([clip, clip]))]",
        "call reset()",
        f"[stream := Stream({CAUSAL}.eval().network), stream(clip), stream.reset(), stream(torch.cat([clip, clip]))]",
    ),
    (f"Stream({CAUSAL}.network)(clip)", "call eval() first", f"Stream({CAUSAL}.eval().network)(clip)"),
    (
        f"Stream({MODEL}.eval().network)",
        "model.causal true and model.positions space",
        f"Stream({CAUSAL}.eval().network)(clip)",
    ),
    (
        "make_optimizer(Optimization(layer_decay=0.5), nn.Linear(2, 2))",
        "leave it out",
        "make_optimizer(Optimization(), nn.Linear(2, 2))",
    ),
    (
        "ViViT(4, zero_head=True, probe='attentive', **small)",
        "set zero_head false",
        "ViViT(4, zero_head=False, probe='attentive', **small)",
    ),
    (
        "Perceiver(4, probe='frames', **small)",
        "give attentive",
        "Perceiver(4, probe='attentive', **small)",
    ),
    (
        "ViViT(4, variant=2, temporal_depth=0, **small)",
        "or set pool to mean",
        "ViViT(4, variant=2, temporal_depth=0, pool='mean', **small)",
    ),
    (
        "make_schedule(Optimization(), sgd, -1)",
        "give trainer.max_steps",
        "make_schedule(Optimization(), sgd, 10)",
    ),
    (
        "lit_video.row_settings('ablation_tw', seeds=[])",
        "give 0, for instance",
        "lit_video.row_settings('ablation_tw', rows='tw1', seeds=[0])",
    ),
    (f"{MODEL}(clip[:, :, :2])", "choose as many", f"{MODEL}(clip)"),
    (
        "recorded(lambda x: nn.MultiheadAttention(8, 2)(x, x, x))",
        "use scaled_dot_product_attention",
        "recorded(lambda x: F.scaled_dot_product_attention(x, x, x))",
    ),
    (
        "ranked_videos(['a.mp4'], torch.full((1, 4), torch.nan), ['a', 'b', 'c', 'd'], top=1)",
        "check its weights",
        f"ranked_videos(['a.mp4'], {MODEL}.eval()(clip), ['a', 'b', 'c', 'd'], top=1)",
    ),
]


@pytest.mark.parametrize(("line", "advice", "typed"), TOLD)
def test_what_a_message_says_is_typed_and_goes_on(line, advice, typed):
    with pytest.raises((TypeError, ValueError, lit_video.UserError), match=re.escape(advice)):
        eval(line, NAMES)
    assert eval(typed, NAMES) is not None


def test_a_backbone_that_is_frozen_gets_weights_as_told(tmp_path):
    options = dict(num_frames=4, image_size=16, size=SMALL, patch_size=8)
    clips = DataLoader([(torch.zeros(3, 4, 16, 16), number % 4) for number in range(4)], batch_size=2)
    trainer = lightning.Trainer(max_epochs=1, **QUIET)
    with pytest.raises(lit_video.UserError, match=r"give model\.weights"):
        trainer.fit(XViT(4, freeze="backbone", **options), clips)
    torch.save(XViT(4, **options).network.state_dict(), tmp_path / "start.pth")
    trainer.fit(XViT(4, freeze="backbone", weights=str(tmp_path / "start.pth"), **options), clips)


def test_a_trainer_of_the_other_package_is_replaced_as_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "pytorch_lightning", sys)
    with pytest.warns(UserWarning, match=r"take its Trainer and callbacks, .*from lightning import Trainer"):
        model = eval(MODEL, NAMES)
    assert isinstance(model, lightning.LightningModule) and lightning.Trainer(**QUIET)
