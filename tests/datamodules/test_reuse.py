"""Test that a data module trains one model after another on the same clips, whatever was done with it between."""

import pytest
import torch
from lightning import Callback, Trainer, seed_everything
from lightning.pytorch.callbacks import ModelCheckpoint

from lit_video.datamodules import VideoFolder
from lit_video.modules import XViT
from lit_video.network.vit import ViTSize
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


@pytest.mark.parametrize("data", [0, pytest.param(2, marks=pytest.mark.slow)], indirect=True)
def test_a_second_training_sees_the_clips_of_the_first(data, tmp_path):
    expected, clips, trainer, checkpoint = trained(data, tmp_path / "first")
    assert len(clips) == 2 * 16 // 4
    for name, act in BETWEEN.items():
        act(trainer, data, checkpoint, tmp_path / name)
        weights, again, trainer, _ = trained(data, tmp_path / f"after {name}")
        assert again == clips, name
        assert all(torch.equal(weights[key], value) for key, value in expected.items()), name


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
