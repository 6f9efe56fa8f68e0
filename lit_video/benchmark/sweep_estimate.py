"""What the rows of tables would take on one GPU: counted operations, and the cost of clips that is measured here."""

import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from lit_video.costs.count import count
from lit_video.costs.operators import operators
from lit_video.costs.scaling import Model
from lit_video.datamodules.reversed_pairs import ReversedPairs
from lit_video.errors import UserError
from lit_video.tables.table import Row
from lit_video.training.cli import BuildCLI
from lit_video.training.request import Request
from lit_video.training.run import build_row
from lit_video.utils.image_size import height_and_width
from lit_video.utils.text_tables import text_table

PEAK, REACHED = 312e12, 0.3  # A100 in bfloat16, and the share of it that training is assumed to reach
OPERATOR = 10e-6  # seconds to start one
START = 40.0  # seconds of a run before and after training
ASSUMPTIONS = f"""\
Estimates. One GPU: {PEAK / 1e12:.0f} TFLOP/s, of which training reaches {REACHED:g}, and {1e6 * OPERATOR:.0f} µs to \
start an operator; {START:.0f} s
of a run for its start and end. A step takes the longest of what its multiply-adds, its operators and its clips take.
Clips are measured here, on one core: the first time a video is decoded and drawn, and from memory; data.num_workers
cores make them. Not counted: writing the data set and the image model, which is done once."""
HEADER = ["row", "GMACs", "clips", "steps", "ms/step: compute", "ms/step: clips", "minutes"]


@dataclass(frozen=True)
class RowEstimate:
    """A row's training, validation and test; times in seconds, of a clip on one core."""

    label: str
    macs: int
    train_videos: int
    validations: int
    val_videos: int
    test_views: int
    steps: int
    batch: int
    workers: int
    step: Model
    first_clip: float
    kept_clip: float

    @property
    def compute(self) -> float:
        """Of a step."""
        return self.step.compute(self.batch)

    @property
    def loading(self) -> float:
        """Of the clips of a step, once they are in memory."""
        return self.batch * self.kept_clip / self.workers

    @property
    def seconds(self) -> float:
        """Of the whole run."""
        videos = self.train_videos + self.test_views + (self.val_videos if self.validations else 0)
        first = videos * (self.first_clip - self.kept_clip) / self.workers
        evaluated = self.test_views + self.validations * self.val_videos
        evaluation = evaluated * max(self.step.clip_seconds / 3, self.kept_clip / self.workers)
        return START + first + evaluation + self.steps * max(self.compute, self.loading)


def estimate_row(request: Request, row: Row) -> RowEstimate:
    """Count and measure a row, with a few videos that are made for it.

    Raises:
        UserError: its data set is no embedded one, or has fewer videos than a batch.
    """
    built = build_row(request, row, 0)
    data, trainer, network = built.datamodule, built.config.trainer, built.model.network
    if not isinstance(data, ReversedPairs):
        raise UserError(f"--estimate: {row.name}: data sets other than the embedded ones are in docs/scaling.md")
    shape = (data.batch_size, 3, data.frames, *height_and_width(data.image_size))
    bfloat16 = "bf16" in str(trainer.precision)
    macs = count(network, data.frames, data.image_size)[1]
    parameters = sum(parameter.numel() for parameter in network.parameters())
    videos = {split: 2 * len(data.kinds) * pairs for split, pairs in data.pairs.items()}
    train = round(videos["train"] * data.train_share)
    if not (epoch := train // data.batch_size):
        raise UserError(f"--estimate: {row.name}: data.batch_size is {data.batch_size}, there are {train} videos")
    steps = trainer.max_steps if trainer.max_steps > 0 else epoch * (trainer.max_epochs or 1000)
    first, kept = _clip_seconds(request, row)
    return RowEstimate(
        label=row.label,
        macs=macs,
        train_videos=train,
        validations=steps // epoch // (trainer.check_val_every_n_epoch or 1),
        val_videos=videos["val"],
        test_views=videos["test"] * data.test_clips * data.test_crops,
        steps=steps,
        batch=data.batch_size,
        workers=max(data.num_workers, 1),
        # forward and backward are three times the multiply-adds, of two operations each
        step=Model(parameters, 0, 0, 6 * macs / (PEAK * REACHED), OPERATOR * operators(network, shape, bfloat16)),
        first_clip=first,
        kept_clip=kept,
    )


def _clip_seconds(request: Request, row: Row) -> tuple[float, float]:
    """Seconds of this machine's core for a training clip, at first and once its video is in memory."""
    with tempfile.TemporaryDirectory() as folder:
        flags = [f"--data.root={folder}", "--data.pairs=[2,1,1]", "--data.num_workers=0", "--data.batch_size=2"]
        flags += ["--data.train_share=1.0"]
        data = build_row(replace(request, flags=[*request.flags, *flags]), row, 0, BuildCLI).datamodule
        data.prepare_data()
        data.setup("fit")
        loader = data.train_dataloader()
        times = []
        for _ in range(3):
            started, clips = time.perf_counter(), 0
            for batch in loader:
                clips += len(batch["video"])
            times.append((time.perf_counter() - started) / clips)
    return times[0], min(times[1:])


def render(title: str, rows: Sequence[RowEstimate], seeds: int) -> str:
    """The rows as a table, with the sum over all seeds."""
    body = [
        [
            row.label,
            f"{row.macs / 1e9:.3g}",
            f"{row.steps * row.batch:,}",
            f"{row.steps:,}",
            f"{1000 * row.compute:.1f}",
            f"{1000 * row.loading:.1f}",
            f"{row.seconds / 60:.1f}",
        ]
        for row in rows
    ]
    minutes = sum(row.seconds for row in rows) / 60
    total = f"{len(rows)} rows: {minutes:.0f} minutes for a seed, {minutes * seeds:.0f} for {seeds}"
    return f"{text_table(title, HEADER, body)}\n{total}"
