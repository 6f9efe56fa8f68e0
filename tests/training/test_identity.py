"""Test that a folder resumes only the run that it holds, and that a training is reused only by an equal run."""

import shutil

import pytest
import torch
from safetensors.torch import save_file

from lit_video.__main__ import main
from lit_video.engine.checkpoints import peek
from lit_video.errors import UserError
from lit_video.experiment.identity import read_history, take_trained
from lit_video.experiment.request import build_request
from lit_video.runs.folder import read_finished
from lit_video.runs.packing import pack_runs
from lit_video.runs.record import Change
from lit_video.tables.reading import read_table
from lit_video.tables.summary import read_runs
from lit_video.weights.reading import weights_digest
from tests.fake_runs import change_result

COMMIT, OTHER = "0123456789ab", "fedcba987654"
STOP = "--trainer.max_time=00:00:00:00"


@pytest.fixture(autouse=True)
def clean_checkout(monkeypatch):
    monkeypatch.setattr("lit_video.experiment.spec.commit", lambda: COMMIT)


@pytest.fixture
def source(finished):
    """Finished run of a clean checkout."""
    change_result(finished, identity={"commit": COMMIT})
    return finished


@pytest.fixture
def other(table):
    """Another table with the second row of the first, called ``again``."""
    path = table[0].with_name("other.yaml")
    path.write_text(table[0].read_text().replace("second:", "again:"))
    return path


def fit(path, source, flags, row="again"):
    return main(["fit", "--config", str(path), "--row", row, "--runs", str(source.parents[3]), *flags])


def test_a_row_that_is_tested_otherwise_takes_the_weights(source, other, tiny, capsys):
    views = ["--data.test_clips", "2", "--data.test_orders", "[reversed]"]
    assert fit(other, source, [*tiny, *views, "--reuse"]) == 0
    said = capsys.readouterr().out
    assert f"again seed 0: takes the training of {source}" in said
    assert "data.init_args.test_clips was 1, now it is 2" in said
    folder = source.parents[3] / "other/default/again/seed0"
    run = read_finished(folder)
    taken = run.result
    result = read_finished(source).result
    assert (taken.views, result.views) == (6, 3)
    assert "reversed/video_top1" in taken.metrics
    assert taken.seconds == pytest.approx(result.seconds, abs=0.5)
    assert {"data.init_args.test_clips", "data.init_args.test_orders"} <= {change.key for change in run.changes}
    assert (folder / "curves.csv").read_bytes() == (source / "curves.csv").read_bytes()
    own, first = peek(folder / "last.ckpt"), peek(source / "last.ckpt")
    for key, value in first["state_dict"].items():
        assert torch.equal(own["state_dict"][key], value)
    assert (own["lit_video"]["data"]["test_clips"], first["lit_video"]["data"]["test_clips"]) == (2, 1)
    assert (taken.table, taken.row, taken.steps) == ("other", "again", result.steps)
    assert fit(other, source, [*tiny, *views, "--reuse"]) == 0
    assert "again seed 0: finished, skipped" in capsys.readouterr().out


@pytest.mark.slow
def test_a_row_that_takes_weights_has_the_metrics_of_a_row_that_trains(source, other, tiny):
    flags = [*tiny, "--data.test_clips", "2", "--data.test_orders", "[reversed]"]
    assert fit(other, source, [*flags, "--reuse"]) == 0
    alone = source.parents[3].with_name("alone")
    assert main(["fit", "--config", str(other), "--runs", str(alone), *flags, "--row", "again"]) == 0
    taken, trained = (runs / "other/default/again/seed0" for runs in (source.parents[3], alone))
    assert read_finished(taken).result.metrics == read_finished(trained).result.metrics


def test_what_is_reused_runs_one_by_one(table, tiny, tmp_path, capsys):
    assert main(["fit", "--config", str(table[0]), "--runs", str(tmp_path), *tiny, "--reuse", "--jobs", "2"]) == 2
    assert "so one runs at a time; give --jobs 1" in capsys.readouterr().err


