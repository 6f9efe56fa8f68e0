"""The papers' CNN baselines: PyTorchVideo's models on any clip, with logits, under PyTorchVideo's names."""

from pathlib import Path

import pytest
import pytorchvideo.models.hub as hub
import torch

from lit_video.__main__ import main
from lit_video.modules import ConvNet
from lit_video.network.convnets import TwoPathways, convnet, slow_frames
from lit_video.network.published import load_published

SMALL = {"c2d": 8, "i3d": 8, "slow": 8, "slowfast": 16, "r2plus1d": 8, "csn": 8, "x3d": 8}


def small(architecture, **options):
    torch.manual_seed(0)
    return convnet(architecture, 5, width=SMALL[architecture], **options)


@pytest.mark.parametrize("architecture", SMALL)
def test_takes_any_clip_and_gives_logits(architecture):
    network = small(architecture).eval()
    for shape in [(8, 32, 32), (16, 48, 32), (4, 40, 56)]:
        with torch.no_grad():
            logits = network(torch.randn(2, 3, *shape))
        assert logits.shape == (2, 5)
        assert not torch.allclose(logits.sum(1), torch.ones(2))  # no softmax


@pytest.mark.parametrize("architecture", SMALL)
def test_gradients_reach_every_parameter(architecture):
    network = small(architecture)
    network(torch.randn(2, 3, 8, 32, 32)).sum().backward()
    assert all(parameter.grad is not None for parameter in network.parameters())


HUB = {
    "c2d": (hub.c2d_r50, {}, (8, 224)),
    "i3d": (hub.i3d_r50, {}, (8, 224)),
    "slow": (hub.slow_r50, {}, (8, 224)),
    "slowfast": (hub.slowfast_r50, {}, (32, 224)),
    "slowfast_50_50": (hub.slowfast_16x8_r101_50_50, {"depth": 101}, (64, 224)),
    "r2plus1d": (hub.r2plus1d_r50, {}, (16, 224)),
    "csn": (hub.csn_r101, {"depth": 101}, (32, 224)),
    "x3d": (hub.x3d_m, {}, (16, 224)),
}


@pytest.mark.parametrize("architecture", HUB)
def test_names_and_shapes_are_those_of_pytorchvideos_own_models(architecture):
    theirs, options, _ = HUB[architecture]
    with torch.device("meta"):
        ours, published = convnet(architecture, 400, **options).state_dict(), theirs(pretrained=False).state_dict()
    assert {key: value.shape for key, value in ours.items()} == {key: value.shape for key, value in published.items()}


@pytest.mark.parametrize("architecture", ["i3d", "x3d", "slowfast"])
def test_logits_are_those_of_pytorchvideos_own_model(architecture):
    build, options, (frames, side) = HUB[architecture]
    torch.manual_seed(0)
    theirs, ours = build(pretrained=False).eval(), convnet(architecture, 400, **options).eval()
    load_published(ours, theirs.state_dict())
    clip = torch.randn(1, 3, frames, side, side)
    indices = torch.linspace(0, frames - 1, frames // 4).long()  # PackPathway of PyTorchVideo's tutorial
    with torch.no_grad():
        expected = theirs([clip[:, :, indices], clip] if architecture == "slowfast" else clip)
        logits = ours(clip)
    logits = logits.softmax(1) if architecture == "x3d" else logits
    torch.testing.assert_close(logits, expected, atol=1e-5, rtol=1e-4)


def test_a_released_classifier_of_other_classes_starts_anew_and_no_other_layer_does():
    released = small("i3d").state_dict()
    network = convnet("i3d", 7, width=8)
    assert load_published(network, released, fresh_head=True) == "blocks.6.proj.bias, blocks.6.proj.weight"
    with pytest.raises(ValueError, match=r"blocks\.6\.proj\.weight is \(7, 256\) here, \(5, 256\) in the file"):
        load_published(network, released)
    with pytest.raises(ValueError, match=r"blocks\.0\.conv\.weight is "):
        load_published(convnet("i3d", 5, width=16), released, fresh_head=True)


@pytest.mark.parametrize(
    ("frames", "alpha", "expected"), [(8, 4, [0, 7]), (32, 4, [0, 4, 8, 13, 17, 22, 26, 31]), (4, 1, [0, 1, 2, 3])]
)
def test_the_slow_pathway_reads_every_alphath_frame(frames, alpha, expected):
    assert slow_frames(frames, alpha) == expected
    seen = torch.zeros(1, 3, frames, 4, 4, requires_grad=True)

    class Slow(torch.nn.Module):
        def forward(self, pathways):
            return pathways[0].sum()

    TwoPathways(torch.nn.ModuleList([Slow()]), alpha)(seen).backward()
    assert seen.grad.abs().sum((0, 1, 3, 4)).nonzero().flatten().tolist() == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(architecture="resnet"), "architecture is 'resnet', expected c2d, i3d"),
        (dict(depth=18), "depth is 18, expected 50, 101 or 152"),
        (dict(architecture="slowfast", frames=6), "frames 6 is not divisible by alpha 4"),
        (dict(architecture="slowfast_50_50"), "depth is 50, but slowfast_50_50 has 101 layers"),
        (dict(activation_checkpointing=True, width=8), "activation_checkpointing is on, but the network has no"),
    ],
)
def test_what_cannot_be_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        ConvNet(num_classes=5, **options)


@pytest.mark.parametrize("architecture", ["slowfast", "x3d"])
def test_a_row_runs_from_the_command_line(architecture, tiny, tmp_path):
    path = tmp_path / "cnn.yaml"
    parts = "experiments/parts"
    path.write_text(
        f"trainer: {tmp_path / 'trainer.yaml'}\ndata: {tmp_path / 'data.yaml'}\n"
        f"model: {{class_path: ConvNet, init_args: {{architecture: {architecture}, width: 16}}}}\n"
    )
    for name in ("trainer", "data"):
        (tmp_path / f"{name}.yaml").write_text(Path(f"{parts}/{name}_embedded.yaml").read_text())
    flags = [flag for flag in tiny if "size." not in flag and "image_size" not in flag]
    flags += ["--data.image_size=32", "--trainer.fast_dev_run=true"]
    assert main(["fit", "--config", str(path), "--runs", str(tmp_path), *flags]) == 0
