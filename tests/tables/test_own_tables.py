"""Our own tables: of all schemes on the temporal skills, and of what causality costs."""

import pytest

from lit_video.network.streaming import Stream
from lit_video.runs.identity import lasting_settings
from lit_video.schemes.reach import Reach, reach
from lit_video.tables.reading import read_table
from lit_video.training.cli import BuildCLI, CheckCLI
from lit_video.training.request import Run
from lit_video.training.run import build_row
from tests.command_line import parse_request
from tests.conftest import quick_or_slow
from tests.tables.experiments import EXPERIMENTS, resolved

SKILLS = EXPERIMENTS / "skills.yaml"
ROWS = read_table([SKILLS]).rows
REACH = {
    "xvit0": Reach(0, False),
    "xvit1": Reach(7, True),
    "exact1": Reach(7, False, near=True),
    "exact1_time": Reach(7, True),
    "ta_alone": Reach(7, False),
    "divided": Reach(7, True),
    "space": Reach(7, False),  # no positions in time; its final norm follows the mean over frames
    "vivit2": Reach(7, True),
    "perceiver": Reach(7, True),
}


EVERY = [(row, frames) for row in (ROWS[0], ROWS[-1]) for frames in (8, 16, 32)]
EVERY += [pytest.param(row, 8, marks=pytest.mark.slow) for row in ROWS[1:-1]]


@pytest.mark.parametrize(("row", "frames"), EVERY, ids=lambda value: getattr(value, "name", value))
def test_every_row_builds_with_clips_of_every_length(row, frames):
    longer = [EXPERIMENTS / f"parts/frames{frames}.yaml"] if frames > 8 else []
    built = resolved(row.name, SKILLS, *longer)
    assert built.datamodule.frames == built.datamodule.length == frames
    assert built.trainer.max_steps * frames == (2048 * 8 if longer else -frames)
    size = getattr(built.model, "size", None)
    assert size is None or (size.width, size.depth) == (48, 4)


@pytest.mark.parametrize("name", quick_or_slow(REACH, {"xvit0", "exact1_time", "divided"}))
def test_rows_reach_as_far_as_their_schemes_say(name, tiny):
    request = parse_request(["--config", str(SKILLS)])
    built = build_row(Run(request, request.table.row(name), 0), BuildCLI)
    assert reach(built.model.network, 8, 32) == REACH[name]


CAUSAL = EXPERIMENTS / "causal.yaml"
PAIRS = {"tw1": "causal1", "tw2": "causal2", "tw1_ta": "causal1_ta"}


def built(table, name, build=CheckCLI):
    request = parse_request(["--config", str(table)])
    return build_row(Run(request, request.table.row(name), 0), build)


def test_rows_stand_in_pairs_that_differ_in_causality_alone(tiny):
    assert {row.name for row in read_table([CAUSAL]).rows} == {*PAIRS, *PAIRS.values()}
    for both, past in PAIRS.items():
        one, other = (lasting_settings(built(CAUSAL, name).config.as_dict()) for name in (both, past))
        assert {key for key in one.keys() | other.keys() if one.get(key) != other.get(key)} == {
            "model.init_args.causal"
        }


@pytest.mark.parametrize("name", ["tw1", "tw2"])
def test_rows_of_both_sides_are_those_of_table_1(name, tiny):
    tables = (CAUSAL, CAUSAL.with_stem("ablation_tw"))
    runs = [lasting_settings(built(table, name).config.as_dict()) for table in tables]
    here, there = ({k: v for k, v in run.items() if k.startswith(("model", "data", "trainer"))} for run in runs)
    assert here == there


@pytest.mark.parametrize(
    ("name", "expected"),
    [("tw1", Reach(7, True)), ("causal1", Reach(4, True)), ("causal2", Reach(7, True)), ("causal1_ta", Reach(7, True))],
)
def test_causal_rows_reach_back_as_far_as_their_windows_add_up(name, expected, tiny):
    network = built(CAUSAL, name, BuildCLI).model.network
    assert reach(network, 8, 32) == expected
    if name in PAIRS.values():
        assert Stream(network).frames == 8
