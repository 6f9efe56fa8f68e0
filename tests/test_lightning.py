"""Test every family under a plain Trainer, with Lightning's callbacks and loggers."""

import csv
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from lightning import LightningDataModule, LightningModule, Trainer
from lightning.pytorch import callbacks, loggers
from torch.utils.data import DataLoader, IterableDataset, SubsetRandomSampler

from lit_video.engine.resumption import ExactResumption
from lit_video.errors import UserError
from lit_video.modules import ConvNet, Perceiver, TimeSformer, ViViT, XViT
from lit_video.modules.optimization import Optimization
from lit_video.network.vit import ViTSize
from lit_video.video.augmentation import Augmentation
from tests.conftest import quick_or_slow
from tests.embedded import four_skills

SMALL = dict(size=ViTSize(16, 1, 2), patch_size=8, optimization=Optimization("adamw", lr=0.01))
SETTINGS = {
    XViT: SMALL,
    TimeSformer: SMALL,
    ViViT: SMALL | dict(variant=2, temporal_depth=1),
    Perceiver: SMALL | dict(num_latents=4),
    ConvNet: dict(architecture="x3d", width=4, x3d_width=1.0, x3d_depth=0.5),
}
TRANSFORMERS = [family for family in SETTINGS if family is not ConvNet]
QUIET = dict(accelerator="cpu", logger=False, enable_progress_bar=False, enable_model_summary=False)
every_family = pytest.mark.parametrize("family", SETTINGS, ids=lambda family: family.__name__)


def build(family, classes=8, **others):
    torch.manual_seed(0)
    return family(classes, 4, 16, **SETTINGS[family] | {"dropout": 0.0} | others)


def trainer(**settings):
    return Trainer(**QUIET | dict(enable_checkpointing=False, max_epochs=1) | settings)


def examples():
    generator = torch.Generator().manual_seed(1)
    clips = torch.randn(8, 3, 4, 16, 16, generator=generator)
    return [(clip, torch.tensor(i)) for i, clip in enumerate(clips)]


