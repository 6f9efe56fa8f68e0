"""Targets that X-ViTs are pretrained on with drawn videos: labels, masked patches, displacement."""

import math
from typing import Any

import torch
from einops import rearrange
from torch import Tensor, nn

from lit_video.attention import Grid
from lit_video.modules import XViT
from lit_video.network.parts import Readout
from lit_video.utils.classes import by_task, per_task


def patch_tokens(tokens: Tensor, grid: Grid, norm: nn.Module) -> Tensor:
    """Return the normalised tokens of the patches without class and register tokens.

    Shape: ``(b, t * (prefix + n), d) -> (b, t, n, d)``.
    """
    frames = rearrange(norm(tokens), "b (t m) d -> b t m d", t=grid.t)
    return frames[:, :, -grid.h * grid.w :]


class MeanPatch(Readout):
    """Read out the mean patch of every frame, which a target on patches has trained; not the class token.

    Shape: ``(b, t * (1 + n), d) -> (b, t, d)``.
    """

    def forward(self, x: Tensor, grid: Grid, norm: nn.Module) -> Tensor:
        """Return the features of tokens."""
        return patch_tokens(x, grid, norm).mean(2)


class MaskedXViT(XViT):
    """X-ViT that fills in masked patches of a clip, the self-supervised target of SimMIM (arXiv:2111.09886).

    All frames hide the same places (tubes of VideoMAE, arXiv:2203.12602), as grey pixels; a linear layer on
    the patches' tokens gives their pixels, normalised in each patch.
    """

    masked = 0.6  #: share of the places

    def __init__(self, *args: Any, patch_size: int, **kwargs: Any) -> None:
        super().__init__(*args, patch_size=patch_size, **kwargs)
        self.patch_size = patch_size
        self.pixels = nn.Linear(self.network.embed.embed_dim, 3 * patch_size**2)

    def loss_of(self, clip: Tensor) -> Tensor:
        """Return the mean squared error of the masked patches of clips ``(b, 3, t, h, w)``."""
        side = self.patch_size
        target = rearrange(clip, "b c t (h p) (w q) -> b t (h w) (p q c)", p=side, q=side)
        target = (target - target.mean(-1, keepdim=True)) / (target.std(-1, keepdim=True) + 1e-3)
        places = target.shape[2]
        height = clip.shape[3] // side

        order = torch.rand(len(clip), places, device=clip.device).argsort(1)
        hidden = order < round(self.masked * places)
        shown = rearrange(~hidden, "b (h w) -> b 1 1 h w", h=height).float()
        seen = clip * shown.repeat_interleave(side, 3).repeat_interleave(side, 4)

        tokens, grid = self.network.forward_tokens(seen)
        patches = patch_tokens(tokens, grid, self.network.norm)
        error = (self.pixels(patches) - target).square().mean(-1)
        return error.mean(1)[hidden].mean()

    def training_step(self, batch: Any, batch_idx: int) -> Tensor:
        """Return the loss of a batch."""
        loss = self.loss_of(batch["clip"])
        self.log("train/loss", loss, batch_size=len(batch["clip"]))
        return loss

    def validation_step(self, batch: Any, batch_idx: int, dataloader_idx: int = 0) -> None:
        """Log the loss of drawn videos that are not trained on."""
        self.log("val/loss", self.loss_of(batch["clip"]), batch_size=len(batch["clip"]))


class FlowXViT(XViT):
    """X-ViT that tells where each patch moves until the next frame, besides the labels of the clip.

    A linear layer on the patches' tokens gives the mean displacement of their pixels.
    """

    unit = 0.05  # displacement of 1, in sides of the picture: about the deviation of drawn videos

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.displacement = nn.Linear(self.network.embed.embed_dim, 2)

    def outputs(self, batch: Any) -> dict[str, Tensor]:
        """Return the logits of a batch, the loss of its flow, and ``still``, that loss if nothing is said to move."""
        network = self.network
        tokens, grid = network.forward_tokens(batch["clip"])
        logits = network.aggregate(network.readout(tokens, grid, network.norm))

        flow = rearrange(batch["flow"], "b t c h w -> b t (h w) c")
        target = flow[..., :2] / self.unit
        known = flow[..., 2]
        patches = patch_tokens(tokens, grid, network.norm)
        error = nn.functional.huber_loss(self.displacement(patches), target, reduction="none").sum(-1)
        still = nn.functional.huber_loss(torch.zeros_like(target), target, reduction="none").sum(-1)
        return {
            "logits": logits,
            "flow": (error * known).sum() / known.sum(),
            "still": (still * known).sum() / known.sum(),
        }

    def training_step(self, batch: Any, batch_idx: int) -> Tensor:
        """Return the loss of a batch."""
        outputs = self.outputs(batch)
        labels = self.loss(outputs["logits"], batch["target"])
        loss = labels / self.chance + outputs["flow"]
        values = {"train/loss": loss, "train/labels": labels, "train/flow": outputs["flow"]}
        self.log_dict(values, batch_size=len(batch["clip"]))
        return loss

    @property
    def chance(self) -> float:
        """Cross entropy of guessing all tasks."""
        return sum(math.log(count) for count in by_task(self.num_classes).values())

    def validation_step(self, batch: Any, batch_idx: int, dataloader_idx: int = 0) -> None:
        """Log accuracies of each task, and the share of the displacement that is explained."""
        outputs = self.outputs(batch)
        size = len(batch["clip"])
        explained = 100 * (1 - outputs["flow"] / outputs["still"])
        self.log("val/flow", explained, batch_size=size)
        logits = per_task(outputs["logits"], self.num_classes)
        targets = per_task(batch["target"], self.num_classes)
        for task, scores, target in zip(by_task(self.num_classes), logits, targets, strict=True):
            right = (scores.argmax(1) == target).float()
            self.log(f"val/{task}", 100 * right.mean(), batch_size=size)


TARGETS: dict[str, type[XViT]] = {"labels": XViT, "pixels": MaskedXViT, "flow": FlowXViT}
