"""Test every way to load a checkpoint into another model: refused in one line, or the model computes the same."""

from itertools import product

import pytest
import torch
from lightning import Trainer
from torch.utils.data import DataLoader

from lit_video.errors import UserError
from lit_video.modules import Perceiver, TimeSformer, ViViT, XViT
from lit_video.modules.optimization import Optimization
from lit_video.network.vit import ViTSize
from tests.checkpoints import QUIET, trained
from tests.conftest import quick_or_slow

SIZE, TASKS = ViTSize(16, 2, 2), {"verb": 2, "noun": 2}
BASE = dict(num_classes=4, num_frames=4, image_size=32, patch_size=8, size=SIZE)
STILL = dict(ta_layers=0, positions="space")
# family, settings, changes of the other model
REFUSED = {
    "window": (XViT, {}, dict(window=2)),
    "boundary": (XViT, dict(window=2), dict(boundary=True)),
    "ratio": (XViT, {}, dict(ratio=0.25)),
    "mixed": (XViT, {}, dict(mixed=("key",))),
    "layers": (XViT, {}, dict(layers="odd")),
    "scope": (XViT, {}, dict(scope="full")),
    "summary": (XViT, dict(summary=True), dict(summary="own")),
    "num_summary_tokens": (XViT, dict(summary=True), dict(num_summary_tokens=4)),
    "summary_before_norm": (XViT, dict(summary=True), dict(summary_before_norm=True)),
    "cls_in_summary": (XViT, dict(summary=True), dict(cls_in_summary=True)),
    "summary_layers": (XViT, dict(summary=True), dict(summary_layers=[1])),
    "exact": (XViT, {}, dict(exact=True)),
    "causal": (XViT, dict(positions="space"), dict(causal=True)),
    "segments": (XViT, dict(positions="space"), dict(segments=2)),
    "ta_layers": (XViT, {}, dict(ta_layers=2)),
    "ta_attention": (XViT, {}, dict(ta_attention="cross")),
    "ta_attention, the other way": (XViT, dict(ta_attention="cross"), dict(ta_attention="self")),
    "positions": (XViT, {}, dict(positions="none")),
    "size.num_heads": (XViT, {}, dict(size=ViTSize(16, 2, 4))),
    "size.eps": (XViT, {}, dict(size=ViTSize(16, 2, 2, eps=1e-2))),
    "size.gelu": (XViT, {}, dict(size=ViTSize(16, 2, 2, gelu="quick"))),
    "patch_size": (XViT, {}, dict(patch_size=16)),
    "attention_type": (TimeSformer, dict(attention_type="local_global"), dict(attention_type="sliding_global")),
    "cls_in_time": (TimeSformer, {}, dict(cls_in_time=True)),
    "hidden_head": (TimeSformer, {}, dict(hidden_head=True)),
    "variant": (ViViT, dict(variant=4), dict(variant=1, pool="mean")),
    "order": (ViViT, dict(variant=3), dict(order="time_space")),
    "pool": (ViViT, dict(pool="mean"), dict(pool="fc_norm")),
    "temporal": (ViViT, dict(variant=2), dict(temporal="mean")),
    "temporal_depth": (ViViT, dict(variant=2), dict(temporal_depth=1)),
    "sampled_frames": (ViViT, dict(tubelet_size=1), dict(sampled_frames=2, num_frames=8)),
    "tubelet_size": (ViViT, {}, dict(tubelet_size=4)),
    "num_latents": (Perceiver, dict(num_latents=4), dict(num_latents=5)),
    "reads": (Perceiver, dict(num_latents=4), dict(reads=2)),
    "family": (XViT, STILL, dict(kind=TimeSformer, attention_type="space")),
    "family, a class of one's own": (XViT, STILL, dict(kind=type("Own", (TimeSformer,), {}), attention_type="space")),
    "order of the tasks": (XViT, dict(num_classes=TASKS), dict(num_classes=dict(reversed(TASKS.items())))),
    "tasks": (XViT, dict(num_classes=TASKS), dict(num_classes=4)),
}
# starting weights may be of a model with such changes, a resumed checkpoint may not
OTHER_SHAPE = {
    "num_frames": (XViT, {}, dict(num_frames=8)),
    "frames, ViViT-2": (ViViT, dict(variant=2), dict(num_frames=8)),
    "image_size": (TimeSformer, dict(image_size=(16, 64)), dict(image_size=32)),
    "num_classes": (TimeSformer, {}, dict(num_classes=7)),
}
EQUAL = {
    "nothing": (XViT, {}, {}),
    "dropout": (XViT, {}, dict(dropout=0.0)),
    "drop_path_rate": (TimeSformer, {}, dict(drop_path_rate=0.5)),
    "activation_checkpointing": (TimeSformer, {}, dict(activation_checkpointing="block")),
    "zero_temporal": (ViViT, dict(variant=3), dict(zero_temporal=True)),
    "optimization": (ViViT, {}, dict(optimization=Optimization(lr=0.1))),
    "position_std": (XViT, {}, dict(position_std=1.0)),
    "order of the values": (XViT, {}, dict(mixed=("value", "key"))),
    "the default, written": (XViT, {}, dict(size=ViTSize(16, 2, 2, eps=1e-6, registers=0))),
    "any length": (XViT, dict(positions="space"), dict(num_frames=8)),
    "a class of one's own": (XViT, {}, dict(kind=type("Own", (XViT,), {}))),
}


