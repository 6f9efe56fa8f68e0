"""Test that video accuracy counts every view of every video once, in any order and in batches of any size."""

import pytest
import torch
import torch.nn.functional as F

from lit_video.modules import XViT
from lit_video.modules.metrics import VideoAccuracy
from tests.modules.test_two_heads import by_hand as by_hand_of_tasks

VIDEOS, VIEWS, CLASSES = 17, 3, 12


def views(seed=0, videos=VIDEOS, count=VIEWS, classes=CLASSES):
    """Return one row per view; video numbers have gaps, and views disagree about the class."""
    generator = torch.Generator().manual_seed(seed)
    video = (torch.arange(videos) * 3 + 5).repeat_interleave(count)
    target = torch.randint(classes, (videos,), generator=generator).repeat_interleave(count)
    logits = torch.randn(videos * count, classes, generator=generator)
    logits[torch.arange(len(target)), target] += 0.5
    return logits, target, video, torch.arange(count).repeat(videos)


def rows(data, index):
    return tuple(column[index] for column in data)


def measured(data, batch=7):
    metric = VideoAccuracy()
    for start in range(0, len(data[0]), batch):
        logits, target, video, view = rows(data, slice(start, start + batch))
        metric.update(logits, target, video=video, view=view)
    return metric.compute()


def by_hand(data, top):
    """Return the percentage of videos whose target is among the top classes of their views' mean logits."""
    logits, target, video, view = data
    return by_hand_of_tasks({"class": logits.shape[1]}, (logits, target[:, None], video, view), top)


@pytest.mark.parametrize("batch", [1, 7, 1000])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_accuracies_equal_those_counted_by_hand(seed, batch):
    data = views(seed)
    result = measured(data, batch)
    assert result["top1"].item() == pytest.approx(by_hand(data, 1))
    assert result["top5"].item() == pytest.approx(by_hand(data, 5))
    assert result["videos"] == VIDEOS
    assert result["top1"] < result["top5"] < 100
    means = torch.stack([data[0][video * VIEWS : (video + 1) * VIEWS].mean(0) for video in range(VIDEOS)])
    assert result["loss"].item() == pytest.approx(F.cross_entropy(means, data[1][::VIEWS]).item())


@pytest.mark.parametrize("classes", [None, {"verb": 5, "noun": 7}])
def test_softmax_scores_are_averaged_in_each_task_and_may_choose_another_class(classes):
    logits, target, video, view = views(classes=12)
    logits = 4 * logits
    target = torch.stack([target % 5, target % 7], 1) if classes else target
    metric = VideoAccuracy(classes, "softmax")
    metric.update(logits, target, video=video, view=view)
    mean, _ = metric.per_video()
    sizes = [5, 7] if classes else 12
    for part, whole in zip(logits.split(sizes, 1), mean.split(sizes, 1), strict=True):
        expected = part.softmax(1).unflatten(0, (VIDEOS, VIEWS)).mean(1)
        torch.testing.assert_close(whole.softmax(1), expected)
    plain = VideoAccuracy(classes)
    plain.update(logits, target, video=video, view=view)
    assert not torch.equal(plain.per_video()[0].argmax(1), mean.argmax(1))


def test_views_of_several_labels_have_no_softmax():
    with pytest.raises(ValueError, match="view_average is softmax, but a video may have several labels"):
        XViT(3, num_frames=2, image_size=16, size="Ti", several_labels=True, view_average="softmax")


def test_videos_with_fewer_views_weigh_as_much_as_others():
    data = views()
    kept = torch.tensor([i for i in range(len(data[0])) if not (data[2][i] < 20 and data[3][i] > 0)])
    result = measured(rows(data, kept))
    assert result["top1"].item() == pytest.approx(by_hand(rows(data, kept), 1))
    assert result["videos"] == VIDEOS


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_views_changes_nothing_at_all(seed):
    data = views()
    order = torch.randperm(len(data[0]), generator=torch.Generator().manual_seed(seed))
    a, b = VideoAccuracy(), VideoAccuracy()
    for metric, columns in ((a, data), (b, rows(data, order))):
        logits, target, video, view = columns
        metric.update(logits, target, video=video, view=view)
    assert all(torch.equal(x, y) for x, y in zip(a.per_video(), b.per_video(), strict=True))
    assert a.compute() == b.compute()
    mean, target = b.per_video()
    torch.testing.assert_close(mean, data[0].unflatten(0, (VIDEOS, VIEWS)).mean(1))
    assert torch.equal(target, data[1][::VIEWS])


@pytest.mark.parametrize("classes", [1, 2, 3, 5])
def test_there_is_no_top5_of_fewer_than_six_classes_since_it_would_be_everything(classes):
    result = measured(views(classes=classes))
    assert result.keys() == {"top1", "videos", "loss"}
    assert classes == 1 or result["top1"] < 100


def test_low_precision_logits_are_averaged_in_single_precision():
    # 256 + 1 is no bfloat16 number
    logits = torch.tensor([[256.0, 256.0], [0.0, 1.0]], dtype=torch.bfloat16)
    metric = VideoAccuracy()
    metric.update(logits, torch.tensor([1, 1]), video=torch.tensor([0, 0]), view=torch.tensor([0, 1]))
    assert metric.per_video()[0].tolist() == [[128.0, 128.5]]
    assert metric.compute()["top1"] == 100


def padded_share(rank, processes):
    """Return a process's views from a distributed sampler: every n-th, with the first ones repeated to fill up."""
    data = views()
    count = len(data[0])
    index = [*range(count), *range(-count % processes)]
    return rows(data, torch.tensor(index[rank::processes]))
