"""The table of all schemes on the temporal skills: its rows run at every length, and reach as far as they should."""

import pytest

from lit_video.commands.arguments import parse_request
from lit_video.inference.reach import Reach, reach
from lit_video.tables.reading import read_table
from lit_video.training.cli import BuildCLI
from lit_video.training.run import build_row
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
    built = build_row(request, request.table.row(name), 0, BuildCLI)
    assert reach(built.model.network, 8, 32) == REACH[name]
