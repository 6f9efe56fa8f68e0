"""Test that data, trainer, optimizer and schedule of a finished training can be copied and pickled, and go on."""

import copy
import pickle

import pytest
import torch
from lightning import Trainer

from lit_video.datamodules import VideoFolder
from lit_video.modules import XViT
from lit_video.modules.optimization import Optimization, make_optimizer, make_schedule
from lit_video.network.vit import ViTSize
from tests.checkpoints import QUIET
from tests.conftest import quick_or_slow
from tests.embedded import four_skills

CLIPS = dict(num_frames=4, image_size=16, batch_size=4)
OPTIMIZERS = {
    "sgd": Optimization(),
    "adamw": Optimization("adamw", cooldown=0.2),
    "muon": Optimization("muon", milestones=(0.5,)),
}


def pickled(value):
    return pickle.loads(pickle.dumps(value))


COPIES = {"deepcopy": copy.deepcopy, "pickle": pickled}


@pytest.fixture(scope="module")
def videos(tmp_path_factory):
    """Folder of 16 training, 8 validation and 8 test videos."""
    data = four_skills(tmp_path_factory.mktemp("copies"))
    data.prepare_data()
    return str(data.root)


DATA = {
    "folder": lambda videos: VideoFolder(videos, **CLIPS, num_workers=0),
    "kept pixels": lambda videos: VideoFolder(videos, **CLIPS, num_workers=0, keep_gb=0.1),
    "workers": lambda videos: VideoFolder(videos, **CLIPS, num_workers=1),
    "skills": lambda videos: four_skills(videos, keep_gb=0.1),
    "features": lambda videos: VideoFolder(videos, **CLIPS, num_workers=0, features=f"{videos}-features"),
}


def trained(data, tmp_path, optimization=None):
    """Train a model for some steps; return the trainer."""
    settings = dict(num_frames=4, image_size=16, size=ViTSize(16, 1, 2), patch_size=8, optimization=optimization)
    if getattr(data, "features", None):
        torch.save(XViT(data.num_classes, **settings).network.state_dict(), tmp_path / "start.pth")
        settings |= dict(weights=str(tmp_path / "start.pth"), freeze="backbone")
    trainer = Trainer(max_steps=3, limit_val_batches=1, num_sanity_val_steps=0, **QUIET)
    trainer.fit(XViT(data.num_classes, **settings), data)
    return trainer


@pytest.mark.parametrize("name", quick_or_slow(DATA, {"skills", "features"}))
def test_everything_of_a_finished_training_can_be_copied(name, videos, tmp_path):
    data = DATA[name](videos)
    trainer = trained(data, tmp_path)
    model = trainer.lightning_module
    trainer.save_checkpoint(tmp_path / "a.ckpt")
    for copied in COPIES.values():
        for value in (model, trainer.optimizers, trainer.lr_scheduler_configs[0].scheduler):
            copied(value)
        other = copied(data)
        batch = next(iter(other.val_dataloader()))
        assert torch.equal(batch["clip"], next(iter(data.val_dataloader()))["clip"])

    again = copy.deepcopy(trainer)
    again.validate(again.lightning_module, again.datamodule, verbose=False)
    again.save_checkpoint(tmp_path / "b.ckpt")
    stored, same = (torch.load(tmp_path / f"{letter}.ckpt", weights_only=True) for letter in "ab")
    assert stored.keys() == same.keys()
    if "lit_video" in stored:
        assert stored["lit_video"]["trained_on"] == same["lit_video"]["trained_on"] != ""


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_copied_schedule_goes_on_as_the_original(name):
    model = XViT(4, 4, 16, size=ViTSize(16, 1, 2), patch_size=8)

    def begun(steps):
        optimizer = make_optimizer(OPTIMIZERS[name], model)
        return optimizer, make_schedule(OPTIMIZERS[name], optimizer, steps)

    def rates(optimizer, schedule):
        found = []
        for _ in range(4):
            optimizer.step()
            schedule.step()
            found.append(schedule.get_last_lr())
        return found

    optimizer, schedule = begun(10)
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    rates(optimizer, schedule)
    copies = [copied((optimizer, schedule)) for copied in COPIES.values()]

    longer = begun(20)  # a training that is resumed with more steps has the rates of the longer one
    longer[1].load_state_dict(torch.load(saved(schedule.state_dict()), weights_only=True))
    expected = rates(optimizer, schedule)
    assert all(rates(*one) == expected for one in copies)
    assert rates(*longer) != expected


def saved(state):
    """Write a state as a checkpoint does; return the file, from its beginning."""
    from io import BytesIO

    file = BytesIO()
    torch.save(state, file)
    file.seek(0)
    return file
