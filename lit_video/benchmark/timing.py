"""Interleaved timing, and peak memory, on CPU and CUDA."""

import ctypes
import gc
import os
import random
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from typing import Any

import torch
from torch._C._profiler import _EventType
from torch.profiler import ProfilerActivity, profile


def seconds(action: Callable[[], object], device: torch.device) -> float:
    """Wall-clock time of one call, the device's work included."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    start = time.perf_counter()
    action()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter() - start


Times = dict[str, list[float]]


def interleaved(actions: Mapping[str, Callable[[], object]], repeats: int, device: torch.device, mode: str) -> Times:
    """Times of all actions, one of each after the other, ``repeats`` times after a round 0 that does not count.

    Neighbours in time share the machine's state, so that times of one round compare. Each round has its own
    order: what ran before costs or saves an action several percent on a CPU.
    """
    *_, times = rounds(actions, repeats, device, mode)
    return times


def rounds(
    actions: Mapping[str, Callable[[], object]], repeats: int, device: torch.device, mode: str = "", first: int = 0
) -> Iterator[Times]:
    """The times so far, after each round of :func:`interleaved`; ``first`` is 1 where all have run before."""
    times: Times = {name: [] for name in actions}
    order, draw = list(actions), random.Random(0)
    prefix = f"{mode}, " if mode else ""
    for i in range(first, repeats + 1):
        draw.shuffle(order)
        for name in order:
            elapsed = seconds(actions[name], device)
            print(f"{prefix}round {i} of {repeats}: {name} {elapsed:.3f} s", file=sys.stderr, flush=True)
            if i:
                times[name].append(elapsed)
        if i:
            yield times


def rounds_done(result: Mapping[str, Any]) -> int:
    """How many rounds a result rests on, which may have been stopped; all, in older files, which do not say."""
    return int(result.get("rounds", result["repeats"]))


@contextmanager
def peak_memory(device: torch.device) -> Iterator[list[int]]:
    """Bytes that the block needed at its peak, beyond what was in use before; in a list that is empty if unknown."""
    peak: list[int] = []
    gc.collect()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
        torch.cuda.reset_peak_memory_stats(device)
        before = torch.cuda.memory_allocated(device)
        yield peak
        peak.append(torch.cuda.max_memory_allocated(device) - before)
        return
    started = _restart_peak()
    before = _status("VmRSS") if started else 0
    yield peak
    if started:
        peak.append(max(_status("VmHWM") - before, 0))


def allocated_peak(action: Callable[[], object], device: torch.device) -> int:
    """The most bytes that PyTorch's allocator had given out for an action, beyond what was in use before.

    On a CPU the profiler adds up what is allocated and freed; the libraries' own buffers are not among it.
    """
    if device.type == "cuda":
        with peak_memory(device) as peaks:
            action()
        return peaks[0]
    with _silent(), profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        action()
    assert profiler.profiler is not None
    events = profiler.profiler.kineto_results.experimental_event_tree()
    sizes = [size for _, size in sorted(_allocations(events))]
    return max([0, *accumulate(sizes)])


@contextmanager
def _silent() -> Iterator[None]:
    """Without the lines about itself that the profiler's library writes to the error stream."""
    sys.stderr.flush()
    stream, null = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(null, 2)
        yield
    finally:
        os.dup2(stream, 2)
        os.close(stream)
        os.close(null)


def _allocations(events: Iterable[Any]) -> Iterator[tuple[int, int]]:
    """Times and bytes of what was allocated, and freed: negative."""
    for event in events:
        if event.tag == _EventType.Allocation:
            yield event.start_time_ns, event.extra_fields.alloc_size
        yield from _allocations(event.children)


def _restart_peak() -> bool:
    """Let the kernel forget the process's peak of resident memory (Linux)."""
    try:
        ctypes.CDLL(None).malloc_trim(0)  # what was freed must not hide what is allocated
        Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    except (OSError, AttributeError):
        return False
    return True


def _status(key: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(f"{key}:"))
