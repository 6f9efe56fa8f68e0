"""Time the parts of a training step as it is trained: data, forward and backward, optimizer; compare Muon's forms.

    OMP_NUM_THREADS=1 python -m benchmarks.step experiments/ablation_tw.yaml -o step.json
    OMP_NUM_THREADS=1 python -m benchmarks.step own/NAME/NAME.yaml -o step.json     # after lit_video finetune
    OMP_NUM_THREADS=1 python -m benchmarks.step experiments/ablation_tw.yaml --digits 50 -o step.json

Each row of a table is trained with each form of its optimizer, in rounds of random order; a time is the least of all
steps of all rounds. ``--cpu`` counts seconds of the processor, for a machine with other jobs. ``--digits`` trains so
many steps of the first row again with other instructions and says how far losses and weights part. Image models of
drawn stills and first lessons are left out, since they do not change the time of a step.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch
from lightning import Trainer
from lightning.pytorch.callbacks import Callback
from timm.optim import muon as timm_muon
from timm.optim.muon import zeropower_via_newtonschulz

from benchmarks.harness import Measurement, Result, Row, Table, count_processor_seconds, left_out, parser, ran
from lit_video.engine import step_times
from lit_video.engine.step_times import StepTimes
from lit_video.experiment.cli import VideoCLI
from lit_video.experiment.request import Run, build_request
from lit_video.modules import VideoClassifier
from lit_video.modules.optimization import make_optimizer, parameter_groups

PARTS = ("data", "forward_backward", "optimizer")
# instructions by name: environment variables of PyTorch's own kernels and of oneDNN
INSTRUCTIONS: dict[str, dict[str, str]] = {
    "PyTorch's default": {"ATEN_CPU_CAPABILITY": "default"},
    "AVX2 alone": {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"},
}
Optimizer = Callable[[VideoClassifier], torch.optim.Optimizer]


def ours(model: VideoClassifier) -> torch.optim.Optimizer:
    """Make the optimizer as every training does."""
    return make_optimizer(model.optimization, model)


def single(model: VideoClassifier, dtype: torch.dtype) -> torch.optim.Optimizer:
    """Make timm's own Muon, which multiplies one matrix at a time, in its bfloat16 or another type."""

    def multiply_in_dtype(*_: Any) -> None:
        timm_muon.zeropower_via_newtonschulz = partial(zeropower_via_newtonschulz, dtype=dtype)

    groups = parameter_groups(model.optimization, model)
    optimizer = timm_muon.Muon(groups, lr=model.optimization.lr, nesterov=True)
    optimizer.register_step_pre_hook(multiply_in_dtype)
    return optimizer


def forms(run: Run) -> dict[str, Optimizer]:
    """Return the forms of a row's optimizer by name; there is one alone unless it is Muon."""
    optimization = run.settings["model"]["init_args"].get("optimization", {})
    name = optimization.get("optimizer", "sgd")
    if name != "muon":
        return {name: ours}
    return {
        "timm's, bfloat16": partial(single, dtype=torch.bfloat16),
        "timm's, float32": partial(single, dtype=torch.float32),
        "stacked": ours,
    }


class Losses(Callback):
    """Callback that keeps the loss of every step."""

    def __init__(self) -> None:
        self.losses: list[float] = []

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """Keep the loss."""
        self.losses.append(float(outputs["loss"]))


def trained(run: Run, steps: int, optimizer: str, device: torch.device) -> tuple[StepTimes, list[float], torch.Tensor]:
    """Train a row for some steps from its seed; return their times, their losses, and the weights at the end."""
    settings = run.settings
    settings["model"]["init_args"].pop("image_weights", None)
    settings["data"]["init_args"].pop("lesson", None)  # longer than these steps
    torch.manual_seed(run.seed)
    built = VideoCLI(settings).build()
    model = built.model
    make = forms(run)[optimizer]
    model.configure_optimizers = lambda: make(model)  # the rate stays: its schedule takes no time
    times, losses = StepTimes(), Losses()
    trainer = Trainer(
        accelerator="gpu" if device.type == "cuda" else "cpu",
        devices=1,
        max_steps=steps,
        gradient_clip_val=built.config.trainer.gradient_clip_val,
        precision=built.config.trainer.precision,
        limit_val_batches=0,
        logger=False,
        callbacks=[times, losses],
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        use_distributed_sampler=False,
    )
    trainer.fit(model, built.datamodule)
    weights = torch.cat([parameter.detach().flatten().cpu() for parameter in model.parameters()])
    return times, losses.losses, weights


def measure_parts(measurement: Measurement, runs: Mapping[str, Run], steps: int, warm: int) -> None:
    """Train every row with every form of its optimizer in rounds, and keep the least milliseconds by part."""
    given, draw = measurement.arguments, random.Random(0)
    rows = {}
    for name, run in runs.items():
        for form in forms(run):
            row: Row = {"name": f"{name}, {form}", "row": name, "optimizer": form, "steps": steps}
            measurement.rows.append(row)
            rows[name, form] = row
    order = list(rows)
    for number in range(given.repeats):
        draw.shuffle(order)
        for name, form in order:
            times, _, _ = trained(runs[name], warm + steps, form, measurement.device)
            kept = times.steps[warm:]
            whole = 1000 * min(step.whole for step in kept)
            print(f"round {number + 1} of {given.repeats}: {name}, {form}: {whole:.1f} ms", file=sys.stderr, flush=True)
            row = rows[name, form]
            for part in (*PARTS, "whole"):
                key = f"{part}_ms"
                row[key] = min(row.get(key, float("inf")), 1000 * min(getattr(step, part) for step in kept))
        measurement.result["rounds"] += 1
        measurement.keep()


