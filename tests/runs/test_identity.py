"""Test that all differences between two runs are named, with their kind."""

from copy import deepcopy

import pytest
from msgspec.structs import replace

from lit_video.errors import UserError
from lit_video.runs.history import History
from lit_video.runs.record import Identity, differences
from lit_video.settings.differences import global_batch, lasting_settings
from lit_video.settings.nested import flatten, plain_settings

TRAINER = {"devices": 1, "num_nodes": 1, "strategy": "auto", "accumulate_grad_batches": 1, "max_epochs": 2}
MODEL = {"window": 1, "weights": "a.pth", "activation_checkpointing": "none"}
DATA = {"batch_size": 4, "root": "here", "num_workers": 0, "test_clips": 1, "groups": None}
SETTINGS = {"seed_everything": 0, "trainer": TRAINER, "compile": "off", "float32_products": "exact"}
SETTINGS |= {"model": {"init_args": MODEL}, "data": {"init_args": DATA}}
RUN = Identity(SETTINGS, "aa", {"model.init_args.weights": "11"}, "0123", {"torch": "2.15", "av": "18.1"})


def changed(**settings):
    """Return the run with other settings, named by the last part of their keys."""
    new = deepcopy(RUN.settings)
    for name, value in settings.items():
        groups = (new["model"]["init_args"], new["data"]["init_args"], new["trainer"], new)
        next(group for group in groups if name in group)[name] = value
    return replace(RUN, settings=new)


def found(now, before=RUN):
    return {each.key.rpartition(".")[2]: each.kind for each in differences(before, now)}


@pytest.mark.parametrize(
    ("now", "kinds"),
    [
        (RUN, {}),
        (changed(num_workers=7, compile="full", activation_checkpointing="block"), {}),
        (changed(root="elsewhere"), {"root": "folder"}),
        (
            changed(devices=2, batch_size=2, strategy="ddp"),
            dict.fromkeys(("devices", "batch_size", "strategy"), "spread"),
        ),
        (changed(devices=2), {"devices": "training"}),
        (changed(devices="auto"), {"devices": "training"}),
        (changed(max_epochs=3), {"max_epochs": "longer"}),
        (changed(max_epochs=-1), {"max_epochs": "longer"}),
        (changed(max_epochs=1), {"max_epochs": "training"}),
        (changed(test_clips=2), {"test_clips": "test"}),
        (changed(groups={"up": ["walk"]}), {"up": "test"}),
        (changed(window=2, float32_products="tf32"), {"window": "training", "float32_products": "training"}),
        (changed(seed_everything=1), {"seed_everything": "training"}),
        (replace(RUN, data="bb"), {"data": "data"}),
        (replace(RUN, commit="4567"), {"commit": "code"}),
        (replace(RUN, versions={"torch": "2.16"}), {"torch": "code", "av": "code"}),
        (replace(RUN, weights={"model.init_args.weights": "22"}), {"weights": "training"}),
        (changed(weights="copy of a.pth"), {}),  # a file with the same digest
        (replace(changed(weights="b.pth"), weights={}), {"weights": "training"}),
        (replace(RUN, weights={}), {}),  # the file is gone
    ],
)
def test_what_differs_is_named_with_what_it_means(now, kinds):
    assert found(now) == kinds


def test_an_endless_training_is_no_longer_than_another_endless_one():
    for was, now in ((-1, None), (None, -1)):
        assert found(changed(max_epochs=now), changed(max_epochs=was)) == {"max_epochs": "training"}


def test_callbacks_that_change_numbers_are_a_setting_and_others_are_not():
    for given in (
        [{"class_path": "lightning.WeightAveraging"}, {"class_path": "TQDMProgressBar"}],
        {"class_path": "EarlyStopping"},
    ):
        settings = RUN.settings | {"trainer": TRAINER | {"callbacks": given}}
        assert found(replace(RUN, settings=settings)) == {"counting callbacks": "training"}
    settings = RUN.settings | {"trainer": TRAINER | {"callbacks": [{"class_path": "RichProgressBar"}]}}
    assert found(replace(RUN, settings=settings)) == {}


def test_callbacks_of_ones_own_may_change_until_a_run_is_finished(tmp_path):
    """Treat a callback as the user's own even if its class has a name of Lightning's."""
    own = [{"class_path": "my.LearningRateMonitor"}]
    now = replace(RUN, settings=RUN.settings | {"trainer": TRAINER | {"callbacks": own}})
    assert found(now) == {"own callbacks": "data"}
    History(RUN).refuse_other(tmp_path, now, "fit")
    with pytest.raises(UserError, match=r"own callbacks was None, now it is \[.*my\.LearningRateMonitor"):
        History(RUN, finished=True).refuse_other(tmp_path, now, "fit")


def test_a_run_keeps_its_name_when_it_becomes_longer_or_moves():
    now = changed(max_epochs=3, devices=2, batch_size=2, root="elsewhere", num_workers=1)
    assert lasting_settings(now.settings) == lasting_settings(SETTINGS) != lasting_settings(changed(window=2).settings)


@pytest.mark.parametrize(
    ("devices", "batch"), [(2, 64), ("4", 128), ([0, 3, 5], 96), ("auto", None), (-1, None), ("0,1", None)]
)
def test_the_batch_of_a_step(devices, batch):
    trainer = {"devices": devices, "num_nodes": 2, "accumulate_grad_batches": 2}
    flat = flatten({"trainer": trainer, "data": {"init_args": {"batch_size": 8}}})
    assert global_batch(flat) == batch
    assert global_batch(flat | {"global_batch": 32}) == 32


def test_settings_of_one_name_are_apart_at_wandb():
    model = {"class_path": "lit_video.modules.XViT", "init_args": {"order": "space_time", "size": {"depth": 4}}}
    sampling = {"class_path": "Dense", "init_args": {"seconds": 4.0}}
    settings = {"data": {"init_args": {"order": "forward", "sampling": sampling}}, "model": model}
    assert plain_settings(settings) == {
        "data": {"order": "forward", "sampling": "Dense", "sampling_seconds": 4.0},
        "model": {"class": "XViT", "order": "space_time", "size_depth": 4},
    }
