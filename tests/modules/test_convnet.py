"""Test the papers' CNN baselines: PyTorchVideo's models and names, with logits for any clip."""

import pytest
import pytorchvideo.models.hub as hub
import torch
from torch import nn

from lit_video.modules import ConvNet
from lit_video.network.convnets import TwoPathways, convnet
from lit_video.weights.loading import load_pretrained
from lit_video.weights.reading import read_weights
from tests.conftest import quick_or_slow
from tests.float32 import assert_close_in_float32

SMALL = {"c2d": 8, "i3d": 8, "slow": 8, "slowfast": 16, "r2plus1d": 8, "csn": 8, "x3d": 8}
SHALLOW = 0.5  # X3D's depth factor: one to three blocks in a stage


def small(architecture, **options):
    torch.manual_seed(0)
    return awake(convnet(architecture, 5, width=SMALL[architecture], x3d_depth=SHALLOW, **options))


def awake(network):
    """Make the batch norms random: from zero, residual branches neither show in logits nor pass gradients on."""
    for module in network.modules():
        if isinstance(module, nn.BatchNorm3d):
            nn.init.uniform_(module.weight, 0.5, 1.0)
            nn.init.normal_(module.bias, std=0.1)
            nn.init.normal_(module.running_mean, std=0.1)
            nn.init.uniform_(module.running_var, 0.5, 1.5)
    return network


@pytest.mark.parametrize("architecture", SMALL)
def test_every_parameter_learns_and_any_clip_gets_logits(architecture):
    network = small(architecture)
    logits = network(torch.randn(2, 3, 16, 48, 48))
    (logits * torch.randn_like(logits)).sum().backward()
    assert [name for name, value in network.named_parameters() if value.grad is None or not value.grad.any()] == []
    network.eval()
    for shape in [(8, 32, 32), (16, 48, 32), (4, 40, 56)]:
        with torch.no_grad():
            logits = network(torch.randn(2, 3, *shape))
        assert logits.shape == (2, 5)
        assert not torch.allclose(logits.sum(1), torch.ones(2))  # no softmax


@pytest.mark.parametrize("architecture", SMALL)
def test_strides_are_numbers_that_a_compiler_knows(architecture):
    convolutions = [module for module in small(architecture).modules() if isinstance(module, nn.Conv3d)]
    assert {type(step) for module in convolutions for step in module.stride} == {int}


# all others are plain convolutions
@pytest.mark.parametrize("architecture", quick_or_slow(["slowfast", "x3d"], {"x3d"}))
def test_compiles_without_graph_breaks_and_exports(architecture):
    blocks, clip = small(architecture).eval().blocks, torch.randn(1, 3, 8, 32, 32)
    # SlowFast: stem and pool with the pathways; X3D: stem and first stage; the other stages only repeat, and take long
    pathways = architecture == "slowfast"
    network = TwoPathways(nn.ModuleList([blocks[0], blocks[-2]]), 4) if pathways else nn.Sequential(*blocks[:2])
    expected = network(clip)
    expected.square().sum().backward()
    gradients = {name: value.grad for name, value in network.named_parameters()}
    network.zero_grad()
    torch.compiler.reset()
    compiled = torch.compile(network, fullgraph=True, backend="eager")(clip)
    compiled.square().sum().backward()
    torch.testing.assert_close(compiled, expected)
    torch.testing.assert_close({name: value.grad for name, value in network.named_parameters()}, gradients)
    torch.testing.assert_close(torch.export.export(network, (clip,)).module()(clip), expected)


# builder, our settings, our and the builder's settings for fewer channels, clip of the full model
NARROW = {"width": 8}, {"stem_dim_out": 8}
PATHWAYS = {"width": 16}, {"stem_dim_outs": (16, 2)}
X3D = {"width": 4}, {"stem_dim_in": 4}
HUB = {
    "C2D R50": (hub.c2d_r50, {"architecture": "c2d"}, *NARROW, (8, 224)),
    "I3D R50": (hub.i3d_r50, {"architecture": "i3d"}, *NARROW, (8, 224)),
    "Slow R50": (hub.slow_r50, {"architecture": "slow"}, *NARROW, (8, 224)),
    "SlowFast R50": (hub.slowfast_r50, {"architecture": "slowfast"}, *PATHWAYS, (32, 224)),
    "SlowFast R101": (hub.slowfast_r101, {"architecture": "slowfast", "depth": 101}, *PATHWAYS, (32, 224)),
    "SlowFast 16x8 R101": (
        hub.slowfast_16x8_r101_50_50,
        {"architecture": "slowfast_50_50", "depth": 101},
        *PATHWAYS,
        (64, 224),
    ),
    "R(2+1)D R50": (hub.r2plus1d_r50, {"architecture": "r2plus1d"}, *NARROW, (16, 224)),
    "CSN R101": (hub.csn_r101, {"architecture": "csn", "depth": 101}, *NARROW, (32, 224)),
    "X3D-XS": (hub.x3d_xs, {"architecture": "x3d"}, *X3D, (4, 160)),
    "X3D-M": (hub.x3d_m, {"architecture": "x3d"}, *X3D, (16, 224)),
    "X3D-L": (hub.x3d_l, {"architecture": "x3d", "x3d_depth": 5.0}, *X3D, (16, 312)),
}
SOFTMAX = ("R(2+1)D", "X3D")  # models of PyTorchVideo that end in a softmax


