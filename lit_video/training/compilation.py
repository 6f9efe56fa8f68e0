"""Networks compiled for a training, in place: their names in checkpoints stay what they are."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import torch
from lightning.pytorch.utilities import rank_zero_only
from torch import nn
from torch._dynamo.exc import RestartAnalysis, SkipFrame

from lit_video.errors import UserError

Compile = Literal["off", "block", "full"]


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
    backend = _Backend(how)
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
        if backend.seconds:
            _say(f"--compile {how}: {backend.seconds:.0f} s to compile {backend.compiled} graphs")


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
        self.seconds = 0.0

    def __call__(self, graph: torch.fx.GraphModule, inputs: list[Any]) -> Any:
        from torch._inductor import compile_fx

        start = time.perf_counter()
        try:
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
        self.seconds += time.perf_counter() - start
        return code


def _say(line: str) -> None:
    rank_zero_only(print)(line, flush=True)
