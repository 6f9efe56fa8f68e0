"""Test our own table of the cost of causality."""

import pytest

from lit_video.experiment.request import Run
from lit_video.experiment.spec import Spec
from lit_video.network.streaming import Stream
from lit_video.schemes.reach import reach
from lit_video.settings.differences import lasting_settings
from lit_video.tables.reading import read_table
from tests.command_line import parse_request
from tests.conftest import quick_or_slow
from tests.tables.experiments import EXPERIMENTS

CAUSAL = EXPERIMENTS / "causal.yaml"
PAIRS = {"tw1": "causal1", "tw2": "causal2", "tw1_ta": "causal1_ta"}


def built(table, name, device="meta"):
    request = parse_request(["--config", str(table)])
    return Spec(Run(request, request.table.row(name), 0)).build(device)


def test_rows_stand_in_pairs_that_differ_in_causality_alone(tiny):
    assert {row.name for row in read_table([CAUSAL]).rows} == {*PAIRS, *PAIRS.values()}
    for both, past in PAIRS.items():
        one, other = (lasting_settings(built(CAUSAL, name).config.as_dict()) for name in (both, past))
        assert {key for key in one.keys() | other.keys() if one.get(key) != other.get(key)} == {
            "model.init_args.causal"
        }


FRAMES = [("tw1", 7), ("causal1", 4), ("causal2", 7), ("causal1_ta", 7)]


@pytest.mark.parametrize(("name", "expected"), quick_or_slow(FRAMES, {("causal1", 4)}))
def test_causal_rows_reach_back_as_far_as_their_windows_add_up(name, expected, tiny):
    network = built(CAUSAL, name, "cpu").model.network
    found = reach(network, 8, 32)
    assert (found.frames, found.order) == (expected, True)
    if name in PAIRS.values():
        assert Stream(network).num_frames == 8
