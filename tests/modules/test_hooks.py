"""Test that overridden hooks lose nothing of a model, and that starting weights come before all callbacks."""

import ast
import copy
import inspect
from itertools import chain, product
from textwrap import dedent

import pytest
import torch
from lightning import LightningDataModule, LightningModule, Trainer
from lightning.pytorch.callbacks import BackboneFinetuning, BaseFinetuning, Callback, LearningRateFinder
from lightning.pytorch.core.hooks import CheckpointHooks, DataHooks, ModelHooks
from lightning.pytorch.tuner import Tuner
from torch.utils.data import DataLoader

from lit_video import datamodules, modules
from lit_video.errors import UserError
from lit_video.modules import ConvNet, Perceiver, TimeSformer, ViViT, XViT
from lit_video.modules.optimization import Optimization
from lit_video.network.vit import ViTSize
from tests.checkpoints import QUIET
from tests.conftest import quick_or_slow

SIZE = ViTSize(16, 2, 2)
BASE = dict(num_classes=4, num_frames=4, image_size=16, optimization=Optimization("adamw", lr=0.01))
TOKENS = BASE | dict(patch_size=8, size=SIZE)
FAMILIES = {
    XViT: TOKENS,
    TimeSformer: TOKENS,
    ViViT: TOKENS,
    Perceiver: TOKENS | dict(num_latents=3),
    ConvNet: BASE | dict(architecture="x3d", x3d_depth=0.5),
}
# hooks that a subclass replaces as a whole: data, their transfer, the switch to evaluation and back
WHOLE = {
    *("train_dataloader", "val_dataloader", "test_dataloader", "predict_dataloader", "transfer_batch_to_device"),
    *("on_before_batch_transfer", "on_after_batch_transfer", "configure_sharded_model"),
    *("on_validation_model_eval", "on_validation_model_train", "on_validation_model_zero_grad"),
    *("on_test_model_eval", "on_test_model_train", "on_predict_model_eval", "on_predict_model_train"),
}


def hooks():
    """Return the hooks of a LightningModule that ``pass`` does not turn into other work."""
    names = {name for kind in (ModelHooks, DataHooks, CheckpointHooks) for name in vars(kind) if name[0] != "_"}
    return sorted(names - WHOLE)


def loader(count=12, batch_size=4):
    generator = torch.Generator().manual_seed(0)
    clips = torch.randn(count, 3, 4, 16, 16, generator=generator)
    return DataLoader([(clip, i % 4) for i, clip in enumerate(clips)], batch_size=batch_size)


def trainer(**settings):
    return Trainer(**{"max_epochs": 2, "accelerator": "cpu"} | QUIET | settings)


def nothing(self, *args, **kwargs):
    pass


def outcome(kind, settings, path):
    """Return what a training, two tests and a checkpoint leave: metrics, settings, what another model says to them."""
    torch.manual_seed(0)
    model, run = kind(**settings), trainer()
    torch.manual_seed(1)
    run.fit(model, loader(), loader())
    metrics = dict(run.callback_metrics)
    run.save_checkpoint(path)
    for _ in range(2):
        metrics |= run.test(model, loader(), verbose=False)[0]
    stored = torch.load(path, weights_only=True)
    return {key: float(value) for key, value in metrics.items()}, stored.get("lit_video_model"), len(model._batches)


# hooks are those of the class that all families share
@pytest.mark.parametrize("family", quick_or_slow(FAMILIES, {XViT}))
def test_every_hook_may_be_overridden_with_pass(family, tmp_path):
    settings = FAMILIES[family]
    expected = outcome(family, settings, tmp_path / "plain.ckpt")
    assert expected[0]["test/videos"] == 12
    assert {"train/loss", "train/clip_top1", "val/loss", "val/clip_top1"} <= expected[0].keys()
    own = type(f"Own{family.__name__}", (family,), dict.fromkeys(hooks(), nothing))
    metrics, stored, kept = outcome(own, settings, tmp_path / "own.ckpt")
    assert (metrics, stored, kept) == expected
    for change in (dict(window=2) if family is XViT else {}, dict(num_classes=3)):
        for kind in (family, own):
            with pytest.raises(UserError, match="the checkpoint does not fit"):
                kind.load_from_checkpoint(tmp_path / "own.ckpt", **{"num_classes": 3} | change)


@pytest.mark.parametrize("hook", hooks())
def test_a_hook_overridden_with_pass_keeps_the_start_and_the_metrics(hook, tmp_path):
    start = XViT(**TOKENS)
    torch.save(start.network.state_dict(), tmp_path / "start.pth")
    own = type("OwnXViT", (XViT,), {hook: nothing})
    still = TOKENS | dict(optimization=Optimization(lr=1e-12), weights=str(tmp_path / "start.pth"))
    model, run = own(**still), trainer(max_epochs=1)
    run.fit(model, loader(4), loader(4))
    found, expected = model.network.embed.patches.proj.weight, start.network.embed.patches.proj.weight
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=0)
    assert {"train/loss", "val/loss", "val/clip_top1"} <= run.callback_metrics.keys()