@pytest.mark.parametrize(
    "change",
    [
        {"identity": {"commit": OTHER}},
        {"identity": {"versions": {"torch": "1.0"}}},
        {"identity": {"data": "other videos"}},
        {"changes": [{"key": "commit", "from": OTHER, "to": COMMIT}]},
        {"skipped_steps": 1},
        {"params": "many"},
    ],
)
def test_a_run_of_other_code_or_data_or_that_was_changed_or_is_damaged_is_not_taken(change, source, table, tmp_path):
    now = read_finished(source).identity
    target = tmp_path / "runs/two/default/first/seed0"
    target.mkdir(parents=True)
    change_result(source, **change)
    take_trained(build_request([table[0]], ["first"], runs=source.parents[3]).runs[0], now)
    assert not list(target.iterdir())


@pytest.mark.slow
def test_a_run_that_goes_on_at_another_commit_says_so_and_is_not_reused(
    source, table, other, tiny, monkeypatch, capsys
):
    """Stop a run, resume it at another commit, and offer it to another table with an equal row."""
    assert fit(table[0], source, [*tiny, STOP], "first") == 75
    monkeypatch.setattr("lit_video.experiment.spec.commit", lambda: OTHER)
    capsys.readouterr()
    assert fit(table[0], source, tiny, "first") == 0
    folder = source.parents[3] / "two/default/first/seed0"
    assert f"{folder}: commit was {COMMIT}, now it is {OTHER}" in capsys.readouterr().out
    run = read_finished(folder)
    assert run.changes == [Change("commit", COMMIT, OTHER)]
    assert run.identity.commit == OTHER
    other.write_text(other.read_text().replace("first:", "begun:"))
    assert fit(other, source, [*tiny, "--reuse", STOP], "begun") == 75
    assert "takes the training of" not in capsys.readouterr().out


@pytest.mark.parametrize("code", ["unknown", f"{COMMIT}+changes"])
def test_code_without_a_commit_reuses_nothing(source, table, tiny, code, monkeypatch, capsys):
    monkeypatch.setattr("lit_video.experiment.spec.commit", lambda: code)
    assert fit(table[0], source, [*tiny, "--reuse"], "first") == 2
    assert capsys.readouterr().err.startswith(f"error: --reuse: the code is not that of a commit ({code})")


def test_equal_weights_in_another_file_are_the_same_and_changed_ones_are_not(tmp_path):
    weights = {"b": torch.arange(6.0).reshape(2, 3), "a": torch.tensor(1), "h": torch.ones(2, dtype=torch.bfloat16)}
    torch.save({"state_dict": weights, "epoch": 3}, tmp_path / "one.pth")
    save_file(weights, tmp_path / "two.safetensors")
    digest = weights_digest(tmp_path / "one.pth")
    assert weights_digest(tmp_path / "two.safetensors") == digest
    weights["b"][0, 0] += 1e-3
    torch.save(weights, tmp_path / "one.pth")
    assert weights_digest(tmp_path / "one.pth") != digest


@pytest.mark.slow
def test_a_folder_of_other_weights_is_another_run(source, table, tiny, capsys):
    """Refuse other weights in the file that the settings name; accept equal weights in another file."""
    first, second = (source.parents[3].with_name(name) for name in ("first.ckpt", "second.ckpt"))
    first.write_bytes((source / "last.ckpt").read_bytes())
    shutil.rmtree(source)  # a row without these weights
    flags = [*tiny, f"--model.weights={first}", "--model.weights_settings=ignore"]
    assert fit(table[0], source, flags, "first") == 0
    second.write_bytes(first.read_bytes())
    moved = [flag.replace("first.ckpt", "second.ckpt") for flag in flags]
    assert fit(table[0], source, moved, "first") == 0
    assert "finished, skipped" in capsys.readouterr().out
    content = torch.load(first, weights_only=True)
    content["state_dict"]["network.norm.weight"] += 1
    torch.save(content, first)
    assert fit(table[0], source, flags, "first") == 2
    assert f"is another run: model.init_args.weights was {first} (" in capsys.readouterr().err


