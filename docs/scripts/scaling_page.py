"""docs/scaling.md: what 1 to 128 GPUs roughly take, by one formula from the stored counts and measurements.

python docs/scripts/scaling_page.py [--check] [-o FILE] [--tflops 989] [--share S] [--bandwidth 320]
"""

import argparse
import json
import sys
import textwrap
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any

from lit_video.errors import UserError
from lit_video.utils.files import write_atomically
from lit_video.utils.text import markdown_lines

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # benchmarks is not installed
read, ran = import_module("benchmarks.performance").read, import_module("benchmarks.harness").ran
roundings_apart = import_module("benchmarks.roundings").roundings_apart
STORED = ROOT / "benchmarks" / "results" / "scaling.json"
GPU = ROOT / "benchmarks" / "results" / "gpu"
ALIKE = {
    "X-ViT-B": "X-ViT",
    "TimeSformer-L": "T+S",
    "ViViT-L": "ViViT-1",
}  # the measured model of size B with its layers
VIDEOS = 240_000  # in an epoch of Kinetics-400, one clip each
WORD = 4  # bytes of a float32: weights, gradients and momentum
FULL = 0.9  # share of a GPU's memory that is planned with

PAGE = """\
# Past one machine

For anyone who plans a training on many GPUs.

Time, memory and processor cores of training on 1 to 128 GPUs: X-ViT-B, TimeSformer-L and ViViT-L with the papers'
batches on Kinetics-400.
Written by `python docs/scripts/scaling_page.py` from [stored counts and
measurements](../benchmarks/results/scaling.json); a test keeps it up to date.
**Times are estimates:** shares and the time of an operator were measured on one {gpu} with models of size B
([performance.md](performance.md)); nothing was trained on two GPUs. For other GPUs:

    python docs/scripts/scaling_page.py -o PLAN.md --tflops 312 --share 0.3 --bandwidth 10

## Time

    step = max(6 x multiply-adds x clips per GPU / (share x {tflops:g} TFLOP/s), {microseconds:.0f} µs x operators)
           + 2 (n - 1) / n x 4 bytes x parameters / ({bandwidth:g} GB/s)

A multiply-add is 2 operations, and the backward pass takes twice the forward pass. {tflops:g} TFLOP/s is an H200 in
bfloat16 (data sheet, without sparsity). The share of it that training reached without `--compile` at {batch} clips:
{shares}. {microseconds:.0f} µs is the time of a training step of X-ViT with {few} clips, which waits for its operators
to start, over their number. The second line is DDP's ring all-reduce of float32 gradients, by default at 0.8 of what a
DGX H200 sends to other nodes; the formula does not overlap it with the backward pass, so real steps may be faster.
Clips that do not fit are accumulated, in the same time. The papers' batches end at one clip per GPU; more GPUs need a
larger `--global_batch`, and where a step is bound by starting operators (X-ViT-B from {bound} GPUs on) they do not
help. Validation, waiting for data, checkpoints and the start come on top. TimeSformer's authors needed {hours}
V100-hours for {epochs} epochs of 8 x 224 (arXiv:2102.05095, Table 2), {reached:.3f} of that GPU's 125 TFLOP/s: times
may be far longer than estimated here.

{times}

## Memory and processor

Per parameter a GPU holds 16 bytes (weight, gradient, its bucket, momentum) and copies in bfloat16. Activations per clip
were counted from shapes (commit {counted}; bfloat16; "recomputed": `--model.activation_checkpointing block`). Clips
that fit take at most 90 % of the memory; a run prints its peak at its end. "ms" is the CPU time of a training clip on
one core of {cpu}, of videos like Kinetics' (340 x 256, key frames 250 frames apart) and as `data prepare` writes
them (12 apart). Cores per GPU: ms x the clips per second of a GPU / 1000. Clips of 96 frames decode most of a video,
so close key frames do not help them.

{demands}

## Checked on two processes

{model} on {frames} x {side}², one thread per process, gloo over loopback, {rounds} rounds of both kinds in turn,
{device}, commit {commit}. The time of a step of two processes with DDP's all-reduce, over that without:
{measured:.2f}
(formula {predicted:.2f}, at the {measured_bandwidth:.2f} GB/s of its largest all-reduce); with {passes} accumulated
passes {accumulated:.2f} (formula {accumulated_predicted:.2f}).
"""


def step(row: dict[str, Any], gpus: int, given: argparse.Namespace) -> float:
    """Return the seconds of an optimizer step at the paper's batch: the formula of the page."""
    sent = 2 * (gpus - 1) / gpus * WORD * row["parameters"]
    return max(computing(row, gpus, given), given.operator * row["operators"]) + sent / (given.bandwidth * 1e9)


def computing(row: dict[str, Any], gpus: int, given: argparse.Namespace) -> float:
    """Return the seconds of a step's matrix products at the share of the GPU's rate that training reaches."""
    return 6 * row["macs"] * row["global_batch"] / gpus / ((given.share or row["share"]) * given.tflops * 1e12)


def measured(models: dict[str, Any], tflops: float) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the models with their share of the GPU's rate, and facts of the page, from the measurements of a GPU."""
    alike = {"dtype": "bf16", "size": "B", "image_size": 224}
    rates = read(GPU / "model_bf16.json", "model", **alike, frames=8, compile=False)
    lengths = read(GPU / "long.json", "long", **alike, checkpointing="none", device=rates and rates["device"])
    if not rates or not lengths:
        raise UserError(f"{GPU}: needs model_bf16.json and long.json; measure them by benchmarks/gpu.sh")
    rows = {row["name"]: row for row in rates["rows"]}
    reached = {}
    for name, row in models.items():
        alike = rows[ALIKE[name]]
        share = 6 * alike["macs"] * alike["train_clips_per_second"] / (tflops * 1e12)
        reached[name] = row | {"share": share}
    shortest = next(row for row in lengths["rows"] if row["model"] == "X-ViT")
    operator = shortest["train_seconds"] / models["X-ViT-B"]["operators"]
    shares = ", ".join(f"{row['share']:.2f} ({ALIKE[name]})" for name, row in reached.items())
    facts = {"gpu": rates["device"], "batch": rates["batch"], "few": lengths["batch"], "shares": shares}
    return reached, facts | {"operator": operator}


