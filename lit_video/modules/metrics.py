"""Video accuracy over all processes, every view of every video counted exactly once."""

from collections.abc import Sequence
from math import prod
from typing import Any, Literal

import torch
import torch.distributed as dist
import torch.nn.functional as F
from einops import rearrange
from torch import Tensor
from torch.utils.data import DistributedSampler
from torchmetrics import Metric
from torchmetrics.functional.classification import binary_average_precision
from torchmetrics.utilities import dim_zero_cat

from lit_video.errors import UserError, fault_of
from lit_video.utils.class_paths import class_path
from lit_video.utils.classes import Classes, by_task, class_numbers, outputs, per_task

TOP_K = (1, 5)
_NEEDED = ("loss", "top1", "videos")  # values that checkpoints, results and tables read
ViewAverage = Literal["logits", "softmax"]


class VideoAccuracy(Metric):
    """Top-1 and top-5 accuracy of videos, with scores averaged over views (X-ViT's release adds them up).

    Each view counts once, by its number, even if a distributed sampler repeats clips to fill its last batch. So the
    result does not depend on the number of processes.

    With several tasks a video is right if all its tasks are right. Top-k ranks all combinations of the tasks' classes
    by the product of their probabilities, as Epic-Kitchens-100 ranks actions: 97 x 300 pairs of verb and noun, also
    pairs without training videos. For tasks verb and noun the combined results are also given as ``action_top1``, ...

    Args:
        classes: number of classes of each task, by the task's name; not needed for one task.
        average: scores to average over views, see :func:`view_scores`.
    """

    full_state_update = False  # an update needs no state of other processes

    video: list[Tensor]
    view: list[Tensor]
    logits: list[Tensor]
    target: list[Tensor]

    def __init__(self, classes: Classes | None = None, average: ViewAverage = "logits") -> None:
        super().__init__()
        self.average: ViewAverage = average
        self.classes = classes
        for task in sorted(by_task(classes).keys() & {"video", "clip"}):
            raise ValueError(f"num_classes names a task {task}, but {task}_top1 is of all tasks together: rename it")
        for name in ("video", "view", "logits", "target"):
            self.add_state(name, default=[], dist_reduce_fx="cat")

    def update(self, logits: Tensor, target: Tensor, *, video: Tensor, view: Tensor) -> None:
        """Add a batch: logits ``(b, classes)``, target ``(b,)`` or ``(b, tasks)``, video ``(b,)`` and view ``(b,)``.

        Clips with a negative ``video`` are unreadable; dropping them here would synchronise the GPU in every step.
        """
        self.logits.append(logits.detach().float())
        self.target.append(target)
        self.video.append(video)
        self.view.append(view)

    def has_clips(self) -> bool:
        """Return whether any process has clips; every process calls it, and all compute a result or none does.

        A process without clips adds none of the others' shapes, by which torchmetrics can gather theirs.
        """
        states = {"logits": self.logits, "target": self.target, "video": self.video, "view": self.view}
        kinds = {name: (batches[0].shape[1:], batches[0].dtype) for name, batches in states.items() if batches}
        if not dist.is_available() or not dist.is_initialized() or dist.get_world_size() == 1:
            return bool(kinds)

        ranks: list[dict[str, Any]] = [{}] * dist.get_world_size()
        dist.all_gather_object(ranks, kinds)
        of_others = next(filter(None, ranks), {})
        if of_others and not kinds:
            none = {
                name: torch.zeros(0, *shape, dtype=kind, device=self.device)
                for name, (shape, kind) in of_others.items()
            }
            self.update(none["logits"], none["target"], video=none["video"], view=none["view"])
        return bool(of_others)

    def _read(self, of_clips: list[Tensor]) -> Tensor:
        """Concatenate the batches, without unreadable clips."""
        return dim_zero_cat(of_clips)[dim_zero_cat(self.video) >= 0]

    def per_video(self) -> tuple[Tensor, Tensor]:
        """Return mean logits ``(videos, classes)`` and target ``(videos[, tasks])``, sorted by the video's number."""
        video = self._read(self.video)
        view = self._read(self.view)
        logits = self._read(self.logits)
        target = self._read(self.target)

        # each view once: the first clip that shows it
        views, view_of_clip = torch.unique(torch.stack((video, view), dim=1), dim=0, return_inverse=True)
        first = torch.full((len(views),), len(video), device=video.device)
        first = first.scatter_reduce(0, view_of_clip, torch.arange(len(video), device=video.device), "amin")

        numbers, video_of_view = torch.unique(video[first], return_inverse=True)
        targets = target.new_zeros(len(numbers), *target.shape[1:])
        targets[video_of_view] = target[first]
        _refuse_restarts(
            video,
            target,
            targets[video_of_view[view_of_clip]],
            logits=logits,
            of_view=logits[first][view_of_clip],
        )

        scores = view_scores(logits[first], self.average, self.classes)
        sums = torch.zeros_like(scores[: len(numbers)]).index_add(0, video_of_view, scores)
        means = sums / torch.bincount(video_of_view)[:, None]
        return video_logits(means, self.average), targets

    def videos(self) -> Tensor:
        """Return the numbers of the videos, in the order of :meth:`per_video`."""
        return torch.unique(self._read(self.video))

    def _nothing(self, *names: str) -> dict[str, Tensor]:
        """Return the result of a metric without any update, which torchmetrics computes too, with a warning."""
        unknown = torch.tensor(torch.nan, device=self.device)
        return dict.fromkeys((*names, "loss"), unknown) | {"videos": torch.zeros_like(unknown)}

    def per_task(self) -> dict[str, tuple[Tensor, Tensor]]:
        """Return :meth:`per_video` by task; a single task has an empty name."""
        logits, target = self.per_video()
        pairs = zip(per_task(logits, self.classes), per_task(target, self.classes), strict=True)
        return dict(zip(by_task(self.classes) or [""], pairs, strict=True))

    def compute(self) -> dict[str, Tensor]:
        """Return ``top1`` and ``top5`` in percent (by task ``TASK_top1``, ...), the number of ``videos``, and ``loss``.

        The loss is the cross entropy of mean logits, summed over tasks. Without a readable video, or if logits are not
        finite, loss and accuracies are NaN. There is no ``top5`` of five classes or fewer, see :func:`informative`.
        """
        if len(self.video) == 0:  # a list, after the gathering of processes a tensor
            return self._nothing("top1")

        tasks = self.per_task()
        finite = torch.cat([logits for logits, _ in tasks.values()], dim=1).isfinite().all()
        ranked = {"": list(tasks.values())}
        if "" not in tasks:
            ranked |= {f"{name}_": [task] for name, task in tasks.items()}
        if tasks.keys() == {"verb", "noun"}:
            ranked["action_"] = ranked[""]

        result = {}
        for name, combined in ranked.items():
            hits = ranked_hits(combined, max(TOP_K))
            num_combinations = prod(logits.shape[1] for logits, _ in combined)
            for k in informative(num_combinations):
                share = hits[:, :k].any(1).float().mean()
                result[f"{name}top{k}"] = torch.where(finite, 100 * share, torch.nan)

        losses = [F.cross_entropy(logits, target) for logits, target in tasks.values()]
        videos = torch.tensor(float(len(hits)), device=hits.device)
        return result | {"videos": videos, "loss": torch.stack(losses).sum()}


