"""Attentive probe of frozen tokens: one learned query reads all tokens of a clip, as in V-JEPA (arXiv:2404.08471)."""

import math
from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from lit_video.network.aggregation import AttentiveProbe
from lit_video.probes.heads import ProbeHits, is_tested
from lit_video.utils.logistic import HELD_OUT
from lit_video.video.seeding import seeded

MOST_TRAINING_STEPS = 800  # the number of epochs within them is chosen on held-out training rounds
BATCH_SIZE = 32
RATE = 1e-3
DECAY = 0.05
HEAD_WIDTH = 64  # width of a head, as in ViT
Tokens = NDArray[np.floating]  # (rounds, skills, 2, tokens, width)


def attentive_hits(tokens: Tokens) -> ProbeHits:
    """Train an attentive probe on tokens ``(rounds, skills, 2, tokens, width)``; return which test videos are right.

    One probe has two classes for each skill, its directions. *Recognised*: the largest logit is of the true skill.
    *Direction*: of the true skill's two logits, that of the true direction is larger. The probe adds no positions in
    time, so it can read only those that the tokens hold. A third of the training rounds is held out to choose the
    number of epochs, by the log loss.
    """
    rounds, skills = tokens.shape[:2]
    tested = is_tested(rounds)
    trained = tokens[~tested]
    held_out = np.arange(len(trained)) % HELD_OUT == 0
    scale = _Scale(trained)

    losses: list[float] = []
    videos = trained[~held_out].size // (tokens.shape[-2] * tokens.shape[-1])
    most = math.ceil(MOST_TRAINING_STEPS / math.ceil(videos / BATCH_SIZE))
    judges = trained[held_out]
    for probe in _trained(trained[~held_out], scale, most):
        losses.append(float(nn.functional.cross_entropy(_logits(probe, judges, scale), _labels(judges))))
    epochs = 1 + int(np.argmin(losses))
    *_, probe = _trained(trained, scale, epochs)

    # the axes of the logits: rounds, skills, directions of the videos; then skills and directions of the classes
    logits = _logits(probe, tokens[tested], scale).reshape(-1, skills, 2, skills, 2)
    recognised = logits.amax(-1).argmax(-1) == torch.arange(skills)[:, None]
    of_true_skill = torch.stack([logits[:, number, :, number] for number in range(skills)], dim=1)
    direction = of_true_skill.argmax(-1) == torch.arange(2)
    return ProbeHits(recognised.numpy(), direction.numpy())


class _Scale:
    """Standardisation of tokens, by the mean and standard deviation of each feature over the training rounds."""

    def __init__(self, tokens: Tokens) -> None:
        flat = tokens.reshape(-1, tokens.shape[-1])
        deviation = torch.from_numpy(flat.std(0, dtype=np.float64)).float()
        self.mean = torch.from_numpy(flat.mean(0, dtype=np.float64)).float()
        self.std = torch.where(deviation > 0, deviation, 1.0)

    def __call__(self, tokens: Tokens) -> Tensor:
        """Return float32 tokens ``(b, n, d)``."""
        return (torch.from_numpy(tokens).float() - self.mean) / self.std


def _trained(tokens: Tokens, scale: _Scale, epochs: int) -> Iterator[AttentiveProbe]:
    """Train a probe; yield it after each epoch, in eval mode."""
    clips = tokens.reshape(-1, *tokens.shape[3:])
    labels = _labels(tokens)
    width = tokens.shape[-1]
    num_heads = width // HEAD_WIDTH if width % HEAD_WIDTH == 0 else 1
    with seeded("attentive probe"):
        probe = AttentiveProbe(width, 2 * tokens.shape[1], num_heads)

    optimizer = torch.optim.AdamW(probe.parameters(), lr=RATE, weight_decay=DECAY)
    draw = np.random.default_rng(0)
    for _ in range(epochs):
        probe.train()
        order = draw.permutation(len(clips))
        for start in range(0, len(clips), BATCH_SIZE):
            chosen = order[start : start + BATCH_SIZE]
            loss = nn.functional.cross_entropy(probe(scale(clips[chosen])), labels[chosen])
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        yield probe.eval()


def _labels(tokens: Tokens) -> Tensor:
    """Return the class of every video of ``(rounds, skills, 2, tokens, width)``."""
    return torch.arange(2 * tokens.shape[1]).repeat(len(tokens))


@torch.no_grad()
def _logits(probe: AttentiveProbe, tokens: Tokens, scale: _Scale) -> Tensor:
    """Return the logits of every video, ``(videos, classes)``."""
    clips = tokens.reshape(-1, *tokens.shape[3:])
    parts = [clips[start : start + BATCH_SIZE] for start in range(0, len(clips), BATCH_SIZE)]
    return torch.cat([probe(scale(part)) for part in parts])