def ours(*bases):
    """Return the classes of this package's models and data sets."""
    kinds = [value for module in (modules, datamodules) for value in vars(module).values()]
    return [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, bases)]


def test_every_override_of_a_hook_calls_super():
    checked = 0
    kinds = set(chain.from_iterable(kind.__mro__ for kind in ours(LightningModule, LightningDataModule)))
    for kind in kinds:
        if not kind.__module__.startswith("lit_video"):
            continue
        for name in set(hooks()) & vars(kind).keys():
            function = inspect.unwrap(vars(kind)[name])
            if function.__module__.startswith("lightning"):
                continue
            tree = ast.parse(dedent(inspect.getsource(function)))
            called = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr == name]
            assert called, f"{kind.__name__}.{name} does not call super().{name}"
            checked += 1
    assert checked


class First(Callback):
    """Copies of a model as other callbacks see it, in ``setup`` and at the first batch."""

    def setup(self, trainer, pl_module, stage):
        self.at_setup = copy.deepcopy(pl_module.network).state_dict()

    def on_train_start(self, trainer, pl_module):
        self.at_start = copy.deepcopy(pl_module.network.state_dict())


class OwnStep(XViT):
    def training_step(self, batch, batch_idx):
        clip, target = batch
        return torch.nn.functional.cross_entropy(self.network(clip), target)


class OwnOptimizer(OwnStep):
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=self.lr)


@pytest.fixture
def start(tmp_path):
    network = XViT(**TOKENS).network
    torch.save(network.state_dict(), tmp_path / "start.pth")
    return dict(weights=str(tmp_path / "start.pth")), network.state_dict()


def equal(found, expected):
    return all(torch.equal(found[name], expected[name]) for name in expected)


TRIED = 10  # steps of a search for a learning rate
TRIED_EPOCHS = 4  # of three steps


def lr_find(model, tmp_path):
    Tuner(trainer(max_epochs=TRIED_EPOCHS, default_root_dir=tmp_path)).lr_find(model, loader(), num_training=TRIED)


def restored(model, tmp_path):
    model.load_state_dict(copy.deepcopy(model.state_dict()))


def restored_from_a_file(model, tmp_path):
    torch.save(model.state_dict(), tmp_path / "before.pth")
    model.load_state_dict(torch.load(tmp_path / "before.pth", weights_only=True))


def part_of_the_weights(model, tmp_path):
    head = {name: value for name, value in model.state_dict().items() if ".aggregate." in name}
    model.load_state_dict(head, strict=False)


BEFORE = [None, lr_find, restored, restored_from_a_file, part_of_the_weights]
STARTED = [*product([XViT, OwnStep, OwnOptimizer], BEFORE)]
QUICK = {*product([XViT], BEFORE), (OwnStep, None), (OwnOptimizer, None)}


@pytest.mark.parametrize(("kind", "before"), quick_or_slow(STARTED, QUICK))
def test_every_callback_sees_the_starting_weights(kind, before, start, tmp_path):
    given, expected = start
    model, first = kind(**TOKENS, **given), First()
    if before:
        before(model, tmp_path)
    finder = LearningRateFinder(num_training_steps=TRIED)
    trainer(callbacks=[first, finder], default_root_dir=tmp_path, max_epochs=TRIED_EPOCHS).fit(model, loader())
    assert equal(first.at_setup, expected) and equal(first.at_start, expected)


class Student(LightningModule):
    """A user's module that trains one classifier after another."""

    def __init__(self, **given):
        super().__init__()
        self.student, self.teacher = XViT(**TOKENS), XViT(**TOKENS, **given)

    def training_step(self, batch, batch_idx):
        clip, _ = batch
        return (self.student(clip) - self.teacher(clip).detach()).square().mean()

    def configure_optimizers(self):
        return torch.optim.SGD(self.student.parameters(), lr=0.1)


def test_a_classifier_inside_another_module_has_its_starting_weights(start):
    given, expected = start
    module = Student(**given)
    trainer().fit(module, loader())
    assert equal(module.teacher.network.state_dict(), expected)


class TrainedPart(XViT):
    """Checkpoints hold what is trained, the classifier; the rest is the file's."""

    strict_loading = False

    def on_save_checkpoint(self, checkpoint):
        kept = {name: value for name, value in checkpoint["state_dict"].items() if ".aggregate." in name}
        checkpoint["state_dict"] = kept