def _refuse_restarts(video: Tensor, target: Tensor, of_video: Tensor, *, logits: Tensor, of_view: Tensor) -> None:
    """Refuse video numbers that several videos share, as a loader gives them that counts anew in each batch.

    Then views of one number have different labels, or one view has different logits. The logits of clips that a
    distributed sampler repeats agree within rounding.
    """
    if not len(video):
        return

    differs = (target != of_video).reshape(len(target), -1).any(1)
    what = "labels"
    if not differs.any() and logits.isfinite().all():
        rounding = 0.1 * logits.abs().amax() + 1e-6
        differs = (logits - of_view).abs().amax(1) > rounding
        what = "logits of one view"

    if differs.any():
        number = int(video[differs.nonzero()[0, 0]])
        numbered = "the loader's video must number the videos of the whole split, not those of a batch"
        raise UserError(f"video {number} has different {what}: {numbered}")


def informative(classes: int) -> list[int]:
    """Return the k of top-k accuracies that tell something: 1, and 5 if there are more than five classes."""
    return [k for k in TOP_K if k < max(classes, 2)]


def view_scores(logits: Tensor, average: ViewAverage, classes: Classes | None) -> Tensor:
    """Return the scores to average over a video's views: logits ``(views, classes)``, or their softmax in each task.

    The releases of X-ViT, TimeSformer and ViViT average logits; TimeSformer's paper (Appendix A) and PySlowFast average
    softmax scores.
    """
    if average == "logits":
        return logits
    return torch.cat([part.softmax(1) for part in per_task(logits, classes)], dim=1)


