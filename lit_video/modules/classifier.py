"""Base class of video classifiers: training, validation, test; a family only builds its network."""

from __future__ import annotations  # a signature then shows names of types, such as Count

import logging
import sys
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields, replace
from inspect import signature
from itertools import chain
from typing import Any, Literal

import torch
from lightning import LightningModule, Trainer
from lightning.pytorch.utilities import rank_zero_only, rank_zero_warn
from torch import Tensor, nn

from lit_video.errors import UserError
from lit_video.modules.evaluation import log_hits, metric_of, numbering
from lit_video.modules.hooks import ClassifierHooks, after_package
from lit_video.modules.hyper_parameters import add_settings, checked_settings, keep_storable, settings_of, videos_of
from lit_video.modules.losses import ClipLoss, check_loss, summed_loss
from lit_video.modules.metrics import (
    VideoAccuracy,
    ViewAverage,
    cross_entropy,
    metric_values,
    right_clips,
    video_metric,
)
from lit_video.modules.optimization import Optimization, make_optimizer, make_schedule, optimization_of
from lit_video.modules.starting_weights import (
    StartingWeights,
    backbone_digest,
    keep_features,
    record_of,
    tell_whether_awaited,
)
from lit_video.network.aggregation import Probe, keeping_inputs, linear_head, put_probe, replace_head
from lit_video.network.block import Checkpointing, set_grad_checkpointing
from lit_video.network.transformer import VideoTransformer, freeze_layers, undecayed, unwrapped
from lit_video.network.vit import ViTSize
from lit_video.utils.arguments import Whole, check_arguments, constructors, types_of
from lit_video.utils.class_paths import class_path, own_class
from lit_video.utils.classes import Classes, by_task
from lit_video.utils.clip_shape import height_and_width, size_in_words
from lit_video.utils.text import did_you_mean, shortened
from lit_video.video.batch import Batch, as_batch, check_axes, check_classes, check_floating, labelled
from lit_video.weights.image_vit import TubeletInit
from lit_video.weights.loading import SourceName
from lit_video.weights.reading import COMPILED, StoredWeights, of_our_own
from lit_video.weights.settings import WeightsSettings

_logger = logging.getLogger(__name__)


# arguments of timm's models -> how the same is asked for here
_SIZES = dict.fromkeys(
    ("embed_dim", "depth", "num_heads", "mlp_ratio"),
    "give size=ViTSize(embed_dim, depth, num_heads), from lit_video.network.vit",
)
_NO_CHANNELS = "clips have three colours: repeat a grey one, clip.expand(-1, 3, -1, -1, -1)"
ADVICE = {
    **_SIZES,
    "pretrained": "lit_video.from_pretrained(NAME) gives a trained model; lit_video.list_models() has the names",
    "in_chans": _NO_CHANNELS,
    "in_channels": _NO_CHANNELS,
}