def loader(settings):
    height, width = settings["image_size"] if isinstance(settings["image_size"], tuple) else (32, 32)
    tasks = settings["num_classes"]
    label = {task: 1 for task in tasks} if isinstance(tasks, dict) else 1
    label = torch.tensor(list(label.values())) if isinstance(label, dict) else label
    clips = torch.randn(2, 3, settings["num_frames"], height, width, generator=torch.Generator().manual_seed(0))
    return DataLoader([(clip, label) for clip in clips], batch_size=2)


def by_weights(kind, settings, path):
    model = kind(**settings, weights=str(path))
    model.setup("fit")
    return model


def by_trainer(command):
    def door(kind, settings, path):
        model = kind(**settings)
        trainer = Trainer(max_steps=1, accelerator="cpu", **QUIET)
        getattr(trainer, command)(model, loader(settings), ckpt_path=path)
        return model

    return door


HOOKED = ("fit", "validate", "test", "predict")  # the trainer loads the checkpoint, by the module's one hook
DOORS = {name: by_trainer(name) for name in HOOKED} | {
    "load_from_checkpoint": lambda kind, settings, path: kind.load_from_checkpoint(path, **settings),
    "weights": by_weights,
}


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    """Function that trains a model once, without a data module, and returns its checkpoint and the model."""
    made = {}

    def make(kind, settings):
        if (key := f"{kind} {settings}") not in made:
            torch.manual_seed(0)
            model = kind(**settings, optimization=Optimization(lr=0.5))
            made[key] = trained(model, loader(settings), tmp_path_factory.mktemp("run") / "a.ckpt"), model.eval()
        return made[key]

    return make


def opened(door, case, checkpoint):
    kind, settings, changes = case
    path, model = checkpoint(kind, BASE | settings)
    other = BASE | ({} if "attention_type" in changes and kind is XViT else settings) | changes
    return DOORS[door](other.pop("kind", kind), other, path).eval(), model, other


def by_every_door(cases):
    """Mark a test of every case by every door, quick by the doors that share the module's hook for one case."""
    both = [*product(cases, DOORS)]
    quick = {(case, door) for case, door in both if door == "weights" or case in ("window", "family", "nothing")}
    return pytest.mark.parametrize(("case", "door"), quick_or_slow(both, quick))


@by_every_door([*REFUSED, *OTHER_SHAPE])
def test_another_model_is_refused_in_one_line(case, door, checkpoint):
    if door == "weights" and case in OTHER_SHAPE:
        return
    with pytest.raises((UserError, TypeError) if "family" in case else UserError) as refusal:  # TypeError: of Lightning
        opened(door, (REFUSED | OTHER_SHAPE)[case], checkpoint)
    assert "\n" not in str(refusal.value) and len(str(refusal.value)) < 400


@by_every_door(EQUAL)
def test_what_changes_training_alone_is_taken_and_computes_the_same(case, door, checkpoint):
    other, model, settings = opened(door, EQUAL[case], checkpoint)
    clip = torch.randn(2, 3, settings["num_frames"], 32, 32)
    with torch.no_grad():
        assert torch.equal(other(clip), model(clip))


@pytest.mark.parametrize("door", DOORS)
def test_another_scheme_is_taken_where_that_is_asked_for(door, checkpoint):
    other, model, _ = opened(door, (XViT, {}, dict(window=2, weights_settings="ignore")), checkpoint)
    assert torch.equal(other.network.norm.weight, model.network.norm.weight)
