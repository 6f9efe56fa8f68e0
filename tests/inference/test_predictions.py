"""Test predictions that could be wrong silently: another video at the same path, weights that are not finite."""

import copy
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import lit_video
from lit_video.errors import UserError
from lit_video.inference.predict import load, predict
from lit_video.inference.ranking import ranked_videos
from lit_video.inference.videos import Evaluation
from lit_video.network.parts import Aggregation
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


class NoHead(Aggregation):
    """Layer whose name says nothing of a classifier."""

    def __init__(self, dim, classes):
        super().__init__()
        self.layer = torch.nn.Linear(dim, classes)

    def forward(self, x):
        return self.layer(x)


class Headed(NoHead):
    """The same layer, found as the classifier by a second name."""

    def __init__(self, dim, classes):
        super().__init__(dim, classes)
        self.head = self.layer


def test_a_model_without_a_known_head_predicts_and_has_no_features(colours, tmp_path):
    model = copy.deepcopy(colours.model)
    own = NoHead(16, 3)
    own.layer.load_state_dict(model.network.aggregate.head.state_dict())
    model.network.aggregate = own
    video = write(tmp_path / "red.mp4", ("red", 1))

    predictions = predict(replace(colours, model=model), video, evaluation=HERE)
    torch.testing.assert_close(predictions.logits, predict(colours, video, evaluation=HERE).logits)
    with pytest.raises(UserError, match="features"):
        predictions.write_features(tmp_path / "features.npz")
    with pytest.raises(UserError, match="features"):
        lit_video.embed(replace(colours, model=model), video, evaluation=HERE)

    with pytest.raises(UserError, match="give its aggregation its last linear layer as the attribute head"):
        _ = predictions.checked_features
    model.network.aggregate = Headed(16, 3)
    assert predict(replace(colours, model=model), video, evaluation=HERE).checked_features.shape == (1, 16)


def test_of_videos_that_cannot_be_read_the_tables_are_empty(colours, tmp_path):
    path = tmp_path / "text.mp4"
    path.write_text("no video")
    predictions = predict(colours, path, evaluation=HERE)
    assert predictions.table == predictions.summary == ""
    assert [*predictions.broken] == [path] and str(path) in str(predictions)
