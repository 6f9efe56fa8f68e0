"""Test that what a message on settings tells to do can be done as it says, and goes on."""

import re

import pytest

from lit_video.errors import UserError
from lit_video.experiment.constructors import find_class
from lit_video.experiment.ignored import refuse_ignored
from lit_video.experiment.request import build_request
from lit_video.settings.effects import UNREAD
from lit_video.settings.flags import as_user_settings, read_flags
from lit_video.video.augmentation import Augmentation, recipe
from lit_video.video.sampling import Dense

SAMPLING = {"class_path": "Dense", "init_args": {"seconds": 0.5}}
RECIPE = ("row", [("data.augmentation", "timesformer")])
LOGISTIC = ("row", [("model.optimization.optimizer", "logistic")])
# a call; the advice; the call after it
TOLD = {
    "an object": (
        lambda: as_user_settings({"data": {"sampling": Dense(seconds=0.5)}}),
        "give class_path and init_args",
        lambda: as_user_settings({"data": {"sampling": SAMPLING}}),
    ),
    "the order of flags": (
        lambda: read_flags(["--data.sampling.seconds=1", "--data.sampling=Dense"]),
        "give it first",
        lambda: read_flags(["--data.sampling=Dense", "--data.sampling.seconds=1"]),
    ),
    "a dot": (
        lambda: find_class(".sampling.Dense"),
        "give MODULE.CLASS",
        lambda: find_class("lit_video.video.sampling.Dense"),
    ),
    "a part of a recipe": (
        lambda: refuse_ignored([], [RECIPE, ("flag", [("data.augmentation.flip", 0.5)])]),
        "write all its settings",
        lambda: refuse_ignored([], [RECIPE, ("flag", [("data.augmentation", {"flip": 0.5})])]) or True,
    ),
    "a setting that the optimizer does not read": (
        lambda: refuse_ignored([], [LOGISTIC, ("command line", [("model.optimization.lr", 0.1)])]),
        "command line: model.optimization.lr: optimizer logistic does not read it; leave it out",
        lambda: refuse_ignored([], [LOGISTIC, ("command line", [])]) or True,
    ),
    "a recipe for other clips": (
        lambda: recipe("timesformer", 32),
        "write its settings as a mapping, with a short_side for this size",
        lambda: recipe(Augmentation(short_side=(36, 46), policy="none"), 32),
    ),
}


RATE = [("model.optimization.lr", 0.5)]
WHOLE = {"optimizer": "logistic"} | dict.fromkeys(UNREAD["logistic"])


@pytest.mark.parametrize(
    "layers",
    [
        [("recipe", RATE), LOGISTIC],
        [LOGISTIC, ("own file", [("model.optimization", {"optimizer": "adamw", "lr": 0.1})])],
        [("printed", [("model.optimization", WHOLE)])],
    ],
    ids=["before the optimizer", "beside another optimizer", "every setting, printed"],
)
def test_settings_of_another_optimizer_and_printed_ones_are_taken(layers):
    refuse_ignored([], layers)


@pytest.mark.parametrize("given", [{"lr": 0.1, "optimizer": "logistic"}, {"optimizer": "adamw", "momentum": 0.5}])
def test_a_setting_is_refused_beside_the_optimizer_that_does_not_read_it(given):
    with pytest.raises(UserError, match=r"^row: model\.optimization\.\w+: optimizer \w+ does not read it"):
        refuse_ignored([], [("row", [("model.optimization", given)])])


@pytest.mark.parametrize("case", TOLD)
def test_what_a_message_on_settings_says_goes_on(case):
    call, advice, then = TOLD[case]
    with pytest.raises((UserError, ValueError), match=re.escape(advice)):
        call()
    assert then()


def test_a_setting_of_an_own_file_is_left_out_or_a_flag_as_told(table, tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text("model: {init_args: {window: 2}}\n")
    with pytest.raises(UserError, match="leave it out of the file, or give") as error:
        build_request([table[0], file], ["second"])
    (flag,) = re.findall(r"or give (--\S+) as a flag", str(error.value))
    asked = build_request([table[0], file], ["second"], user_settings=read_flags([flag]))
    assert flag == "--model.window=2" and asked.rows
    file.write_text("model: {init_args: {ratio: 0.5}}\n")
    assert build_request([table[0], file], ["second"]).rows
