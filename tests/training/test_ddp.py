"""Test that two processes give what one gives. Starting them takes long, so tests share a launch; one is quick."""

import json
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from lit_video.modules.metrics import VideoAccuracy
from lit_video.runs.folder import has_result, read_finished
from tests.conftest import FOUR_SKILLS, ROOT, TINY
from tests.embedded import four_skills
from tests.modules.test_video_accuracy import VIDEOS, VIEWS, views
from tests.training.broken_copy import broken_copy, listed
from tests.training.ddp_script import metrics_of
from tests.training.trained import RECIPES, Trained, train

ROW = ["fit", "--config", "tests/small/ablation_tw.yaml", "--row=tw1", "--trainer.logger=false"]
ROW += [flag for flag in TINY if "pairs" not in flag and "batch_size" not in flag]
ROW += ["--trainer.devices=2", "--trainer.strategy=ddp", "--trainer.accelerator=cpu", "--data.batch_size=2"]
AUGMENTED = [f"--data.augmentation.{one}" for one in ("policy=timm-v0", "crop=multiscale", "mixup=0.4", "cutmix=1.0")]
RUN = Path("ablation_tw/embedded/tw1/seed0")


def launch(*command):
    return subprocess.run(
        [sys.executable, "-m", *map(str, command)], cwd=ROOT, capture_output=True, text=True, timeout=600
    )


@pytest.fixture(scope="module")
def row(data_root, tmp_path_factory):
    """Flags of a row over 16, 8 and 8 videos; one of train and two of test are broken."""
    return [*ROW, "--data=VideoFolder", f"--data.root={broken_copy(data_root, tmp_path_factory.mktemp('broken'))}"]


