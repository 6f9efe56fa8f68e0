"""One and two processes on this machine, gloo over loopback, one thread each: what the predictions are checked against.

Kinds of steps take turns, so that those of a round compare on a busy machine too: one process alone; two without
communication, for what they take from each other's caches and memory; two with DDP's all-reduce; and both of these with
several passes accumulated.
"""

import os
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from lit_video.modules import XViT

ROUNDS = 18
PASSES = 4
CLIPS, FRAMES, SIDE, CLASSES = 1, 2, 112, 174  # per process and pass
SIZES = (2**16, 2**20, 2**23, 2**25)  # bytes of the all-reduces, up to a bucket of DDP and more


def measure() -> dict[str, Any]:
    """Seconds of each kind of step, round by round, and of all-reduces by their bytes."""
    os.environ |= {"GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    load = os.getloadavg()
    with tempfile.TemporaryDirectory() as folder:
        store, out = Path(folder) / "store", Path(folder) / "out.pt"
        mp.spawn(_rank, (str(store), str(out)), nprocs=2)
        result: dict[str, Any] = torch.load(out, weights_only=True)
    return {"load_before": load[0], "load_after": os.getloadavg()[0], "cores": os.cpu_count()} | result


def _rank(rank: int, store: str, out: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    torch.manual_seed(0)
    network = XViT(CLASSES, FRAMES, SIDE, size="S").network
    parameters = sum(p.numel() for p in network.parameters())
    kinds = _kinds(rank, network)
    times: dict[str, list[float]] = {name: [] for name in kinds}
    reduces: dict[int, list[float]] = {size: [] for size in SIZES}
    for i in range(ROUNDS + 1):
        for name, action in kinds.items():
            times[name].append(_timed(action))
        for size in SIZES:
            reduces[size].append(_timed(_reduce(torch.zeros(size // 4))))
        if rank == 0:
            print(f"round {i} of {ROUNDS}", {name: round(each[-1], 3) for name, each in times.items()}, flush=True)
    if rank == 0:
        shape = {"model": "XViT S/16", "frames": FRAMES, "image_size": SIDE, "clips": CLIPS, "parameters": parameters}
        rounds = {name: each[1:] for name, each in times.items()}  # round 0 warms up
        reduced = [{"bytes": size, "seconds": each[1:]} for size, each in reduces.items()]
        torch.save(shape | {"passes": PASSES, "seconds": rounds, "all_reduce": reduced}, out)
    dist.barrier()
    dist.destroy_process_group()


def _timed(action: Callable[[], object]) -> float:
    """Seconds until both processes are done, from when both were ready."""
    dist.barrier()
    start = time.perf_counter()
    action()
    dist.barrier()
    return time.perf_counter() - start


def _reduce(tensor: Tensor) -> Callable[[], object]:
    return lambda: dist.all_reduce(tensor)


def _kinds(rank: int, network: nn.Module) -> dict[str, Callable[[], object]]:
    """Every kind of step, by name."""
    clip = torch.randn(CLIPS, 3, FRAMES, SIDE, SIDE)
    optimizer = torch.optim.SGD(network.parameters(), lr=1e-4, momentum=0.9)
    parallel = DistributedDataParallel(network)

    def step(model: nn.Module, passes: int, reduce: bool) -> None:
        for i in range(passes):
            quiet = model is parallel and not (reduce and i == passes - 1)
            with parallel.no_sync() if quiet else nullcontext():
                model(clip).sum().backward()
        optimizer.step()
        optimizer.zero_grad()

    return {
        "one": lambda: step(network, 1, False) if rank == 0 else None,
        "two apart": lambda: step(parallel, 1, False),
        "two": lambda: step(parallel, 1, True),
        "two apart, accumulated": lambda: step(parallel, PASSES, False),
        "two, accumulated": lambda: step(parallel, PASSES, True),
    }
