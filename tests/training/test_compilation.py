"""A compiled network gives the same numbers, under the same names; what cannot be compiled goes on without."""

import re
import time

import pytest
import torch
from torch._dynamo import lookup_backend
from torch._dynamo.backends.debugging import boxed_nop
from torch._functorch.aot_autograd import aot_module_simplified

from lit_video.__main__ import main
from lit_video.network.block import checkpoint_layers
from lit_video.network.convnets import convnet
from lit_video.network.patches import ClipSize
from lit_video.network.perceiver import perceiver
from lit_video.network.vit import ViTSize
from lit_video.network.vivit import vivit
from lit_video.network.xvit import xvit
from lit_video.training.compilation import compiled, repeated
from tests.training.trained import train

CLIP = ClipSize((32, 32), 16, 4)


def network(depth=3, **options):
    torch.manual_seed(0)
    return xvit(ViTSize(16, depth, 2), 5, CLIP, **options)


def training_step(network):
    """Logits and gradients."""
    torch.manual_seed(1)
    network.train().zero_grad()
    logits = network(torch.randn(2, 3, 4, 32, 32))
    logits.square().sum().backward()
    return [logits.detach(), *(parameter.grad.clone() for parameter in network.parameters())]


@pytest.fixture
def graphs(monkeypatch):
    """Compilation without code generation, which takes seconds; the graphs that it was asked for."""
    asked, trace = [], lookup_backend("eager")

    def compile_fx(graph, inputs, config_patches):
        asked.append(graph)
        return trace(graph, inputs)

    torch.compiler.reset()
    monkeypatch.setattr("torch._inductor.compile_fx.compile_fx", compile_fx)
    return asked


def names(modules):
    return [type(module).__name__ for module in modules]


def test_blocks_are_what_a_network_repeats():
    size, clip = ViTSize(16, 2, 2), ClipSize((32, 32), 16, 4, tubelet=2)
    assert names(repeated(network(2))) == ["Block", "Block", "TemporalLayer"]
    assert set(names(repeated(vivit(size, 5, clip, 2)))) == {"Block"}
    assert names(repeated(perceiver(size, 5, CLIP))) == ["Bottleneck", "MLP", "Block", "Block"]
    assert names(repeated(convnet("slow", 5, width=8))).count("ResBlock") == 3 + 4 + 6 + 3


@pytest.mark.parametrize("how", ["block", "full"])
def test_a_compiled_network_gives_the_same_numbers_under_the_same_names(how, graphs):
    ours = network(2, drop_path=0.2)
    before, expected = list(ours.state_dict()), training_step(ours)
    with compiled(ours, how):
        assert list(ours.state_dict()) == before
        torch.testing.assert_close(training_step(ours), expected, atol=1e-5, rtol=1e-5)
        count = len(graphs)
    assert count
    torch.testing.assert_close(training_step(ours), expected)
    assert len(graphs) == count, "compiled no longer"


@pytest.mark.parametrize("depth", [2, 6])
def test_a_kind_of_block_is_compiled_once(depth, graphs):
    ours = network(depth)
    with compiled(ours, "block"):
        for _ in range(2):
            training_step(ours)
    assert len(graphs) == 2, "the block and the layer of temporal attention"


def test_every_block_of_a_deep_cnn_is_compiled(graphs):
    ours, clip = convnet("slow", 5, width=8).eval(), torch.randn(1, 3, 4, 32, 32)
    with torch.no_grad():
        expected = ours(clip)
        with compiled(ours, "block"):
            actual = ours(clip)
    torch.testing.assert_close(actual, expected, atol=1e-5, rtol=1e-5)
    assert len(graphs) > 8, "PyTorch's own limit"


def test_off_compiles_nothing(graphs):
    with compiled(network(), "off"):
        training_step(network())
    assert not graphs


def test_what_cannot_be_compiled_runs_as_it_is_with_one_line(monkeypatch, capsys):
    def refuse(*args, **options):
        raise RuntimeError("no compiler here\nand a long explanation")

    torch.compiler.reset()
    monkeypatch.setattr("torch._inductor.compile_fx.compile_fx", refuse)
    ours = network()
    expected = training_step(ours)
    with compiled(ours, "block"):
        torch.testing.assert_close(training_step(ours), expected)
    assert capsys.readouterr().out == "--compile block: cannot compile, goes on without: no compiler here\n"


