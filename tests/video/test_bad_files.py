"""Test that every broken video is decoded right or reported by path and reason, and never replaced by another."""

import numpy as np
import pytest
import torch
from lightning import Trainer

from lit_video.datamodules import VideoDataModule
from lit_video.datamodules.probe import probe_video
from lit_video.errors import UserError
from lit_video.modules import XViT
from lit_video.network.vit import ViTSize
from lit_video.video.batch import BatchDraws, evaluation_batch, training_batch
from lit_video.video.clips import VideoRecord
from lit_video.video.decoding import DecodeError, decode, frame_table
from tests.checkpoints import QUIET
from tests.video.bad_files import BAD_FILES, build, write
from tests.video.made import sequentially
from tests.video.test_batch import raw_batch as intact_batch

WITHOUT_RIGHTS = "--bounding-set=-dac_override,-dac_read_search"  # for setpriv: root may not read any file
INTACT = {name for name, file in BAD_FILES.items() if file.num_frames}


@pytest.fixture(scope="session")
def bad_files(tmp_path_factory):
    return build(tmp_path_factory.mktemp("bad_files"))


def path_of(bad_files, name):
    if name not in bad_files:
        pytest.skip(f"root can read everything: setpriv {WITHOUT_RIGHTS} python -m pytest {__file__}")
    return bad_files[name]


@pytest.mark.parametrize("name", BAD_FILES)
def test_every_file_is_decoded_right_or_refused_by_path_and_reason(bad_files, name):
    path, file = path_of(bad_files, name), BAD_FILES[name]
    info = probe_video(path, name, every_frame=True)
    if file.num_frames:
        assert (info.status, info.frames) == ("ok", file.num_frames)
        pictures, _ = sequentially(path)
        assert frame_table(path).count == len(pictures) == file.num_frames
        assert np.array_equal(decode(path, range(file.num_frames)), np.stack([*pictures.values()]))
        return
    assert info.status == ("missing" if name == "missing.mp4" else "broken") and info.reason
    with pytest.raises(DecodeError) as error:
        decode(path, [0, frame_table(path).count - 1] if file.decode else [0])
    assert str(error.value).startswith(f"{path}: ")
    assert file.reason in str(error.value)


class Videos(VideoDataModule):
    """Data module with equal splits; the class of a video is its number."""

    def __init__(self, paths, classes=64, **kwargs):
        given = dict(num_frames=2, image_size=16, batch_size=4, num_workers=0, test_crops=2, test_clips=2)
        super().__init__(**given | kwargs)
        self.paths, self.classes = list(paths), classes

    @property
    def class_names(self):
        return [str(i) for i in range(self.classes)]

    def records(self, split):
        return [VideoRecord(path, i) for i, path in enumerate(self.paths)]


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("split", ["train", "val", "test"])
def test_loaders_pass_over_broken_videos_and_put_none_in_their_place(bad_files, workers, split):
    data = Videos(bad_files.values(), broken="report", num_workers=workers, batch_size=1)
    seen = {}
    for raw in getattr(data, f"{split}_dataloader")():
        name = list(bad_files)[int(raw["video"])]
        seen.setdefault(name, []).append(raw["broken"][0])
        assert int(raw["label"]) == int(raw["video"])
        assert bool(raw["clip"].any()) == (not raw["broken"][0])
    assert {name: len(reasons) for name, reasons in seen.items()} == dict.fromkeys(
        bad_files, 2 if split == "test" else 1
    )
    for name, reasons in seen.items():
        if not BAD_FILES[name].decode:  # some clips of that one can be read
            assert all(r.startswith(f"{bad_files[name]}: ") and BAD_FILES[name].reason in r for r in reasons) != (
                name in INTACT
            )
            assert any(reasons) != (name in INTACT)


@pytest.mark.parametrize("workers", [0, 2])
def test_under_fail_the_first_broken_video_ends_it_by_path(bad_files, workers):
    data = Videos([bad_files["one_frame.mp4"], bad_files["text.mp4"]], broken="fail", num_workers=workers, batch_size=1)
    loader = iter(data.val_dataloader())
    assert next(loader)["broken"] == [""]
    with pytest.raises(DecodeError, match=r"text\.mp4: Invalid data"):
        next(loader)


