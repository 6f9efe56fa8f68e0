"""Test ``--compile``: equal training, names and draws, and an error line where it fails. Test float32's rounding."""

import copy
import pickle

import pytest
import torch
from timm.utils import ModelEmaV3
from torch._dynamo import lookup_backend

from lit_video.__main__ import main
from lit_video.experiment.request import build_request
from lit_video.experiment.spec import Spec
from lit_video.network.embedding import ClipSize
from lit_video.network.vit import ViTSize
from lit_video.network.xvit import xvit
from lit_video.runs.folder import has_result
from lit_video.settings.flags import UserSetting
from lit_video.training.fit import compiled
from lit_video.training.trainer import Training
from lit_video.utils.processes import StopSignals
from tests.conftest import SMALL_TABLE
from tests.training.trained import train


@pytest.fixture
def graphs(monkeypatch):
    """Options of every requested compilation; no code is generated, which would take seconds."""
    asked, trace = [], lookup_backend("eager")

    def compile_fx(graph, inputs, **options):
        asked.append(options)
        return trace(graph, inputs)

    torch.compiler.reset()
    monkeypatch.setattr("torch._inductor.compile_fx.compile_fx", compile_fx)
    return asked


@pytest.fixture
def row(table, tiny):
    return ["--config", str(table[0]), "--row=second", *tiny, "--trainer.logger=false"]


@pytest.mark.slow
def test_a_compiled_training_is_the_same_training(row, tmp_path, graphs, capsys):
    """Compare weights and names, and go on without ``--compile``, which is not part of a run's identity."""
    expected = train([*row, "--runs", str(tmp_path / "a")]).weights
    command = ["fit", *row, "--runs", str(tmp_path / "b"), "--compile=full"]
    assert main(command) == 0
    assert graphs
    run = tmp_path / "b/two/default/second/seed0"
    stored = torch.load(run / "last.ckpt", weights_only=True)["state_dict"]
    stored = {name.removeprefix("network."): value for name, value in stored.items()}
    assert list(stored) == list(expected)
    torch.testing.assert_close(stored, expected, atol=1e-4, rtol=1e-4)
    assert main(command[:-1]) == 0
    assert "finished, skipped" in capsys.readouterr().out
    assert main([*command[:-1], "--trainer.max_epochs=3"]) == 0, "resumed"
    assert has_result(run)


COPIES = {
    "deepcopy": copy.deepcopy,
    "copy": lambda network: copy.deepcopy(copy.copy(network)),
    "pickle": lambda network: pickle.loads(pickle.dumps(network)),
    "AveragedModel": lambda network: torch.optim.swa_utils.AveragedModel(network).module,
    "timm's EMA": lambda network: ModelEmaV3(network).module,
}


@pytest.mark.parametrize("kind", COPIES)
def test_a_copy_of_a_compiled_network_computes_with_its_own_weights(kind, graphs):
    network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(12, 5)).eval()
    clip = torch.randn(1, 3, 1, 2, 2)
    with compiled(network, enabled=True), torch.no_grad():
        expected = network(clip)
        assert graphs, "the network itself is compiled"
        teacher = COPIES[kind](network).eval()
        for parameter in network.parameters():
            parameter.mul_(2)
        torch.testing.assert_close(teacher(clip), expected)
        assert not torch.allclose(network(clip), expected)
    assert network._compiled_call_impl is None


@pytest.mark.slow
def test_what_cannot_be_compiled_ends_in_a_line(row, tmp_path, monkeypatch, capsys):
    def refuse(*args, **options):
        raise RuntimeError("no compiler here\nand a long explanation")

    torch.compiler.reset()
    monkeypatch.setattr("torch._inductor.compile_fx.compile_fx", refuse)
    assert main(["fit", *row, "--runs", str(tmp_path), "--compile=full", "--model.size.depth=1"]) == 1
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error: ")]
    assert "no compiler here" in line and line.endswith("; run it without --compile")


@pytest.mark.slow
def test_generated_code_gives_the_same_numbers_and_draws():
    torch.compiler.reset()
    torch.manual_seed(0)
    ours, results = (
        xvit(ViTSize(16, 2, 2), 5, ClipSize((32, 32), 16, 4), drop_path_rate=0.3),
        [],
    )  # and dropout of a half
    for wanted in (False, True):
        torch.manual_seed(1)
        ours.train().zero_grad()
        with compiled(ours, wanted):
            logits = ours(torch.randn(2, 3, 4, 32, 32))
            logits.square().sum().backward()
        results.append([logits.detach(), *(parameter.grad.clone() for parameter in ours.parameters())])
    torch.testing.assert_close(*results, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(("products", "precision"), [("exact", "highest"), ("tf32", "high")])
def test_a_training_rounds_float32_only_if_it_is_told_to(products, precision, tmp_path, monkeypatch):
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", products == "exact")
    given = [UserSetting("float32_products", products), UserSetting("trainer.logger", "false")]
    (run,) = build_request([SMALL_TABLE / "ablation_tw.yaml"], ["tw1"], runs=tmp_path, user_settings=given).runs
    Training(Spec(run), StopSignals("test"))
    found, convolutions = torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32
    torch.set_float32_matmul_precision("highest")
    assert found == precision
    assert convolutions == (products == "tf32")