class VideoClassifier(LightningModule):
    """Base of all model families: loss, steps, optimizer, clip and video accuracy.

    Families take normalised clips ``(b, 3, frames, height, width)`` and return logits ``(b, num_classes)``; the command
    line takes these sizes from the data set. ``image_size`` is (height, width) in pixels, or the side of a square.

    Logs, over all processes, ``train/loss`` and ``train/clip_top1``; for the centre view ``val/loss``,
    ``val/clip_top1`` and ``val/clip_top5``; for the mean over views ``test/video_top1`` and ``test/video_top5``.
    Accuracies are in percent; top-5 needs more than five classes. Several tasks (verb and noun in X-ViT's section 4)
    share one linear layer, whose outputs are split among them.
    Metrics: :class:`~lit_video.modules.metrics.VideoAccuracy`; for several labels per video, ``VideoPrecision``.

    Args:
        network: clips ``(b, 3, t, height, width)`` to logits ``(b, classes)``.
        optimization: optimizer and learning rate; ``None`` for the defaults.
        weights: released checkpoint of this network: a file, a folder, or ``hub:NAME`` from ``lit_video weights``.
            In training, the classifier starts from scratch if the checkpoint has none for these classes.
        weights_settings: what to do with weights that were trained with other settings, although all shapes fit:
            ``None`` refuses them, ``apply`` takes their settings (command line only), ``ignore`` loads them anyway.
        weights_source: program that wrote ``weights``, if parameter names do not show this. For example, TimeSformer's
            code names the parameters of attention in space alone like those of an image model.
        weights_ema: whether to load the moving average that a file may hold beside the weights; ``None`` loads it if
            there is one.
        image_pixels: what to do with image weights that were trained on pixels of another mean or deviation: ``None``
            corrects the patch projection; ``ignore`` loads them as they are (as TimeSformer's release did).
        probe: classifier in place of the family's. ``attentive``: a learned query that reads all tokens, for a frozen
            backbone (V-JEPA, arXiv:2404.08471); ``frames``: a learned query that reads the mean token of each frame;
            ``waves``: a linear classifier of the mean over frames and of slow waves over time.
        freeze: number of blocks to freeze, from the first, with the embedding; ``backbone``: all but the aggregation.
        activation_checkpointing: part of each layer that the backward pass recomputes, ``attention`` or ``block``.
        task_loss: whether the losses of several tasks are added, or averaged as in ViViT's release.
        loss: class of your own in place of the cross entropy of the training, a subclass of
            :class:`~lit_video.modules.losses.ClipLoss`; ``FILE.py:CLASS`` on the command line (docs/adding.md).
        metric: class of your own, a subclass of :class:`~lit_video.modules.metrics.VideoAccuracy`, whose values are
            logged as ``val/NAME`` and ``test/NAME``.
        view_average: what a test averages over the views of a video, ``logits`` or ``softmax`` scores.
        num_classes: classes of each task by its name, in the order of the logits; a number for one task; 0 for the
            features in place of logits, as in timm.
        several_labels: whether a video may have several labels; the command line takes it from the data set.
    """

    # image weights that the network starts from: a file, ``timm:NAME``, or ``stills:N`` (N synthetic pictures)
    image_weights: str | None = None
    size: ViTSize | None = None
    tubelet_init: TubeletInit = "central"

    def __init__(
        self,
        network: nn.Module,
        optimization: Optimization | None = None,
        weights: str | None = None,
        *,
        # how starting weights are taken
        weights_settings: WeightsSettings | None = None,
        weights_source: SourceName | None = None,
        weights_ema: bool | None = None,
        image_pixels: Literal["ignore"] | None = None,
        # layers that are trained
        probe: Probe | None = None,
        freeze: Whole | Literal["backbone"] | None = None,
        activation_checkpointing: Checkpointing = "none",
        # loss and metrics
        task_loss: Literal["sum", "mean"] = "sum",
        loss: str | type[ClipLoss] | None = None,
        metric: str | type[VideoAccuracy] | None = None,
        view_average: ViewAverage = "logits",
        # classes
        num_classes: Classes | None = None,
        several_labels: bool = False,
        **kwargs: Any,
    ) -> None:
        check_model(locals())
        super().__init__()
        if "pytorch_lightning" in sys.modules:
            rank_zero_warn(
                "models of lit_video are LightningModules of lightning: take its Trainer and callbacks, not "
                "those of pytorch_lightning (from lightning import Trainer)"
            )

        self.save_hyperparameters(ignore=["network"])
        keep_storable(self)
        if probe:
            put_probe(network, probe, num_classes)
        if num_classes == 0:
            replace_head(network, 0)
        self.network = network
        self.weights = weights
        self.weights_settings = weights_settings
        self.weights_source = weights_source
        self.weights_ema = weights_ema
        self.image_pixels = image_pixels

        set_grad_checkpointing(network, activation_checkpointing)
        if freeze is not None:
            freeze_layers(network, freeze)
        self.frozen = freeze
        self.optimization = optimization_of(optimization)

        self.own_steps = _has_own_steps(type(self))
        self.num_classes = num_classes
        self.several_labels = several_labels
        self.task_loss = task_loss
        self.view_average = view_average
        self.own_loss = self._make_loss(own_class("loss", loss, ClipLoss))
        self._metric = own_class("metric", metric, VideoAccuracy)
        self._make_metrics()

        # means over the batches of the last optimizer step
        self.step_loss = torch.tensor(0.0)
        self.step_hits = torch.zeros(2)  # numbers of right and of readable clips
        self._batches: list[Tensor] = []  # loss and the two numbers for each batch of the current step
        # messages on the starting weights, or the error of reading them; printed or raised in confirm_start
        self._lines: list[str] = []
        self._refused: Exception | None = None
        self._fits = False  # whether the weights that are read start a training, not a test
        self._known = StoredWeights({})  # class names and pixels with which the model was trained, as far as known
        self._compare = False  # whether the trainer's data set must still be compared with these
        self.weights_record = record_of(self._plain_network)
        self.register_state_dict_post_hook(tell_whether_awaited)  # type: ignore[no-untyped-call]

    @property
    def scheme_name(self) -> str:
        """Name in comparisons of schemes: the family and its kind of attention, without sizes and windows."""
        return type(self).__name__

    @property
    def _has_positions_in_time(self) -> bool:
        """Whether the network has positions in time, so that a clip must have exactly ``num_frames`` frames."""
        network = self._plain_network
        if not isinstance(network, VideoTransformer):
            return False
        positions = self.hparams.get("positions", "space-time")
        if positions is None:  # by default the scheme decides
            return network.embed.temp_embed is not None
        return bool(positions == "space-time")

    def forward(self, clip: Tensor) -> Tensor:
        """Return logits ``(b, classes)`` of normalised clips ``(b, 3, t, h, w)``, computed in the weights' dtype."""
        file = self.weights or self.image_weights
        if file and not (self.weights_record.is_loaded or clip.is_meta):
            raise UserError(f"model: {file} is loaded when training starts; call setup('fit') to load it now")

        check_floating(clip)
        never_features = isinstance(self._plain_network, VideoTransformer) and self.frozen != "backbone"
        if clip.ndim >= 4 or never_features:
            num_frames = self.hparams.get("num_frames") if self._has_positions_in_time else None
            check_axes(clip, num_frames or 0)

        self._mention_other_size(clip)
        dtype = next(self.parameters()).dtype
        if clip.dtype == dtype:
            return self.network(clip)
        return self.network(clip.to(dtype)).to(clip.dtype)

    def _mention_other_size(self, clip: Tensor) -> None:
        """Warn once of clips of other pixels than the model was made for, whose positions are interpolated."""
        made_for = self.hparams.get("image_size")
        is_traced = torch.compiler.is_compiling() or torch.jit.is_tracing()  # type: ignore[attr-defined, no-untyped-call]
        # a Trainer's clips are those of its data set, whose test may have another size on purpose
        if made_for is None or clip.ndim != 5 or is_traced or self._trainer is not None:
            return
        if not isinstance(self._plain_network, VideoTransformer):  # a CNN has no positions
            return
        size = (clip.shape[3], clip.shape[4])
        if size != height_and_width(made_for):
            own_size = size_in_words(made_for)
            clip_size = size_in_words(size)
            rank_zero_warn(f"clips of {clip_size} pixels in a model made for {own_size}: positions are interpolated")

    @property
    def num_features(self) -> int:
        """Number of inputs of the linear classifier."""
        return linear_head(self._plain_network).in_features

    def forward_features(self, clip: Tensor) -> Tensor:
        """Return the features ``(b, num_features)`` of normalised clips: the linear classifier's input."""
        twin, features = self.keeping_features()
        twin(clip)
        return features[0]

    def keeping_features(self) -> tuple[VideoClassifier, list[Tensor]]:
        """Return a twin with the same weights, and the list to which each of its calls adds the features.

        This model stays as it is, so threads may share it.
        """
        twin, features = keeping_inputs(self, self.get_classifier())
        assert isinstance(twin, VideoClassifier)
        return twin, features

    def forward_head(self, features: Tensor) -> Tensor:
        """Return the logits ``(b, classes)`` of features ``(b, num_features)``: the linear classifier alone."""
        return self.get_classifier()(features)

    def get_classifier(self) -> nn.Module:
        """Return the linear classifier, the network's last layer; an identity if the model has no classes."""
        return linear_head(self._plain_network)

    def no_weight_decay(self) -> set[str]:
        """Return the names of tokens and positions, which no optimizer decays unless ``decay_all`` is set."""
        return undecayed(self)

    def set_grad_checkpointing(self, enable: bool | Checkpointing = True) -> None:
        """Recompute activations in the backward pass: of a ``block`` (``True``), its ``attention``, or ``none``."""
        part = set_grad_checkpointing(self._plain_network, enable)
        self.hparams["activation_checkpointing"] = part

    def reset_classifier(self, num_classes: int) -> None:
        """Replace the classifier by one of ``num_classes`` outputs, drawn at random; the rest of the network stays.

        With 0 classes, as in timm, the model returns its features ``(b, num_features)``.
        """
        replace_head(self._plain_network, num_classes)
        self.num_classes = num_classes
        self.hparams["num_classes"] = num_classes
        self._known = replace(self._known, class_names=None)
        self._make_metrics()

    def _make_metrics(self) -> None:
        """Make the metrics of validation and test; those of further loaders are copies, made when they are needed."""
        for name, part in [*self.named_children()]:
            if isinstance(part, VideoAccuracy):
                delattr(self, name)

        kind = self._metric
        self.val_accuracy = video_metric(self.num_classes, self.several_labels, self.view_average, kind=kind)
        self.test_accuracy = video_metric(self.num_classes, self.several_labels, self.view_average, kind=kind)
        if kind and self.num_classes:
            metric_values(self.val_accuracy, self.num_classes, several_labels=self.several_labels)

    def _make_loss(self, kind: type[ClipLoss] | None) -> ClipLoss | None:
        if kind is None:
            return None
        if type(self).loss is not VideoClassifier.loss:
            raise ValueError(
                f"loss is {class_path(kind)}, but {type(self).__name__} has a method loss: give one of them"
            )

        loss = kind()
        if self.num_classes:
            check_loss(loss, self.num_classes, several_labels=self.several_labels)
        return loss

    @LightningModule.trainer.setter  # type: ignore[attr-defined, untyped-decorator]
    def trainer(self, trainer: Trainer | None) -> None:
        """Attach a trainer, with the callback that does the work of this package."""
        LightningModule.trainer.fset(self, trainer)  # type: ignore[attr-defined]
        if isinstance(trainer, Trainer):
            ClassifierHooks.put_first(trainer)

    def setup(self, stage: str) -> None:
        """Load the starting weights if there is no trainer; with one, a callback does so before all others."""
        super().setup(stage)
        if self._trainer is None:
            self.prepare_start(stage)
            self.confirm_start()

    def prepare_start(self, stage: str) -> None:
        """Read the starting weights for ``fit`` or another stage, before it is known whether they are needed.

        A checkpoint that is restored later replaces them, all or a part, and their file may be gone by then. So an
        error is kept until :meth:`confirm_start`.
        """
        self._lines = []
        self._refused = None
        self._fits = stage == "fit"
        self._compare = True
        try:
            self._lines = self._start.load(stage)
        except Exception as error:
            self._refused = error

    def confirm_start(self) -> None:
        """Print what was read, or raise its error, unless a restored checkpoint replaced the starting weights.

        Raises:
            UserError: ``freeze`` would freeze weights that the family has drawn at random.
        """
        lines = self._lines
        refused = self._refused
        self._lines = []
        self._refused = None

        if self._compare and self._trainer is not None:
            self._compare = False
            self._known = self._start.compare(self._known, self._fits)

        if self.weights_record.is_restored:
            return
        if refused:
            raise refused
        for line in lines:
            rank_zero_only(_logger.info)(line)

        of_user = settings_of(self)["family"] == VideoClassifier.__name__  # the user gave the network, and its weights
        drawn = not (self.weights_record.is_loaded or of_user)
        if self._fits and self.frozen is not None and drawn:
            raise UserError(f"model.freeze: {self.frozen} would freeze random weights: give model.weights")

    def cache_features(self, data: Any) -> None:
        """Cache the backbone's features in a data set, which has the setting ``features``."""
        if self.frozen != "backbone":
            raise UserError("data.features: needs a frozen backbone; set model.freeze: backbone")
        keep_features(self._plain_network, data, self.device, backbone=self.backbone_digest)

    @property
    def backbone_digest(self) -> int:
        """Digest of a frozen backbone, by which a data set knows its features; 0 if the backbone is trained."""
        return backbone_digest(self._plain_network, checked_settings(self)) if self.frozen == "backbone" else 0

    @property
    def _start(self) -> StartingWeights:
        return StartingWeights(
            self._plain_network,
            self.weights_record,
            settings_of(self),
            data=videos_of(self),
            weights=self.weights,
            weights_settings=self.weights_settings,
            weights_source=self.weights_source,
            weights_ema=self.weights_ema,
            image_weights=self.image_weights,
            image_pixels=self.image_pixels,
            tubelet_init=self.tubelet_init,
        )

    def check_image_weights(self) -> None:
        """Refuse image weights that do not fit, before any training; the model is on the meta device."""
        self._start.check_image()

    @property
    def trained_on(self) -> str:
        """Videos that the model was trained on, see :mod:`lit_video.video.trained_on`; empty if unknown."""
        return self.weights_record.trained_on

    @property
    def _plain_network(self) -> Any:
        """The network inside wrappers, for example of ``torch.compile`` or PEFT."""
        return unwrapped(self.network)

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """Load weights by name, with or without the prefix of ``torch.compile``."""
        names = {name.replace(COMPILED, ""): name for name in self.state_dict()}
        renamed: Any = OrderedDict()
        for name, value in state_dict.items():
            plain_name = name.replace(COMPILED, "")
            renamed[names.get(plain_name, name)] = value

        metadata = getattr(state_dict, "_metadata", None)  # holds AWAITS, see starting_weights
        if metadata:
            modules = {name.replace(COMPILED, ""): name for name in dict(self.named_modules())}
            renamed._metadata = {}
            for name, facts in metadata.items():
                plain_name = name.replace(COMPILED, "")
                renamed._metadata[modules.get(plain_name, name)] = facts

        return super().load_state_dict(renamed, strict, assign)

    @property
    def lr(self) -> float:
        """Base learning rate, under the name that Lightning's ``Tuner.lr_find`` looks for."""
        return self.optimization.lr

    @lr.setter
    def lr(self, lr: float) -> None:
        self.optimization = replace(self.optimization, lr=lr)
        self.hparams.update(optimization=asdict(self.optimization))

    def loss(self, logits: Tensor, target: Tensor) -> Tensor:
        """Return the cross entropy, or the user's own loss, summed or averaged over tasks; binary with several labels.

        Shape: logits ``(b, classes)``; target: class numbers ``(b,)`` or ``(b, tasks)``, or probabilities like logits.
        The sum of the losses is divided by the number of all clips, the unreadable ones included, which add 0. So a
        readable clip has the same weight in every batch. Of a clip mixed from two (mixup, cutmix), the share of an
        unreadable one adds 0.
        """
        if self.own_loss is None:
            sums = cross_entropy(logits, target, self.num_classes, several_labels=self.several_labels)
        else:
            sums = summed_loss(
                self.own_loss, logits, target, classes=self.num_classes, several_labels=self.several_labels
            )
        losses = sums / len(logits)
        return losses.mean() if self.task_loss == "mean" else losses.sum()

    def training_step(self, batch: Any, batch_idx: int) -> Tensor:
        """Return the loss for class numbers or soft targets; log a clip as right if all its tasks are right."""
        taken = self._batch(batch)
        logits = self(taken["clip"])
        target = taken["target"]
        loss = self.loss(logits, target)

        if self._trainer is not None:
            hits = right_clips(logits, target, self.num_classes, several_labels=self.several_labels)
            right, count = log_hits(self, hits, taken["video"] >= 0)
            self._batches.append(torch.stack((loss.detach().float(), right, count)))

        return loss

    def _on_before_batch_transfer(self, batch: Any, dataloader_idx: int = 0) -> Any:
        """Check the classes while the batch is on the CPU, because a check on the GPU would wait for it."""
        batch = super()._on_before_batch_transfer(batch, dataloader_idx)
        predicts = self._trainer is None or self._trainer.predicting  # Lightning exports without a trainer
        if self.num_classes is not None and not (self.own_steps or predicts):
            check_classes(batch, self.num_classes, self.several_labels)
        return batch

    def _batch(self, batch: Any, numbers: Callable[[Tensor], Tensor] = torch.clone, training: bool = True) -> Batch:
        taken = as_batch(batch, numbers, features=self.frozen == "backbone")
        if not self.num_classes:
            return taken
        return labelled(taken, self.num_classes, several_labels=self.several_labels, training=training)

    def validation_step(self, batch: Any, batch_idx: int, dataloader_idx: int = 0) -> None:
        """Add the centre views to the metric."""
        self._collect("val", batch, dataloader_idx)

    def _collect(self, split: str, batch: Any, loader: int) -> None:
        accuracy = metric_of(self, split, loader)
        taken = self._batch(batch, numbering(self, accuracy, loader), training=False)
        accuracy.update(self(taken["clip"]), taken["target"], video=taken["video"], view=taken["view"])

    def test_step(self, batch: Any, batch_idx: int, dataloader_idx: int = 0) -> None:
        """Add all views to the metric."""
        self._collect("test", batch, dataloader_idx)

    def predict_step(self, batch: Any, batch_idx: int, dataloader_idx: int = 0) -> Tensor:
        """Return logits ``(b, classes)`` of labelled or unlabelled clips; NaN for unreadable videos."""
        taken = as_batch(batch, torch.clone, labelled=False, features=self.frozen == "backbone")
        logits = self(taken["clip"])
        unreadable = taken["video"] < 0
        return logits.masked_fill(unreadable[:, None], torch.nan)

    def _of_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Refuse weights of another scheme, other pixels or other classes; the message names flags that would fit."""
        self._start.refuse_checkpoint(checkpoint)
        self._known = of_our_own(checkpoint)

    def _into_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Add the model's settings and, if there is a data set, its classes, clip settings and videos."""
        add_settings(self, self.weights_record, checkpoint)

    on_load_checkpoint = after_package(_of_checkpoint, LightningModule.on_load_checkpoint)
    on_save_checkpoint = after_package(_into_checkpoint, LightningModule.on_save_checkpoint)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Let a subclass override the two checkpoint hooks without ``super()``: the part of this class still runs."""
        super().__init_subclass__(**kwargs)
        if "on_load_checkpoint" in vars(cls):
            cls.on_load_checkpoint = after_package(cls._of_checkpoint, cls.on_load_checkpoint)
        if "on_save_checkpoint" in vars(cls):
            cls.on_save_checkpoint = after_package(cls._into_checkpoint, cls.on_save_checkpoint)

    def configure_optimizers(self) -> Any:
        """Make optimizer and schedule for all parameters, also those that a subclass adds to the network's."""
        optimizer = make_optimizer(self.optimization, self)
        schedule = make_schedule(self.optimization, optimizer, self.trainer.estimated_stepping_batches)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}


