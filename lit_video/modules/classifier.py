"""Base class of video classifiers: training, validation, test; a family only builds its network."""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields, replace
from typing import Any, Literal

import torch
import torch.nn.functional as F
from lightning import LightningModule, Trainer
from torch import Tensor, nn

from lit_video.errors import UserError
from lit_video.modules.hyper_parameters import keep_storable
from lit_video.modules.metrics import (
    VideoAccuracy,
    VideoPrecision,
    ViewAverage,
    binary_cross_entropy,
    mean_over_ranks,
    right_clips,
    shared_numbers,
)
from lit_video.modules.optimization import Optimization, make_optimizer, optimization_of, rate
from lit_video.modules.starting_weights import StartingWeights, backbone_digest, is_loaded, mark_when_loaded
from lit_video.network.aggregation import Probe, head_inputs, linear_head, put_probe, replace_head
from lit_video.network.block import Checkpointing, checkpoint_layers
from lit_video.network.transformer import VideoTransformer
from lit_video.network.transformer import freeze as freeze_layers
from lit_video.network.vit import ViTSize
from lit_video.utils.class_paths import class_path
from lit_video.utils.classes import Classes, per_task
from lit_video.utils.settings import model_names
from lit_video.video.batch import Batch, as_batch, check_classes, labelled
from lit_video.video.settings import SETTINGS, stored_settings
from lit_video.video.trained_on import noted
from lit_video.weights.image_vit import TubeletInit
from lit_video.weights.loading import SourceName
from lit_video.weights.reading import CHECKPOINT_KEY, COMPILED, MODEL_KEY
from lit_video.weights.settings import WeightsSettings

START = model_names("files", "start")
# stored apart: arguments of ``load_from_checkpoint`` overwrite the hyper-parameters of a checkpoint
CHECKED = ("family", "size", *model_names("function", "shape", "clip", "classes"))