def loader(kind="tuples", batch_size=4):
    """Return a user's own loader, with one of several kinds of batches."""
    pairs = examples()
    made = {
        "tuples": pairs,
        "clips": [clip for clip, _ in pairs],
        "dicts": [{"clip": clip, "target": target} for clip, target in pairs],
        "soft": [{"clip": clip, "target": torch.eye(8)[target]} for clip, target in pairs],
        "views": [{"clip": c, "target": y // 2, "video": int(y // 2), "view": int(y % 2)} for c, y in pairs],
        "no view": [{"clip": c, "target": y // 2, "video": int(y // 2)} for c, y in pairs],
    }
    return DataLoader(made[kind], batch_size=batch_size)


@pytest.fixture(scope="module")
def videos(data_root):
    """Function that returns the package's data of 16 training videos."""

    def make(**settings):
        return four_skills(data_root / "lightning", **settings)

    make().prepare_data()
    return make


def weights(model):
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


def same(one, other, **tolerance):
    torch.testing.assert_close(one, other, **tolerance or dict(rtol=0, atol=0))


class UsersData(LightningDataModule):
    def __init__(self, batch_size=2):
        super().__init__()
        self.batch_size = batch_size

    def train_dataloader(self):
        return loader(batch_size=self.batch_size)

    val_dataloader = test_dataloader = train_dataloader


@every_family
def test_a_trainer_with_defaults_resumes_tests_and_loads_its_checkpoints(family, tmp_path):
    best = callbacks.ModelCheckpoint(tmp_path, monitor="val/loss", filename="best")
    run = Trainer(max_epochs=1, accelerator="cpu", default_root_dir=tmp_path, callbacks=[best], log_every_n_steps=1)
    model = build(family)
    run.fit(model, UsersData())
    (tested,) = run.test(ckpt_path="best", dataloaders=loader(), verbose=False)
    loaded = family.load_from_checkpoint(best.best_model_path)
    same(weights(loaded), weights(model))
    assert loaded.optimization == model.optimization
    assert trainer().test(loaded, loader(), verbose=False) == [tested]
    assert tested["test/videos"] == 8
    longer = trainer(max_epochs=2)
    longer.fit(build(family), UsersData(), ckpt_path=best.best_model_path)
    assert longer.global_step == 8


@every_family
@pytest.mark.parametrize("other", ["dicts", "soft"])
def test_tuples_and_mappings_train_alike(family, other):
    trained = [build(family), build(family)]
    for model, kind in zip(trained, ["tuples", other], strict=True):
        trainer().fit(model, loader(kind))
    same(*map(weights, trained), rtol=1e-4, atol=1e-5)
    assert not torch.equal(weights(trained[0]), weights(build(family)))


@every_family
def test_clips_without_a_video_count_each_and_views_of_a_video_are_averaged(family):
    model = build(family).eval()
    clips = torch.stack([clip for clip, _ in examples()])
    with torch.no_grad():
        logits = model(clips)
    (alone,) = trainer().validate(model, loader(batch_size=3), verbose=False)
    assert alone["val/clip_top5"] == pytest.approx(
        100 * np.mean([i in row.topk(5)[1] for i, row in enumerate(logits)]), abs=1e-4
    )
    mean = logits.unflatten(0, (4, 2)).mean(1)
    expected = {"test/videos": 4, "test/video_top1": 100 * (mean.argmax(1) == torch.arange(4)).float().mean().item()}
    for kind in ("views", "no view"):
        (tested,) = trainer().test(model, loader(kind), verbose=False)
        assert {name: tested[name] for name in expected} == pytest.approx(expected)
    for kind in ("clips", "tuples", "dicts", "views"):
        same(torch.cat(trainer().predict(model, loader(kind))), logits, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("batch", "word"),
    [
        ({"video": torch.zeros(2, 3, 4, 16, 16), "label": torch.zeros(2)}, r"clip is a NoneType .given: video, label"),
        ({"clip": torch.zeros(2, 3, 4, 16, 16), "target": torch.zeros(2), "video": ["a", "b"]}, "video is a list"),
        ((torch.zeros(2, 3, 4, 16, 16, dtype=torch.uint8), torch.zeros(2)), "uint8"),
        ((torch.zeros(2, 4, 3, 16), torch.zeros(2)), r"\(2, 4, 3, 16\), expected"),
        ([torch.zeros(2, 3, 4, 16, 16)] * 3, "clip is a list"),
    ],
)
def test_another_batch_is_refused_in_a_line(batch, word):
    model = build(XViT)
    for step in (model.training_step, model.validation_step, model.test_step):
        with pytest.raises(UserError, match=word) as refusal:
            step(batch, 0)
        assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("run", ["fit", "validate", "test"])
@pytest.mark.parametrize(
    ("classes", "several", "target", "words"),
    [
        (8, False, 8, "clip 2 of a batch, counted from 0, has the label 8, expected 0 to 7 of 8 classes"),
        (8, False, -1, "the label -1"),
        (8, False, 1.0, r"target is float64 \(3,\), expected class numbers \(b,\).*docs/in_python"),
        (8, False, [1, 1], r"int64 \(3, 2\), expected class numbers \(b,\)"),
        (8, False, [2.0, *[0.0] * 7], r"label 2, expected 0 to 1"),
        ({"verb": 3, "noun": 5}, False, [1, 5], r"label 5, expected 0 to \[2, 4\] of {'verb': 3"),
        ({"verb": 3, "noun": 5}, False, 1, r"int64 \(3,\), expected class numbers \(b, 2\)"),
        (2, True, [0, 2], "label 2, expected 0 to 1"),
        (2, True, 1, r"expected a one or zero for each class \(b, 2\)"),
    ],
)
def test_labels_that_do_not_fit_are_refused_before_a_gpu_gets_them(run, classes, several, target, words):
    class OnTheGPU(XViT):
        def transfer_batch_to_device(self, batch, device, dataloader_idx):
            assert "label" not in words
            return batch

    first = [0 * one for one in target] if isinstance(target, list) else 0 * target
    clips = [clip for clip, _ in examples()[:3]]
    data = [(clip, np.array(y)) for clip, y in zip(clips, [first, first, target], strict=True)]
    model = OnTheGPU(classes, 4, 16, **SMALL, several_labels=several)
    with pytest.raises(UserError, match=words):
        getattr(trainer(), run)(model, DataLoader(data, batch_size=3))


@pytest.mark.parametrize("dtype", [torch.int32, torch.uint8, torch.int64])
def test_labels_of_any_integer_type_count_and_those_of_no_class_do_not(dtype):
    pairs = [(clip, target.to(dtype)) for clip, target in examples()]
    model = build(XViT).eval()
    (tested,) = trainer().test(model, DataLoader(pairs, batch_size=3), verbose=False)
    assert (tested,) == tuple(trainer().test(model, loader(), verbose=False))
    if dtype.is_signed:
        unknown = [*pairs, (pairs[0][0], torch.tensor(-100, dtype=dtype))]
        assert [tested] == trainer().test(model, DataLoader(unknown, batch_size=3), verbose=False)
        trainer().fit(model, DataLoader(unknown, batch_size=9))


@pytest.mark.parametrize("classes", [1, {"verb": 3, "noun": 1}])
def test_a_single_class_is_refused(classes):
    with pytest.raises(ValueError, match="num_classes is "):
        build(XViT, classes)
    assert build(XViT, 1, several_labels=True).num_classes == 1


def test_each_of_several_loaders_has_its_metrics():
    model, run = build(XViT), trainer(num_sanity_val_steps=2)
    loaders = [loader(batch_size=3), DataLoader(examples()[2:5], batch_size=2), DataLoader(examples()[4:])]
    alone = [trainer().validate(model, one, verbose=False)[0] for one in loaders]
    expected = {f"{k}/dataloader_idx_{i}": v for i, one in enumerate(alone) for k, v in one.items()}
    assert len(expected) == 9 and len({one["val/loss"] for one in alone}) == 3
    for found in run.validate(model, loaders, verbose=False):
        assert found == pytest.approx(expected)
    tested = run.test(model, loaders)[0]
    assert [tested[f"test/videos/dataloader_idx_{i}"] for i in range(3)] == [8, 3, 4]
    assert run.validate(model, loaders[1], verbose=False) == [pytest.approx(alone[1])], "one loader after several"
    assert [sum(map(len, one)) for one in run.predict(model, loaders)] == [8, 3, 4]
    run.fit(model, loader(), loaders)
    assert expected.keys() <= run.callback_metrics.keys()


def test_processes_that_share_clips_in_an_unknown_order_are_refused():
    model, subset = build(XViT).eval(), SubsetRandomSampler(range(7))
    loops = SimpleNamespace(_combined_loader=SimpleNamespace(flattened=[DataLoader(examples(), sampler=subset)]))
    model._trainer = SimpleNamespace(world_size=2, _evaluation_loop=loops)
    batch = {"clip": torch.zeros(2, 3, 4, 16, 16), "target": torch.zeros(2, dtype=torch.long)}
    with pytest.raises(UserError, match="2 processes divide the clips by a SubsetRandomSampler"):
        model.validation_step(batch, 0)
    number = torch.arange(2)
    model.validation_step(batch | {"video": number, "view": number}, 0)


@pytest.mark.parametrize("family", quick_or_slow(TRANSFORMERS, {XViT}))
def test_a_training_that_resumes_in_mid_epoch_ends_at_equal_weights(family, videos, tmp_path):
    def train(stop, **resume):
        model = build(family, dropout=0.5, drop_path_rate=0.3)
        saved = callbacks.ModelCheckpoint(tmp_path, filename="{step}", every_n_train_steps=3, save_top_k=-1)
        torch.manual_seed(3)
        run = trainer(max_epochs=2, callbacks=[ExactResumption(), saved], enable_checkpointing=True, **stop)
        run.fit(model, videos(), **resume)
        return model

    whole = train({})
    assert (tmp_path / "step=3.ckpt").exists(), "an epoch has four steps"
    same(weights(train({}, ckpt_path=tmp_path / "step=3.ckpt")), weights(whole))


@every_family
def test_callbacks_and_a_logger_of_lightning(family, tmp_path):
    average = callbacks.EMAWeightAveraging(decay=0.5)
    given = [callbacks.EarlyStopping("val/loss", min_delta=1e9, patience=1), average]
    given += [callbacks.LearningRateMonitor("step")]
    logger = loggers.CSVLogger(tmp_path)
    run = trainer(max_epochs=9, callbacks=given, accumulate_grad_batches=2, log_every_n_steps=1, logger=logger)
    model = build(family)
    run.fit(model, UsersData())
    assert run.global_step == 2 * 2, "early stopping ends the second epoch; an epoch has two steps of two batches"
    rows = list(csv.DictReader(Path(logger.log_dir, "metrics.csv").read_text().splitlines()))
    assert {"train/loss", "train/clip_top1", "val/loss"} < rows[0].keys()
    assert sum(bool(row["train/loss"]) for row in rows) == 4
    assert any(name.startswith("lr-") for name in rows[0])


@every_family
@pytest.mark.parametrize("precision", quick_or_slow(["bf16-mixed", "bf16-true", "64-true"], ["bf16-true"]))
def test_precision(family, precision, videos):
    model, data = build(family), videos(augmentation=Augmentation(mixup=0.4, label_smoothing=0.1))
    for clips in (data, loader()):
        run = trainer(precision=precision, limit_train_batches=2, limit_val_batches=1)
        if family is ConvNet and precision != "64-true":
            with pytest.raises(UserError, match=r"trainer.precision: gradients of convolutions"):
                run.fit(model, clips)
            continue
        run.fit(model, clips)
        assert model.dtype == {"bf16-true": torch.bfloat16, "64-true": torch.float64}.get(precision, torch.float32)
        assert torch.isfinite(run.callback_metrics["train/loss"])


@every_family
def test_the_data_predicts_a_row_of_logits_for_each_test_video(family, videos, tmp_path):
    model, data = build(family), videos()
    logits = torch.cat(trainer().predict(model, data))
    records = data.records("test")
    clips = torch.cat([data.normalise(data.centre_view(record)[0])["clip"] for record in records])
    with torch.no_grad():
        same(logits, model.eval()(clips), rtol=1e-4, atol=1e-5)


def test_a_prediction_of_a_video_that_cannot_be_read_is_no_number():
    model = build(XViT)
    batch = {"clip": torch.zeros(2, 3, 4, 16, 16), "video": torch.tensor([5, -1])}
    assert model.predict_step(batch, 0).isnan().any(1).tolist() == [False, True]


class Foreign(LightningModule):
    """Another program's model, which keeps its batches."""

    def __init__(self):
        super().__init__()
        self.linear, self.seen = torch.nn.Linear(3, 8), []

    def training_step(self, batch, batch_idx):
        self.seen.append(batch)
        return -(self.linear(batch["clip"].mean((2, 3, 4))).log_softmax(1) * batch["target"]).sum()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.01)


def test_ones_own_loop_augments_as_the_trainer_does_under_a_foreign_module(videos):
    recipe = Augmentation(random_erasing=1.0, mixup=0.4, cutmix=1.0, label_smoothing=0.1)
    model = Foreign()
    trainer(max_epochs=1).fit(model, videos(augmentation=recipe))
    data = videos(augmentation=recipe)
    batches = [data.augment(raw) for raw in data.train_dataloader()]
    assert len(model.seen) == len(batches) == 4
    for one, other in zip(model.seen, batches, strict=True):
        assert one.keys() == other.keys()
        for name in one:
            same(one[name], other[name])
    assert all((batch["target"] > 0).sum(1).min() > 1 for batch in batches), "smoothed"


class Stream(IterableDataset):
    def __iter__(self):
        return iter(examples())


@pytest.mark.parametrize(
    ("clips", "settings"), [(examples(), dict(max_epochs=-1, max_time="00:00:01:00")), (Stream(), {}), ([], {})]
)
def test_a_schedule_without_an_end_is_refused(clips, settings):
    with pytest.raises(UserError, match=r"trainer\.max_steps"):
        trainer(**settings).fit(build(XViT), DataLoader(clips, batch_size=4))


def test_a_loader_without_a_length_trains_for_a_number_of_steps():
    model, other, clips = build(XViT), build(XViT), DataLoader(Stream(), batch_size=4)
    trainer(max_steps=4, max_epochs=-1).fit(model, clips)
    trainer(max_epochs=2).fit(other, loader())
    same(weights(model), weights(other))
