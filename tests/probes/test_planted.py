"""Test what probes read of functions with planted features: the direction of motion, or nothing of time."""

import csv

import numpy as np
import pytest
import torch
from matplotlib.backends.backend_agg import FigureCanvasAgg

from lit_video.api.probe import WEAK, Probed
from lit_video.probes.heads import attentive_hits, linear_hits
from lit_video.probes.picture import figure_of
from lit_video.probes.videos import ProbeVideos, steps_of
from lit_video.tables.statistics import accuracy_interval, chance_of_share
from tests.inference.test_result_pictures import check_text_on_a_phone
from tests.probes.conftest import mean_colours, motion, probed, still


def test_a_feature_of_motion_has_all_directions_of_drift():
    seen = probed(motion, pairs=32)
    drift = seen.skills["drift"]
    assert drift.direction.value == 100 and drift.is_seen
    assert drift.direction.low > 80
    assert "drift" in seen.sentences[0]
    still_shape = seen.skills["order1"].direction  # nothing moves
    assert still_shape.low <= 50 <= still_shape.high


@pytest.mark.usefixtures("quick_probe")
@pytest.mark.parametrize("function", [mean_colours, still(tokens=False)])
def test_features_without_time_have_exactly_half_of_the_directions(function):
    seen = probed(function, pairs=12)
    for skill in seen.measured.skills:
        assert skill.direction.value == 50 and not skill.is_seen, skill.name
        assert skill.direction.low < 50 < skill.direction.high
    assert seen.measured.direction.value == 50


def test_features_that_show_the_skill_alone_are_recognised():
    rng = np.random.default_rng(0)
    skills = np.broadcast_to(np.eye(4)[:, None], (12, 4, 2, 4))
    hits = linear_hits(skills + 0.01 * rng.standard_normal(skills.shape))
    assert hits.recognised.all()
    assert 0.2 < hits.direction.mean() < 0.8


