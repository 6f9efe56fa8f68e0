"""Test which steps with a non-finite loss or gradient are left out, counted, or end the run, on a CPU and a GPU."""

from types import SimpleNamespace

import pytest
import torch
from torch import nn

from lit_video.engine.finite import RequireFinite

NAN = float("nan")


class LossOnGPU:
    """Loss that says that it is on a GPU."""

    is_cuda = True

    def __init__(self, value):
        self.value = value

    def detach(self):
        return self

    def to(self, device, non_blocking):
        return torch.tensor(self.value)


@pytest.fixture(params=["cpu", "gpu"])
def loss_of(request, monkeypatch):
    """Function that makes a loss on a CPU or a GPU from a number."""
    event = SimpleNamespace(record=lambda: None, synchronize=lambda: None)
    monkeypatch.setattr(torch.cuda, "Event", lambda: event)
    return torch.tensor if request.param == "cpu" else LossOnGPU


def train(finite, losses, loss_of, *, scaler=None, accumulate=1):
    """Take a step for each ``accumulate`` losses, with gradients that are finite if the losses are."""
    model = nn.Linear(1, 1)
    model.device = torch.device("cpu")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    trainer = SimpleNamespace(
        global_step=0, scaler=scaler, world_size=1, accumulate_grad_batches=accumulate, is_last_batch=False
    )
    for i, loss in enumerate(losses):
        if (i + 1) % accumulate == 0:
            for parameter in model.parameters():
                parameter.grad = torch.full_like(parameter, sum(losses[i + 1 - accumulate : i + 1]))
            finite.on_before_optimizer_step(trainer, model, optimizer)
            trainer.global_step += 1
        finite.on_train_batch_end(trainer, model, {"loss": loss_of(loss)}, None, i)
    finite.on_train_end(trainer, model)


@pytest.mark.parametrize("scaler", [None, "float16"])
@pytest.mark.parametrize(
    ("skip", "losses", "skipped", "message"),
    [
        (0, [1.0, 1.0], 0, ""),
        (0, [1.0, NAN], 0, "loss is nan at step 2"),
        (1, [1.0, NAN, 1.0, 1.0], 1, ""),
        (1, [NAN, 1.0], 1, ""),
        (1, [1.0, 1.0, NAN], 1, ""),
        (1, [NAN, NAN, 1.0], 1, "loss is nan at step 2"),
        (2, [1.0, NAN, 1.0, NAN, 1.0], 2, ""),
        (2, [NAN, NAN, 1.0, NAN], 2, "loss is nan at step 4"),
    ],
)
def test_as_many_steps_as_allowed_are_left_out(skip, losses, skipped, message, scaler, loss_of):
    finite = RequireFinite(skip)
    train(finite, losses, loss_of, scaler=scaler)
    assert (finite.skipped, finite.message) == (skipped, message)


@pytest.mark.parametrize("scaler", [None, "float16"])
def test_the_batches_of_one_step_count_once(scaler, loss_of):
    finite = RequireFinite(1)
    train(finite, [1.0, 1.0, NAN, NAN, 1.0, 1.0], loss_of, scaler=scaler, accumulate=2)
    assert (finite.skipped, finite.message) == (1, "")


def test_a_checkpoint_has_the_count_of_its_own_step(loss_of):
    finite = RequireFinite(2)
    trainer = SimpleNamespace(
        global_step=1, scaler="float16", world_size=1, accumulate_grad_batches=1, is_last_batch=False
    )
    finite.on_train_batch_end(trainer, nn.Linear(1, 1), {"loss": loss_of(NAN)}, None, 0)
    assert finite.state_dict() == {"skipped": 1}
