"""Test that what a message on settings tells to do can be done as it says, and goes on."""

import re

import pytest

from lit_video.errors import UserError
from lit_video.experiment.constructors import find_class
from lit_video.experiment.ignored import refuse_ignored
from lit_video.experiment.request import build_request
from lit_video.settings.flags import as_user_settings, read_flags
from lit_video.video.augmentation import Augmentation, recipe
from lit_video.video.sampling import Dense

SAMPLING = {"class_path": "Dense", "init_args": {"seconds": 0.5}}
RECIPE = ("row", [("data.augmentation", "timesformer")])
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
    "a recipe for other clips": (
        lambda: recipe("timesformer", 32),
        "write its settings as a mapping, with a short_side for this size",
        lambda: recipe(Augmentation(short_side=(36, 46), policy="none"), 32),
    ),
}


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
