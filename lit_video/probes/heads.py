"""Probes of frozen features, linear or attentive: which skill a video shows, and which direction given the skill.

Features have the shape ``(rounds, skills, 2, width)``; the third axis is a video played backwards and as drawn. Every
other round trains the probe, the rest test it, so a video and its reverse are never on both sides. The penalty is
chosen within the training rounds, by the log loss on a third of them. (Cross-validation would test on all videos. But
where features tell nothing, its accuracies vary 1.28 times as much as those of as many independent videos, so their
intervals would be wrong.)
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from lit_video.network.aggregation import AttentiveProbe
from lit_video.utils.logistic import HELD_OUT, FeatureArray, best_strength, coordinates, fit_logistic, log_loss
from lit_video.video.seeding import seeded

FEWEST_ROUNDS = 4
Bools = NDArray[np.bool_]
MOST_TRAINING_STEPS = 800  # the number of epochs within them is chosen on held-out training rounds
BATCH_SIZE = 32
RATE = 1e-3
DECAY = 0.05
HEAD_WIDTH = 64  # width of a head, as in ViT
Tokens = NDArray[np.floating]  # (rounds, skills, 2, tokens, width)


@dataclass(frozen=True)
class ProbeHits:
    """Whether each test video is right; both arrays have the shape ``(test rounds, skills, 2)``."""

    recognised: Bools
    direction: Bools


def linear_hits(features: NDArray[np.floating]) -> ProbeHits:
    """Train logistic regressions on features ``(rounds, skills, 2, width)``; return which test videos are right.

    *Recognised* is by one classifier of the skills. *Direction* is by one classifier of the two directions for each
    skill, tested on all videos of that skill, recognised or not; these classifiers share one penalty.
    """
    tested = is_tested(len(features))
    # coordinates for a linear classifier, scaled by the training rounds
    rows = _rows(features.astype(np.float64))
    x = coordinates(rows, np.repeat(~tested, len(rows) // len(features))).reshape(*features.shape[:-1], -1)
    return ProbeHits(_recognised(x[~tested], x[tested]), _directed(x[~tested], x[tested]))


def is_tested(rounds: int) -> Bools:
    """Return for each round whether it tests the probe; the others train it."""
    return np.arange(rounds) % 2 == 1


def _recognised(trained: FeatureArray, tested: FeatureArray) -> Bools:
    """Return whether the skill of each tested video is named; arguments ``(rounds, skills, 2, width)``."""

    def loss(fitted: FeatureArray, held_out: FeatureArray, strength: float) -> float:
        model = fit_logistic(_rows(fitted), _skill_of(fitted), strength)
        return log_loss(model, _rows(held_out), _skill_of(held_out))

    if trained.shape[1] == 1:
        return np.ones(tested.shape[:-1], np.bool_)
    model = fit_logistic(_rows(trained), _skill_of(trained), _strength(trained, loss))
    hits: Bools = model.predict(_rows(tested)) == _skill_of(tested)
    return hits.reshape(tested.shape[:-1])


def _directed(trained: FeatureArray, tested: FeatureArray) -> Bools:
    """Return whether the direction of each tested video is named, given its skill."""

    def loss(fitted: FeatureArray, held_out: FeatureArray, strength: float) -> float:
        total = 0.0
        for number in range(fitted.shape[1]):
            model = fit_logistic(_rows(fitted[:, number]), _way_of(fitted[:, number]), strength)
            total += log_loss(model, _rows(held_out[:, number]), _way_of(held_out[:, number]))
        return total

    strength = _strength(trained, loss)
    hits = np.zeros(tested.shape[:-1], np.bool_)
    for number in range(trained.shape[1]):
        model = fit_logistic(_rows(trained[:, number]), _way_of(trained[:, number]), strength)
        right = model.predict(_rows(tested[:, number])) == _way_of(tested[:, number])
        hits[:, number] = right.reshape(-1, 2)
    return hits


def _strength(trained: FeatureArray, loss: Callable[[FeatureArray, FeatureArray, float], float]) -> float:
    """Return the strength with the lowest loss on the held-out training rounds."""
    held_out = np.arange(len(trained)) % HELD_OUT == 0
    return best_strength(partial(loss, trained[~held_out], trained[held_out]))


def _rows(x: FeatureArray) -> FeatureArray:
    return x.reshape(-1, x.shape[-1])


def _skill_of(x: FeatureArray) -> NDArray[np.intp]:
    """Return the skill of every row of ``(rounds, skills, 2, width)``."""
    return np.broadcast_to(np.arange(x.shape[1])[:, None], x.shape[:-1]).reshape(-1)


def _way_of(x: FeatureArray) -> NDArray[np.intp]:
    """Return the direction of every row of ``(rounds, 2, width)``: 0 backwards, 1 as drawn."""
    return np.broadcast_to(np.arange(x.shape[1]), x.shape[:-1]).reshape(-1)


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
