"""Test that what a message on a training or its folder tells to do can be done as it says, and goes on."""

import errno
import re
import shutil
from types import SimpleNamespace

import pytest
from filelock import FileLock
from lightning.pytorch.callbacks import ModelCheckpoint
from msgspec.structs import replace

from lit_video.engine.finite import RequireFinite
from lit_video.engine.global_batch import GlobalBatch, accumulation
from lit_video.errors import RunFailed, UserError
from lit_video.experiment.identity import read_history
from lit_video.reports import card
from lit_video.reports.html.collect import collect
from lit_video.runs.folder import has_result, read_record
from lit_video.runs.lock import owned
from lit_video.runs.record import Identity
from lit_video.tables.reading import read_table
from lit_video.tables.results import refuse_apart
from lit_video.training.folds import identity_of, result_of
from lit_video.training.run_end import failures
from lit_video.training.trainer import Training
from tests.command_line import parse_request
from tests.fake_runs import EXPERIMENTS, change_result, recorded, write_result, write_two_rows

NOW = Identity({"trainer": {"max_epochs": 2}, "model": {"init_args": {"window": 2}}})


# arguments of a step; the advice; the arguments after it
STEPS = {
    "accumulation": ((16, {"accumulate": 2}), "leave that out,", (16, {})),
    "no global batch": ((16, {"accumulate": 2}), "or set global_batch to null", (None, {"accumulate": 2})),
    "devices": ((16, {"devices": 3}), "take devices and a data.batch_size", (16, {"devices": 4})),
    "the size of a batch": ((16, {"batch_size": 3}), "whose product divides it", (16, {"batch_size": 8})),
}


@pytest.mark.parametrize("case", STEPS)
def test_a_global_batch_is_set_as_told(case):
    (clips, wrong), advice, (then, right) = STEPS[case]
    with pytest.raises(UserError, match=re.escape(advice)):
        accumulation(clips, **{"devices": 2, "batch_size": 4} | wrong)
    assert accumulation(then, **{"devices": 2, "batch_size": 4} | right)


def test_a_run_goes_on_with_the_global_batch_that_is_told():
    def resumed(clips):
        callback = GlobalBatch()
        trainer = SimpleNamespace(
            accumulate_grad_batches=clips // 4,
            world_size=1,
            datamodule=SimpleNamespace(batch_size=4),
            state=SimpleNamespace(fn="fit"),
        )
        callback.setup(trainer, None, "fit")
        counts = {name: {"ready": 8, "started": 8, "processed": 8, "completed": 8} for name in ("total", "current")}
        loop = {"epoch_loop.batch_progress": counts}
        stored = {"loops": {"fit_loop": loop}, "callbacks": {callback.state_key: {"clips": 8, "batches": 2}}}
        callback.on_load_checkpoint(trainer, None, stored)
        return counts["total"]["completed"]

    with pytest.raises(UserError, match="set --global_batch 8, or give another --runs") as error:
        resumed(16)
    (told,) = re.findall(r"set --global_batch (\d+)", str(error.value))
    assert resumed(int(told)) == 8


def test_a_loss_that_is_not_finite_is_allowed_as_told():
    with pytest.raises(RunFailed, match=r"lower the learning rate, or start over and allow .* with --nan skip:N"):
        RequireFinite().fail()
    request = parse_request(["ablation_tw", "--row", "tw1", "--nan", "skip:2", "--model.optimization.lr", "0.001"])
    assert {setting.key: setting.value for setting in request.user_settings}["nan"] == "skip:2"


KNOWN = {
    "DataLoader worker (pid 7) is killed by signal: Killed": "or take fewer --data.num_workers",
    "unable to open shared memory object </torch_1>": "make /dev/shm or the limit of file sizes larger",
}


@pytest.mark.parametrize("error", KNOWN)
def test_the_end_of_a_run_says_what_to_do(error):
    with pytest.raises(RunFailed, match=re.escape(KNOWN[error])), failures():
        raise RuntimeError(error)


def test_a_callback_leaves_its_folder_out_as_told(tmp_path):
    training = SimpleNamespace(run_dir=tmp_path)
    with pytest.raises(UserError, match="leave out dirpath"):
        Training._place_checkpoints(training, [ModelCheckpoint(dirpath=tmp_path)])
    callback = ModelCheckpoint()
    Training._place_checkpoints(training, [callback])
    assert callback.dirpath.startswith(str(tmp_path))


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Folder of fake runs of a table, in the working directory."""
    monkeypatch.chdir(tmp_path)
    return write_two_rows(tmp_path)


def test_a_run_that_is_not_finished_is_trained_first_as_told(runs):
    folder = runs / "ablation_tw/embedded/tw1/seed0"
    whole = (folder / "run.json").read_bytes()
    for content, calls in (("{}", (result_of, identity_of)), (None, (card.tested_run,))):
        (folder / "run.json").unlink()
        if content:
            (folder / "run.json").write_text(content)
        for call in calls:
            with pytest.raises(UserError, match=r"train it (first|again)"):
                call(folder)
        (folder / "run.json").write_bytes(whole)
        assert all(call(folder) for call in calls)


def test_a_folder_of_runs_is_given_as_told(runs):
    with pytest.raises(UserError, match="give a runs folder, or one of a table, scale, row or seed in it"):
        collect([runs.parent / "nowhere"], EXPERIMENTS)
    for place in ("", "ablation_tw", "ablation_tw/embedded", "ablation_tw/embedded/tw1/seed0"):
        assert collect([runs / place], EXPERIMENTS)


def test_another_run_in_a_folder_is_deleted_as_told(runs):
    folder = runs / "ablation_tw/embedded/tw1/seed0"
    with pytest.raises(UserError, match="give another --runs, or delete that folder"):
        read_history(folder).refuse_other(folder, NOW, "here")
    shutil.rmtree(folder)
    assert read_history(folder) is None


def test_a_row_is_changed_with_its_table_or_elsewhere_as_told(runs):
    table = read_table([EXPERIMENTS / "ablation_tw.yaml", EXPERIMENTS / "scale/embedded.yaml"])
    run = read_record(runs / "ablation_tw/embedded/tw1/seed0")
    changed = replace(run.identity, settings={**recorded(table.row("tw1").settings), "global_batch": 7})
    arguments = {"now": changed, "where": "row tw1"}
    change_result(runs / "ablation_tw/embedded/tw0/seed0", identity={"settings": {"global_batch": 5}})
    with pytest.raises(UserError, match="change it for the whole table, or give another --runs"):
        refuse_apart(table, runs, "tw1", **arguments)
    refuse_apart(table, runs.parent / "others", "tw1", **arguments)
    change_result(runs / "ablation_tw/embedded/tw0/seed0", identity={"settings": {"global_batch": 7}})
    refuse_apart(table, runs, "tw1", **arguments)


def test_a_folder_that_another_process_holds_or_that_cannot_be_written_is_waited_for_or_changed_as_told(tmp_path):
    (tmp_path / "run").mkdir()
    row = "tw1 seed 0"
    held = pytest.raises(UserError, match=r"another process is running it .*; wait or stop it")
    with FileLock(tmp_path / "run/lock"), held, owned(tmp_path / "run", row):
        pass
    full = OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(UserError, match="mend that, give another --runs, or set TMPDIR"), owned(tmp_path / "run", row):
        raise full
    with owned(tmp_path / "other", row):
        write_result(tmp_path / "other")
    assert has_result(tmp_path / "other")
