"""Test that a row starts from the finished run of another table's row, with the same seed."""

import re
from dataclasses import replace

import pytest
import torch
import yaml

from lit_video.__main__ import main
from lit_video.errors import UserError
from lit_video.experiment.request import Run, build_request
from lit_video.runs.folder import read_finished, write_status
from lit_video.runs.record import Status
from lit_video.tables.table import OF_RUN


@pytest.fixture
def follower(table, tmp_path):
    """Table whose row starts from the row ``second`` of the other table."""
    content = yaml.safe_load(table[0].read_text())
    content["table"]["rows"] = {"third": {"set": {"model.window": 1, "model.weights": f"{OF_RUN}two/default/second"}}}
    path = table[0].with_name("after.yaml")
    path.write_text(yaml.safe_dump(content))
    return path


def fit(path, runs, tiny, seed):
    return main(["fit", "--config", str(path), "--seeds", str(seed), "--runs", str(runs), *tiny])


def test_a_row_starts_from_a_finished_run_of_its_own_seed(follower, finished, tiny, capsys):
    runs = finished.parents[3]
    assert fit(follower, runs, tiny, 1) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    seed1 = finished.with_name("seed1")
    assert f"model.weights: {seed1} is not finished: first run lit_video fit" in line
    assert not (runs / "after").exists()
    (told,) = re.findall(r"first run lit_video (fit .*), or give other --model\.weights$", line)
    assert main([*told.split(), "--print-config"]) == 0 and str(runs) in told
    assert "window: 1" in capsys.readouterr().out, "of the row second"

    begun = runs / "after/default/third/seed1"
    begun.mkdir(parents=True)
    write_status(begun, Status("failed"))
    assert fit(follower, runs, tiny, 1) == 2, "a run that ended before its first checkpoint would read the weights"
    assert "is not finished" in capsys.readouterr().err

    assert fit(follower, runs, [*tiny, "--trainer.max_epochs=1", "--model.optimization.lr=1e-12"], 0) == 0
    run = runs / "after/default/third/seed0"
    weights, start = (torch.load(one / "last.ckpt", weights_only=True)["state_dict"] for one in (run, finished))
    torch.testing.assert_close(weights, start, atol=1e-6, rtol=0)
    assert read_finished(run).identity.weights.keys() == {"model.init_args.weights"}
    assert main(["table", "--config", str(follower), "--runs", str(runs), "--overridden"]) == 0
    assert "sets run:" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("scale", "files"),
    [
        ("k400", ["k400"]),
        ("k400+half", ["k400", "half"]),
        ("k400-paper", ["k400"]),
    ],
)
def test_the_files_of_a_start_s_scale_are_told(scale, files):
    request = replace(build_request(["vivit_models", "scale/epic100"], ["model2"]), recipe="paper")
    row = replace(request.rows[0], settings={"model.weights": f"{OF_RUN}vivit_models/{scale}/model2"})
    run = Run(request, row, 0)
    with pytest.raises(UserError, match="is not finished") as error:
        run.refuse_unfinished_start(str(run.start))
    told = f"fit --config vivit_models {' '.join(f'--config scale/{name}' for name in files)}"
    assert told + (" --recipe paper" if "-" in scale else "") + " --row model2 --seeds 0" in str(error.value)
