"""Base class of video classifiers: training, validation, test; a family only builds its network."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass, replace
from typing import Any, Literal

import torch
import torch.nn.functional as F
from lightning import LightningModule, Trainer
from lightning.pytorch.utilities import rank_zero_only
from torch import Tensor, nn

from lit_video.errors import UserError
from lit_video.modules.metrics import VideoAccuracy, VideoPrecision, binary_cross_entropy, mean_over_ranks
from lit_video.modules.optimization import Optimization, make_optimizer, optimization_of, rate
from lit_video.network.aggregation import AttentiveProbe
from lit_video.network.block import Checkpointing, checkpoint_layers
from lit_video.network.transformer import VideoTransformer, all_tokens
from lit_video.network.transformer import freeze as freeze_layers
from lit_video.network.vit import ViTSize
from lit_video.utils.class_paths import class_path
from lit_video.utils.settings import Effect, model_names
from lit_video.video.batch import Batch, Classes, as_batch, class_numbers, outputs, per_task
from lit_video.video.settings import SETTINGS, stored_settings
from lit_video.weights.hub import weights_path
from lit_video.weights.hugging_face import check_config, check_labels
from lit_video.weights.image_vit import TubeletInit, load_image_vit, read_image_vit
from lit_video.weights.loading import SourceName, load_pretrained
from lit_video.weights.reading import CHECKPOINT_KEY, MODEL_KEY, StoredWeights, of_our_own, read_weights
from lit_video.weights.settings import (
    IGNORE,
    OTHERWISE,
    WeightsSettings,
    channel_pixels,
    fold_pixels,
    known_grid,
    line_on_grid,
    pixel_settings,
    refuse_another_grid,
    refuse_other_pixels,
    refuse_other_settings,
    tasks_in_order,
)

# in a checkpoint beside the hyper-parameters, which ``load_from_checkpoint`` overwrites by what it is given
CHECKED = ("family", "size", *model_names("function", "shape", "clip", "classes"))
LOADED = "loaded"  # of a network, once weights have been loaded


class VideoClassifier(LightningModule):
    """Base of all model families: loss, steps, optimizer, clip and video accuracy.

    Logs ``train/loss`` of every optimizer step, ``train/clip_top1``; ``val/loss``, ``val/clip_top1`` and
    ``val/clip_top5`` (the centre view); ``test/video_top1``, ``test/video_top5`` (all views of a video averaged, every
    video once) and ``test/videos``. Accuracies are in percent. All of them are over all processes.

    Several tasks (Epic-Kitchens' verb and noun, as in X-ViT's section 4) are heads of one network, trained together:
    one linear layer whose columns the tasks share out, the loss the sum of their cross entropies. The accuracies above
    then count what is right in all tasks; ``val/TASK_top1``, ``test/TASK_top1``, ... count one task. With verb and noun
    all is called action too (see :class:`~lit_video.modules.metrics.VideoAccuracy`).

    With several labels per video the loss is binary cross entropy, ``val/mean_average_precision`` and
    ``test/mean_average_precision`` are logged too, and a prediction is right if it is one of the labels.

    Args:
        network: clips ``(b, 3, t, height, width)`` to logits ``(b, classes)``.
        optimization: optimizer and learning rate; ``None`` for the defaults.
        weights: a released checkpoint of this network: a file or folder that
            :func:`~lit_video.weights.reading.read_weights` can read, or ``hub:NAME`` of ``python -m lit_video
            weights``. In training, a classifier of other classes starts from scratch.
        weights_settings: where a release is known to have been trained with other settings than these, which no shape
            shows: ``None`` refuses its weights, ``apply`` takes its settings (on the command line), ``ignore`` goes on.
        weights_source: program that wrote ``weights``, where the names of its parameters do not show it: TimeSformer's
            code gives attention in space alone the names of an image model.
        weights_ema: load the moving average of a file that holds it beside the weights; ``None``: where there is one.
        image_pixels: image weights that are known to have seen pixels of another mean or deviation have the difference
            folded into the patches; ``ignore`` leaves them as they are (TimeSformer's release).
        probe: classifier in place of the family's: ``attentive``, a learned query that reads all tokens, for a frozen
            backbone (V-JEPA, arXiv:2404.08471).
        freeze: patches, positions and so many blocks, or the whole ``backbone``, stay as they are in training.
        activation_checkpointing: part of a layer that is recomputed in the backward pass: ``attention``, or
            each ``block`` but for its input; the gradients are the same. ``true`` is ``block``, ``false`` ``none``.
        num_classes: classes of each task by its name, in the order of the logits; a number for one task.
        several_labels: whether a video may have several labels; the command line takes it from the data set.

    Raises:
        ValueError: activation checkpointing of a network without transformer blocks; a task called video or clip; in
            a family, values that do not fit together; the message names them.
    """

    # start of image transformers: a file, ``timm:NAME``, or ``stills:N``, N synthetic pictures
    image_weights: str | None = None
    size: ViTSize | None = None
    tubelet_init: TubeletInit = "central"

    def __init__(
        self,
        network: nn.Module,
        optimization: Optimization | None = None,
        weights: str | None = None,
        weights_settings: WeightsSettings | None = None,
        weights_source: SourceName | None = None,
        weights_ema: bool | None = None,
        image_pixels: Literal["ignore"] | None = None,
        probe: Literal["attentive"] | None = None,
        freeze: int | Literal["backbone"] | None = None,
        activation_checkpointing: Checkpointing = "none",
        num_classes: Classes | None = None,
        several_labels: bool = False,
    ) -> None:
        super().__init__()
        self.save_hyperparameters(ignore=["network"])
        # plain values, which torch.load takes from a checkpoint without trust; constructors take them back
        self.save_hyperparameters({name: _plain(value) for name, value in self.hparams.items()})
        if probe:
            if num_classes is None or not isinstance(network, VideoTransformer):
                raise ValueError("probe is attentive, but the network has no tokens, or there are no num_classes")
            head = AttentiveProbe(network.size.width, outputs(num_classes), network.size.heads)
            network.readout, network.aggregate = all_tokens, head
        self.network = network
        self.weights = weights
        self.weights_settings = weights_settings
        self.weights_source = weights_source
        self.weights_ema = weights_ema
        self.image_pixels = image_pixels
        checkpoint_layers(network, activation_checkpointing)
        if freeze is not None:
            freeze_layers(network, freeze)
        self.frozen = freeze
        self.optimization = optimization_of(optimization)
        self.num_classes = num_classes
        self.several_labels = several_labels
        metric = VideoPrecision if several_labels else VideoAccuracy
        self.val_accuracy, self.test_accuracy = metric(classes=num_classes), metric(classes=num_classes)
        # of the last optimizer step: the loss; clips that were right and clips that could be read, means over batches
        self.step_loss = torch.tensor(0.0)
        self.step_hits = torch.zeros(2)
        self._batches: list[Tensor] = []  # of this step, loss and hits together
        network.register_load_state_dict_post_hook(_mark_loaded)  # type: ignore[no-untyped-call]

    @property
    def scheme_name(self) -> str:
        """Name in comparisons of schemes: the family, and the kind of its attention, without sizes and windows."""
        return type(self).__name__

    def forward(self, clip: Tensor) -> Tensor:
        """Logits of normalised clips, computed in the type of the weights.

        Raises:
            UserError: the weights that training is to start from have not been loaded yet.
        """
        given = self.weights or self.image_weights
        if given and not (getattr(self.network, LOADED, False) or clip.is_meta):
            raise UserError(f"model: {given} is loaded when training starts; call setup('fit') to load it now")
        dtype = next(self.parameters()).dtype
        return self.network(clip) if dtype == clip.dtype else self.network(clip.to(dtype)).to(clip.dtype)

    def setup(self, stage: str) -> None:
        """Start from image weights in training, or from released ones, once: not when a trained model is tested."""
        if stage == "fit" and self.frozen is not None and not (self.weights or self.image_weights):
            raise UserError(f"model.freeze: {self.frozen}, of a network that starts at random: give model.weights")
        if getattr(self.network, LOADED, False):
            return
        if stage == "fit" and self.image_weights:
            stored, taken = self._take_image(self.image_weights)
            pixels = "" if self.image_pixels == "ignore" else self._match_pixels(stored)
            self._say(self.image_weights, stored.choice, taken, pixels)
        if self.weights is not None:
            with self._naming("weights", self.weights):
                self._start_from(self.weights, fresh_head=stage == "fit")

    def check_image_weights(self) -> None:
        """Refuse image weights that do not fit this model, which is on the meta device, before anything is trained."""
        if self.image_weights and not self.image_weights.startswith("stills:"):
            self._take_image(self.image_weights)

    def _take_image(self, given: str) -> tuple[StoredWeights, str]:
        assert isinstance(self.network, VideoTransformer)
        with self._naming("image_weights", given):
            stored = read_image_vit(given, self.network, self.weights_ema)
            grid = known_grid(self.network, stored)
            taken = load_image_vit(self.network, stored.tensors, self.tubelet_init, grid)
            return stored, "; ".join(filter(None, (taken, line_on_grid(self.network, stored, image=True))))

    def _start_from(self, path: str, fresh_head: bool) -> None:
        stored = read_weights(weights_path(path), self.weights_ema, self.weights_source)
        if self.weights_settings != "ignore":
            check_config(stored.config, self.network)
            self._refuse_what_differs(stored, OTHERWISE)
        tasks = self.num_classes if isinstance(self.num_classes, dict) else {}
        tensors = tasks_in_order(stored.tensors, tasks)
        grid = known_grid(self.network, stored)
        left_out = load_pretrained(self.network, tensors, fresh_head, grid, self.weights_source)
        fresh = f"no classifier of these classes, it starts from scratch ({left_out})" if left_out else ""
        known = pixel_settings(stored) and not channel_pixels(stored)  # and compared above
        pixels = "" if self.weights_settings == "ignore" or known else self._match_pixels(stored)
        self._say(path, stored.choice, line_on_grid(self.network, stored), fresh, pixels)
        if not left_out:
            self._check_labels(stored)

    def _match_pixels(self, stored: StoredWeights) -> str:
        """Let the patches see the data's pixels as those that the weights saw; a line on it."""
        if not (data := self._videos) or not isinstance(self.network, VideoTransformer):
            return ""
        if known := channel_pixels(stored):
            return fold_pixels(self.network.embed, *known, stored_settings(data))
        return f"its pixels are not known: taken for those of data.mean {data.mean:g} and data.std {data.std:g}"

    @property
    def _settings(self) -> dict[str, Any]:
        """Settings, and the family: the class of this package, which a class of one's own may extend."""
        ours = (kind.__name__ for kind in type(self).__mro__ if kind.__module__.startswith("lit_video."))
        return {**self.hparams, "family": next(ours)}

    def _refuse_what_differs(self, stored: StoredWeights, otherwise: str, *effects: Effect) -> None:
        refuse_other_settings(self._settings, stored, otherwise, *effects)
        if data := self._videos:
            refuse_other_pixels(stored_settings(data), stored, otherwise)

    def _check_labels(self, stored: StoredWeights) -> None:
        if (data := self._videos) and isinstance(names := data.class_names, list):
            check_labels(stored.labels, names)

    @property
    def lr(self) -> float:
        """Base learning rate, under the name that Lightning's ``Tuner.lr_find`` looks for."""
        return self.optimization.lr

    @lr.setter
    def lr(self, lr: float) -> None:
        self.optimization = replace(self.optimization, lr=lr)
        self.hparams.update(optimization=asdict(self.optimization))

    @property
    def _run(self) -> Trainer | None:
        """Lightning's trainer; none under Fabric and in a loop of one's own."""
        try:
            return self.trainer if self.fabric is None else None
        except RuntimeError:
            return None

    @property
    def _videos(self) -> Any:
        """The trainer's data set; none in a user's own program."""
        data = getattr(self._run, "datamodule", None)
        return data if all(hasattr(data, name) for name in ("class_names", *SETTINGS)) else None

    @staticmethod
    @contextmanager
    def _naming(setting: str, path: str) -> Iterator[None]:
        """Say of which file and setting what is wrong."""
        try:
            yield
        except UserError as error:
            raise UserError(f"model.{setting}: {error}") from error
        except ValueError as error:
            raise UserError(f"model.{setting}: {path}: {error}") from error

    @staticmethod
    def _say(path: str, *facts: str) -> None:
        for fact in filter(None, facts):
            rank_zero_only(print)(f"{path}: {fact}", flush=True)

    def loss(self, logits: Tensor, target: Tensor) -> Tensor:
        """Cross entropy, summed over tasks, or binary of several labels; of any targets of a :class:`Batch`.

        The mean is over all clips of the batch; of one that could not be read there is nothing to add. So loss and
        gradient are those of the batch without it, times the share of clips that could be read: every clip weighs the
        same, in any batch and process. (A batch norm, though, sees the grey clip.) Mixup gives a
        clip beside a broken one the weight that it has in the mixture: a dimmed clip, a smaller target.
        """
        if self.several_labels:
            return binary_cross_entropy(logits, target) / len(logits)
        shares = zip(per_task(logits, self.num_classes), per_task(target, self.num_classes), strict=True)
        return torch.stack([F.cross_entropy(*share, reduction="sum") for share in shares]).sum() / len(logits)

    def training_step(self, batch: Any, batch_idx: int) -> Tensor:
        """Cross entropy with class numbers or soft targets; a clip is right when all its tasks are.

        Steps take what :func:`~lit_video.video.batch.as_batch` takes.
        """
        taken = self._batch(batch, batch_idx)
        logits, target = self(taken["clip"]), taken["target"]
        loss = self.loss(logits, target)
        if (run := self._run) is None:
            return loss
        if self.several_labels:
            hits = target.gather(1, logits.argmax(1, keepdim=True))[:, 0] >= 0.5
        else:
            hits = (class_numbers(logits, self.num_classes) == class_numbers(target, self.num_classes)).all(0)
        read = taken["video"] >= 0
        count, right = read.sum(), (hits & read).sum().float()
        self._batches.append(torch.stack((loss.detach().float(), right, count.float())))
        accuracy = right / count.clamp(min=1)  # of what could be read; 0 of none
        # Lightning divides the sum of the ranks' integer weights by their number, and cuts off the rest
        weight: Any = count * run.world_size  # on the device, which is not waited for
        self.log("train/clip_top1", 100 * accuracy, batch_size=weight, on_step=False, on_epoch=True, sync_dist=True)
        return loss

    def _batch(self, batch: Any, number: int, labelled: bool = True) -> Batch:
        """Batch of any loader; every process numbers its batches differently."""
        run = self._run
        return as_batch(batch, number * run.world_size + run.global_rank if run else number, labelled)

    def on_before_optimizer_step(self, optimizer: torch.optim.Optimizer) -> None:
        """Log the step's loss: the mean over its batches and over all processes, as of one process and one batch."""
        if not self._batches:  # a training step of the user's own
            return
        step = mean_over_ranks(torch.stack(self._batches).mean(0))
        self.step_loss, self.step_hits = step[0], step[1:]
        self._batches.clear()
        self.log("train/loss", self.step_loss, batch_size=1)  # prog_bar would fetch it in every step

    def validation_step(self, batch: Any, batch_idx: int) -> None:
        """Collect the centre views."""
        self._collect(self.val_accuracy, batch, batch_idx)

    def _collect(self, accuracy: VideoAccuracy, batch: Any, number: int) -> None:
        taken = self._batch(batch, number)
        accuracy.update(self(taken["clip"]), taken["target"], taken["video"], taken["view"])

    def on_validation_epoch_end(self) -> None:
        """One view per video: clip accuracy, and the loss over videos that could be read."""
        result = self.val_accuracy.compute()
        self.val_accuracy.reset()
        self.log("val/loss", result["loss"])
        self.log("val/clip_top1", result["top1"], prog_bar=True)
        self.log("val/clip_top5", result["top5"])
        self.log_dict({f"val/{k}": v for k, v in result.items() if "_" in k})  # of single tasks

    def test_step(self, batch: Any, batch_idx: int) -> None:
        """Collect all views."""
        self._collect(self.test_accuracy, batch, batch_idx)

    def on_test_epoch_end(self) -> None:
        """All views per video: video accuracy. The metric keeps its state for callbacks until the next test."""
        result = self.test_accuracy.compute()
        whole = {"test/video_top1": result["top1"], "test/video_top5": result["top5"], "test/videos": result["videos"]}
        self.log_dict(whole | {f"test/{k}": v for k, v in result.items() if "_" in k})  # and of single tasks

    def predict_step(self, batch: Any, batch_idx: int) -> Tensor:
        """Logits ``(b, classes)``, of clips with classes or without; NaN where a video could not be read."""
        taken = self._batch(batch, batch_idx, labelled=False)
        return self(taken["clip"]).masked_fill((taken["video"] < 0)[:, None], torch.nan)

    @property
    def few_classes(self) -> bool:
        """Whether there are at most five, so that the five best are all."""
        return isinstance(self.num_classes, int) and self.num_classes <= 5

    def on_test_epoch_start(self) -> None:
        """Forget the last test."""
        self.test_accuracy.reset()

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Refuse weights of another scheme, other pixels or other classes, with the flags that correct it."""
        if self.weights_settings == "ignore":
            return
        stored = of_our_own(checkpoint)
        try:
            self._refuse_what_differs(stored, IGNORE, "function", "shape")
            refuse_another_grid(self.network, stored, IGNORE)
            self._check_labels(stored)
        except ValueError as error:
            raise UserError(f"the checkpoint does not fit: {error}") from error

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Add the settings of the model; the names of the classes, and how clips are made, if the data set has them."""
        checkpoint[MODEL_KEY] = {name: self._settings[name] for name in CHECKED if name in self._settings}
        if data := self._videos:
            own = {"model": class_path(type(self)), "data": stored_settings(data), "class_names": data.class_names}
            checkpoint[CHECKPOINT_KEY] = own

    def configure_optimizers(self) -> Any:
        """Optimizer, and a rate that follows the step."""
        optimizer = make_optimizer(self.optimization, self.network)
        steps = self.trainer.estimated_stepping_batches
        if steps == math.inf:
            raise UserError("the schedule of the learning rate needs an end: give trainer.max_epochs or max_steps")
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: rate(self.optimization, step / steps))
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}


def _plain(value: Any) -> Any:
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value


def _mark_loaded(network: nn.Module, _: object) -> None:
    setattr(network, LOADED, True)