def test_a_row_trains_in_two_processes_that_add_up_their_broken_videos(row, tmp_path):
    # Lightning starts the second process with this one's command line: the row must expand there too.
    # Each process tests four videos, one of them broken: 1 of 8 for each, 2 of 8 together
    policy = ["--data.broken=skip", "--data.broken_percent=30"]
    done = launch("lit_video", *row, *AUGMENTED, *policy, "--runs", tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "Traceback" not in done.stderr
    result = read_finished(tmp_path / RUN).result
    assert (result.test_videos, result.test_broken) == (6, 2)
    assert result.steps == 2 * 16 // 2 // 2
    assert done.stdout.count("test/video_top1") == 1, "one process reports"
    assert sorted(row["split"] for row in listed(tmp_path / RUN)) == ["test", "test", "train"]
    right = result.metrics["train/video_top1"] / 100 * 15
    assert right == pytest.approx(round(right), abs=1e-4), "15 of the 16 training videos can be read; each counts once"


@pytest.fixture(scope="module")
def fit(data_root, tmp_path_factory):
    """Function that trains a row of drawn videos in two processes; return what ended, and the folder of the run."""
    folder = tmp_path_factory.mktemp("stopped")
    drawn = [f"--data.root={data_root}", "--data.pairs=[2,1,1]", *FOUR_SKILLS]

    def run(name, *flags):
        return launch("lit_video", *ROW, *drawn, *flags, "--runs", folder / name), folder / name / RUN

    return run


@pytest.fixture(scope="module")
def undisturbed(fit):
    """Folder of a run of two processes that nothing stops."""
    done, run_dir = fit("undisturbed")
    assert done.returncode == 0, done.stderr[-2000:]
    return run_dir


@pytest.mark.parametrize(
    ("name", "rank", "step", "status", "saved"),
    # a signal to one process stops both; killed processes may not have written the checkpoint of this validation
    [("SIGTERM", "1", 4, 143, {4}), ("SIGKILL", "null", 8, -9, {4, 8})],
)
@pytest.mark.slow
def test_two_processes_stopped_in_a_validation_end_as_undisturbed_ones(
    name, rank, step, status, saved, fit, undisturbed
):
    fault = {"name": name, "step": step, "phase": "validation", "rank": rank}
    flags = [f"--trainer.callbacks.init_args.{key}={value}" for key, value in fault.items()]
    stopped, run_dir = fit(name, "--trainer.callbacks=tests.training.faults.SignalAtStep", *flags)
    assert stopped.returncode == status, stopped.stderr[-2000:]
    assert not has_result(run_dir)
    assert torch.load(run_dir / "last.ckpt", weights_only=True)["global_step"] in saved

    resumed, run_dir = fit(name)
    assert resumed.returncode == 0, resumed.stderr[-2000:]
    result, expected = (read_finished(folder).result for folder in (run_dir, undisturbed))
    assert (result.metrics, result.steps) == (expected.metrics, expected.steps)
    assert (run_dir / "curves.csv").read_bytes() == (undisturbed / "curves.csv").read_bytes()
    weights, others = (
        torch.load(folder / "last.ckpt", weights_only=True)["state_dict"] for folder in (run_dir, undisturbed)
    )
    assert weights.keys() == others.keys()
    assert all(torch.equal(weights[key], others[key]) for key in others)


@pytest.mark.parametrize("step", [2, 3, 4], ids=["in_the_lesson", "at_its_end", "after_it"])
@pytest.mark.slow
def test_two_processes_killed_around_the_end_of_a_lesson_end_as_undisturbed_ones(fit, step):
    lesson = "{classes: [drift left, drift right, zoom growing, zoom shrinking], steps: 3}"
    pairs = ["--data.pairing=reverse", f"--data.lesson={lesson}", "--checkpoint_every=0.0"]
    done, undisturbed = fit("lesson", *pairs)
    assert done.returncode == 0, done.stderr[-2000:]

    kill = {"name": "SIGKILL", "step": step, "rank": "null"}
    flags = [f"--trainer.callbacks.init_args.{key}={value}" for key, value in kill.items()]
    killed, _ = fit(f"killed{step}", *pairs, "--trainer.callbacks=tests.training.faults.SignalAtStep", *flags)
    assert killed.returncode == -9, killed.stderr[-2000:]
    resumed, run_dir = fit(f"killed{step}", *pairs)
    assert resumed.returncode == 0, resumed.stderr[-2000:]
    weights, others = (
        torch.load(folder / "last.ckpt", weights_only=True)["state_dict"] for folder in (run_dir, undisturbed)
    )
    assert all(torch.equal(weights[key], others[key]) for key in others)


@pytest.fixture(scope="module")
def seven_videos(data_root, tmp_path_factory):
    """Folder with seven test videos, which two processes cannot divide evenly."""
    data = four_skills(data_root)
    data.prepare_data()
    folder = tmp_path_factory.mktemp("seven")
    for split in ("train", "val", "test"):
        for record in [*data.records(split)][: 7 if split == "test" else None]:
            target = folder / record.path.relative_to(data.root)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(record.path)
    return folder


@dataclass
class Launched:
    """Files of two processes, their exit status and their printed text."""

    folder: Path
    returncode: int
    stderr: str


ONE = ["--trainer.devices=1", "--trainer.strategy=auto", "--data.broken=report"]


@pytest.fixture(scope="module")
def one(row, tmp_path_factory):
    """Function that trains in one process with six clips to a step; four of 16 videos are left out in each epoch."""

    def train_one(recipe, batch_size, **more):
        flags = [*row[1:], *ONE, f"--data.batch_size={batch_size}", "--global_batch=6", *RECIPES[recipe]]
        return train([*flags, "--runs", str(tmp_path_factory.mktemp("one"))], **more)

    return train_one


@pytest.fixture(scope="module")
def launched(seven_videos, row, one, made_once):
    def fill(folder):
        (folder / "one").mkdir()
        one("drawn", 3, save_to=folder / "one")
        done = launch("tests.training.ddp_script", seven_videos, folder, *row, "--data.broken=report")
        (folder / "ended.json").write_text(json.dumps([done.returncode, done.stderr]))

    folder = made_once("two_processes", fill)
    return Launched(folder, *json.loads((folder / "ended.json").read_text()))


@pytest.mark.slow
def test_video_accuracy_of_two_processes_is_that_of_one(launched, seven_videos):
    metrics = json.loads((launched.folder / "metrics.json").read_text())
    assert metrics[0]["test/videos"] == metrics[1]["test/videos"] == 7
    assert metrics == [pytest.approx(one) for one in metrics_of(str(seven_videos), 1)]


@pytest.mark.slow
def test_a_metric_of_two_processes_with_a_padded_last_batch_is_that_of_one(launched):
    assert VIDEOS * VIEWS % 2
    one = VideoAccuracy()
    logits, target, video, view = views()
    one.update(logits, target, video=video, view=view)
    for rank in range(2):
        stored = torch.load(launched.folder / f"{rank}.pt", weights_only=True)
        assert stored["views"] == VIDEOS * VIEWS + 1
        assert stored["result"] == one.compute()
        assert torch.equal(stored["mean"], one.per_video()[0])


@pytest.fixture(scope="module")
def trained(launched):
    """Trainings of two processes, by recipe and by the checkpoint that they resumed from."""
    assert (launched.folder / "trained.pt").exists(), launched.stderr[-2000:]
    runs = torch.load(launched.folder / "trained.pt", weights_only=True)
    return {name: Trained(*run) for name, run in runs.items()}


def assert_same(run, expected, last=None):
    """Check weights and logged losses, of all steps or of the last ones, up to the order of sums in float32."""
    assert run.steps == expected.steps == 4
    torch.testing.assert_close(run.weights, expected.weights, rtol=1e-4, atol=1e-5)
    assert run.losses == pytest.approx(expected.losses[-last if last else 0 :], rel=1e-5)
    assert run.metrics["val/loss"] == pytest.approx(expected.metrics["val/loss"], rel=1e-4)


@pytest.mark.parametrize(
    ("recipe", "batch_size"),
    [("plain", 6), ("drawn", 3), ("plain", 2), ("plain", 3)],
)
@pytest.mark.slow
def test_one_process_logs_and_trains_what_two_do(recipe, batch_size, one, trained):
    run = one(recipe, batch_size)
    assert_same(run, trained[recipe])
    assert run.losses[0] != run.losses[1]
    assert run.metrics["train/clip_top1"] == pytest.approx(trained[recipe].metrics["train/clip_top1"])


@pytest.mark.slow
def test_one_process_goes_on_from_two_and_two_from_one(one, trained, launched):
    step = 3  # inside the second epoch
    assert_same(trained[f"step{step}"], trained["drawn"], 4 - step)
    assert_same(one("drawn", 3, resume=launched.folder / f"two/drawn/step{step}.ckpt"), trained["drawn"], 4 - step)


@pytest.mark.slow
def test_activation_checkpointing_changes_no_bit_of_two_processes(trained):
    for name, value in trained["drawn"].weights.items():
        assert torch.equal(trained["checkpointing"].weights[name], value), name


@pytest.mark.slow
def test_more_broken_videos_than_allowed_end_two_processes_in_a_line(launched):
    printed = launched.stderr.partition("NEXT ROW")[0]
    assert (launched.folder / "status").read_text() == "2", printed[-2000:]
    assert "25.0 % of the test videos cannot be read, more than 13 %" in printed
    assert "Traceback" not in printed
    assert not has_result(launched.folder / "skip" / RUN)


@pytest.mark.slow
def test_a_broken_video_ends_two_processes_under_fail(launched):
    printed = launched.stderr.partition("NEXT ROW")[2]
    assert launched.returncode != 0
    assert "Invalid data found when processing input; fix the video" in printed
    assert not has_result(launched.folder / "fail" / RUN)


@pytest.mark.slow
def test_two_nodes_of_torchrun_train_what_one_process_does(tmp_path):
    row = [flag for flag in ROW[1:] if not flag.startswith(("--trainer.devices", "--trainer.strategy"))]
    row += [*RECIPES["drawn"], "--trainer.devices=1", "--data.batch_size=3", "--global_batch=6"]
    alone = train([*row, "--runs", str(tmp_path / "alone")])
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    nodes, nodes_flags = [], ["--trainer.num_nodes=2", "--trainer.strategy=ddp"]
    for node in range(2):
        torchrun = ["torch.distributed.run", "--nnodes=2", "--nproc-per-node=1", f"--node-rank={node}"]
        torchrun += ["--master-addr=127.0.0.1", f"--master-port={port}", "-m", "lit_video", "fit"]
        command = [sys.executable, "-m", *torchrun, *row, *nodes_flags, "--runs", str(tmp_path)]
        nodes.append(subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
    printed = [node.communicate(timeout=600) for node in nodes]
    assert [node.returncode for node in nodes] == [0, 0], printed[0][1][-2000:] + printed[1][1][-2000:]
    weights = torch.load(tmp_path / RUN / "last.ckpt", weights_only=True)["state_dict"]
    for name, value in alone.weights.items():
        torch.testing.assert_close(weights[f"network.{name}"], value, rtol=1e-4, atol=1e-5)
    assert read_finished(tmp_path / RUN).result.global_batch == 6
    assert sum("test/video_top1" in out for out, _ in printed) == 1, "one process reports"
