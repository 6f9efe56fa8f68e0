"""Test predictions that could be wrong silently: another video at the same path, weights that are not finite."""

import copy
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from lit_video.errors import UserError
from lit_video.inference.predict import Evaluation, load, predict
from lit_video.inference.ranking import ranked_videos
from tests.inference.colours import trained, write

HERE = Evaluation(2, 1, 8, 0, "cpu")


@pytest.fixture(scope="module")
def colours(tmp_path_factory):
    return load(trained(tmp_path_factory.mktemp("colours")))


def test_another_video_at_the_same_path_is_not_taken_for_the_first(colours, tmp_path):
    """Overwrite a file, like a service that writes each upload to one path."""
    path, fresh = tmp_path / "upload.mp4", tmp_path / "fresh.mp4"
    write(path, ("red", 2))
    predict(colours, path, evaluation=HERE)
    write(path, ("red", 2), ("blue", 4))
    shutil.copyfile(path, fresh)  # not encoded twice: libx264's output depends on the machine's load
    one, other = (predict(colours, each, evaluation=HERE).logits.tolist() for each in (path, fresh))
    assert one == other


def test_weights_that_are_no_numbers_name_no_class(colours, tmp_path):
    model = copy.deepcopy(colours.model)
    for parameter in model.parameters():
        parameter.data.fill_(torch.nan)
    with pytest.raises(UserError, match="the model's logits are not finite, so there is no prediction"):
        predict(replace(colours, model=model), write(tmp_path / "red.mp4", ("red", 1)), evaluation=HERE)


def test_names_of_fewer_classes_than_the_logits_have_are_refused():
    with pytest.raises(RuntimeError, match="split_with_sizes"):
        ranked_videos([Path("a.mp4")], torch.randn(1, 4), {"verb": ["put"], "noun": ["cup", "pan"]}, top=1)