def times(models: dict[str, Any], given: argparse.Namespace) -> str:
    """Return the table of times, by model and number of GPUs."""
    header = ["model", "GPUs", "clips per GPU", "clips/s", "epoch, min", "training, h", "GPU-h", "efficiency"]
    body = []
    for name, row in models.items():
        gpus = 1
        while gpus <= row["global_batch"]:
            rate = row["global_batch"] / step(row, gpus, given)
            efficiency = step(row, 1, given) / gpus / step(row, gpus, given)
            hours = row["epochs"] * VIDEOS / rate / 3600
            cells = [name if gpus == 1 else "", str(gpus), str(row["global_batch"] // gpus), f"{rate:.0f}"]
            cells += [f"{VIDEOS / rate / 60:.3g}", f"{hours:.3g}", f"{gpus * hours:.3g}", f"{100 * efficiency:.0f} %"]
            body.append(cells)
            gpus *= 2
    return markdown_lines(header, body)


def starting(row: dict[str, Any], given: argparse.Namespace) -> int:
    """Return the smallest number of GPUs, a power of two, at which a step waits for its operators to start."""
    gpus = 1
    while computing(row, gpus, given) > given.operator * row["operators"]:
        gpus *= 2
    return gpus


def demands(models: dict[str, Any], given: argparse.Namespace) -> str:
    """Return the table of memory and cores, by model."""
    header = ["model", "clip", "batch", "epochs", "parameters", "GMACs", "GB per clip", "recomputed"]
    header += ["clips in 24 / 80 GB", "ms, 250 / 12 apart", "cores per GPU"]
    body = []
    for name, row in models.items():
        states = 4 * WORD * row["parameters"] + row["kept_bytes"]
        fits = [max(int((FULL * gb * 1e9 - states) // row["clip_bytes"]), 0) for gb in (24, 80)]
        cpu, rate = [*row["cpu_seconds"].values()], row["global_batch"] / step(row, 1, given)
        cells = [name, f"{row['frames']} x {row['image_size']}²", str(row["global_batch"]), str(row["epochs"])]
        cells += [f"{row['parameters'] / 1e6:.1f} M", f"{row['macs'] / 1e9:.0f}"]
        cells += [f"{row[key] / 1e9:.2f}" for key in ("clip_bytes", "checkpointed_bytes")]
        cells += [" / ".join(map(str, fits)), " / ".join(f"{1e3 * seconds:.0f}" for seconds in cpu)]
        body.append([*cells, " / ".join(f"{rate * seconds:.1f}" for seconds in cpu)])
    return markdown_lines(header, body)


def checked(two: dict[str, Any]) -> dict[str, Any]:
    """Return steps of two processes with communication over those without: measured, and by the formula."""
    largest, seconds = two["all_reduce"][-1], two["seconds"]
    bandwidth = largest["bytes"] / median(largest["seconds"])
    found = {"measured_bandwidth": bandwidth / 1e9, "rounds": len(seconds["two"]), "side": two["image_size"]}
    for kind, name in (("", "measured"), (", accumulated", "accumulated")):
        pairs = zip(seconds[f"two{kind}"], seconds[f"two apart{kind}"], strict=True)
        found[name] = median(a / b for a, b in pairs)
        alone = median(seconds[f"two apart{kind}"])
        found[f"{name}_predicted"] = 1 + WORD * two["parameters"] / bandwidth / alone
    return found | {"predicted": found["measured_predicted"]}


def page(stored: dict[str, Any], given: argparse.Namespace) -> str:
    """Return the page's text."""
    paper, two = stored["paper"], stored["processes"]
    models, facts = measured(stored["models"], given.tflops)
    given = argparse.Namespace(**vars(given), operator=facts["operator"])
    said = two | checked(two) | vars(given) | facts | {"hours": paper["v100_hours"], "epochs": paper["epochs"]}
    said["reached"] = 6 * paper["macs"] * VIDEOS * paper["epochs"] / (3600 * paper["v100_hours"]) / 125e12
    said |= {"counted": stored["counts"]["commit"], "cpu": stored["clips"]["device"].split(",")[0]}
    said |= {"times": times(models, given), "demands": demands(models, given)}
    said |= {"microseconds": 1e6 * facts["operator"], "bound": starting(models["X-ViT-B"], given)}
    paragraphs = PAGE.format(**said).split("\n\n")
    return "\n\n".join(p if p.startswith(("#", "|", " ")) else textwrap.fill(p, 120) for p in paragraphs) + "\n"


def main() -> int:
    """Write the page, or check it; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "docs" / "scaling.md")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if the page is out of date")
    parser.add_argument("--tflops", type=float, default=989.0, help="of a GPU's bfloat16 products")
    parser.add_argument("--share", type=float, help="of these that training reaches (default: as measured)")
    parser.add_argument("--bandwidth", type=float, default=320.0, help="GB/s of the all-reduce between GPUs")
    given = parser.parse_args()
    text = page(json.loads(STORED.read_text(encoding="utf-8")), given)
    if given.check:
        return int(roundings_apart(given.output.read_text(encoding="utf-8"), text) is None)
    write_atomically(given.output, text)
    return 0


if __name__ == "__main__":
    ran(main)
