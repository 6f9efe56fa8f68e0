"""Test that every argument of a model, a data set and the command line is listed once with what it changes."""

import inspect
from collections import Counter
from dataclasses import fields
from typing import get_args, get_type_hints

import pytest

from lit_video import datamodules, modules
from lit_video.experiment import cli
from lit_video.modules.optimization import Optimization, make_optimizer, rate
from lit_video.network.vit import ViTSize
from lit_video.settings.differences import FOLDERS, FREE, TESTS
from lit_video.settings.effects import DATA, DEFAULT_OPTIMIZER, MODEL, RUN_KEYS, UNREAD, data_keys, model_keys


def arguments(package, base):
    """Return the arguments of all classes of a package that extend a base, and of the classes that they extend."""
    kinds = [kind for kind in vars(package).values() if isinstance(kind, type) and issubclass(kind, base)]
    assert len(kinds) > 4
    ours = {above for kind in kinds for above in kind.__mro__ if above.__module__.startswith("lit_video.")}
    return {name for kind in ours for name in inspect.signature(kind).parameters} - {"args", "kwargs", "network"}


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"mean": 0.4}, 0.4),
        ({"mean": [0.4, 0.4, 0.4]}, 0.4),
        ({"mean": [0.485, 0.456, 0.406]}, (0.485, 0.456, 0.406)),
        ({"mean": [123.675, 116.28, 103.53]}, "mean is .* from 0 to 1, or three, of red, green and blue; .* by 255"),
        ({"mean": [0.4, 0.4]}, "mean is"),
        ({"mean": float("nan")}, "mean is nan"),
        ({"std": 0.0}, "std is 0.0, expected one number from 0.001"),
    ],
)
def test_means_and_deviations_are_one_number_or_three(given, kept):
    if isinstance(kept, str):
        with pytest.raises(ValueError, match=kept):
            datamodules.VideoDataModule(**given)
    else:
        assert datamodules.VideoDataModule(**given).mean == kept


@pytest.mark.parametrize(
    ("listed", "package", "base"),
    [(MODEL, modules, modules.VideoClassifier), (DATA, datamodules, datamodules.VideoDataModule)],
)
def test_the_list_is_that_of_the_signatures(listed, package, base):
    count = Counter(name for names in listed.values() for name in names)
    assert {name for name, times in count.items() if times > 1} == set()
    sizes = {f"size.{field.name}" for field in fields(ViTSize)} if listed is MODEL else set()
    assert count.keys() == arguments(package, base) - {"size"} | sizes


def test_settings_of_an_experiment_are_those_of_the_command_line():
    assert sorted(sum(RUN_KEYS.values(), ())) == sorted(name for name, *_ in cli.RUN_SETTINGS)


def test_no_setting_begins_with_the_name_of_another_that_a_run_may_change():
    names = {*model_keys(*MODEL), *data_keys(*DATA), *sum(RUN_KEYS.values(), ())}
    changing = {*FREE, *FOLDERS, *TESTS} & names
    assert not {(one, other) for one in changing for other in names - {one} if other.startswith(one)}


# a value of each setting of an optimization unlike the default
OTHER = {
    "lr": 0.5,
    "momentum": 0.5,
    "nesterov": True,
    "betas": (0.5, 0.5),
    "weight_decay": 0.5,
    "decay_all": True,
    "layer_decay": 0.5,
    "warmup": 0.5,
    "warmup_start": 0.5,
    "milestones": (0.5,),
    "cooldown": 0.5,
    "whole_cosine": True,
}


def training_of(optimization):
    """Return what an optimizer does: its groups of parameters, their settings, and the rates of ten steps."""
    model = modules.XViT(2, 2, 16, size=ViTSize(16, 1, 2), patch_size=8)
    groups = make_optimizer(optimization, model).param_groups
    settings = []
    for group in groups:
        settings.append({key: value for key, value in group.items() if key != "params"} | {"of": len(group["params"])})
    return settings, [rate(optimization, step / 10) for step in range(10)]


@pytest.mark.parametrize("optimizer", ["sgd", "adamw", "muon"])
def test_what_an_optimizer_does_not_read_is_listed(optimizer):
    usual = training_of(Optimization(optimizer))
    refused = {"decay_all"} if optimizer == "muon" else set()
    read = {
        name
        for name, value in OTHER.items()
        if name not in refused and training_of(Optimization(optimizer, **{name: value})) != usual
    }
    assert OTHER.keys() - read == {*UNREAD[optimizer]}


def test_the_list_is_that_of_the_optimizations_settings():
    assert {*UNREAD["logistic"]} == OTHER.keys() == {one.name for one in fields(Optimization)} - {"optimizer"}
    assert UNREAD.keys() == {*get_args(get_type_hints(Optimization)["optimizer"])}
    assert Optimization().optimizer == DEFAULT_OPTIMIZER
