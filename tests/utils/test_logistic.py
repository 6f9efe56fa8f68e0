"""Test the linear head on features: what it reads, and that its penalty is chosen by draws of training videos alone."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lit_video.utils import logistic
from lit_video.utils.logistic import HELD_OUT, UNCHOSEN, fit_head


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
    scores = fit_head(features, labels, np.arange(60), classes=3).scores(tested)
    assert (scores.argmax(1) == targets).mean() > right
    assert np.allclose(np.exp(scores).sum(1), 1)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("width", [6, 200], ids=["many videos", "few videos"])
def test_weights_of_the_features_give_the_scores_of_the_regression_on_standardised_ones(width, classes):
    """With one draw no video chooses the penalty, so it is known."""
    features, labels = videos(60, classes=classes, width=width)
    features = 3 + features * np.linspace(0.1, 10, width)
    tested = 3 + videos(20, seed=1, width=width)[0] * np.linspace(0.1, 10, width)
    regression = make_pipeline(StandardScaler(), LogisticRegression(C=UNCHOSEN, max_iter=5000, tol=1e-8))

    head = fit_head(features, labels, np.zeros(60, int), classes=classes)
    expected = regression.fit(features, labels).predict_log_proba(tested)
    np.testing.assert_allclose(head.scores(tested), expected, atol=5e-3)


def test_a_class_without_training_videos_is_never_predicted():
    features, labels = videos(30)
    scores = fit_head(features, 2 * labels, np.arange(30), classes=6).scores(features)
    assert not np.isin(scores.argmax(1), [1, 3, 5]).any()
    assert np.isneginf(scores[:, [1, 3, 5]]).all()


@pytest.mark.parametrize("persons", [1, 2, 4, 12])
def test_videos_of_one_draw_are_on_one_side_where_the_penalty_is_chosen(persons):
    labels = np.arange(48) % 3
    draws = np.arange(48) % persons
    chosen = set()
    for left_out in logistic._left_out(labels, draws):
        assert not set(draws[left_out]) & set(draws[~left_out])
        assert len(set(labels[~left_out])) >= 2
        chosen |= set(draws[left_out])
    assert len(chosen) == (persons if persons > 1 else 0), "each third has its turn"


def test_where_too_few_draws_are_left_none_chooses():
    parts = [*logistic._left_out(np.array([0, 0, 0, 0, 0, 0, 1, 1]), np.arange(8))]
    assert len(parts) == HELD_OUT and all(set(np.array([0] * 6 + [1] * 2)[~part]) == {0, 1} for part in parts)
    for left_out in logistic._left_out(np.array([0, 1, 0, 1]), np.array([0, 0, 0, 0])):
        assert not left_out.any()


def test_the_penalty_is_chosen_by_log_loss_and_with_noise_it_is_strong(monkeypatch):
    rng = np.random.default_rng(0)
    strengths = []
    fit = logistic.fit_logistic

    def noted(x, labels, strength):
        strengths.append(strength)
        return fit(x, labels, strength)

    monkeypatch.setattr(logistic, "fit_logistic", noted)
    labels = np.arange(60) % 2
    fit_head(rng.standard_normal((60, 30)), labels, np.arange(60), classes=2)
    assert strengths[-1] <= 1e-3
    features, _ = videos(60, classes=2)
    fit_head(features, labels, np.arange(60), classes=2)
    assert strengths[-1] >= 1e-2
