"""FSDP2 trains what one process trains; its checkpoints are one process's. One launch serves all tests but one."""

import json
import socket
import subprocess
import sys

import pytest
import torch

from lit_video.__main__ import main
from tests.conftest import ROOT, at_home
from tests.embedded import four_skills
from tests.training.sharded_script import BF16, CNN, TRANSFORMER
from tests.training.trained import Trained, train

pytestmark = pytest.mark.slow
RUN = "ablation_tw/embedded/tw1/seed0"


@pytest.fixture(scope="module")
def folder(data_root, tmp_path_factory):
    """Trainings of one process, in ``one``, and of two, in ``trained.pt`` and ``two``."""
    folder = tmp_path_factory.mktemp("sharded")
    for name in ("one", "two"):
        (folder / name).mkdir()
    with pytest.MonkeyPatch.context() as patch:
        at_home(data_root, patch)
        runs = {"start": train([*TRANSFORMER, "--runs", str(folder / "alone")], save_to=folder / "one")}
        runs["bf16"] = train([*TRANSFORMER, *BF16, "--runs", str(folder / "alone")])
        runs["cnn"] = train([*CNN, "--runs", str(folder / "alone")])
        torch.save({name: tuple(run) for name, run in runs.items()}, folder / "alone.pt")
        command = [sys.executable, "-m", "tests.training.sharded_script", str(folder)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "Traceback" not in done.stderr
    return folder


def runs_in(file):
    return {name: Trained(*run) for name, run in torch.load(file, weights_only=True).items()}


@pytest.fixture
def sharded(folder):
    return runs_in(folder / "trained.pt")


@pytest.fixture
def alone(folder):
    return runs_in(folder / "alone.pt")


def assert_same(run, expected):
    """The same weights and losses up to the order of sums in float32; a resumed run has its last steps' losses."""
    assert run.steps == expected.steps == 4
    # keys' biases have a gradient of rounding alone
    torch.testing.assert_close(run.weights, expected.weights, rtol=1e-4, atol=1e-4)
    assert run.losses == pytest.approx(expected.losses[-len(run.losses) :], rel=1e-5)


@pytest.mark.parametrize("name", ["start", "one-step1", "one-step2", "one-step3", "two-step3"])
def test_sharded_training_is_that_of_one_process_from_anyones_checkpoints(name, sharded, alone):
    assert_same(sharded[name], alone["start"])
    assert sharded[name].metrics["sharded"] == 3, "two blocks, and the rest"
    assert len(sharded[name].losses) == (4 if name == "start" else 4 - int(name[-1]))


def test_one_process_goes_on_from_a_sharded_checkpoint(folder, alone, data_root, monkeypatch):
    at_home(data_root, monkeypatch)
    for step in (1, 3):
        flags = [*TRANSFORMER, "--runs", str(folder / f"back{step}")]
        assert_same(train(flags, resume=folder / f"two/step{step}.ckpt"), alone["start"])


def test_accumulation_takes_the_same_steps(sharded, alone):
    assert sharded["accumulated"].steps == alone["start"].steps
    assert all(loss > 0 for loss in sharded["accumulated"].losses)


def test_a_sharded_checkpoint_is_one_file_like_that_of_one_process(folder):
    one, two = (torch.load(folder / name / "step3.ckpt", weights_only=True) for name in ("one", "two"))
    torch.testing.assert_close(two["state_dict"], one["state_dict"], rtol=1e-4, atol=1e-5)
    (one,), (two,) = one["optimizer_states"], two["optimizer_states"]
    assert two["param_groups"] == one["param_groups"]
    assert len(one["param_groups"]) == 2
    assert all(len({values[key].shape for values in one["state"].values()}) > 1 for key in ("exp_avg", "exp_avg_sq"))
    torch.testing.assert_close(two["state"], one["state"], rtol=1e-4, atol=1e-6)


def test_bfloat16_with_activation_checkpointing_trains_as_one_process_does(sharded, alone):
    assert sharded["bf16"].losses == pytest.approx(alone["bf16"].losses, rel=0.01)
    assert sharded["bf16"].losses != pytest.approx(alone["start"].losses, rel=1e-5)
    assert {value.dtype for value in sharded["bf16"].weights.values()} == {torch.float32}


def test_a_cnn_is_sharded_too(sharded, alone):
    assert sharded["cnn"].losses == pytest.approx(alone["cnn"].losses, rel=1e-4)
    assert sharded["cnn"].metrics["sharded"] > 5


def test_a_sharded_run_ends_with_a_result_and_a_checkpoint_for_test_and_predict(
    folder, data_root, monkeypatch, capsys, tmp_path
):
    at_home(data_root, monkeypatch)
    run_dir = folder / "runs" / RUN
    result = json.loads((run_dir / "result.json").read_text())
    assert (result["steps"], result["global_batch"], result["test_videos"]) == (4, 6, 8)
    assert (run_dir / "attention.png").exists()
    command = ["test", "--config", str(run_dir / "config.yaml"), "--ckpt", str(run_dir / "last.ckpt")]
    assert main([*command, "--trainer.strategy=auto", "--trainer.devices=1"]) == 0
    assert f"{result['metrics']['test/video_top5']}" in capsys.readouterr().out
    data = four_skills(data_root)
    videos = [str(record.path) for record in data.records("test")]
    output = tmp_path / "out.json"
    assert main(["predict", "--ckpt", str(run_dir / "last.ckpt"), *videos, "-o", str(output)]) == 0
    assert len(json.loads(output.read_text())["videos"]) == 8


def test_two_nodes_of_torchrun_train_what_one_process_does(folder, alone, data_root, tmp_path, monkeypatch):
    at_home(data_root, monkeypatch)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    row = [*TRANSFORMER, "--trainer.num_nodes=2", "--trainer.devices=1", "--trainer.strategy=ddp"]
    nodes = []
    for node in range(2):
        torchrun = ["torch.distributed.run", "--nnodes=2", "--nproc-per-node=1", f"--node-rank={node}"]
        torchrun += ["--master-addr=127.0.0.1", f"--master-port={port}", "-m", "lit_video", "fit"]
        command = [sys.executable, "-m", *torchrun, *row, "--runs", str(tmp_path)]
        nodes.append(subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
    printed = [node.communicate(timeout=600) for node in nodes]
    assert [node.returncode for node in nodes] == [0, 0], printed[0][1][-2000:] + printed[1][1][-2000:]
    weights = torch.load(tmp_path / RUN / "last.ckpt", weights_only=True)["state_dict"]
    for name, value in alone["start"].weights.items():
        torch.testing.assert_close(weights[f"network.{name}"], value, rtol=1e-4, atol=1e-5)
    assert json.loads((tmp_path / RUN / "result.json").read_text())["global_batch"] == 6
    assert sum("test/video_top1" in out for out, _ in printed) == 1, "one process reports"