def test_where_a_checkpoint_holds_a_part_of_the_weights_the_rest_is_the_file_s(start, tmp_path):
    given, expected = start
    run = trainer(max_epochs=1)
    run.fit(TrainedPart(**TOKENS, **given, freeze="backbone"), loader())
    run.save_checkpoint(tmp_path / "part.ckpt")
    again = TrainedPart(**TOKENS, **given, freeze="backbone")
    trainer().fit(again, loader(), ckpt_path=tmp_path / "part.ckpt")
    backbone = {name: value for name, value in expected.items() if not name.startswith("aggregate.")}
    assert equal(again.network.state_dict(), backbone)
    (tmp_path / "start.pth").unlink()
    with pytest.raises(UserError, match=r"start\.pth"):
        trainer().fit(TrainedPart(**TOKENS, **given), loader(), ckpt_path=tmp_path / "part.ckpt")


def test_freeze_asks_whether_weights_are_loaded(tmp_path):
    from lit_video import load_pretrained

    model, run, path = XViT(**TOKENS), trainer(max_epochs=1), tmp_path / "a.ckpt"
    run.fit(model, loader())
    run.save_checkpoint(path)
    state = model.state_dict()
    for freeze in (1, "backbone"):
        by_checkpoint = XViT.load_from_checkpoint(path, freeze=freeze)
        by_state = XViT(**TOKENS, freeze=freeze)
        by_state.load_state_dict(state)
        by_values = XViT(**TOKENS, freeze=freeze)
        by_values.load_state_dict({name: value.clone() for name, value in state.items()})
        by_names = XViT(**TOKENS, freeze=freeze)
        load_pretrained(by_names.network, state)
        for loaded in (by_checkpoint, by_state, by_values, by_names):
            trainer().fit(loaded, loader())
            assert torch.equal(loaded.network.embed.patches.proj.weight, state["network.embed.patches.proj.weight"])
        trainer().fit(XViT(**TOKENS, freeze=freeze), loader(), ckpt_path=path)
        with pytest.raises(UserError, match=r"model\.freeze"):
            trainer().fit(XViT(**TOKENS, freeze=freeze), loader())
        chance = XViT(**TOKENS, freeze=freeze)
        part_of_the_weights(chance, tmp_path)
        with pytest.raises(UserError, match=r"model\.freeze"):
            trainer().fit(chance, loader())


class TwoHeads(XViT):
    """A second head and a learned scale of the loss, outside ``network``."""

    def __init__(self, **settings):
        super().__init__(**settings)
        self.second = torch.nn.Linear(4, 4)
        self.scale = torch.nn.Parameter(torch.zeros(()))

    def loss(self, logits, target):
        return super().loss(logits + self.second(logits), target) * self.scale.exp() + self.scale


@pytest.mark.parametrize("optimizer", ["sgd", "adamw", "muon"])
def test_every_parameter_of_a_subclass_is_trained(optimizer):
    model = TwoHeads(**TOKENS | dict(optimization=Optimization(optimizer, lr=0.01)))
    before = copy.deepcopy(model.state_dict())
    trainer().fit(model, loader())
    still = [name for name, value in model.named_parameters() if torch.equal(value, before[name])]
    assert not still


class Unfreeze(BaseFinetuning):
    def freeze_before_training(self, pl_module):
        self.freeze([pl_module.network.embed, pl_module.network.blocks])

    def finetune_function(self, pl_module, epoch, optimizer):
        if epoch == 1:
            self.unfreeze_and_add_param_group([pl_module.network.embed, pl_module.network.blocks], optimizer)


class ByHand(Callback):
    def setup(self, trainer, pl_module, stage):
        pl_module.network.blocks.requires_grad_(False)

    def on_train_epoch_start(self, trainer, pl_module):
        if trainer.current_epoch == 1:
            pl_module.network.blocks.requires_grad_(True)


class HasBackbone(XViT):
    @property
    def backbone(self):
        return self.network.blocks


@pytest.mark.parametrize(
    "callback", [Unfreeze(), ByHand(), BackboneFinetuning(unfreeze_backbone_at_epoch=1)], ids=lambda c: type(c).__name__
)
@pytest.mark.parametrize("freeze", [None, 1])
def test_what_a_callback_unfreezes_is_trained(callback, freeze, start):
    given, expected = start
    model = HasBackbone(**TOKENS, **given, freeze=freeze)
    trainer(max_epochs=1, callbacks=[copy.deepcopy(callback)]).fit(model, loader())
    assert equal(model.network.blocks.state_dict(), {k[7:]: v for k, v in expected.items() if k.startswith("blocks.")})
    model = HasBackbone(**TOKENS, **given, freeze=freeze)
    trainer(max_epochs=3, callbacks=[copy.deepcopy(callback)]).fit(model, loader())
    moved = [name for name, value in model.network.named_parameters() if not torch.equal(value, expected[name])]
    assert any(name.startswith("blocks.1.") for name in moved)
