"""Networks compiled for a training, in place: their names in checkpoints stay what they are."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import torch
from lightning.pytorch.utilities import rank_zero_only
from torch import nn
from torch._dynamo.exc import RestartAnalysis, SkipFrame
from torch._dynamo.utils import calculate_time_spent
from torch._functorch import config as functorch

from lit_video.errors import UserError

Compile = Literal["off", "block", "full"]
# else backward passes are compiled when they run, where what cannot be compiled ends the training; torch from 2.8
BACKWARD_TOO = {name: True for name in ("force_non_lazy_backward_lowering",) if hasattr(functorch, name)}


@contextmanager
def compiled(network: nn.Module, how: Compile) -> Iterator[None]:
    """Compile a network for the calls inside.

    Draws and names of parameters stay what they are; numbers differ by rounding. What cannot be compiled runs as it
    is, which one line says; another says at the end what compiling took.

    Args:
        network: any.
        how: ``block``: its repeated parts one by one, each kind once, which takes a fraction of the time that ``full``
            takes at the start, the whole network as one; ``off``: nothing.
    """
    parts = {"off": [], "block": repeated(network), "full": [network]}[how]
    limit = torch._dynamo.config.recompile_limit
    backend, before = _Backend(how), _seconds()
    for part in parts:
        part.compile(backend=backend)
    # blocks differ by shapes, in a CNN, and by their rate of stochastic depth, and each kind counts
    torch._dynamo.config.recompile_limit = max(limit, 4 * len(parts))
    try:
        yield
    finally:
        torch._dynamo.config.recompile_limit = limit
        for part in parts:
            part._compiled_call_impl = None
        if backend.compiled:
            _say(f"--compile {how}: {_seconds() - before:.0f} s to compile {backend.compiled} graphs")


def repeated(network: nn.Module) -> list[nn.Module]:
    """Members of a network's innermost lists: a transformer's blocks, a CNN's residual ones."""
    lists = [module for module in network.modules() if isinstance(module, nn.ModuleList)]
    members = [member for each in lists for member in each]
    return [member for member in members if not any(isinstance(part, nn.ModuleList) for part in member.modules())]


def check_compile(how: Compile, strategy: object) -> None:
    """Refuse what is not known to work together.

    Raises:
        UserError: it names the setting.
    """
    if how != "off" and strategy == "fsdp2":
        raise UserError(f"compile: {how} does not go with trainer.strategy fsdp2; leave one of them out")


class _Backend:
    """Inductor, with the draws of the network as it is; a graph that it cannot compile runs so."""

    def __init__(self, how: Compile) -> None:
        self.how = how
        self.failed = False
        self.compiled = 0

    def __call__(self, graph: torch.fx.GraphModule, inputs: list[Any]) -> Any:
        from torch._inductor import compile_fx

        try:
            with functorch.patch(BACKWARD_TOO):
                code: Any = compile_fx.compile_fx(graph, inputs, config_patches={"fallback_random": True})
        except (RestartAnalysis, SkipFrame):  # of Dynamo, which goes on otherwise
            raise
        except Exception as error:
            if not self.failed:
                reason = str(error).split("\n")[0] or type(error).__name__
                _say(f"--compile {self.how}: cannot compile, goes on without: {reason}")
            self.failed = True
            return graph.forward
        self.compiled += 1
        return code


def _seconds() -> float:
    """Spent so far in this process on tracing and compiling."""
    return float(calculate_time_spent()["total_wall_time"])


def _say(line: str) -> None:
    rank_zero_only(print)(line, flush=True)