class VideoClassifier(LightningModule):
    """Base of all model families: loss, steps, optimizer, clip and video accuracy.

    Logs ``train/loss`` of every optimizer step, ``train/clip_top1``; ``val/loss``, ``val/clip_top1`` and
    ``val/clip_top5`` (the centre view); ``test/video_top1``, ``test/video_top5`` (all views of a video averaged, every
    video once) and ``test/videos``. All cover all processes; several loaders each have theirs; accuracies in percent.

    Several tasks (Epic-Kitchens' verb and noun, as in X-ViT's section 4) split the columns of one linear layer. The
    loss is the sum of their cross entropies. A prediction is then right if it is right in all tasks;
    ``val/TASK_top1``, ``test/TASK_top1``, ... are of one task (see :class:`~lit_video.modules.metrics.VideoAccuracy`).

    With several labels per video the loss is binary cross entropy, and a prediction is right if it is one of them;
    ``val/mean_average_precision`` and ``test/mean_average_precision`` are logged too.

    Args:
        network: clips ``(b, 3, t, height, width)`` to logits ``(b, classes)``.
        optimization: optimizer and learning rate; ``None`` for the defaults.
        weights: a released checkpoint of this network: a file or folder that
            :func:`~lit_video.weights.reading.read_weights` can read, or ``hub:NAME`` of ``lit_video
            weights``. In training, a classifier of other classes starts from scratch.
        weights_settings: where a release is known to have been trained with other settings than these, which no shape
            shows: ``None`` refuses its weights, ``apply`` takes its settings (on the command line), ``ignore`` goes on.
        weights_source: program that wrote ``weights``, where the names of its parameters do not show it: TimeSformer's
            code gives attention in space alone the names of an image model.
        weights_ema: load the moving average of a file that holds it beside the weights; ``None``: where there is one.
        image_pixels: image weights that are known to have seen pixels of another mean or deviation have the difference
            folded into the patches; ``ignore`` leaves them as they are (TimeSformer's release).
        probe: classifier in place of the family's: ``attentive``, a learned query that reads all tokens, for a frozen
            backbone (V-JEPA, arXiv:2404.08471); ``frames``, one that reads the mean of each frame's tokens.
        freeze: patches, positions and so many blocks, or the whole ``backbone``, stay as they are in training.
        activation_checkpointing: part of a layer that is recomputed in the backward pass: ``attention``, or
            each ``block`` but for its input; the gradients are the same. ``true`` is ``block``, ``false`` ``none``.
        task_loss: whether the losses of several tasks are added, or averaged as in ViViT's release.
        view_average: what a test averages over the views of a video, ``logits`` or ``softmax`` scores.
        num_classes: classes of each task by its name, in the order of the logits; a number for one task.
        several_labels: whether a video may have several labels; the command line takes it from the data set.
        **kwargs: arguments of no family, which are refused.

    Raises:
        TypeError: there is no such argument.
        ValueError: settings do not fit each other, or the shape of a clip.
        UserError: when weights are loaded (``setup``, or the start of training): they are missing or do not fit.
    """

    # weights that image transformers start from: a file, ``timm:NAME``, or ``stills:N`` (N synthetic pictures)
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
        probe: Probe | None = None,
        freeze: int | Literal["backbone"] | None = None,
        activation_checkpointing: Checkpointing = "none",
        task_loss: Literal["sum", "mean"] = "sum",
        view_average: ViewAverage = "logits",
        num_classes: Classes | None = None,
        several_labels: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        for name, value in kwargs.items():
            own = name in Optimization.__dataclass_fields__
            hint = f"; give optimization=Optimization({name}={value!r}), of lit_video.modules.optimization" * own
            raise TypeError(f"{type(self).__name__} has no argument {name}{hint}")
        counts = num_classes.values() if isinstance(num_classes, dict) else [num_classes]
        if 1 in counts and not several_labels and not self._steps_of_its_own:
            one = f"num_classes is {num_classes}: of a single class the loss is always 0, the accuracy 100 %"
            raise ValueError(f"{one}; it takes two, or several_labels; to predict a number see docs/in_python.md")
        self.save_hyperparameters(ignore=["network"])
        keep_storable(self)
        if probe:
            put_probe(network, probe, num_classes)
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
        self.task_loss = task_loss
        self.view_average: ViewAverage = view_average
        if several_labels and view_average == "softmax":
            raise ValueError("view_average is softmax, but a video may have several labels, which have no softmax")
        self.val_accuracy, self.test_accuracy = self._metric(), self._metric()
        # the last optimizer step's means over batches: loss; numbers of right and of readable clips
        self.step_loss = torch.tensor(0.0)
        self.step_hits = torch.zeros(2)
        self._batches: list[Tensor] = []  # loss, right and readable clips of each batch of this step
        mark_when_loaded(network)

    @property
    def scheme_name(self) -> str:
        """Name in comparisons of schemes: the family and its kind of attention, without sizes and windows."""
        return type(self).__name__

    def forward(self, clip: Tensor) -> Tensor:
        """Return logits ``(b, classes)`` of normalised clips ``(b, 3, t, h, w)``, computed in the weights' dtype.

        Raises:
            ValueError: a clip has other axes, or another number of frames.
            UserError: weights to start from have not been loaded yet.
        """
        given = self.weights or self.image_weights
        if self.weights and self._run and not self._run.training:
            self._start.load("test")
        if given and not (is_loaded(self.network) or clip.is_meta):
            raise UserError(f"model: {given} is loaded when training starts; call setup('fit') to load it now")
        self._check_axes(clip)
        dtype = next(self.parameters()).dtype
        return self.network(clip) if dtype == clip.dtype else self.network(clip.to(dtype)).to(clip.dtype)

    def _check_axes(self, clip: Tensor) -> None:
        """Refuse a clip of another layout, or with more or fewer frames than the temporal positions."""
        tokens = isinstance(self._plain_network, VideoTransformer)
        in_time = tokens and self.hparams.get("positions", "space-time") == "space-time"
        frames = self.hparams.get("frames") if in_time else None
        features = clip.ndim < 4 and (self.frozen == "backbone" or not tokens)
        if not features and (clip.ndim != 5 or clip.shape[1] != 3 or frames not in (None, clip.shape[2])):
            expected = f"(batch, 3 colours, {frames or 'frames'}, height, width)"
            turned = clip.ndim == 5 and clip.shape[2] == 3 != clip.shape[1]
            turn = "; clip.transpose(1, 2) brings colours before frames" * turned
            raise ValueError(f"a clip is {tuple(clip.shape)}, expected {expected}{turn}")

    @property
    def num_features(self) -> int:
        """Number of inputs of the linear classifier."""
        return linear_head(self._plain_network).in_features

    def forward_features(self, clip: Tensor) -> Tensor:
        """Return the features ``(b, num_features)`` of normalised clips: the linear classifier's input."""
        with head_inputs(self._plain_network) as inputs:
            self(clip)
        return inputs[0]

    def reset_classifier(self, num_classes: int) -> None:
        """Replace the classifier by one of ``num_classes`` outputs, drawn at random; the rest of the network stays."""
        replace_head(self._plain_network, num_classes)
        self.num_classes = self.hparams["num_classes"] = num_classes
        self.val_accuracy, self.test_accuracy = self._metric(), self._metric()

    def setup(self, stage: str) -> None:
        """Load the starting weights; under a trainer they are loaded later, after a checkpoint is restored."""
        if stage == "fit" and self.frozen is not None and not (self.weights or self.image_weights):
            raise UserError(f"model.freeze: {self.frozen}, of a network that starts at random: give model.weights")
        if self._run is None:
            self._start.load(stage)

    def on_fit_start(self) -> None:
        """Load the starting weights even if a subclass overrides ``configure_optimizers``."""
        self._start_training()

    def _start_training(self) -> None:
        """Load the starting weights, and cache the backbone's features in a data set that supports it."""
        self._start.load("fit")
        if data := self._videos if getattr(self._videos, "features", None) else None:
            if self.frozen != "backbone":
                raise UserError("data.features: are of a frozen backbone; set model.freeze: backbone")
            network, training = self._plain_network.eval(), self.training
            data.keep_features(network.features, self.device, backbone_digest(network, self._checked))
            network.train(training)

    @property
    def _start(self) -> StartingWeights:
        own = {field.name: getattr(self, field.name) for field in fields(StartingWeights) if field.name in START}
        return StartingWeights(self._plain_network, self._settings, self._videos, **own)

    def check_image_weights(self) -> None:
        """Refuse image weights that do not fit, before any training; the model is on the meta device."""
        self._start.check_image()

    @property
    def trained_on(self) -> str:
        """Videos that the model was trained on, see :mod:`lit_video.video.trained_on`; empty if unknown."""
        return noted(self._plain_network)

    @property
    def _settings(self) -> dict[str, Any]:
        """Settings and the family: the class of this package that the model is or extends."""
        ours = (kind.__name__ for kind in type(self).__mro__ if kind.__module__.startswith("lit_video."))
        return {**self.hparams, "family": next(ours)}

    @property
    def _checked(self) -> dict[str, Any]:
        return {name: value for name, value in self._settings.items() if name in CHECKED}

    @property
    def _plain_network(self) -> Any:
        """Network without the wrapper of ``torch.compile``."""
        return getattr(self.network, "_orig_mod", self.network)

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """Load weights by name, with or without the prefix of ``torch.compile``."""
        names = {name.replace(COMPILED, ""): name for name in self.state_dict()}
        named = {names.get(name.replace(COMPILED, ""), name): value for name, value in state_dict.items()}
        return super().load_state_dict(named, strict, assign)

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
        """Lightning's trainer; ``None`` under Fabric or in a loop without Lightning."""
        try:
            return self.trainer if self.fabric is None else None
        except RuntimeError:
            return None

    @property
    def _videos(self) -> Any:
        """Data module of the trainer; ``None`` for a user's own loaders."""
        data = getattr(self._run, "datamodule", None)
        return data if all(hasattr(data, name) for name in ("class_names", *SETTINGS)) else None

    def loss(self, logits: Tensor, target: Tensor) -> Tensor:
        """Return the cross entropy, summed or averaged over tasks; with several labels the binary one.

        Shape: logits ``(b, classes)``; class numbers ``(b,)``, with tasks ``(b, tasks)``, or probabilities like logits.
        The mean is over all clips of the batch. An unreadable clip adds nothing, so every clip has the same weight in
        any batch and process. (Batch norm does see it, grey.) In cross entropy a clip mixed with it keeps its share.
        """
        if self.several_labels:
            return binary_cross_entropy(logits, target) / len(logits)
        shares = zip(per_task(logits, self.num_classes), per_task(target, self.num_classes), strict=True)
        losses = torch.stack([F.cross_entropy(*share, reduction="sum") for share in shares]) / len(logits)
        return losses.mean() if self.task_loss == "mean" else losses.sum()

    def training_step(self, batch: Any, batch_idx: int) -> Tensor:
        """Return the loss for class numbers or soft targets; a clip is right if all its tasks are.

        Steps accept the batches of :func:`~lit_video.video.batch.as_batch`.
        """
        taken = self._batch(batch)
        logits, target = self(taken["clip"]), taken["target"]
        loss = self.loss(logits, target)
        if (run := self._run) is None:
            return loss
        hits = right_clips(logits, target, self.num_classes, self.several_labels)
        read = taken["video"] >= 0
        count, right = read.sum(), (hits & read).sum().float()
        self._batches.append(torch.stack((loss.detach().float(), right, count.float())))
        accuracy = right / count.clamp(min=1)  # among readable clips; 0 without any
        # Lightning divides the sum of integer weights by the number of ranks, and rounds down
        weight: Any = count * run.world_size  # stays on the device: no synchronisation
        self.log("train/clip_top1", 100 * accuracy, batch_size=weight, on_step=False, on_epoch=True, sync_dist=True)
        return loss

    @property
    def _steps_of_its_own(self) -> bool:
        """True if a user's subclass has steps of its own."""
        return type(self).training_step is not VideoClassifier.training_step

    def _on_before_batch_transfer(self, batch: Any, dataloader_idx: int = 0) -> Any:
        """Check the classes while the batch is on the CPU, to avoid a synchronisation of the GPU."""
        batch = super()._on_before_batch_transfer(batch, dataloader_idx)
        if self.num_classes is not None and not (self._steps_of_its_own or self.trainer.predicting):
            check_classes(batch, self.num_classes, self.several_labels)
        return batch

    def _batch(self, batch: Any, numbers: Callable[[Tensor], Tensor] = torch.clone, training: bool = True) -> Batch:
        taken = as_batch(batch, numbers, features=self.frozen == "backbone")
        return labelled(taken, self.num_classes, self.several_labels, training) if self.num_classes else taken

    def on_before_optimizer_step(self, optimizer: torch.optim.Optimizer) -> None:
        """Log the step's loss: the mean over its batches and all processes."""
        if not self._batches:  # a training step of the user's own
            return
        step = mean_over_ranks(torch.stack(self._batches).mean(0))
        self.step_loss, self.step_hits = step[0], step[1:]
        self._batches.clear()
        self.log("train/loss", self.step_loss, batch_size=1)  # prog_bar would synchronise the GPU in every step

    def validation_step(self, batch: Any, batch_idx: int, dataloader_idx: int = 0) -> None:
        """Collect the centre views."""
        self._collect("val", batch, dataloader_idx)

    def _metric(self) -> VideoAccuracy:
        metric = VideoPrecision if self.several_labels else VideoAccuracy
        return metric(self.num_classes, self.view_average)

    def _accuracy(self, split: str, loader: int) -> VideoAccuracy:
        """Return the metric of one of several loaders: ``val_accuracy``, ``val_accuracy_1``, ..."""
        name = f"{split}_accuracy_{loader}" if loader else f"{split}_accuracy"
        if not hasattr(self, name):
            self.add_module(name, self._metric().to(self.device))
        return self.get_submodule(name)  # type: ignore[return-value]

    def _collect(self, split: str, batch: Any, loader: int) -> None:
        accuracy = self._accuracy(split, loader)
        processes = run.world_size if (run := self._run) else 1

        def numbers(index: Tensor) -> Tensor:
            """Return numbers by the loader's order, for clips of a batch without numbers of videos."""
            number = sum(map(len, accuracy.video)) + index
            return shared_numbers(number, self._loaders[loader], processes) if processes > 1 else number

        taken = self._batch(batch, numbers, training=False)
        accuracy.update(self(taken["clip"]), taken["target"], taken["video"], taken["view"])

    @property
    def _loaders(self) -> Any:
        """Loaders of this validation or test; the Trainer's public attributes may hold others."""
        return self.trainer._evaluation_loop._combined_loader.flattened  # type: ignore[union-attr]

    def _log_accuracy(self, split: str, names: dict[str, str]) -> None:
        """Log each loader's metrics, several loaders' under Lightning's names; nothing after a user's own steps."""
        for loader in range(count := len(self._loaders)):
            if (accuracy := self._accuracy(split, loader)).update_called:
                result, which = accuracy.compute(), f"/dataloader_idx_{loader}" if count > 1 else ""
                single = {name: f"{split}/{name}" for name in result if "_" in name}
                for name, shown in (names | single).items():
                    self.log(shown + which, result[name], prog_bar=shown == "val/clip_top1", add_dataloader_idx=False)

    def on_validation_epoch_start(self) -> None:
        """Reset the metrics of the last validation or test, which may have been interrupted."""
        for part in self.children():
            if isinstance(part, VideoAccuracy):
                part.reset()

    on_test_epoch_start = on_validation_epoch_start

    def on_validation_epoch_end(self) -> None:
        """Log clip accuracy of one view per video, and the loss over videos that could be read."""
        self._log_accuracy("val", {"loss": "val/loss", "top1": "val/clip_top1", "top5": "val/clip_top5"})

    def test_step(self, batch: Any, batch_idx: int, dataloader_idx: int = 0) -> None:
        """Collect all views."""
        self._collect("test", batch, dataloader_idx)

    def on_test_epoch_end(self) -> None:
        """Log video accuracy over all views. The metric keeps its state for callbacks until the next test."""
        self._log_accuracy("test", {"top1": "test/video_top1", "top5": "test/video_top5", "videos": "test/videos"})

    def predict_step(self, batch: Any, batch_idx: int, dataloader_idx: int = 0) -> Tensor:
        """Return logits ``(b, classes)`` of labelled or unlabelled clips; NaN for unreadable videos."""
        taken = as_batch(batch, torch.clone, labelled=False, features=self.frozen == "backbone")
        return self(taken["clip"]).masked_fill((taken["video"] < 0)[:, None], torch.nan)

    @property
    def few_classes(self) -> bool:
        """True for at most five classes: top-5 is always right."""
        return isinstance(self.num_classes, int) and self.num_classes <= 5

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Refuse weights of another scheme, other pixels or other classes; the message has flags that correct this."""
        self._start.refuse_checkpoint(checkpoint)

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Add the model's settings and, if there is a data set, its classes, clip settings and videos."""
        checkpoint[MODEL_KEY] = self._checked
        if data := self._videos:
            own = {"model": class_path(type(self)), "data": stored_settings(data), "class_names": data.class_names}
            known = noted(self._plain_network, getattr(data, "trained_on", ""))
            checkpoint[CHECKPOINT_KEY] = own | {"trained_on": known}

    def configure_optimizers(self) -> Any:
        """Make the optimizer and its schedule by step; Lightning calls this after it has restored a checkpoint."""
        self._start_training()
        optimizer = make_optimizer(self.optimization, self._plain_network)
        steps = self.trainer.estimated_stepping_batches
        if not 0 < steps < math.inf:  # -1: a loader without length; 0: an empty one
            ends = "trainer.max_steps, or trainer.max_epochs and a loader of known length that is not empty"
            raise UserError(f"the schedule of the learning rate needs an end: give {ends}")
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: rate(self.optimization, step / steps))
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}
