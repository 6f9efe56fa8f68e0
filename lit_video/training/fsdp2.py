"""The strategy ``fsdp2``: sharded training whose checkpoints are those of one process."""

from collections.abc import Mapping
from typing import Any

from lightning.fabric.utilities.types import _PATH
from lightning.pytorch.core.optimizer import LightningOptimizer
from lightning.pytorch.strategies import ModelParallelStrategy, ParallelStrategy, StrategyRegistry
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_optimizer_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
)
from torch.optim import Optimizer


class FSDP2(ModelParallelStrategy):
    """Shards as :meth:`~lit_video.modules.VideoClassifier.configure_model` says; reads and writes one plain file.

    Lightning's own strategy reads without the ``checkpoint_io``, and takes the numbers of parameters in an optimizer's
    state for their order in the model; with two parameter groups they are another order's.
    """

    def __init__(self) -> None:
        super().__init__(save_distributed_checkpoint=False)

    @property
    def restore_checkpoint_after_setup(self) -> bool:
        """As of one process: the data set must know how far its epoch is before it makes its loader."""
        return False

    @property
    def lightning_restore_optimizer(self) -> bool:
        """Lightning calls :meth:`load_optimizer_state_dict`."""
        return True

    def load_checkpoint(self, checkpoint_path: _PATH, weights_only: bool | None = None) -> dict[str, Any]:
        """Read the file in every process."""
        return super(ParallelStrategy, self).load_checkpoint(checkpoint_path, weights_only)

    def load_model_state_dict(self, checkpoint: Mapping[str, Any], strict: bool = True) -> None:
        """Give every process its share of the weights."""
        assert self.model is not None
        options = StateDictOptions(full_state_dict=True, strict=strict)
        set_model_state_dict(self.model, checkpoint["state_dict"], options=options)

    def optimizer_state(self, optimizer: Optimizer) -> dict[str, Any]:
        """The whole state on the first process, as of an optimizer that is not sharded."""
        optimizer = optimizer.optimizer if isinstance(optimizer, LightningOptimizer) else optimizer
        assert self.model is not None
        options = StateDictOptions(full_state_dict=True, cpu_offload=True)
        state = get_optimizer_state_dict(self.model, optimizer, options=options)
        if not self.is_global_zero:
            return {}
        return _renamed(state, {name: number for number, name in enumerate(self._names(optimizer))})

    def load_optimizer_state_dict(self, checkpoint: Mapping[str, Any]) -> None:
        """Give every process its share of the optimizer's state."""
        assert self.model is not None
        for optimizer, state in zip(self.optimizers, checkpoint["optimizer_states"], strict=True):
            named = _renamed(state, dict(enumerate(self._names(optimizer))))
            set_optimizer_state_dict(
                self.model, optimizer, optim_state_dict=named, options=StateDictOptions(full_state_dict=True)
            )

    def teardown(self) -> None:
        """Wait for the last checkpoint, as other strategies do."""
        super().teardown()
        self.checkpoint_io.teardown()

    def _names(self, optimizer: Optimizer) -> list[str]:
        """Names of an optimizer's parameters, in the order in which its state numbers them."""
        assert self.model is not None
        names = {parameter: name for name, parameter in self.model.named_parameters()}
        return [names[parameter] for group in optimizer.param_groups for parameter in group["params"]]


def _renamed(state: Mapping[str, Any], names: Mapping[Any, Any]) -> dict[str, Any]:
    """An optimizer's state with other names of its parameters."""
    groups = [group | {"params": [names[old] for old in group["params"]]} for group in state["param_groups"]]
    return {"state": {names[old]: values for old, values in state["state"].items()}, "param_groups": groups}


StrategyRegistry.register("fsdp2", FSDP2, description="parameters, gradients and optimizer state sharded by blocks")
