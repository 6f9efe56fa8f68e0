"""Test several labels per video: loss, targets and mean average precision."""

import pytest
import torch
import torch.nn.functional as F
from lightning import Trainer
from sklearn.metrics import average_precision_score
from torch import nn

from lit_video.datamodules import VideoCSV
from lit_video.engine.predictions import SavePredictions
from lit_video.inference.predict import predict
from lit_video.inference.videos import Evaluation
from lit_video.modules import XViT
from lit_video.modules.classifier import VideoClassifier
from lit_video.modules.metrics import VideoPrecision
from lit_video.network.vit import ViTSize
from lit_video.utils.classes import IGNORED, soft_labels
from lit_video.video.batch import Mixture, mix
from tests.video.made import write

CLASSES = 4
LABELS = torch.tensor([[1, 0, 1, 0], [0, 1, 0, 0], [1, 1, 0, 0], [0, 0, 0, 0]])


@pytest.fixture
def logits():
    return torch.randn(len(LABELS), CLASSES, generator=torch.Generator().manual_seed(0)) * 3


@pytest.fixture
def model():
    return VideoClassifier(nn.Identity(), num_classes=CLASSES, several_labels=True)


def measured(logits, labels, video):
    metric = VideoPrecision(CLASSES)
    for view in range(2):  # the views' mean is the logits
        metric.update(logits + (1 if view else -1), labels, video=video, view=torch.full_like(video, view))
    return metric.compute()


def test_precision_is_that_of_scikit_learn_over_the_classes_that_have_videos(logits):
    result = measured(logits, LABELS, torch.arange(4))
    each = [average_precision_score(LABELS[:, c], logits[:, c]) for c in range(3)]  # the last class has no video
    assert result["mean_average_precision"] == pytest.approx(100 * sum(each) / 3, abs=1e-4)
    best = logits.argmax(1)
    assert result["top1"] == 100 * LABELS.gather(1, best[:, None]).float().mean()
    assert "top5" not in result, "of four classes"
    assert result["videos"] == 4
    assert result["loss"] == pytest.approx(F.binary_cross_entropy_with_logits(logits, LABELS.float()).item(), abs=1e-6)


@pytest.mark.parametrize("classes", [1, 4])
def test_precision_ranks_logits_whose_probabilities_are_all_one_also_of_a_single_class(classes):
    logits, labels = torch.tensor([37.0, 38, 39, 40, 40, 50]), torch.tensor([0, 1, 0, 1, 0, 1])
    labels = torch.cat((labels[:, None], torch.zeros(6, classes - 1, dtype=torch.long)), 1)
    result = measured(logits[:, None].expand(6, classes), labels, torch.arange(6))
    expected = average_precision_score(labels[:, 0], logits)
    assert 0.7 < expected < 1
    assert result["mean_average_precision"] == pytest.approx(100 * expected, abs=1e-4)


def test_videos_that_cannot_be_read_do_not_count(logits):
    labels, video = torch.cat((LABELS, torch.full((1, CLASSES), IGNORED))), torch.tensor([0, 1, 2, 3, -1])
    result = measured(torch.cat((logits, logits[:1])), labels, video)
    assert result == measured(logits, LABELS, torch.arange(4))
    assert measured(logits[:1], labels[-1:], video[-1:])["mean_average_precision"].isnan()
    assert measured(logits * torch.nan, LABELS, torch.arange(4))["top1"].isnan()


def test_the_loss_is_the_mean_over_classes_and_of_the_clips_that_can_be_read(model, logits):
    target = soft_labels(LABELS, CLASSES, 0.0)
    assert torch.equal(target, LABELS.float())
    expected = F.binary_cross_entropy_with_logits(logits, target)
    assert model.loss(logits, target) == pytest.approx(expected.item(), abs=1e-6)
    target[0] = IGNORED
    rest = F.binary_cross_entropy_with_logits(logits[1:], LABELS[1:].float())
    assert model.loss(logits, target) == pytest.approx(0.75 * rest.item(), abs=1e-6)


def test_labels_are_smoothed_and_mixed_and_a_clip_mixed_with_a_broken_one_adds_nothing(model, logits):
    smooth = soft_labels(LABELS, CLASSES, 0.1)
    assert smooth[0].tolist() == pytest.approx([0.925, 0.025, 0.925, 0.025])
    labels = LABELS.clone()
    labels[0] = IGNORED
    clip = torch.zeros(4, 3, 1, 1, 1)
    _, target = mix(clip, soft_labels(labels, CLASSES, 0.1), Mixture(0.3))
    read = (target >= 0).all(1)
    assert read.tolist() == [False, False, True, True]
    rest = F.binary_cross_entropy_with_logits(logits[read], target[read])
    assert model.loss(logits, target) == pytest.approx(rest.item() / 2, abs=1e-6)


def test_a_run_writes_precision_by_class_and_predicts_independent_probabilities(tmp_path):
    names = [f"{number}.mp4" for number in range(4)]
    for name in names:
        write(tmp_path / name, "libx264", num_frames=4, fps=10, height=32, width=32)
    listed = "".join(f"{name},{label}\n" for name, label in zip(names, ("a|b", "b", "c|a", "c"), strict=True))
    for split, rows in (("train", listed), ("val", listed.replace(".mp4", ".MP4"))):
        (tmp_path / f"{split}.csv").write_text(rows)
    for name in names:
        (tmp_path / name.replace("mp4", "MP4")).symlink_to(tmp_path / name)
    clips = dict(num_frames=2, image_size=16, batch_size=2, num_workers=0, test_crops=1)
    data = VideoCSV(root=str(tmp_path), label_separator="|", **clips)
    model = XViT(data.num_classes, 2, 16, size=ViTSize(16, 2, 2), patch_size=8, several_labels=data.several_labels)
    quiet = dict(accelerator="cpu", logger=False, enable_progress_bar=False, enable_model_summary=False)
    trainer = Trainer(max_epochs=1, callbacks=SavePredictions(tmp_path, "run"), default_root_dir=tmp_path, **quiet)
    trainer.fit(model, data)
    (metrics,) = trainer.test(model, data, verbose=False)
    rows = (tmp_path / "classes.csv").read_text().splitlines()
    assert [row.split(",")[:2] for row in rows] == [["class", "videos"], ["a", "2"], ["b", "2"], ["c", "2"]]
    mean = sum(float(row.split(",")[2]) for row in rows[1:]) / 3
    assert metrics["test/mean_average_precision"] == pytest.approx(mean, abs=0.01)
    assert data.records("test")[2].label == (1, 0, 1)
    trainer.save_checkpoint(tmp_path / "last.ckpt")
    found = predict(tmp_path / "last.ckpt", tmp_path / names[0], 3, evaluation=Evaluation(workers=0, device="cpu"))
    shares = {one.name: one.probability for one in found.ranked[0].ranked["class"]}
    assert [shares[name] for name in "abc"] == pytest.approx(found.logits[0].sigmoid().tolist())