@pytest.fixture
def backward(monkeypatch):
    """Compilation without code generation, that of backward passes by a function."""

    def use(compile_backward):
        def compile_fx(graph, inputs, config_patches):
            return aot_module_simplified(graph, inputs, fw_compiler=boxed_nop, bw_compiler=compile_backward)

        torch.compiler.reset()
        monkeypatch.setattr("torch._inductor.compile_fx.compile_fx", compile_fx)

    return use


def test_nor_does_a_backward_pass_that_cannot_be_compiled_end_a_training(backward, capsys):
    def refuse(graph, inputs):
        raise RuntimeError("no backward here")

    backward(refuse)
    ours = network()
    expected = training_step(ours)
    with compiled(ours, "block"):
        torch.testing.assert_close(training_step(ours), expected)
    assert capsys.readouterr().out == "--compile block: cannot compile, goes on without: no backward here\n"


def test_what_compiling_took_counts_backward_passes(backward, capsys):
    def slow(graph, inputs):
        time.sleep(1)
        return boxed_nop(graph, inputs)

    backward(slow)
    with compiled(network(), "block"):
        pass
    assert not capsys.readouterr().out
    ours = network()
    with compiled(ours, "block"):
        training_step(ours)
    seconds = re.fullmatch(r"--compile block: (\d+) s to compile 2 graphs\n", capsys.readouterr().out)
    assert int(seconds[1]) >= 2


@pytest.mark.slow
def test_a_compiled_training_is_the_same_training(table, tiny, tmp_path, graphs, capsys):
    """Weights, names and all that goes on from them; and not what a run is known by."""
    row = ["--config", str(table[0]), "--row=second", *tiny, "--trainer.logger=false"]
    expected = train([*row, "--runs", str(tmp_path / "a")]).weights
    command = ["fit", *row, "--runs", str(tmp_path / "b"), "--compile=block"]
    assert main(command) == 0
    assert graphs
    run = tmp_path / "b/two/default/second/seed0"
    stored = torch.load(run / "last.ckpt", weights_only=True)["state_dict"]
    stored = {name.removeprefix("network."): value for name, value in stored.items()}
    assert list(stored) == list(expected)
    torch.testing.assert_close(stored, expected, atol=1e-4, rtol=1e-4)
    assert main(command[:-1]) == 0
    assert "finished, skipped" in capsys.readouterr().out
    assert main([*command[:-1], "--trainer.max_epochs=3", "--compile=full"]) == 0, "goes on"
    assert (run / "result.json").is_file()


def test_sharded_networks_are_not_compiled(table, tiny, tmp_path, capsys):
    row = ["--config", str(table[0]), "--row=second", *tiny, "--runs", str(tmp_path)]
    assert main(["fit", *row, "--compile=block", "--trainer.strategy=fsdp2"]) == 2
    assert "compile: block does not go with trainer.strategy fsdp2" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("how", ["block", "full"])
def test_generated_code_gives_the_same_numbers_and_draws(how):
    torch.compiler.reset()
    ours = network(2, drop_path=0.3)  # and dropout of a half
    expected = training_step(ours)
    with compiled(ours, how):
        torch.testing.assert_close(training_step(ours), expected, atol=1e-4, rtol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("part", ["attention", "block"])
@pytest.mark.parametrize("how", ["block", "full"])
def test_generated_code_computes_activations_again(how, part):
    torch.compiler.reset()
    ours = network(2, drop_path=0.3)
    expected, kept = training_step(ours), {}
    for what in ("none", part):
        checkpoint_layers(ours, what)
        with compiled(ours, how):
            torch.testing.assert_close(training_step(ours), expected, atol=1e-4, rtol=1e-4)
            kept[what] = kept_bytes(ours)
    assert kept[part] < 0.85 * kept["none"]


def kept_bytes(network):
    """What autograd keeps of a forward pass, shared storage once, beside the parameters."""
    kept, weights = {}, {parameter.data_ptr() for parameter in network.parameters()}

    def note(tensor):
        kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        logits = network(torch.randn(8, 3, 4, 32, 32))
    sizes = [storage.nbytes() for place, storage in kept.items() if place not in weights]
    torch.autograd.backward(logits.sum())
    return sum(sizes)
