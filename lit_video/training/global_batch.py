"""How many clips an optimizer step takes, and how they are shared out among devices."""

from jsonargparse import Namespace

from lit_video.errors import UserError


def accumulation(global_batch: int | None, devices: int, batch_size: int, accumulate: int = 1) -> int:
    """Batches of each device per optimizer step.

    Args:
        global_batch: clips per step; ``None`` for whatever the other three make.
        devices: of all nodes.
        batch_size: clips per batch and device.
        accumulate: Lightning's own setting, 1 where ``global_batch`` is given.

    Raises:
        UserError: no number of batches makes this global batch.
    """
    if global_batch is None:
        return accumulate
    if accumulate != 1:
        raise UserError(
            f"global_batch: it finds trainer.accumulate_grad_batches, which is set to {accumulate}, by itself; leave "
            "that out, or set global_batch to null"
        )
    batches, rest = divmod(global_batch, devices * batch_size)
    if not rest:
        return batches
    refused = f"global_batch: {global_batch} does not divide into {devices} devices x data.batch_size {batch_size}"
    if global_batch % devices:
        raise UserError(f"{refused}; numbers of devices that it divides into: {_divisors(global_batch)}")
    raise UserError(f"{refused}; data.batch_size can be {_divisors(global_batch // devices)}")


def check_scaling(trainer: Namespace, global_batch: int | None, batch_size: int) -> None:
    """Refuse, before anything is trained, what a trainer with these settings would refuse, or train wrongly.

    Raises:
        UserError: it names the setting.
    """
    if trainer.strategy in ("fsdp", "fsdp_cpu_offload"):
        raise UserError(f"trainer.strategy: {trainer.strategy} repeats clips when it resumes; use fsdp2")
    if trainer.strategy == "fsdp2" and trainer.precision in ("16-mixed", 16, "16"):
        raise UserError(f"trainer.precision: {trainer.precision} does not go with fsdp2; use bf16-mixed")
    if str(trainer.devices).isdigit():  # else Lightning counts them, when it builds the trainer
        devices = int(trainer.devices) * trainer.num_nodes
        accumulation(global_batch, devices, batch_size, trainer.accumulate_grad_batches)


def _divisors(number: int) -> str:
    return ", ".join(str(i) for i in range(1, number + 1) if number % i == 0)
