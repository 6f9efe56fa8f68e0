"""Test that a data module trains one model after another on the same clips, whatever was done with it between."""

import pytest
import torch
from lightning import Callback, Trainer, seed_everything
from lightning.pytorch.callbacks import ModelCheckpoint

from lit_video.datamodules import VideoFolder
from lit_video.engine.curve import Curve
from lit_video.engine.finite import RequireFinite
from lit_video.engine.resumption import ExactResumption
from lit_video.modules import XViT
from lit_video.network.vit import ViTSize
from tests.checkpoints import QUIET
from tests.conftest import quick_or_slow
from tests.embedded import four_skills


class Clips(Callback):
    """Callback that keeps pass and video of every training clip."""

    def __init__(self):
        self.keys = []

    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
        self.keys.append(batch["video"].tolist())


@pytest.fixture(scope="module")
def videos(tmp_path_factory):
    """Folder of 16 training, 8 validation and 8 test videos."""
    data = four_skills(tmp_path_factory.mktemp("reuse"))
    data.prepare_data()
    return data.root


@pytest.fixture
def data(videos, request):
    workers = getattr(request, "param", 0)
    settings = dict(num_frames=4, image_size=16, batch_size=4, num_workers=workers)
    return VideoFolder(str(videos), **settings)


def trained(data, folder, ckpt_path=None, epochs=2):
    """Train a new model; return its weights, the clips of every step, the trainer and the checkpoint's saver."""
    seed_everything(0, verbose=False)
    model = XViT(data.num_classes, 4, 16, size=ViTSize(16, 1, 2), patch_size=8, dropout=0.0)
    clips = Clips()
    saver = ModelCheckpoint(folder, every_n_train_steps=3, save_top_k=-1)
    trainer = Trainer(
        max_epochs=epochs,
        accelerator="cpu",
        logger=False,
        callbacks=[saver, clips],
        num_sanity_val_steps=0,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(model, data, ckpt_path=ckpt_path)
    weights = {name: value.clone() for name, value in model.state_dict().items()}
    return weights, clips.keys, trainer, folder / "epoch=0-step=3.ckpt"


BETWEEN = {
    "test": lambda trainer, data, path, folder: trainer.test(None, data, ckpt_path=path, verbose=False),
    "validate": lambda trainer, data, path, folder: trainer.validate(None, data, ckpt_path=path, verbose=False),
    "predict": lambda trainer, data, path, folder: trainer.predict(None, data, ckpt_path=path),
    "resume": lambda trainer, data, path, folder: trained(data, folder / "resumed", ckpt_path=path),
    "restored by hand": lambda trainer, data, path, folder: data.load_state_dict(
        torch.load(path, weights_only=True)["VideoFolder"]
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("data", [0, 2], indirect=True)
def test_a_second_training_sees_the_clips_of_the_first(data, tmp_path):
    expected, clips, trainer, checkpoint = trained(data, tmp_path / "first")
    assert len(clips) == 2 * 16 // 4
    for name, act in BETWEEN.items():
        act(trainer, data, checkpoint, tmp_path / name)
        weights, again, trainer, _ = trained(data, tmp_path / f"after {name}")
        assert again == clips, name
        assert all(torch.equal(weights[key], value) for key, value in expected.items()), name


def other_model(data, **settings):
    return XViT(data.num_classes, 4, 16, size=ViTSize(16, 1, 2), patch_size=8, **settings)


def quiet(**settings):
    return Trainer(**QUIET | {"max_epochs": 1, "limit_train_batches": 1, "num_sanity_val_steps": 0} | settings)


def test_only_the_model_that_was_trained_counts_as_trained_on_the_videos(data, tmp_path):
    first, second, third = (other_model(data) for _ in range(3))
    trainer = quiet()
    trainer.fit(first, data)
    quiet().validate(second, data, verbose=False)
    quiet().test(third, data, verbose=False)
    for model in (first, second, third):
        run = quiet()
        run.test(model, data, verbose=False)  # without a checkpoint of the fit, which would have noted them
        run.save_checkpoint(tmp_path / "a.ckpt")
        assert bool(model.trained_on) == (model is first)
        assert bool(torch.load(tmp_path / "a.ckpt")["lit_video"]["trained_on"]) == (model is first)


def test_each_use_counts_broken_videos_anew(data, tmp_path):
    model = other_model(data)
    data.found_broken.on_broken = "report"
    trainer = quiet()
    trainer.fit(model, data)
    for split in ("train", "val", "test"):
        data.found_broken.add(split, [0], [f"{split}: broken"])
        data.found_broken.add_gaps(split, [1], [f"{split}: gap"])
    trainer.save_checkpoint(tmp_path / "broken.ckpt")

    def counted():
        broken = data.found_broken
        return {split for split in broken.reasons if broken.reasons[split] or broken.gaps[split]}

    trainer.validate(model, data, verbose=False)
    assert counted() == {"train", "test"}
    trainer.test(model, data, verbose=False)
    assert counted() == {"train"}, "a report after the test has the videos of the training too"
    quiet().fit(other_model(data), data)
    assert not counted()
    quiet(max_epochs=2).fit(other_model(data), data, ckpt_path=tmp_path / "broken.ckpt")
    assert counted() == {"train"}, "a resumed training goes on counting"
    quiet().fit(other_model(data), data)
    assert not counted()


def test_features_of_one_backbone_are_not_those_of_the_next(data, tmp_path):
    data.features = str(tmp_path / "features")
    models = []
    for seed in range(2):
        torch.manual_seed(seed)
        torch.save(other_model(data).network.state_dict(), tmp_path / f"{seed}.pth")
        models.append(other_model(data, weights=str(tmp_path / f"{seed}.pth"), freeze="backbone"))

    def logits(model, of):
        return torch.cat(quiet().predict(model, of))

    quiet().fit(models[0], data)
    kept = logits(models[0], data)
    assert data._features is not None, "those of the model that was trained are used"
    unknown = VideoFolder(str(data.root), num_frames=4, image_size=16, batch_size=4, num_workers=0)
    for model in (models[1], other_model(data)):
        assert torch.equal(logits(model, data), logits(model, unknown))
    torch.testing.assert_close(logits(models[0], unknown), kept, atol=1e-2, rtol=1e-2)


def test_the_loss_of_a_step_has_no_batch_of_a_training_that_was_cut_short(data):
    class Stopped(RuntimeError):
        pass

    class Stop(Callback):
        def on_before_backward(self, trainer, pl_module, loss):
            raise Stopped

    model = other_model(data, dropout=0.0)
    with pytest.raises(Stopped):
        quiet(callbacks=[Stop()]).fit(model, data)
    fresh = other_model(data, dropout=0.0)
    fresh.load_state_dict(model.state_dict())
    for one in (model, fresh):
        quiet().fit(one, data)
    assert torch.equal(model.step_loss, fresh.step_loss)


def test_metrics_of_further_loaders_follow_the_classifier(data):
    model = other_model(data)
    loaders = [torch.utils.data.DataLoader([(torch.randn(3, 4, 16, 16), 0)] * 2)] * 2
    trainer = quiet()
    trainer.validate(model, loaders, verbose=False)
    model.reset_classifier(data.num_classes + 1)
    assert {name for name, _ in model.named_children() if "accuracy" in name} == {"val_accuracy", "test_accuracy"}
    trainer.validate(model, loaders, verbose=False)
    assert model.val_accuracy_1.classes == data.num_classes + 1


def test_callbacks_begin_anew_with_a_fit_and_keep_what_a_checkpoint_has(data, tmp_path):
    curve, finite, exact = Curve(tmp_path), RequireFinite(skip=2), ExactResumption()
    trainer = quiet(callbacks=[curve, finite, exact], limit_val_batches=1)
    model = other_model(data)
    trainer.fit(model, data)
    finite.skipped = 1
    trainer.save_checkpoint(tmp_path / "a.ckpt")
    points = len(curve.points)

    def fit(**settings):
        run = quiet(callbacks=[curve, finite, exact], limit_val_batches=1, max_epochs=2)
        run.fit(other_model(data), data, **settings)
        return len(curve.points), finite.skipped

    assert fit(ckpt_path=tmp_path / "a.ckpt") == (points + 1, 1)
    trainer.test(model, data, verbose=False)
    assert (len(curve.points), finite.skipped) == (points + 1, 1), "a test leaves them"
    finite.message = "loss is nan at step 1"
    assert fit() == (2, 0)
    assert not finite.message and not exact._metrics


def test_a_training_that_goes_on_without_a_checkpoint_goes_on_with_the_next_epoch(data, tmp_path):
    _, clips, *_ = trained(data, tmp_path / "whole", epochs=4)
    _, first, trainer, _ = trained(data, tmp_path / "half")
    trainer.fit_loop.max_epochs = 4
    trainer.fit(trainer.lightning_module, data)
    keys = next(callback.keys for callback in trainer.callbacks if isinstance(callback, Clips))
    assert keys[len(first) :] == clips[len(first) :]


def test_a_plain_loop_over_the_loader_has_other_clips_in_each_epoch(data):
    loader = data.train_dataloader()
    epochs = [[tuple(key) for batch in loader for key in batch["key"].tolist()] for _ in range(2)]
    assert [{number for number, _ in epoch} for epoch in epochs] == [{0}, {1}]
    assert [video for _, video in epochs[0]] != [video for _, video in epochs[1]]
    assert all(sorted(video for _, video in epoch) == list(range(16)) for epoch in epochs)


def clips_of(loader):
    """Return the videos of a pass of a loader, and their pixels in the order of the videos."""
    batches = [*loader]
    videos = torch.cat([batch["video"] for batch in batches])
    return videos.tolist(), torch.cat([batch["clip"] for batch in batches])[videos.argsort(stable=True)]


SAMPLERS = {
    "weighted": lambda dataset: torch.utils.data.WeightedRandomSampler([1.0] * len(dataset), 12),
    "shuffled": torch.utils.data.RandomSampler,
    "in order": torch.utils.data.SequentialSampler,
    "divided": lambda dataset: torch.utils.data.DistributedSampler(dataset, 2, 1),
}


@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("workers", quick_or_slow([0, 1], {0}))
def test_a_sampler_of_others_has_other_clips_in_each_epoch_and_again_by_its_seed(name, workers, data):
    dataset = data.train_dataloader().dataset

    def passes():
        torch.manual_seed(5)
        more = dict(num_workers=workers, persistent_workers=workers > 0)
        loader = torch.utils.data.DataLoader(dataset, 4, sampler=SAMPLERS[name](dataset), **more)
        return [clips_of(loader) for _ in range(2)]

    (_, first), (_, second) = passes()
    assert first.shape == second.shape and not torch.equal(first, second)
    for one, same in zip(passes(), passes(), strict=True):
        assert one[0] == same[0] and torch.equal(one[1], same[1])
    views = data.val_dataloader().dataset
    assert torch.equal(views[3]["clip"], views[3]["clip"]), "evaluation draws nothing"


def test_a_loader_that_is_divided_tells_accelerate_so(data, monkeypatch):
    loaders = [data.train_dataloader, data.val_dataloader, data.test_dataloader, data.predict_dataloader]
    assert not any(make()._is_accelerate_prepared for make in loaders)
    monkeypatch.setattr("torch.distributed.is_initialized", lambda: True)
    monkeypatch.setattr("torch.distributed.get_world_size", lambda: 2)
    monkeypatch.setattr("torch.distributed.get_rank", lambda: 1)
    assert all(make()._is_accelerate_prepared for make in loaders)
