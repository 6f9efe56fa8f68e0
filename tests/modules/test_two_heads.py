"""Test two heads, which are columns of one linear layer: accuracies of tasks and actions, losses, and a run."""

import itertools
import math
import re

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from lit_video.__main__ import main
from lit_video.datamodules import VideoDataModule
from lit_video.modules import Perceiver, TimeSformer, ViViT, XViT
from lit_video.modules.metrics import VideoAccuracy
from lit_video.network.vit import ViTSize
from lit_video.runs.folder import read_finished
from lit_video.utils.classes import per_task, soft_labels
from lit_video.video.batch import Mixture, evaluation_batch, mix
from lit_video.video.clips import VideoRecord
from tests.embedded import CLIPS, SKILLS, four_skills

EPIC = {"verb": 7, "noun": 12}
TINY = dict(num_frames=4, image_size=16, size=ViTSize(16, 2, 2), patch_size=8)
FAMILIES = [XViT, TimeSformer, ViViT, Perceiver]


def views(classes, seed, videos=40, count=3):
    """Return logits ``(rows, sum)``, targets ``(rows, tasks)``, video and view numbers; some rows are repeated."""
    generator = torch.Generator().manual_seed(seed)
    target = torch.stack([torch.randint(n, (videos,), generator=generator) for n in classes.values()], dim=1)
    logits = torch.randn(videos, count, sum(classes.values()), generator=generator)
    one_hot = torch.cat([F.one_hot(t, n) for t, n in zip(target.unbind(1), classes.values(), strict=True)], dim=1)
    logits += 0.4 * one_hot[:, None]
    rows = torch.cat((torch.randperm(videos * count, generator=generator), torch.arange(0, videos * count, 2)))
    video = torch.arange(videos).repeat_interleave(count)
    return logits.flatten(0, 1)[rows], target[video][rows], video[rows], torch.arange(count).repeat(videos)[rows]


def log_softmax(logits):
    """Compute the log-softmax in plain Python."""
    total = math.log(sum(math.exp(z) for z in logits))
    return [z - total for z in logits]


def by_hand(classes, data, top):
    """Return the percentage of videos whose labels are among the ``top`` combinations, by loops over all of them."""
    videos = {}
    for logits, target, video, view in zip(*(column.tolist() for column in data), strict=True):
        videos.setdefault(video, (tuple(target), {}))[1][view] = logits
    hits = 0
    for target, seen in videos.values():
        mean = [sum(column) / len(seen) for column in zip(*seen.values(), strict=True)]
        ends = list(itertools.accumulate(classes.values()))
        scores = [log_softmax(mean[end - n : end]) for end, n in zip(ends, classes.values(), strict=True)]
        likely = {
            which: sum(score[i] for score, i in zip(scores, which, strict=True))
            for which in itertools.product(*(range(n) for n in classes.values()))
        }
        hits += target in sorted(likely, key=lambda which: -likely[which])[:top]
    return 100 * hits / len(videos)


def only(classes, data, task):
    """Return the data of one task."""
    i = list(classes).index(task)
    logits, target, video, view = data
    return per_task(logits, classes)[i], target[:, i : i + 1], video, view


def measured(classes, data, batch=7):
    metric = VideoAccuracy(classes=classes)
    for start in range(0, len(data[0]), batch):
        logits, target, video, view = (column[start : start + batch] for column in data)
        metric.update(logits, target, video=video, view=view)
    return {key: float(value) for key, value in metric.compute().items()}


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_actions_are_pairs_ranked_by_the_product_of_their_probabilities(seed):
    data = views(EPIC, seed)
    result = measured(EPIC, data)
    for top in (1, 5):
        assert result[f"action_top{top}"] == pytest.approx(by_hand(EPIC, data, top))
        for task in EPIC:
            alone = by_hand({task: EPIC[task]}, only(EPIC, data, task), top)
            assert result[f"{task}_top{top}"] == pytest.approx(alone)
        assert result[f"top{top}"] == result[f"action_top{top}"]
    assert result["videos"] == 40
    assert 0 < result["action_top1"] < result["action_top5"] < min(result["verb_top5"], result["noun_top5"]) < 100