def check_model(arguments: Mapping[str, Any]) -> None:
    """Check the arguments of a model, the ``locals()`` of a constructor's first line, before its network is built.

    Raises:
        ValueError: an argument is no value of its type, or there is a single class.
        TypeError: no constructor behind this one has such an argument.
    """
    check_arguments(arguments)
    given = {**arguments["kwargs"], **arguments}
    kind = type(arguments["self"])
    bases = kind.__mro__
    taken = set[str]()
    for base in bases[bases.index(arguments["__class__"]) + 1 : bases.index(VideoClassifier) + 1]:
        taken |= signature(base.__init__).parameters.keys()  # type: ignore[misc]
    unknown = [name for name in arguments["kwargs"] if name not in taken]
    if unknown:
        raise TypeError(_no_argument(kind, unknown))

    classes = given.get("num_classes")
    if 1 in by_task(classes).values() and not given.get("several_labels") and not _has_own_steps(kind):
        raise ValueError(
            f"num_classes is {classes}: with a single class the loss is always 0 and the accuracy 100 %; "
            "give at least two, or several_labels; to predict a number see docs/in_python.md"
        )


def _has_own_steps(kind: type[VideoClassifier]) -> bool:
    """Return whether a subclass overrides the training step."""
    return kind.training_step is not VideoClassifier.training_step


def _no_argument(kind: type, names: list[str]) -> str:
    """Return the message for arguments that a family does not have."""
    accepted = {*chain.from_iterable(types_of(base.__init__) for base in constructors(kind))}  # type: ignore[misc]
    name = names[0]
    hint = did_you_mean(name, accepted)
    if name in ADVICE and (name not in _SIZES or "size" in accepted):
        hint = f"; {ADVICE[name]}"
    elif name in {field.name for field in fields(Optimization)}:
        hint = f"; give optimization=Optimization({name}=...)"
    elif not hint and len(names) == 1:
        hint = f"; it has {', '.join(sorted(accepted))}"
    return f"{kind.__name__} has no argument {shortened(names)}{hint}"
