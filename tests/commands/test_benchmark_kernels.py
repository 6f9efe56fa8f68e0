"""The benchmark of kernels: every way of computing a step is equal, and what it prints is complete. Never how fast."""

import json
from functools import partial

import pytest
import torch
import torch._dynamo

from lit_video.__main__ import main
from lit_video.attention import Grid
from lit_video.benchmark import kernel_timing
from lit_video.benchmark.attention_steps import attention_steps, block_mask, flex_attention, flex_branch
from lit_video.benchmark.kernel_timing import Setting, measure
from lit_video.network.vit import ViTSize

SMALL = ["--size", "Ti", "--frames", "2", "--image-size", "32", "--repeats", "1", "--device", "cpu"]
STEPS = attention_steps(ViTSize(16, 1, 2), Grid(4, 4, 6))
BY_MASK = [name for name, step in STEPS.items() if step.sees is not None]


@pytest.mark.parametrize("name", BY_MASK)
def test_flex_attention_computes_what_the_scheme_does(name):
    step, x = STEPS[name], torch.randn(2, 4 * 4 * 6, 16)
    with torch.no_grad():
        mask = block_mask(step, x.shape[1], x.device)
        torch.testing.assert_close(flex_branch(step, x, mask, flex_attention), step.branch(x))


def test_flex_attention_is_compiled_for_every_mask(monkeypatch):
    """Dynamo keeps few versions of a function; after these it would run, and be timed, as it is."""
    graphs = []

    def backend(graph, inputs):
        graphs.append(graph)
        return graph.forward

    def mask_here(step, tokens, device):
        return block_mask(step, tokens, torch.device("cpu"))

    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend=backend))
    monkeypatch.setattr(kernel_timing, "block_mask", mask_here)
    x = torch.randn(2, 4 * 4 * 6, 16)
    with torch._dynamo.config.patch(recompile_limit=2), torch.no_grad():
        for name in BY_MASK:
            branch = kernel_timing._branches(STEPS[name], x.shape[1], torch.device("cuda"))["flex"]
            torch.testing.assert_close(branch(x), STEPS[name].branch(x))
    assert len(graphs) == len(BY_MASK)


def test_masks_are_of_all_steps_that_see_a_part():
    assert set(STEPS) - set(BY_MASK) == {"ST", "X-ViT"}
    assert "L+G: strided" not in attention_steps(ViTSize(16, 1, 2), Grid(3, 4, 6))


def test_prints_steps_and_kernels_and_writes_them(capsys, tmp_path):
    path = tmp_path / "kernels.json"
    assert main(["benchmark", "kernels", *SMALL, "--steps", "ST,exact window", "-o", str(path)]) == 0
    printed = capsys.readouterr().out
    assert "exact window, train" in printed and "flash x" in printed and "T+S" not in printed
    rows = json.loads(path.read_text())["rows"]
    assert [row["step"] for row in rows] == ["ST", "exact window"]
    for row in rows:
        assert set(row["train_seconds"]) >= {"ours", "math", "flash"}
        assert row["forward_ratio"]["ours"] == 1
        assert "cudnn, train" in row["missing"], "a CPU has none"


def test_what_is_done_is_kept_after_each_step():
    counts = []
    setting = Setting("Ti", 2, 32, repeats=1)
    measure(setting, ["ST", "X-ViT"], torch.device("cpu"), "", lambda result: counts.append(len(result["rows"])))
    assert counts == [1, 2]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--steps", "XT"], "no step 'XT' at this size; steps: ST, "),
        (["--image-size", "30"], "--image-size: is 30, expected a multiple of 16"),
    ],
)
def test_mistakes_are_one_line(flags, message, capsys):
    assert main(["benchmark", "kernels", *SMALL, *flags]) == 2
    printed = capsys.readouterr()
    assert message in printed.err and printed.err.count("\n") == 1


def test_a_file_that_cannot_be_written_is_refused_before_anything_is_timed(capsys, tmp_path):
    assert main(["benchmark", "kernels", "-o", str(tmp_path / "none" / "kernels.json")]) == 2
    assert "no such folder" in capsys.readouterr().err


def test_a_step_that_does_not_fit_into_memory_leaves_the_others(monkeypatch, capsys):
    run = kernel_timing._run

    def few(branch, x, dtype, kernel, train):
        if kernel == "ours" and train:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        run(branch, x, dtype, kernel, train)

    monkeypatch.setattr(kernel_timing, "_run", few)
    assert main(["benchmark", "kernels", *SMALL, "--steps", "ST"]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "ST, train" in line]
    assert line.split("│")[2].strip() == "-"
