"""Measure the noise of the gradient that tells a film's direction, in batches with and without the films' reverses.

    OMP_NUM_THREADS=1 python -m benchmarks.gradient_noise experiments/skills.yaml -o gradient_noise.json
    OMP_NUM_THREADS=1 python -m benchmarks.gradient_noise experiments/vivit_models.yaml --rows model1,model2

The loss is that of the direction alone, as if the skill were known: the cross entropy of the true skill's two classes.
Its gradient g over all weights is taken at the start of a row's training, for batches of unrelated films, and for
batches in which each film stands beside its reverse:

    noise  = E |g - E g|^2, the trace of the covariance over batches
    signal = |E g|^2, less what the noise adds to it

Whatever in a network is blind to the order of frames gives the logits of a film and of its reverse the same gradient,
with opposite signs. Beside each other they cancel; among unrelated films they add up to noise.
"""

import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from benchmarks.harness import Measurement, Result, Row, Table, parser, ran
from lit_video.datamodules import TemporalSkills
from lit_video.errors import UserError
from lit_video.experiment.cli import VideoCLI
from lit_video.experiment.request import Run, build_request
from lit_video.modules import VideoClassifier
from lit_video.settings.flags import UserSetting
from lit_video.training.stills import start_from_stills

BATCHES = {"unrelated": None, "reverses": "reverse"}  # kinds of batches: settings of data.pairing


def main() -> int:
    """Measure every row with both kinds of batches, print and keep the result."""
    made = parser("gradient_noise", __doc__)
    made.add_argument("tables", type=Path, nargs="+", metavar="FILE", help="a table and files of its scale")
    made.add_argument("--rows", help="names of rows, with commas (default: all)")
    made.add_argument("--seeds", type=int, default=1, help="random starts of a row (default 1)")
    made.add_argument("--batches", type=int, default=64, help="batches for a mean (default 64)")
    made.add_argument("--batch", type=int, default=32, help="clips of a batch, an even number (default 32)")
    given = made.parse_args()

    measurement = Measurement("gradient_noise", given)
    for seed in range(given.seeds):
        for kind, pairing in BATCHES.items():
            settings = [UserSetting("data.pairing", pairing), UserSetting("data.batch_size", given.batch)]
            request = build_request(given.tables, given.rows and [given.rows], [seed], user_settings=settings)
            for run in request.runs:
                row: Row = {"name": run.row.name, "label": run.row.label, "seed": seed, "films": kind}
                measurement.rows.append(row | noise_and_signal(run, given.batches, measurement.device))
                print(f"{run.row.name}, {kind}: {measurement.rows[-1]['noise']:.3g}", file=sys.stderr, flush=True)
                measurement.keep()
    return measurement.show(tables)


def noise_and_signal(run: Run, count: int, device: torch.device) -> dict[str, float]:
    """Return the noise of the direction's gradient over batches, and its signal with the standard error of that."""
    torch.manual_seed(run.seed)
    built = VideoCLI(run.settings).build()
    data = built.datamodule
    if not isinstance(data, TemporalSkills):
        raise UserError(f"{run.label}: its data is {type(data).__name__}; give a table on TemporalSkills")
    data.prepare_data()
    start_from_stills(built.model, data)
    built.model.setup("fit")
    model = built.model.to(device)

    total = torch.zeros(sum(parameter.numel() for parameter in model.network.parameters()), dtype=torch.float64)
    squares = 0.0
    for clips, labels in islice(endless(data), count):
        gradient = direction_gradient(model, clips.to(device), labels.to(device))
        total += gradient
        squares += float(gradient.square().sum())

    of_mean = float((total / count).square().sum())
    noise = (squares - count * of_mean) / (count - 1)
    return {"noise": noise, "signal": of_mean - noise / count}


def endless(data: TemporalSkills) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield clips and class numbers of training batches, without smoothing, mixing and erasing."""
    loader = data.train_dataloader()
    while True:  # each iteration goes on with the order of films
        for raw in loader:
            yield data.normalise(raw)["clip"], raw["label"]


def direction_gradient(model: VideoClassifier, clips: Tensor, labels: Tensor) -> Tensor:
    """Return the gradient of the direction's loss over all weights, as one vector on the CPU."""
    model.zero_grad(set_to_none=True)
    by_skill = model(clips).unflatten(1, (-1, 2))  # the two classes of a skill are neighbours: (b, skills, 2)
    of_true_skill = by_skill[torch.arange(len(labels)), labels // 2]
    torch.autograd.backward(cross_entropy(of_true_skill, labels % 2))

    gradients = []
    for parameter in model.network.parameters():
        gradient = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        gradients.append(gradient.flatten().double().cpu())
    return torch.cat(gradients)


def tables(result: Result) -> Iterator[Table]:
    """Yield a line for each row: means over its random starts."""
    noise: dict[str, dict[str, list[Row]]] = {}
    for row in result["rows"]:
        noise.setdefault(row["label"], {kind: [] for kind in BATCHES})[row["films"]].append(row)

    def mean(rows: list[Row], key: str) -> float:
        return sum(row[key] for row in rows) / len(rows)

    body = []
    for label, rows in noise.items():
        unrelated, beside = mean(rows["unrelated"], "noise"), mean(rows["reverses"], "noise")
        signals = [f"{mean(rows[kind], 'signal'):.2g}" for kind in BATCHES]
        body.append([label, f"{unrelated:.3g}", f"{beside:.3g}", f"{unrelated / beside:.3g}", *signals])
    header = ["row", "noise, unrelated films", "beside reverses", "ratio", "signal, unrelated", "beside reverses"]
    title = f"Gradient of the direction, batches of {result['batch']}, {result['batches']} batches"
    yield Table(title, header, body, [])


if __name__ == "__main__":
    ran(main)