def video_logits(scores: Tensor, average: ViewAverage) -> Tensor:
    """Return a video's logits: its mean logits, or the logarithm of its mean softmax scores."""
    if average == "logits":
        return scores
    tiny = torch.finfo(scores.dtype).tiny
    return scores.clamp(min=tiny).log()


class VideoPrecision(VideoAccuracy):
    """Mean average precision and top-k accuracy of videos with several labels.

    Each class ranks the videos by its score. The mean is over classes that have videos, as for Charades.
    Targets ``(b, classes)`` are one or zero for each class.
    """

    def compute(self) -> dict[str, Tensor]:
        """Return ``mean_average_precision``, ``top1`` and ``top5`` (a label is among the best classes), in percent."""
        if len(self.video) == 0:  # a list, after the gathering of processes a tensor
            return self._nothing("top1", "mean_average_precision")

        logits, target = self.per_video()
        best_classes = logits.argsort(dim=1, descending=True, stable=True)[:, : max(TOP_K)]
        best = target.gather(1, best_classes)
        result = {f"top{k}": best[:, :k].amax(1).float().mean() for k in informative(logits.shape[1])}
        result["mean_average_precision"] = average_precision(logits, target).nanmean()
        for name, value in result.items():
            result[name] = torch.where(logits.isfinite().all(), 100 * value, torch.nan)

        videos = torch.tensor(float(len(target)), device=target.device)
        return result | {"videos": videos, "loss": binary_cross_entropy(logits, target) / len(target)}


def video_metric(
    classes: Classes | None, several_labels: bool, average: ViewAverage, *, kind: type[VideoAccuracy] | None = None
) -> VideoAccuracy:
    """Return the metric of videos with one label in each task, or with several labels; ``kind`` is the user's own."""
    if several_labels and average == "softmax":
        raise ValueError("view_average is softmax, but a video may have several labels, which have no softmax")

    usual = VideoPrecision if several_labels else VideoAccuracy
    if kind is not None and not issubclass(kind, usual):
        raise ValueError(
            f"metric is {class_path(kind)}, but a video may have several labels: extend {class_path(usual)}"
        )
    return (kind or usual)(classes, average)


def average_precision(logits: Tensor, target: Tensor) -> Tensor:
    """Return average precision ``(classes,)``, 0 to 1, of 0/1 targets ``(videos, classes)``; NaN for absent classes."""
    precision = logits.new_full(logits.shape[1:], torch.nan)
    for number in target.any(0).nonzero()[:, 0].tolist():
        rank = torch.unique(logits[:, number], return_inverse=True)[1]  # sigmoids of large logits would tie
        precision[number] = binary_average_precision(rank / len(logits), target[:, number].long())
    return precision


def binary_cross_entropy(logits: Tensor, target: Tensor) -> Tensor:
    """Return binary cross entropy for targets ``(b, classes)``: mean over classes, sum over clips not marked -100."""
    labels = target.clamp(min=0).to(logits)
    losses = F.binary_cross_entropy_with_logits(logits, labels, reduction="none").mean(1)
    marked = (target >= 0).all(1)
    return (losses * marked).sum()


def cross_entropy(logits: Tensor, target: Tensor, classes: Classes | None, *, several_labels: bool) -> Tensor:
    """Return cross entropies ``(tasks,)``, summed over clips; with several labels, one binary cross entropy."""
    if several_labels:
        return binary_cross_entropy(logits, target)
    tasks = zip(per_task(logits, classes), per_task(target, classes), strict=True)
    return torch.stack([F.cross_entropy(*task, reduction="sum") for task in tasks])