def test_a_packed_run_is_finished_and_cannot_become_longer(finished, tmp_path):
    pack_runs([finished], tmp_path / "packs")
    packed = tmp_path / "packs/two/default/second/seed0"
    record = read_history(packed)
    record.refuse_other(packed, record.identity, "here")
    assert record.going_on(record.identity).finished
    record.identity.settings["trainer"]["max_epochs"] = 100
    read_history(finished).refuse_other(finished, record.identity, "here")
    assert not read_history(finished).going_on(record.identity).finished, "a run in a folder can become longer"
    with pytest.raises(UserError, match=r"max_epochs was 2, now it is 100 \(packed, without a checkpoint to go on"):
        read_history(packed).refuse_other(packed, record.identity, "here")


def test_a_row_is_not_trained_otherwise_than_the_rows_that_it_is_compared_with(finished, table, tiny, capsys, tmp_path):
    packed = tmp_path / "packs/two/default/first/seed0"
    assert fit(table[0], finished, [*tiny, "--model.ratio=0.25"], "first") == 2
    said = capsys.readouterr().err
    assert (
        f"row first: model.init_args.ratio is 0.25, but in {finished} it is 0.5: they do not belong together; rows are"
        in said
    )
    assert not finished.parents[1].joinpath("first/seed0/last.ckpt").exists()
    assert fit(table[0], finished, [*tiny, "--model.window=2"], "first") == 2
    assert "row first: model.window is 2, row first sets 0; rows are compared" in capsys.readouterr().err
    assert fit(table[0], finished, [*tiny, "--trainer.callbacks+=LambdaCallback"], "first") == 2
    assert "row first: counting callbacks is [" in capsys.readouterr().err
    longer = [flag.replace("max_epochs=2", "max_epochs=3") for flag in tiny]
    assert longer != tiny
    pack_runs([finished], tmp_path / "packs")
    assert fit(table[0], packed, longer, "first") == 2, "a packed row cannot follow"
    assert "trainer.max_epochs is 3, but in " in capsys.readouterr().err
    assert fit(table[0], finished, longer, "first") == 0, "the other row can follow"


def test_rows_that_start_from_different_image_models_are_not_compared(finished, table, tiny, capsys, monkeypatch):
    change_result(finished, identity={"weights": {"stills-8": "of another machine"}})
    monkeypatch.setattr("lit_video.training.run.start_from_stills", lambda *_: {"stills-8": "of this machine"})
    assert fit(table[0], finished, tiny, "first") == 2
    said = capsys.readouterr().err
    assert f"row first: stills-8 is file (of this machine), but in {finished} it is file (of another machine)" in said

    change_result(finished, identity={"weights": {"stills-8": "of this machine"}})
    assert fit(table[0], finished, [*tiny, STOP], "first") != 0
    assert fit(table[0], finished, tiny, "first") == 0
    assert "going on from" in capsys.readouterr().out
    first = finished.parents[1] / "first/seed0"
    assert read_finished(first).identity.weights == {"stills-8": "of this machine"}

    change_result(first, identity={"weights": {"stills-8": "of another machine"}})
    with pytest.raises(UserError, match=r"stills-8 is file .* they do not belong together; move it away"):
        read_runs(read_table([table[0]]), finished.parents[3])


def test_of_a_damaged_result_the_checkpoints_record_counts(finished, table, tiny, capsys):
    path = finished / "run.json"
    expected = read_finished(finished).result
    for harm in (path.unlink, lambda: path.write_bytes(b"garbage")):
        harm()
        assert fit(table[0], finished, [*tiny, "--model.ratio=0.25"], "second") == 2
        assert "is another run: model.init_args.ratio was 0.5, now it is 0.25" in capsys.readouterr().err
    assert fit(table[0], finished, tiny, "second") == 0
    assert "step 8/8" not in capsys.readouterr().out.split("going on from")[1], "only tested, not trained"
    result = read_finished(finished).result
    assert (result.metrics, result.steps) == (expected.metrics, expected.steps)
