"""Test losses and metrics of the user's own: computed on readable clips, checked before training."""

import pytest
import torch
import torch.nn.functional as F

from lit_video.modules import XViT
from lit_video.modules.losses import ClipLoss
from lit_video.modules.metrics import VideoAccuracy, VideoPrecision, metric_values
from lit_video.network.vit import ViTSize

CLIP = dict(num_frames=4, image_size=16, size=ViTSize(16, 1, 2), patch_size=8)


class CrossEntropy(ClipLoss):
    def forward(self, logits, target):
        return F.cross_entropy(logits, target, reduction="none")


class Brier(ClipLoss):
    """Squared distance, which is not zero where the target is."""

    def forward(self, logits, target):
        return (logits.softmax(1) - target).square().sum(1)


class Binary(ClipLoss):
    def forward(self, logits, target):
        return F.binary_cross_entropy_with_logits(logits, target, reduction="none").mean(1)


NUMBERS = torch.tensor([0, 4, -100])
MIXED = torch.tensor([[0.5, 0.5, 0, 0, 0], [0.25, 0, 0, 0, 0], [0, 0, 0, 0, 0]])
TASKS = torch.tensor([[0, 1], [2, 0], [-100, -100]])
SEVERAL = torch.tensor([[0, 1.0, 0, 0, 1], [0, 0, 0, 0, 1], [-100.0] * 5])


@pytest.mark.parametrize(
    ("classes", "target", "settings", "loss"),
    [
        (5, NUMBERS, {}, CrossEntropy),
        (5, MIXED, {}, CrossEntropy),
        ({"verb": 3, "noun": 2}, TASKS, {}, CrossEntropy),
        ({"verb": 3, "noun": 2}, TASKS, {"task_loss": "mean"}, CrossEntropy),
        (5, SEVERAL, {"several_labels": True}, Binary),
    ],
)
def test_the_usual_loss_written_as_ones_own_is_the_usual_loss(classes, target, settings, loss):
    """Compare loss and gradient, with unreadable clips and mixed ones of which a share is readable."""
    usual = XViT(classes, **CLIP, **settings)
    own = XViT(classes, **CLIP, **settings, loss=loss)
    gradients = []
    for model in (usual, own):
        logits = torch.linspace(-2, 2, 15).reshape(3, 5).requires_grad_()
        value = model.loss(logits, target)
        value.backward()
        gradients.append((value.detach(), logits.grad))
    torch.testing.assert_close(gradients[0], gradients[1])


@pytest.mark.parametrize("target", [NUMBERS, F.one_hot(NUMBERS.clamp(min=0), 5) * (NUMBERS >= 0)[:, None].float()])
def test_an_unreadable_clip_adds_nothing_to_any_loss(target):
    model = XViT(5, **CLIP, loss=Brier)
    logits = torch.randn(3, 5)
    expected = (logits[:2].softmax(1) - F.one_hot(NUMBERS[:2], 5)).square().sum() / 3
    torch.testing.assert_close(model.loss(logits, target), expected)


class Mean(CrossEntropy):
    def forward(self, logits, target):
        return super().forward(logits, target).mean()


class Detached(CrossEntropy):
    def forward(self, logits, target):
        return super().forward(logits.detach(), target)


class Infinite(CrossEntropy):
    def forward(self, logits, target):
        return super().forward(logits, target) / 0


class OfNumbers(ClipLoss):
    def forward(self, logits, target):
        return F.nll_loss(logits.log_softmax(1), target, reduction="none")


LOSSES = {
    "a mean": (Mean, ["Mean", "()", "(3,)"]),
    "no gradient": (Detached, ["Detached", "gradient"]),
    "infinite": (Infinite, ["Infinite", "inf"]),
    "of class numbers": (OfNumbers, ["OfNumbers", "RuntimeError", "test_own_loss_and_metric.py"]),
    "another class": (VideoAccuracy, ["loss is", "VideoAccuracy", "ClipLoss"]),
}


@pytest.mark.parametrize("mistake", LOSSES)
def test_a_wrong_loss_is_refused_before_training(mistake):
    kind, words = LOSSES[mistake]
    with pytest.raises(ValueError) as refused:
        XViT(5, **CLIP, loss=kind)
    assert all(word in str(refused.value) for word in words), refused.value


def test_a_loss_besides_a_method_loss_is_refused():
    class Mine(XViT):
        def loss(self, logits, target):
            return logits.sum()

    with pytest.raises(ValueError, match="Mine has a method loss"):
        Mine(num_classes=5, **CLIP, loss=Brier)


class Spread(VideoAccuracy):
    def compute(self):
        return super().compute() | {"spread": self.per_video()[0].std()}


class OnlySpread(VideoAccuracy):
    def compute(self):
        return {"spread": torch.tensor(1.0)}


class OfEachVideo(VideoAccuracy):
    def compute(self):
        return super().compute() | {"margins": self.per_video()[0].amax(1)}


class Number(VideoAccuracy):
    def compute(self):
        return torch.tensor(1.0)


METRICS = {
    "values that results need": (OnlySpread, {}, ["OnlySpread", "spread", "no loss"]),
    "a value of each video": (OfEachVideo, {}, ["OfEachVideo", "margins"]),
    "no dict": (Number, {}, ["Number", "dict"]),
    "one label of several": (Spread, {"several_labels": True}, ["Spread", "VideoPrecision"]),
    "another class": (Brier, {}, ["metric is", "Brier", "VideoAccuracy"]),
}


@pytest.mark.parametrize("mistake", METRICS)
def test_a_wrong_metric_is_refused_before_training(mistake):
    kind, settings, words = METRICS[mistake]
    with pytest.raises(ValueError) as refused:
        XViT(5, **CLIP, **settings, metric=kind)
    assert all(word in str(refused.value) for word in words), refused.value


@pytest.mark.parametrize("classes", [2, 7, {"verb": 3, "noun": 4}])
def test_a_metric_is_checked_on_the_classes_of_the_model_and_left_empty(classes):
    model = XViT(classes, **CLIP, metric=Spread)
    assert type(model.val_accuracy) is type(model.test_accuracy) is Spread
    assert not model.val_accuracy.update_called and not model.val_accuracy.video
    assert "spread" in metric_values(model.val_accuracy, classes, several_labels=False)


def test_the_usual_metrics_pass_the_check():
    for several in (False, True):
        metric = XViT(7, **CLIP, several_labels=several).val_accuracy
        assert type(metric) is (VideoPrecision if several else VideoAccuracy)
        assert {"loss", "top1", "top5", "videos"} <= {*metric_values(metric, 7, several_labels=several)}