def test_features_of_noise_tell_nothing():
    features = np.random.default_rng(1).standard_normal((40, 4, 2, 30))
    hits = linear_hits(features)
    pairs = np.repeat(np.arange(hits.direction.size // 2), 2)
    interval = accuracy_interval(hits.direction.reshape(-1), groups=pairs)
    assert interval.low < 50 < interval.high
    assert chance_of_share(hits.direction.reshape(-1), pairs, 0.5) > 0.025


def test_more_features_than_videos_are_read_like_few():
    """A linear head of wide features is one of the videos' inner products."""
    rng = np.random.default_rng(2)
    features = rng.standard_normal((8, 2, 2, 10))
    features[..., 0] += np.array([-9.0, 9.0])
    wide = np.concatenate([features] * 20, axis=-1) / np.sqrt(20)
    assert (linear_hits(wide).direction == linear_hits(np.repeat(features, 20, -1)).direction).all()


@pytest.mark.slow
def test_an_attentive_probe_reads_a_token_among_others():
    """Show both above chance, by their intervals; no more, as a linear probe of the mean token reads more of these."""
    rng = np.random.default_rng(3)
    tokens = 0.3 * rng.standard_normal((64, 2, 2, 6, 8)).astype(np.float16)
    for skill in range(2):
        for way in range(2):
            tokens[:, skill, way, rng.integers(6), 2 * skill + way] += 3
    hits = attentive_hits(tokens)
    pairs = np.repeat(np.arange(hits.direction.size // 2), 2)
    assert accuracy_interval(hits.direction.reshape(-1), groups=pairs).low > 50
    assert accuracy_interval(hits.recognised.reshape(-1), groups=pairs).low > 50
    assert (attentive_hits(tokens).direction == hits.direction).all()


@pytest.mark.usefixtures("quick_probe")
def test_an_attentive_probe_of_tokens_without_time_has_half_of_the_directions(monkeypatch):
    monkeypatch.setattr("lit_video.probes.heads.MOST_TRAINING_STEPS", 2)
    seen = probed(still(tokens=True), pairs=4)
    assert seen.measured.probe == "attentive"
    assert WEAK in seen.sentences
    assert seen.measured.direction.value == pytest.approx(50, abs=5)
    assert seen.measured.mean_token.direction.value == 50


@pytest.mark.usefixtures("quick_probe")
def test_beside_an_attentive_probe_stands_a_linear_probe_of_the_mean_token(monkeypatch):
    """Plant motion into one of three tokens: the mean token shows it, and an untrained attentive probe does not."""
    monkeypatch.setattr("lit_video.probes.heads.MOST_TRAINING_STEPS", 1)

    def tokens(clips):
        moved = torch.nn.functional.pad(motion(clips), (0, 3))
        return torch.stack([torch.zeros_like(moved), moved, torch.zeros_like(moved)], dim=1)

    seen = probed(tokens, pairs=16)
    beside = seen.measured.mean_token
    assert (seen.measured.probe, beside.probe) == ("attentive", "linear")
    assert {skill.name: skill for skill in beside.skills}["drift"].direction.value == 100
    assert seen.data[0]["mean_token_direction"] == 100 and "direction" in seen.data[0]
    text = str(seen)
    assert text.count("recognised") >= 2 and text.index("attentive probe") < text.index("linear probe of the mean")
    (sentence,) = [sentence for sentence in seen.sentences if sentence.startswith("by the linear probe")]
    assert "drift" in sentence
    of_features = probed(motion, pairs=4)
    assert of_features.measured.mean_token is None and "mean_token_direction" not in of_features.data[0]


@pytest.mark.usefixtures("quick_probe")
def test_the_same_seed_gives_the_same_numbers_and_another_seed_other_videos():
    first = ProbeVideos(8, (32, 32), 0).round(3)
    assert first.equal(ProbeVideos(8, (32, 32), 0).round(3))
    assert not first.equal(ProbeVideos(8, (32, 32), 1).round(3))
    assert first[1].equal(first[0].flip(0))
    assert probed(motion, pairs=4).data == probed(motion, pairs=4).data


@pytest.mark.parametrize(("num_frames", "steps"), [(2, 2), (4, 4), (8, 8), (12, 12), (16, 16), (17, 17), (32, 16)])
def test_a_clip_of_any_length_shows_whole_steps(num_frames, steps):
    assert steps_of(num_frames) == steps
    videos = ProbeVideos(num_frames, (16, 24))
    clips = videos.round(0)
    assert clips.shape == (2 * len(videos.skills), num_frames, 3, 16, 24) and clips.dtype == torch.uint8
    assert videos.small_frames(clips).shape == (len(clips), steps * 64)


def test_training_and_test_films_begin_at_all_steps(monkeypatch):
    """Each half of the rounds has strata of its own: no test begins only where no training film does."""
    begun = {0: [], 1: []}
    monkeypatch.setattr(
        "lit_video.probes.videos.DrawnPair",
        lambda skill, **drawn: begun[len(begun[0]) != len(begun[1])].append(drawn["first"]) or _Nothing(),
    )
    videos = ProbeVideos(8, (32, 32))
    for number in range(16):
        videos._pair(videos.skills[1], number)
    assert sorted(begun[0]) == sorted(begun[1]) == list(range(8))


class _Nothing:
    def render(self, *_):
        return None


def check_picture(figure):
    """Check that no mark is told by its colour alone, that nothing is cut off, and text where the page is a phone's."""
    assert len(figure.axes) == 2
    figure.set_dpi(150)  # that of the files
    FigureCanvasAgg(figure).draw()
    (legend,) = figure.legends
    box = legend.get_window_extent()
    assert box.x0 >= 0 and box.x1 <= figure.bbox.x1 and box.y0 >= 0
    check_text_on_a_phone(figure)
    marks = [(line.get_marker(), line.get_markerfacecolor() == "white") for line in legend.get_lines()]
    assert len({*marks}) == len(marks)
    assert not {line.get_marker() for line in figure.axes[0].lines} & {"o"}, "no test is of what is recognised"


def test_the_result_shows_itself_and_is_written(here):
    seen = probed(motion, pairs=4)
    assert isinstance(seen, Probed)
    assert "drift" in str(seen) and "as given" in str(seen)
    assert "<svg" in seen._repr_html_() and "<table" in seen._repr_html_()
    assert seen.picture.read_bytes().startswith(b"\x89PNG")
    with seen.picture.with_name("skills.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["skill"] for row in rows] == list(seen.skills)
    assert float(rows[0]["direction"]) == seen.skills["drift"].direction.value
    check_picture(figure_of("title", seen.measured))


def test_intervals_of_shares_hold_their_level():
    """Wilson's interval for pairs: independent, equal, and opposite within a pair."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(20), 2)
    for kind in ("independent", "equal", "opposite"):
        missed = 0
        for _ in range(400):
            hits = rng.random((20, 2)) < 0.5
            if kind != "independent":
                hits[:, 1] = hits[:, 0] ^ (kind == "opposite")
            interval = accuracy_interval(hits.reshape(-1), groups=groups)
            missed += not interval.low <= 50 <= interval.high
        assert missed / 400 < 0.08, kind
    everything = accuracy_interval(np.ones(40, bool), groups=groups)
    assert everything.value == everything.high == 100 and 80 < everything.low < 90


@pytest.mark.usefixtures("quick_probe")
@pytest.mark.parametrize(("pairs", "is_told"), [(4, False), (6, True)])
def test_too_few_pairs_for_an_interval_show_none(pairs, is_told, here):
    seen = probed(motion, pairs=pairs)
    text = str(seen)
    assert "inf" not in text
    assert ("no interval for a single skill; 6 pairs" in text) != is_told
    assert (seen.data[0]["direction_low"] is not None) == is_told
    assert "inf" not in seen.picture.with_name("skills.csv").read_text()