def measure_digits(measurement: Measurement, name: str, run: Run, steps: int) -> None:
    """Train a row with other instructions, and keep how far losses and weights part from those without a limit."""
    for form in forms(run):
        own = apart(measurement.arguments, name, form, steps, {})
        for instructions, environment in INSTRUCTIONS.items():
            other = apart(measurement.arguments, name, form, steps, environment)
            losses = [abs(a - b) for a, b in zip(own["losses"], other["losses"], strict=True)]
            far = float((own["weights"] - other["weights"]).norm() / own["weights"].norm())
            measurement.result.setdefault("differences", []).append(
                {
                    "row": name,
                    "optimizer": form,
                    "instructions": instructions,
                    "environment": environment,
                    "capability": [own["capability"], other["capability"]],
                    "steps": steps,
                    "first_loss_difference": losses[0],
                    "loss_difference": max(losses),
                    "weights_difference": far,
                    "losses": [own["losses"], other["losses"]],
                }
            )
            print(f"{name}, {form}, {instructions}: losses {max(losses):.2g}", file=sys.stderr, flush=True)
            measurement.keep()


def apart(
    given: argparse.Namespace, name: str, form: str, steps: int, environment: Mapping[str, str]
) -> dict[str, Any]:
    """Train in a process of its own, because instructions are chosen when PyTorch is loaded."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "trained.pt"
        words = [
            *map(str, given.tables),
            "--device",
            "cpu",
            "--digits",
            str(steps),
            "--one",
            f"{name}:{form}",
            str(file),
        ]
        command = [sys.executable, "-m", "benchmarks.step", *words]
        subprocess.run(command, env=dict(os.environ) | environment, check=True, stdout=subprocess.DEVNULL)
        result: dict[str, Any] = torch.load(file, weights_only=True)
    return result


def tables(result: Result) -> Iterator[Table]:
    """Yield the parts of a step, then how far digits part."""
    header = ["row", "optimizer", *(f"{part.replace('_', ' + ')} ms" for part in PARTS), "step ms"]
    body = [
        [row["row"], row["optimizer"], *(f"{row[f'{part}_ms']:.1f}" for part in PARTS), f"{row['whole_ms']:.1f}"]
        for row in result["rows"]
    ]
    clock = "seconds of the processor" if result["cpu"] else "seconds of a clock"
    if body:
        yield Table(
            f"A training step by part, {clock}, {result['device']}, least of {result['rounds']} rounds",
            header,
            body,
            left_out(result),
        )
    digits = result.get("differences", [])
    if digits:
        header = ["row", "optimizer", "instructions", "loss at step 1", "largest of losses", "weights, relative"]
        keys = ("first_loss_difference", "loss_difference", "weights_difference")
        body = [
            [row["row"], row["optimizer"], row["instructions"], *(f"{row[key]:.1e}" for key in keys)] for row in digits
        ]
        yield Table(f"Differences after {digits[0]['steps']} steps with other instructions", header, body, [])


def main() -> int:
    """Measure the rows of tables; with ``--one`` train one of them for the digits."""
    made = parser("step", __doc__, repeats=5)
    made.add_argument("tables", nargs="+", type=Path, help="experiments (YAML)")
    made.add_argument("--rows", type=lambda text: text.split(","), help="names with commas (default: all)")
    made.add_argument("--steps", type=int, default=20, help="timed steps of a round (default 20)")
    made.add_argument("--warm", type=int, default=5, help="steps before them (default 5)")
    made.add_argument(
        "--digits", type=int, default=0, metavar="STEPS", help="train the first row with other instructions"
    )
    made.add_argument("--cpu", action="store_true", help="seconds of the processor, not of a clock")
    made.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    given = made.parse_args()
    runs = {}
    for table in given.tables:
        request = build_request([table])
        runs |= {f"{request.table.name} {run.row.name}": run for run in request.runs}
    if given.rows:
        runs = {name: run for name, run in runs.items() if run.row.name in given.rows}
    if given.one:
        name, form = given.one[0].split(":")
        _, losses, weights = trained(runs[name], given.digits, form, torch.device("cpu"))
        capability = torch.backends.cpu.get_cpu_capability()
        torch.save({"losses": losses, "weights": weights, "capability": capability}, given.one[1])
        return 0
    del given.one
    if given.cpu:
        count_processor_seconds(step_times)
    measurement = Measurement("step", given)
    if given.repeats:
        measure_parts(measurement, runs, given.steps, given.warm)
    if given.digits:
        name = next(iter(runs))
        measure_digits(measurement, name, runs[name], given.digits)
    return measurement.show(tables)


if __name__ == "__main__":
    ran(main)
