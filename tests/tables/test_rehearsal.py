"""Test every row of the papers' tables at the papers' scales: a training step and a test clip of the real network.

Networks are on the meta device, with the real shapes of their weights. Clips are cut from generated videos of the data
set's length, with the row's own sampling and augmentation.
"""

import pytest

from lit_video.experiment.cli import VideoCLI
from lit_video.experiment.request import Run
from lit_video.experiment.spec import Spec
from lit_video.modules import XViT
from lit_video.modules.optimization import make_optimizer
from lit_video.video.clips import VideoRecord
from lit_video.weights.hub import PREFIX, find
from lit_video.weights.loading import load_pretrained
from tests.command_line import parse_request
from tests.commands.test_weights_settings import named_as_released
from tests.tables.experiments import EXPERIMENTS, PAPERS, nested, resolved, table_of
from tests.video.made import write

VIDEOS = {"ssv2": (48, 12), "k400": (300, 30), "k600": (300, 30), "epic100": (180, 60), "diving48": (150, 30)}
VIDEOS |= {"howto100m": (1100, 10), "moments": (75, 25)}  # frames, frames per second
SMALLER = ["--data.batch_size=2", "--data.num_workers=0", "--data.test_clips=1", "--trainer.accelerator=cpu"]


def on_papers_data():
    """Yield every table with each scale of its paper's own data."""
    for path in PAPERS:
        for scale in VIDEOS:
            if table_of(path, EXPERIMENTS / f"scale/{scale}.yaml").on_papers_data:
                yield path.stem, scale


@pytest.fixture(scope="session")
def videos(tmp_path_factory):
    """Folder with a video of each data set's length and rate."""
    folder = tmp_path_factory.mktemp("rehearsal")
    for name, (frames, rate) in VIDEOS.items():
        write(folder / f"{name}.mp4", "libx264", options={"g": "30"}, num_frames=frames, fps=rate, height=48, width=64)
    return folder


def clips_of(data, video):
    """Yield a batch of training clips and one of test clips of a row's data set, with one video for all."""
    label = tuple(range(len(data.num_classes))) if isinstance(data.num_classes, dict) else 1
    data.records = lambda split: [VideoRecord(video, label)] * 8
    for loader in (data.train_dataloader(), data.test_dataloader()):
        batch = next(iter(loader))
        assert batch["broken"] == [""] * len(batch["broken"])
        yield data.on_after_batch_transfer(batch, 0)


def rehearse(built, video, start=None):
    """Train a step, from another row's network if there is one, and test a clip."""
    model = built.model
    given = model.weights
    if start:
        load_pretrained(model.network, start.model.network.state_dict(), fresh_head=True)
    if given and given.startswith(PREFIX):  # the authors' network has another classifier
        data = built.datamodule  # released positions are resized to its clips
        clip = {"data.num_frames": data.num_frames, "data.image_size": data.image_size, "data.root": str(video.parent)}
        released = VideoCLI(nested(find(given).settings | clip)).build("meta").model.network
        weights = named_as_released(released) if isinstance(model, XViT) else released.state_dict()
        load_pretrained(model.network, weights, fresh_head=True)
    model.check_image_weights()
    optimizer = make_optimizer(model.optimization, model.network)
    for step, batch in zip(("train", "test"), clips_of(built.datamodule, video), strict=True):
        clip = batch["clip"].to("meta")
        data = built.datamodule
        side = data.image_size if step == "train" else data.test_image_size
        assert clip.shape[1:] == (3, data.num_frames, side, side)
        model.train(step == "train")
        logits = model(clip)
        if step == "train":
            model.loss(logits, batch["target"].to("meta")).backward()
            assert all(p.grad is not None for p in model.network.parameters() if p.requires_grad)
            optimizer.step()


def start_of(run):
    """Return the resolved row that a run starts from, if there is one."""
    if not run.start:
        return None
    table, scale, row = run.start.parts[-4:-1]
    return resolved(row, EXPERIMENTS / f"{table}.yaml", EXPERIMENTS / f"scale/{scale}.yaml")


@pytest.mark.slow
@pytest.mark.parametrize(("table", "scale"), on_papers_data())
def test_every_row_trains_a_step_and_tests_a_clip(table, scale, videos, tmp_path):
    files = [EXPERIMENTS / f"{table}.yaml", EXPERIMENTS / f"scale/{scale}.yaml"]
    request = parse_request([*(f"--config={file}" for file in files), *SMALLER, f"--data.root={tmp_path}"])
    for row in request.rows:
        run = Run(request, row, 0)
        rehearse(Spec(run).build("meta"), videos / f"{scale}.mp4", start_of(run))


def test_the_rehearsal_has_every_table_with_numbers():
    with_numbers = {path.stem for path in PAPERS if any(row.paper for row in table_of(path).rows)}
    assert {table for table, _ in on_papers_data()} >= with_numbers - {"xvit_throughput"}
