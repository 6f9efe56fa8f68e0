"""Test on fake GPU tensors that networks, losses and batches stay on their device and never wait for a copy."""

from dataclasses import replace
from itertools import product

import pytest
import torch
from lightning_utilities.core.apply_func import apply_to_collection
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from lit_video.datamodules import VideoDataModule
from lit_video.modules import ConvNet
from lit_video.modules.classifier import VideoClassifier
from lit_video.video.augmentation import RECIPES
from tests.conftest import quick_or_slow
from tests.network.test_networks_run import ALL, CLASSES, NETWORKS, build
from tests.video.test_batch import raw_batch

TASKS = {"verb": 2, "noun": 3}
CONVNETS = ("c2d", "i3d", "slow", "slowfast", "slowfast_50_50", "r2plus1d", "csn", "x3d")
DTYPES = [torch.float32, torch.bfloat16]


class BlockingCopy(Exception):
    """A copy between CPU and device that the host waits for."""


class RefuseBlockingCopies(TorchDispatchMode):
    """Mode that refuses blocking copies, also those of Python lists, as in ``x[[0, 1]]``."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if func.overloadpacket in (torch.ops.aten._to_copy, torch.ops.aten.copy_, torch.ops.aten.index):
            devices = {x.device.type for x in tree_leaves((args, result)) if isinstance(x, torch.Tensor)}
            if len(devices) > 1 and not (kwargs or {}).get("non_blocking"):
                raise BlockingCopy(func)
        return result


def move(raw, fake, device="cuda"):
    def moved(x):
        return fake.from_tensor(x).to(device, non_blocking=True)

    with fake:
        return apply_to_collection(raw, torch.Tensor, moved)


def on_a_gpu(network, dtype, *sizes):
    """Return the outputs of a network for ones on a fake GPU, and the mode of such tensors."""
    network = network.to(dtype)
    with FakeTensorMode(allow_non_fake_inputs=True) as fake:
        network.to_empty(device="cuda")
        clip = torch.ones(sizes, dtype=dtype, device="cuda")
    with fake, RefuseBlockingCopies():
        return network(clip), fake


# what training draws could have another type, so it is of the type that is no default; evaluation does less
MODES = [(True, torch.bfloat16), (False, torch.float32), (True, torch.float32), (False, torch.bfloat16)]
RUNS = [(name, *mode) for name in NETWORKS for mode in MODES]
QUICK = {(name, *MODES[0]) for name in ALL} | {(name, *MODES[1]) for name in ("xvit", "perceiver")}


@pytest.mark.parametrize(("name", "training", "dtype"), quick_or_slow(RUNS, QUICK))
def test_networks_run_on_their_device(name, training, dtype):
    logits, _ = on_a_gpu(build(name, drop_path_rate=0.4).train(training), dtype, 2, 3, 4, 8, 8)
    assert (logits.device.type, logits.dtype, logits.shape) == ("cuda", dtype, (2, CLASSES))


@pytest.mark.parametrize(
    ("name", "dtype"),
    quick_or_slow(product(CONVNETS, DTYPES), {("x3d", torch.bfloat16)}),
)
def test_convolutional_networks_run_on_their_device(name, dtype):
    depth = 101 if name == "slowfast_50_50" else 50
    model = ConvNet(num_classes=CLASSES, num_frames=8, image_size=32, architecture=name, width=8, depth=depth)
    logits, _ = on_a_gpu(model.network, dtype, 2, 3, 8, 32, 32)
    assert (logits.device.type, logits.dtype, logits.shape) == ("cuda", dtype, (2, CLASSES))


NUMBERS, SHARES = torch.zeros(2, dtype=torch.long), torch.full((2, CLASSES), 0.2)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(
    ("classes", "several", "target"),
    [
        (CLASSES, False, NUMBERS),
        (CLASSES, False, SHARES),
        (CLASSES, True, SHARES.long()),
        (TASKS, False, torch.stack((NUMBERS, NUMBERS), 1)),
        (TASKS, False, SHARES),
    ],
    ids=["numbers", "shares", "several", "tasks", "shares of tasks"],
)
def test_losses_stay_on_their_device(classes, several, target, dtype):
    model = VideoClassifier(nn.Linear(4, CLASSES), num_classes=classes, several_labels=several)
    logits, fake = on_a_gpu(model.network, dtype, 2, 4)
    target = move(target, fake)
    with fake, RefuseBlockingCopies():
        assert model.loss(logits, target).device.type == "cuda"


class Data(VideoDataModule):
    class_names = property(lambda self: [str(i) for i in range(CLASSES)])


@pytest.mark.parametrize("channels", ["rgb", "bgr"])
@pytest.mark.parametrize("name", RECIPES)
def test_batches_of_every_recipe_stay_on_their_device(name, channels):
    recipe, fake = replace(RECIPES[name], short_side=None), FakeTensorMode()  # accepts clips of any size
    data = Data(4, 16, augmentation=recipe, channels=channels)
    for epoch in range(3):
        raw = raw_batch(num_frames=4, side=16, classes=CLASSES, epoch=epoch) | {"broken": ["", "broken", "", ""]}
        moved = move(raw | {"draws": data._draws(raw)}, fake)
        with fake, RefuseBlockingCopies():
            for batch in (data.augment(moved), data.normalise(moved)):
                assert {x.device.type for x in batch.values() if isinstance(x, torch.Tensor)} == {"cuda"}
