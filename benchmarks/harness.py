"""Harness of the benchmarks: rows are timed in alternating rounds, stored after each, and shown as a table."""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import os
import random
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lit_video.errors import UserError
from lit_video.training.command_line import recorded_command, without_folder
from lit_video.utils.environment import choose_device, commit, device_name, seconds, versions
from lit_video.utils.files import write_atomically
from lit_video.utils.startup import avoid_amx
from lit_video.utils.text import markdown_lines, text_table

avoid_amx()  # before anything is multiplied
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
FORWARD, TRAIN = "forward", "train"
CLASSES = 400
GIB = 2**30
Row = dict[str, Any]
Result = dict[str, Any]
Actions = Mapping[str, Callable[[], object]]
Times = dict[str, list[float]]
COMMIT = commit()  # read at the start, because later commits are not what runs
SPEED = ("OMP_NUM_THREADS", "ATEN_CPU_CAPABILITY", "ONEDNN_MAX_CPU_ISA", "MKL_ENABLE_INSTRUCTIONS")


@dataclass(frozen=True)
class Table:
    """A result's title, header, rows and notes."""

    title: str
    header: list[str]
    body: list[list[str]]
    notes: list[str]

    def text(self) -> str:
        """Return the table for a terminal."""
        return "\n".join([text_table(self.title, self.header, self.body), *self.notes])

    def markdown(self) -> str:
        """Return the table as Markdown."""
        notes = ["\n".join(f"- {note}" for note in self.notes)] if self.notes else []
        return "\n\n".join([f"**{self.title}**", markdown_lines(self.header, self.body), *notes])


def provenance(command: str, device: torch.device | str, *others: str) -> dict[str, Any]:
    """Return a measurement's command, commit, device and versions.

    The command begins with the environment variables that choose threads or instructions; ``others`` are further
    packages whose versions matter.
    """
    chosen = [f"{name}={os.environ[name]}" for name in SPEED if name in os.environ]
    return {
        "command": " ".join([*chosen, command]),
        "commit": COMMIT,
        "device": device_name(device),
        "versions": versions(*others),
    }


def processor_seconds() -> float:
    """Return the seconds of the processor in this process and in its children that have ended."""
    used = os.times()
    return time.process_time() + used.children_user + used.children_system


def count_processor_seconds(*modules: Any) -> None:
    """Let modules measure seconds of the processor in place of those of a clock."""
    for module in modules:
        module.time = SimpleNamespace(perf_counter=processor_seconds, monotonic=processor_seconds)


def rounds(
    actions: Actions,
    repeats: int,
    device: torch.device,
    first: int = 0,
    clock: Callable[[], float] = time.perf_counter,
) -> Iterator[Times]:
    """Yield the times of all actions after each round, in which each runs once.

    Times of one round compare, because the machine's state changes slowly. The order is drawn anew for each round: the
    preceding action changes an action's time by several percent on a CPU. Round 0 warms up and is not kept; ``first``
    is 1 for actions that have run before.
    """
    times: Times = {name: [] for name in actions}
    order, draw = list(actions), random.Random(0)
    for number in range(first, repeats + 1):
        draw.shuffle(order)
        for name in order:
            elapsed = seconds(actions[name], device, clock)
            print(f"round {number} of {repeats}: {name} {elapsed:.3f} s", file=sys.stderr, flush=True)
            if number:
                times[name].append(elapsed)
        if number:
            yield times


class Measurement:
    """A result, its rows, and the actions of each row.

    Args:
        script: name of the module in ``benchmarks``.
        arguments: from a parser of :func:`parser`; stored in the result.
        others: further packages whose versions matter.
    """

    def __init__(self, script: str, arguments: argparse.Namespace, *others: str) -> None:
        torch.manual_seed(0)
        # PyTorch's default lets a GPU round the factors of convolutions to 10 bits (TF32)
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
        self.device = choose_device(arguments.device)
        self.arguments = arguments
        settings = {key: value for key, value in vars(arguments).items() if key not in ("device", "output")}
        facts = provenance(recorded_command(sys.argv[1:], f"python -m benchmarks.{script}"), self.device, *others)
        recorded = json.loads(json.dumps(settings, default=lambda value: without_folder(str(value))))
        self.result: Result = facts | recorded | {"rounds": 0, "rows": []}
        self.actions: dict[str, Actions] = {}

    @property
    def rows(self) -> list[Row]:
        """The rows so far."""
        return self.result["rows"]

    def add(self, name: str, start: Callable[[Row], Actions], **facts: Any) -> None:
        """Append a row; ``start`` completes it and returns its actions by mode, or raises why to leave it out."""
        row: Row = {"name": name} | facts
        self.rows.append(row)
        try:
            self.actions[name] = start(row)
        except ModuleNotFoundError as error:
            row["left_out"] = f"{(error.name or '').partition('.')[0]} is not installed"
        except ValueError as error:
            row["left_out"] = str(error)
        except Exception as error:  # any package's failure, also out of memory
            row["left_out"] = f"failed: {(str(error).strip() or type(error).__name__).splitlines()[0]}"
        print(f"{name}: {row.get('left_out', 'ready')}", file=sys.stderr, flush=True)
        self.keep()

    def run(self, first: int = 1, more: Callable[[Row, Times], Row] = lambda row, times: {}) -> None:
        """Measure in rounds: per mode, the median seconds and the median ratio to the row named ``against``.

        Args:
            first: 0 to warm up in a round that does not count.
            more: returns further columns of a row from all times.
        """
        actions = {f"{name}, {mode}": action for name, each in self.actions.items() for mode, action in each.items()}
        for times in rounds(actions, self.arguments.repeats, self.device, first):
            self.result["rounds"] += 1
            for row in self.rows:
                if row["name"] in self.actions:
                    for mode in self.actions[row["name"]]:
                        own, against = (times.get(f"{row.get(key)}, {mode}", []) for key in ("name", "against"))
                        row |= _summary(mode, own, against)
                    row |= more(row, times)
            self.keep()

    def keep(self) -> None:
        """Write the result to ``--output``."""
        if self.arguments.output:
            write_atomically(self.arguments.output, json.dumps(self.result, indent=1) + "\n")

    def show(self, tables: Callable[[Result], Iterable[Table]]) -> int:
        """Print the result; return the exit status, 1 if a row failed."""
        self.keep()
        print("\n\n".join(table.text() for table in tables(self.result)))
        return int(any(str(row.get("left_out", "")).startswith("failed") for row in self.rows))