def pair(model):
    """Return PyTorchVideo's own network, narrow, and ours with its weights."""
    build, settings, narrow, theirs_narrow, _ = HUB[model]
    torch.manual_seed(0)
    theirs = awake(build(model_num_class=5, **theirs_narrow)).eval()
    ours = convnet(classes=5, **settings, **narrow).eval()
    load_pretrained(ours, theirs.state_dict())
    return theirs, ours


def outputs(model, theirs, ours, clip):
    """Return both networks' outputs for a clip: logits, or probabilities where theirs ends in a softmax."""
    frames = clip.shape[2]
    indices = torch.linspace(0, frames - 1, frames // 4).long()  # PackPathway of PyTorchVideo's tutorial
    with torch.no_grad():
        expected = theirs([clip.index_select(2, indices), clip] if model.startswith("SlowFast") else clip)
        logits = ours(clip)
    return logits.softmax(1) if model.startswith(SOFTMAX) else logits, expected


# the others have more of the blocks of these, or larger clips
LARGE = {"I3D R50", "Slow R50", "SlowFast R101", "SlowFast 16x8 R101", "X3D-M", "X3D-L"}


@pytest.mark.parametrize("model", quick_or_slow(HUB, HUB.keys() - LARGE))
def test_logits_are_those_of_pytorchvideos_own(model):
    """Compare on a model's own clip, and in float64 on small pictures, to which their fixed pooling is set."""
    theirs, ours = pair(model)
    frames, side = HUB[model][-1]
    assert_close_in_float32(*outputs(model, theirs, ours, torch.randn(1, 3, frames, side, side)), ours)
    theirs, ours = theirs.double(), ours.double()
    for module in theirs.modules():
        if isinstance(module, nn.AvgPool3d):
            module.kernel_size = (module.kernel_size[0], 2, 2)
    logits, expected = outputs(model, theirs, ours, torch.randn(1, 3, frames, 64, 64, dtype=torch.float64))
    torch.testing.assert_close(logits, expected, atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("architecture", quick_or_slow(SMALL, {"c2d", "slowfast", "x3d"}))
def test_a_released_file_loads_and_only_its_classifier_may_start_from_scratch(architecture, tmp_path):
    source, options = small(architecture), {"width": SMALL[architecture], "x3d_depth": SHALLOW}
    path = tmp_path / "released.pyth"
    torch.save({"model_state": source.state_dict()}, path)
    same = ConvNet(5, architecture=architecture, weights=str(path), **options)
    same.setup("test")
    torch.testing.assert_close(same.network.state_dict(), source.state_dict())
    other = convnet(architecture, 7, **options)
    fresh = {name: value.clone() for name, value in other.state_dict().items() if ".proj." in name}
    with pytest.raises(ValueError, match=r"blocks\.\d\.proj\.(weight|bias) is \(7.* here, \(5.* in the file"):
        load_pretrained(other, read_weights(path).tensors)
    assert load_pretrained(other, read_weights(path).tensors, fresh_head=True) == ", ".join(sorted(fresh))
    torch.testing.assert_close(other.state_dict(), source.state_dict() | fresh)
    wider = convnet(architecture, 5, **options | {"width": 2 * SMALL[architecture]})
    with pytest.raises(ValueError, match=r"blocks\.0\..* is \("):
        load_pretrained(wider, read_weights(path).tensors, fresh_head=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(architecture="slowfast", width=12), "width 12 is not divisible by beta_inv 8"),
        (dict(architecture="slowfast", num_frames=6), "frames 6 is not divisible by alpha 4"),
        (dict(architecture="slowfast_50_50"), "depth is 50, but slowfast_50_50 has 101 layers"),
        (dict(activation_checkpointing="block", width=8), "activation_checkpointing is block, but the network has no"),
    ],
)
def test_what_cannot_be_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        ConvNet(num_classes=5, **options)
