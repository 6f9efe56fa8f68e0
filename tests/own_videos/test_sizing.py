"""Test which settings fit into the user's minutes, by a pace that is given."""

import pytest

from lit_video.engine.step_times import Pace
from lit_video.own_videos import sizing
from lit_video.own_videos.choices import nested
from lit_video.own_videos.sizing import Workload, choose_settings
from lit_video.own_videos.starts import start_from
from tests.own_videos.test_choices import video

PACE = Pace(start=1.0, step=1.0, first_read=0.0, view=0.01, other_view=0.01, stage=0.0)


@pytest.fixture
def choose(tmp_path, monkeypatch):
    """Function that chooses settings for 32 training videos, two steps of an epoch of a second each."""
    monkeypatch.setattr(sizing, "pace_of_probe", lambda net, data, once: PACE)

    def chosen(minutes, frozen=None):
        task = Workload(
            facts=[video()] * 40,
            classes=["up", "down"],
            pixels=None,
            trainings=[32],
            validated=4,
            tested=4,
            rows={},
            minutes=minutes,
            frozen=frozen,
            mirror=False,
            features=tmp_path,
            rehearse=lambda groups, row, at_once: PACE,
        )
        return choose_settings(task, start_from("drawn"))

    return chosen


@pytest.mark.parametrize(
    ("minutes", "frozen", "probe"),
    [(2.0, None, None), (0.2, None, "waves"), (0.2, False, None), (2.0, True, "waves")],
    ids=["ten epochs fit", "they do not fit", "they do not, as asked", "frozen as asked"],
)
def test_a_small_model_is_frozen_where_ten_epochs_of_all_layers_do_not_fit(choose, minutes, frozen, probe):
    found = choose(minutes, frozen)
    model = nested(found.choices)["model"]
    assert (model.get("probe"), model.get("freeze")) == (probe, "backbone" if probe else None)
    assert list(found.rows) == ["probed" if probe else "finetuned"]
    assert nested(found.choices)["trainer"]["max_epochs"] <= (50 if probe else 200)
    assert ("features" in nested(found.choices)["data"]) is bool(probe)
