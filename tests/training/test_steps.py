"""No step waits for its device: tensors of a GPU that is not there have no values, and asking for one raises."""

from contextlib import nullcontext
from types import SimpleNamespace

import pytest
import torch
from lightning_utilities.core.apply_func import apply_to_collection
from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException, FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from lit_video.modules.optimization import make_optimizer
from lit_video.tables.reading import read_table
from lit_video.training.callbacks.learning_curve import Curve
from lit_video.training.request import build_request
from lit_video.training.run import build_row
from lit_video.training.run_cli import RunCLI
from lit_video.utils.stop_signals import StopSignals
from tests.conftest import SMALL_TABLE, quick_or_slow

TABLE = SMALL_TABLE / "steps.yaml"
ROWS = [row.name for row in read_table([TABLE]).rows]
FAMILIES = quick_or_slow(ROWS, {"xvit", "slowfast"})
WAITING = (DataDependentOutputException, DynamicOutputShapeException)


class BlockingCopy(Exception):
    """A copy between CPU and device that the host waits for."""


class RefuseBlockingCopies(TorchDispatchMode):
    """Also those that are made of a Python list: ``x[[0, 1]]``, ``torch.tensor([0, 1], device=x.device)``."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if func.overloadpacket in (torch.ops.aten._to_copy, torch.ops.aten.copy_, torch.ops.aten.index):
            devices = {x.device.type for x in tree_leaves((args, result)) if isinstance(x, torch.Tensor)}
            if len(devices) > 1 and not (kwargs or {}).get("non_blocking"):
                raise BlockingCopy(func)
        return result


def raw_batch(data, epoch, broken=False):
    count, side = 4, data.image_size
    return dict(
        clip=torch.zeros(count, 1, data.frames, 3, side, side, dtype=torch.uint8),
        label=torch.arange(count) % data.num_classes,
        video=torch.arange(count),
        first_view=torch.zeros(count, dtype=torch.long),
        broken=["", "broken" if broken else "", "", ""],
        key=torch.tensor([[epoch, i] for i in range(count)]),
    )


def move(raw, fake, device="cuda"):
    def moved(x):
        return fake.from_tensor(x).to(device, non_blocking=True)

    with fake:
        return apply_to_collection(raw, torch.Tensor, moved)


def log(name, value, batch_size, **options):
    """As Lightning, whose own makes copies that tensors without values do not allow."""
    assert isinstance(value, torch.Tensor), "of a number Lightning makes a tensor on the device, which waits"
    assert not options.get("prog_bar"), "Lightning fetches what its bar shows in every step, bar or not"
    value * batch_size


def build(row, data_root, monkeypatch, device="cuda"):
    """Model and data of a row, the model on a device that need not be there, and the mode of such tensors."""
    monkeypatch.setenv("LIT_VIDEO_DATA", str(data_root))
    cli = build_row(build_request([TABLE], [row], flags=["--data.broken=report"]).runs[0])
    with FakeTensorMode(allow_non_fake_inputs=True) as fake:
        cli.model.to_empty(device=device)
    cli.model.log = log
    cli.datamodule.trainer = cli.model._trainer = SimpleNamespace(
        training=True, testing=False, predicting=False, world_size=1, global_rank=0, accumulate_grad_batches=1
    )
    return cli.model, cli.datamodule, fake


@pytest.mark.parametrize(("given", "precision"), [("exact", "highest"), ("tf32", "high")])
def test_a_training_rounds_float32_only_if_it_is_told_to(given, precision, tmp_path, monkeypatch):
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", given == "exact")
    flags = [f"--float32_products={given}", "--trainer.logger=false"]
    RunCLI(build_request([TABLE], [ROWS[0]], runs=tmp_path, flags=flags).runs[0], StopSignals("test"))
    found, convolutions = torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32
    torch.set_float32_matmul_precision("highest")
    assert found == precision
    assert convolutions == (given == "tf32")


@pytest.mark.parametrize("row", FAMILIES)
def test_training_steps_wait_for_nothing(row, data_root, monkeypatch, tmp_path):
    model, data, fake = build(row, data_root, monkeypatch)
    with fake:
        optimizer, curve = make_optimizer(model.optimization, model.network), Curve(tmp_path)
    drawn = [data.on_before_batch_transfer(raw_batch(data, epoch, broken=epoch % 2 == 0), 0) for epoch in range(12)]
    kinds = {(raw["draws"].mixture.box is None, any(raw["broken"])): raw for raw in drawn}
    assert len(kinds) == 4, "mixup and cutmix, with a broken video and without"
    for number, raw in enumerate(kinds.values()):
        moved = move(raw, fake)
        with fake, RefuseBlockingCopies() if number else nullcontext():  # the first step makes what others add to
            batch = data.on_after_batch_transfer(moved, 0)
            loss = model.training_step(batch, 0)
            for parameter in model.parameters():  # a GPU that is not there has no backward pass
                parameter.grad = torch.empty_like(parameter)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            model.on_before_optimizer_step(optimizer)
            if isinstance(optimizer, torch.optim.AdamW):  # fused SGD has no kernel here, Muon counts steps on the CPU
                optimizer.step()
            optimizer.zero_grad()
            curve.on_train_batch_end(model.trainer, model, {"loss": loss}, batch, 0)
        assert loss.device.type == "cuda"
    assert optimizer.param_groups[0].get("fused", True), "of those that can be"


@pytest.mark.parametrize("row", FAMILIES)
def test_evaluation_steps_wait_for_nothing(row, data_root, monkeypatch):
    model, data, fake = build(row, data_root, monkeypatch)
    model.eval().trainer.training = False
    for step, accuracy in ((model.validation_step, model.val_accuracy), (model.test_step, model.test_accuracy)):
        for broken in (False, True):
            moved = move(data.on_before_batch_transfer(raw_batch(data, 0, broken), 0), fake)
            with fake, RefuseBlockingCopies(), torch.no_grad():
                step(data.on_after_batch_transfer(moved, 0), 0)
        assert len(accuracy.logits) == 2
