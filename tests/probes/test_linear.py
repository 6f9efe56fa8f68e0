"""Test the linear head on features: what it reads, and that its penalty is chosen by draws of training videos alone."""

import numpy as np
import pytest

from lit_video.probes import linear
from lit_video.probes.linear import HELD_OUT, head_scores


def videos(count, seed=0, classes=3, width=6):
    """Return features whose first entries show the class, and the classes."""
    rng = np.random.default_rng(seed)
    labels = np.arange(count) % classes
    features = rng.standard_normal((count, width))
    features[np.arange(count), labels] += 4
    return features, labels


@pytest.mark.parametrize(("width", "right"), [(6, 0.9), (200, 0.6)])
def test_a_head_reads_classes_that_the_features_show(width, right):
    features, labels = videos(60, width=width)
    tested, targets = videos(90, seed=1, width=width)
    scores = head_scores(features, labels, np.arange(60), tested=tested, classes=3)
    assert (scores.argmax(1) == targets).mean() > right
    assert np.allclose(np.exp(scores).sum(1), 1)


def test_scores_of_a_tested_video_do_not_depend_on_the_other_tested_videos():
    features, labels = videos(30, width=50)
    tested, _ = videos(40, seed=1, width=50)
    together = head_scores(features, labels, np.arange(30), tested=tested, classes=3)
    alone = head_scores(features, labels, np.arange(30), tested=tested[:1], classes=3)
    np.testing.assert_allclose(alone, together[:1], atol=1e-3)


def test_a_class_without_training_videos_is_never_predicted():
    features, labels = videos(30)
    scores = head_scores(features, 2 * labels, np.arange(30), tested=features, classes=6)
    assert not np.isin(scores.argmax(1), [1, 3, 5]).any()
    assert np.isneginf(scores[:, [1, 3, 5]]).all()


@pytest.mark.parametrize("persons", [1, 2, 4, 12])
def test_videos_of_one_draw_are_on_one_side_where_the_penalty_is_chosen(persons):
    labels = np.arange(48) % 3
    draws = np.arange(48) % persons
    held_out = linear._held_out(labels, draws)
    assert not set(draws[held_out]) & set(draws[~held_out])
    assert len(set(draws[held_out])) == persons // HELD_OUT
    assert len(set(labels[~held_out])) >= 2


def test_where_too_few_draws_are_left_none_chooses():
    held_out = linear._held_out(np.array([0, 0, 0, 0, 0, 0, 1, 1]), np.arange(8))
    assert held_out.sum() == 2 and not held_out[6:].any()
    for labels, draws in (([0, 0, 0, 1], [0, 1, 2, 2]), ([0, 1, 2], [0, 1, 2]), ([0, 1, 0, 1], [0, 0, 0, 0])):
        assert not linear._held_out(np.array(labels), np.array(draws)).any()


def test_the_penalty_is_chosen_by_log_loss_and_with_noise_it_is_strong(monkeypatch):
    rng = np.random.default_rng(0)
    strengths = []
    fit = linear.fit_logistic

    def noted(x, labels, strength):
        strengths.append(strength)
        return fit(x, labels, strength)

    monkeypatch.setattr(linear, "fit_logistic", noted)
    labels = np.arange(60) % 2
    noise = rng.standard_normal((60, 30))
    head_scores(noise, labels, np.arange(60), tested=noise[:2], classes=2)
    assert strengths[-1] <= 1e-3
    features, _ = videos(60, classes=2)
    head_scores(features, labels, np.arange(60), tested=features[:2], classes=2)
    assert strengths[-1] >= 1e-2