@pytest.mark.parametrize("classes", [{"shape": 3, "colour": 4, "motion": 5}, {"noun": 4, "other": 9}, {"noun": 7}])
def test_any_tasks_have_a_joint_accuracy_but_only_verb_and_noun_make_actions(classes):
    data = views(classes, 3)
    result = measured(classes, data)
    tops = {f"{task}_top{k}" for task, count in classes.items() for k in (1, 5) if k < count}  # top 5 of 5 is no number
    assert result.keys() == {"top1", "top5", "videos", "loss"} | tops
    single = [VideoAccuracy() for _ in classes]
    for number, metric in enumerate(single):
        logits, target, video, view = data
        metric.update(logits.split(list(classes.values()), dim=1)[number], target[:, number], video=video, view=view)
    assert result["loss"] == pytest.approx(sum(metric.compute()["loss"].item() for metric in single))
    assert result["top1"] == pytest.approx(by_hand(classes, data, 1))
    assert result["top5"] == pytest.approx(by_hand(classes, data, 5))
    assert 0 < result["top1"] < result["top5"] < 100


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("soft", [True, False])
def test_the_loss_and_its_gradients_are_those_of_two_heads_on_the_same_features(family, soft):
    torch.manual_seed(0)
    model = family(num_classes=EPIC, **TINY).double().eval()  # eval: no dropout between the two
    *_, head = (module for module in model.network.modules() if isinstance(module, nn.Linear))
    assert head.out_features == sum(EPIC.values())
    nn.init.normal_(head.weight)
    verb, noun = (nn.Linear(head.in_features, n).double() for n in EPIC.values())
    with torch.no_grad():
        for name in ("weight", "bias"):
            getattr(verb, name).copy_(getattr(head, name)[: EPIC["verb"]])
            getattr(noun, name).copy_(getattr(head, name)[EPIC["verb"] :])
    label = torch.tensor([[6, 0], [2, 11], [2, 3]])
    features = []
    head.register_forward_hook(lambda module, args, output: features.append(args[0]))
    logits = model(torch.randn(3, 3, 4, 16, 16, dtype=torch.double))
    target = soft_labels(label, EPIC, 0.1).double() if soft else label
    loss = model.loss(logits, target)
    loss.backward()

    smoothing = 0.1 if soft else 0.0
    pool = (lambda z: z.mean(1)) if features[0].ndim == 3 else (lambda z: z)  # a head may see every frame
    expected = sum(
        F.cross_entropy(pool(one(features[0].detach())), label[:, i], label_smoothing=smoothing)
        for i, one in enumerate((verb, noun))
    )
    expected.backward()
    # smoothed labels are single precision
    torch.testing.assert_close(loss, expected, atol=1e-6, rtol=1e-6)
    model.task_loss = "mean"  # ViViT's release
    torch.testing.assert_close(model.loss(logits, target), loss / 2)
    torch.testing.assert_close(head.weight.grad, torch.cat((verb.weight.grad, noun.weight.grad)), atol=1e-6, rtol=1e-5)


def test_every_task_is_smoothed_over_its_own_classes_and_mixed_by_one_weight():
    label = torch.tensor([[6, 0], [2, 11], [2, 3]])
    target = soft_labels(label, EPIC, 0.3)
    for i, (share, n) in enumerate(zip(per_task(target, EPIC), EPIC.values(), strict=True)):
        torch.testing.assert_close(share, torch.full((3, n), 0.3 / n) + 0.7 * F.one_hot(label[:, i], n))

    clip = torch.randn(3, 3, 2, 4, 4)
    mixed, both = mix(clip, target, Mixture(0.3))
    weight = ((mixed[0] - clip[2]).norm() / (clip[0] - clip[2]).norm()).item()
    assert weight == pytest.approx(0.7)
    for i, n in enumerate(EPIC.values()):
        alone = soft_labels(label[:, i], n, 0.3)
        torch.testing.assert_close(per_task(both, EPIC)[i], weight * alone + (1 - weight) * alone.roll(1, 0))


class TwoLabels(VideoDataModule):
    """Embedded videos with two labels each: direction as the verb, skill as the noun."""

    def __init__(self, pairs: tuple[int, int, int] = (2, 1, 1), **kwargs):
        super().__init__(**kwargs)
        self.skills = four_skills(pairs=pairs)

    @property
    def class_names(self):
        return {"verb": ["backward", "forward"], "noun": list(SKILLS)}

    def prepare_data(self):
        self.skills.prepare_data()

    def records(self, split):
        return [VideoRecord(r.path, divmod(r.label, 2)[::-1]) for r in self.skills.records(split)]


@pytest.mark.slow
def test_a_row_trains_and_tests_two_heads_from_the_command_line(table, tiny, tmp_path, capsys):
    flags = [f"--data={__name__}.TwoLabels", *tiny, "--data.augmentation.mixup=0.4", "--row=second"]
    assert main(["fit", "--config", str(table[0]), "--runs", str(tmp_path / "runs"), *flags]) == 0
    run = tmp_path / "runs/two/default/second/seed0"
    metrics = read_finished(run).result.metrics
    accuracies = {f"test/{of}_top{k}" for of in ("verb", "noun", "action", "video") for k in (1, 5)}
    accuracies -= {"test/verb_top5", "test/noun_top5"}  # two and four classes
    of_train = {name.replace("test/", "train/") for name in accuracies}
    assert metrics.keys() == accuracies | of_train | {f"test/{task}_calibration_error" for task in ("verb", "noun")}
    assert metrics["test/video_top1"] == metrics["test/action_top1"]
    assert {row.split(",")[0] for row in (run / "classes.csv").read_text().splitlines()[1:]} == {"verb", "noun"}
    capsys.readouterr()
    assert main(["test", "--ckpt", str(run / "last.ckpt"), f"--data={__name__}.TwoLabels"]) == 0
    assert re.search(rf"test/action_top5\W+{metrics['test/action_top5']}", capsys.readouterr().out)

    model = XViT.load_from_checkpoint(run / "last.ckpt", map_location="cpu").eval()
    assert model.num_classes == model.hparams["num_classes"] == {"verb": 2, "noun": 4}
    data = TwoLabels(num_frames=4, image_size=16, num_workers=0, sampling=CLIPS["sampling"])
    right = {"verb": [], "noun": []}
    for sample in data.test_dataloader():
        batch = evaluation_batch(sample, data.mean, data.std)
        with torch.no_grad():
            logits = model(batch["clip"]).unflatten(0, (-1, 3)).mean(1)  # 3 crops of one clip
        for i, (task, share) in enumerate(zip(right, logits.split([2, 4], dim=1), strict=True)):
            right[task] += (share.argmax(1) == sample["label"][:, i]).tolist()
    both = [v and n for v, n in zip(*right.values(), strict=True)]
    for name, hits in {**right, "action": both}.items():
        assert metrics[f"test/{name}_top1"] == pytest.approx(100 * sum(hits) / 8)