def ranked_hits(tasks: Sequence[tuple[Tensor, Tensor]], depth: int) -> Tensor:
    """Return whether each of a video's best combinations of classes is the target: bool ``(videos, at most depth)``.

    Each task gives logits ``(videos, classes)`` and a target ``(videos,)``. Sums of logits rank combinations
    like log probabilities: the two differ by a constant per video and task. The best combinations consist of each
    task's best classes, so the ``depth`` best classes of a task are enough.
    """
    score = tasks[0][0].new_zeros(len(tasks[0][0]), 1)
    hit = torch.ones_like(score, dtype=torch.bool)
    for logits, target in tasks:
        classes = logits.argsort(dim=1, descending=True, stable=True)[:, :depth]
        score = rearrange(score[:, :, None] + logits.gather(1, classes)[:, None], "v a b -> v (a b)")
        hit = rearrange(hit[:, :, None] & (classes == target[:, None])[:, None], "v a b -> v (a b)")

        best = score.argsort(dim=1, descending=True, stable=True)[:, :depth]
        score = score.gather(1, best)
        hit = hit.gather(1, best)
    return hit


def right_clips(logits: Tensor, target: Tensor, classes: Classes | None, *, several_labels: bool) -> Tensor:
    """Return whether each clip is predicted right in all tasks, or as one of its several labels: bool ``(b,)``."""
    if several_labels:
        return target.gather(1, logits.argmax(1, keepdim=True))[:, 0] >= 0.5
    return (class_numbers(logits, classes) == class_numbers(target, classes)).all(0)


def mean_over_ranks(value: Tensor) -> Tensor:
    """Return the mean over processes, without Lightning's barrier, which makes the host wait for the device."""
    if not dist.is_available() or not dist.is_initialized():
        return value
    total = value.clone()
    dist.all_reduce(total)
    return total / dist.get_world_size()


def shared_numbers(number: Tensor, loader: Any, processes: int) -> Tensor:
    """Convert a process's clip numbers to numbers over all processes; refuse samplers except ``DistributedSampler``."""
    sampler = getattr(getattr(loader, "batch_sampler", None), "sampler", loader)
    if type(sampler) is DistributedSampler:  # repeats the first clips to fill the last batch
        return (number * sampler.num_replicas + sampler.rank) % len(sampler.dataset)  # type: ignore[arg-type]
    raise UserError(
        f"{processes} processes divide the clips by a {type(sampler).__name__}, and might count one twice: "
        "make each batch a dict of clip, target and video (the numbers of the clips' videos)"
    )


def metric_values(metric: VideoAccuracy, classes: Classes, *, several_labels: bool) -> list[str]:
    """Return the names of a metric's values, from random logits of a few videos; the metric is reset.

    Raises:
        ValueError: the metric fails, lacks one of ``_NEEDED``, or gives something else than single numbers.
    """
    name = f"metric {class_path(type(metric))}"
    with torch.device("cpu"):
        generator = torch.Generator().manual_seed(0)
        video = torch.arange(4).repeat_interleave(2)  # two views of each of four videos
        view = torch.arange(2).repeat(4)
        logits = torch.randn(len(video), outputs(classes), generator=generator)

        # the class of a clip is the number of its video, within the classes
        target = torch.stack([video % count for count in by_task(classes).values()], dim=1)
        if several_labels:
            target = torch.eye(outputs(classes))[video % outputs(classes)]
        elif not isinstance(classes, dict):
            target = target[:, 0]
        try:
            metric.update(logits, target, video=video, view=view)
            values = metric.compute()
            metric.reset()
        except Exception as error:  # a user's code raises anything
            raise ValueError(f"{name} fails: {fault_of(error)}") from error

    if not isinstance(values, dict):
        raise ValueError(f"{name} computes a {type(values).__name__}, expected a dict of values by name")
    for value_name, value in values.items():
        if not isinstance(value, Tensor) or value.ndim:
            raise ValueError(f"{name}: its {value_name} is {value!r}, expected a tensor of one number")
    missing = [needed for needed in _NEEDED if needed not in values]
    if missing:
        raise ValueError(
            f"{name} computes {', '.join(values) or 'nothing'}, but no {missing[0]}: extend the base's dict"
        )
    return list(values)