def _summary(mode: str, own: list[float], against: list[float]) -> Row:
    row: Row = {f"{mode}_seconds": median(own)}
    if against:
        row[f"{mode}_ratio"] = median(b / a for a, b in zip(own, against, strict=True))
    return row


def parser(script: str, description: str, repeats: int | None = None) -> argparse.ArgumentParser:
    """Return a parser of the device, the number of rounds, and the file of the result."""
    made = argparse.ArgumentParser(
        prog=f"python -m benchmarks.{script}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--device", choices=["cpu", "cuda"], help="default: cuda where there is one")
    if repeats:
        made.add_argument("--repeats", type=int, default=repeats, help=f"rounds (default {repeats})")
    made.add_argument("-o", "--output", type=Path, metavar="FILE", help="keep the result, after every round (JSON)")
    return made


def add_size(made: argparse.ArgumentParser, batch: int | None = 1, frames: object = 8) -> None:
    """Add arguments for the size of a ViT and its clips; ``frames`` is a number, or numbers with commas as text."""
    made.add_argument("--size", choices=["Ti", "S", "B", "L", "H"], default="B")
    made.add_argument("--image-size", type=int, default=224)
    made.add_argument("--frames", type=int if isinstance(frames, int) else numbers, default=frames)
    if batch:
        made.add_argument("--batch", type=int, default=batch, help=f"clips (default {batch})")


def numbers(text: str) -> list[int]:
    """Parse whole numbers separated by commas; return them in ascending order."""
    return sorted(map(int, text.split(",")))


def ran(main: Callable[[], int]) -> None:
    """Run a script and print a user's mistake as one line."""
    try:
        sys.exit(main())
    except UserError as error:
        sys.exit(f"error: {error}")


def steps(network: nn.Module, shape: tuple[int, ...], dtype: str, device: torch.device) -> Actions:
    """Return two actions on clips of a shape: inference, and a training step (forward, backward, SGD)."""
    optimizer = torch.optim.SGD(network.parameters(), lr=1e-6)
    clip = torch.randn(shape, device=device)

    def logits() -> Tensor:
        with torch.autocast(device.type, DTYPES[dtype], enabled=dtype != "fp32"):
            return network(clip)

    def forward() -> None:
        network.eval()
        with torch.no_grad():
            logits()

    def train() -> None:
        network.train()
        output = logits()
        target = torch.arange(len(output), device=device) % CLASSES
        torch.autograd.backward(F.cross_entropy(output, target))
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return {FORWARD: forward, TRAIN: train}


def first_steps(row: Row, actions: Actions, device: torch.device) -> Actions:
    """Run each action once (compiling included), and measure the memory of a training step."""
    row["start_seconds"] = sum(seconds(action, device) for action in actions.values())
    row["train_memory"] = peak_memory(actions[TRAIN], device)
    return actions


def weights(network: nn.Module) -> int:
    """Return the bytes of the weights."""
    return sum(parameter.nbytes for parameter in network.parameters())


def peak_memory(action: Callable[[], object], device: torch.device) -> int | None:
    """Return the bytes that an action adds at its peak; ``None`` on systems that cannot tell."""
    gc.collect()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
        torch.cuda.reset_peak_memory_stats(device)
        before = torch.cuda.memory_allocated(device)
        action()
        return torch.cuda.max_memory_allocated(device) - before
    started = _restart_peak()
    before = _status("VmRSS") if started else 0
    action()
    return max(_status("VmHWM") - before, 0) if started else None


def _restart_peak() -> bool:
    """Let the kernel forget the process's peak of resident memory (Linux)."""
    try:
        ctypes.CDLL(None).malloc_trim(0)  # freed memory that the process keeps would hide new allocations
        Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    except (OSError, AttributeError):
        return False
    return True


def _status(key: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(f"{key}:"))


def number(row: Row, key: str, form: str, scale: float = 1.0) -> str:
    """Return a number of a row as text; empty if the row has none."""
    return "" if row.get(key) is None else format(row[key] / scale, form)


def left_out(result: Result) -> list[str]:
    """Return a line for each row that could not be measured."""
    return [f"{row['name']}: left out: {row['left_out']}" for row in result["rows"] if "left_out" in row]
