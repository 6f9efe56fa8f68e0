"""Logistic regression as the optimizer of a classifier on a frozen backbone."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from lightning.fabric.utilities import move_data_to_device
from torch import Tensor, nn

from lit_video.errors import UserError
from lit_video.modules.hyper_parameters import videos_of
from lit_video.utils.logistic import LinearClassifier, fit_head

UNSEEN_LOGIT = -100.0  # logit of a class without training videos; finite, for formats with fewer bits and for losses


class LogisticRegression(torch.optim.Optimizer):
    """An optimizer that fits the linear classifier of a frozen model by penalised logistic regression.

    The first step reads the classifier's inputs for the centre view of every training video, and writes weights and
    biases of :func:`~lit_video.utils.logistic.fit_head` into the layer. Later steps leave them as they are.
    """

    def __init__(self, model: Any) -> None:
        layer = model.get_classifier()
        trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
        if not isinstance(layer, nn.Linear) or {*trained} != {*layer.parameters()}:
            raise UserError(
                "model.optimization.optimizer: logistic fits a linear classifier alone: set model.freeze: backbone and "
                "model.probe: waves"
            )
        if model.several_labels or not isinstance(model.num_classes, int):
            raise UserError("model.optimization.optimizer: logistic is for one label of one task; give adamw")

        super().__init__(trained, {"lr": 0.0, "is_fitted": False})
        self._model = model
        self._layer = layer

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """Fit the layer in the first step."""
        loss = None
        if closure:
            with torch.enable_grad():
                loss = closure()

        (group,) = self.param_groups
        if not group["is_fitted"]:
            fitted = fit_head(*training_features(self._model), classes=self._model.num_classes)
            write_classifier(self._layer, fitted)
            group["is_fitted"] = True
        return loss


def training_features(model: Any) -> tuple[Any, Any, Any]:
    """Return what the last layer reads of each training video that can be read, in float64, its class and its draw.

    Raises:
        UserError: the trainer has no data module of this package, or several processes; or the videos show one class.
    """
    data = videos_of(model)
    if data is None or not hasattr(data, "training_centres"):
        raise UserError("model.optimization.optimizer: logistic reads the videos of a data module of this package")
    if model.trainer.world_size > 1:
        raise UserError("model.optimization.optimizer: logistic is for one process; set trainer.devices: 1")

    features = list[Tensor]()
    labels = list[Tensor]()
    videos = list[Tensor]()
    model.eval()
    loader, draws = data.training_centres()
    for batch in loader:
        taken = data.normalise(move_data_to_device(batch, model.device))
        is_read = taken["video"] >= 0
        features.append(model.forward_features(taken["clip"][is_read]).double().cpu())
        labels.append(taken["target"][is_read].cpu())
        videos.append(taken["video"][is_read].cpu())
    model.train()

    classes = torch.cat(labels).numpy()
    if len(np.unique(classes)) < 2:
        raise UserError("model.optimization.optimizer: logistic needs training videos of two classes")
    numbers = np.unique(draws, return_inverse=True)[1]
    return torch.cat(features).numpy(), classes, numbers[torch.cat(videos).numpy()]


def write_classifier(layer: nn.Linear, fitted: LinearClassifier) -> None:
    """Write the weights of a classifier into a layer of as many outputs."""
    weight = torch.from_numpy(fitted.weight)
    bias = torch.from_numpy(fitted.bias).clamp(min=UNSEEN_LOGIT)
    with torch.no_grad():
        layer.weight.copy_(weight)
        layer.bias.copy_(bias)