def model(classes=64):
    torch.manual_seed(0)
    return XViT(classes, 2, 16, size=ViTSize(16, 1, 2), patch_size=8)


def trainer(**kwargs):
    return Trainer(accelerator="cpu", **QUIET, **kwargs)


@pytest.fixture
def ten(tmp_path):
    """Nine intact videos and a broken one."""
    paths = [tmp_path / f"{i}.mp4" for i in range(10)]
    for path in paths[:9]:
        write(path, num_frames=4)
    paths[9].write_text("no video")
    return paths


@pytest.mark.parametrize(("policy", "percent", "ends"), [("skip", 10, 0), ("skip", 9.9, 1), ("report", 0, 0)])
def test_skip_allows_its_share_of_broken_videos_and_report_any(ten, policy, percent, ends):
    data = Videos(ten, broken=policy, broken_percent=percent)
    if ends:
        with pytest.raises(UserError, match=r"data.broken_percent: 10.0 % of the test videos.*9\.mp4: Invalid data"):
            trainer().test(model(), data, verbose=False)
        return
    (metrics,) = trainer().test(model(), data, verbose=False)
    assert metrics["test/videos"] == 9
    assert data.found_broken.rows() == [("test", str(ten[9]), "Invalid data found when processing input")]


def test_a_broken_video_counts_once_over_all_epochs(ten):
    data = Videos(ten, broken="skip", broken_percent=10, batch_size=5)
    trainer(max_epochs=3, limit_val_batches=0).fit(model(), data)
    assert [row[:2] for row in data.found_broken.rows()] == [("train", str(ten[9]))]


def test_a_checkpoint_remembers_what_was_broken(ten):
    data, other = Videos(ten, broken="report", batch_size=5), Videos(ten, broken="report", batch_size=5)
    trainer(max_epochs=1, limit_val_batches=0).fit(model(), data)
    other.load_state_dict(data.state_dict())
    assert other.found_broken.rows() == [("train", str(ten[9]), "Invalid data found when processing input")]


def test_validation_and_test_of_broken_videos_only_end_without_a_number(tmp_path):
    broken = tmp_path / "a.mp4"
    broken.write_text("no video")
    data = Videos([broken] * 3, broken="report")
    (metrics,) = trainer().test(model(), data, verbose=False)
    assert metrics["test/videos"] == 0
    assert np.isnan(metrics["test/video_top1"])
    assert np.isnan(trainer().validate(model(), data, verbose=False)[0]["val/loss"])


def test_metrics_of_a_split_are_those_of_its_intact_videos(ten):
    network = model()
    for run in ("validate", "test"):
        every, intact = (
            getattr(trainer(), run)(network, Videos(paths, broken="report", batch_size=3), verbose=False)[0]
            for paths in (ten, ten[:9])
        )
        assert every == pytest.approx(intact)


def raw_batch(broken=()):
    raw = intact_batch(num_frames=2, side=16)
    return raw | {"broken": ["broken" if i in broken else "" for i in range(4)]}


def without(raw, i):
    keep = [j for j in range(4) if j != i]
    return {key: [value[j] for j in keep] if key == "broken" else value[keep] for key, value in raw.items()}


def loss_and_gradient(classifier, batch):
    classifier.zero_grad()
    loss = classifier.loss(classifier(batch["clip"].double()), batch["target"])
    loss.backward()
    return loss.detach(), torch.cat([p.grad.flatten() for p in classifier.parameters() if p.grad is not None])


@pytest.mark.parametrize("smoothing", [None, 0.0, 0.3])
def test_loss_and_gradient_are_those_without_the_broken_video_times_the_share_that_was_read(smoothing):
    def batch(raw):
        if smoothing is None:
            return evaluation_batch(raw, 0.5, 0.5)
        return training_batch(raw, 0.5, 0.5, classes=4, smoothing=smoothing, draws=BatchDraws(None, None))

    classifier = model(4).eval().double()
    loss, gradient = loss_and_gradient(classifier, batch(raw_batch(broken=[2])))
    expected, expected_gradient = loss_and_gradient(classifier, batch(without(raw_batch(), 2)))
    # labels are smoothed in single precision
    torch.testing.assert_close(loss, expected * 3 / 4, atol=1e-6, rtol=1e-6)
    torch.testing.assert_close(gradient, expected_gradient * 3 / 4, atol=1e-6, rtol=1e-6)
