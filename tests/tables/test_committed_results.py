"""Results in the repository are of the experiments as they are now."""

import json
import re

import pytest

from lit_video.commands.arguments import parse_request
from lit_video.datamodules.reversed_pairs import ReversedPairs
from lit_video.training.run import build_row
from lit_video.training.same_settings import same_settings
from tests.tables.experiments import EXPERIMENTS

RESULTS = EXPERIMENTS.parent / "benchmarks" / "results"
ROWS = sorted({path.parents[1] for path in RESULTS.glob("*/*/*/seed*/result.json")})
# the beginning of a path outside the repository
OF_A_MACHINE = re.compile(r"""(^|[\s"'=])(\.\./|~/|/[a-z]+/)""", re.MULTILINE)
VIDEOS = {"avletters": "avletters", "avletters_length": "avletters", "room_actions": "room_actions"}  # by table


@pytest.mark.parametrize("folder", ROWS, ids=lambda folder: "-".join(folder.relative_to(RESULTS).parts))
def test_results_were_made_with_the_settings_of_their_experiment(folder):
    table, scale, row = folder.relative_to(RESULTS).parts
    overlays = [path for path in EXPERIMENTS.glob(f"*/{scale}.yaml") if path.parent.name in ("scale", "parts")]
    flags = [f"--config={path}" for path in (EXPERIMENTS / f"{table}.yaml", *overlays)]
    if name := VIDEOS.get(table, "avletters" if scale.startswith("avletters") else None):
        root = EXPERIMENTS.parents[1] / "shared" / "data" / name
        if not root.is_dir():
            pytest.skip(f"{root}: the videos are not in the repository")
        flags.append(f"--data.root={root}")
    request = parse_request(flags)
    built = build_row(request, request.table.row(row), 0)
    settings = built.resolved()
    ceilings = possible_ceilings(built.datamodule, settings)
    for seed in folder.glob("seed*"):
        ceiling = json.loads((seed / "result.json").read_text()).get("blind_ceiling")
        assert ceiling is None or ceiling in ceilings
        assert (seed / "config.yaml").is_file(), "what a result was made with is part of it"
        now = settings | {"seed_everything": int(seed.name.removeprefix("seed"))}
        assert not same_settings(seed, now, str(seed))


def possible_ceilings(data, settings):
    """What models without order can reach on these videos, and what one that knows which frames are near can."""
    if not isinstance(data, ReversedPairs):
        return []
    exact = settings["model"]["init_args"].get("exact")
    return [data.blind_ceiling, *([data.reversal_ceiling] if exact else [])]


def test_there_are_results():
    assert ROWS


def test_no_result_names_a_folder_of_a_machine():
    """They are DIR, as in recorded commands, also in a run's settings."""
    files = [path for ending in ("json", "yaml") for path in RESULTS.rglob(f"*.{ending}")]
    assert not [path for path in files if OF_A_MACHINE.search(path.read_text(encoding="utf-8"))]
