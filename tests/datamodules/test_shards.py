"""Shards: the same clips as from files, for any workers, ranks and restarts; read by place from anywhere."""

import csv
import json
import os
import shutil
import tarfile
from fractions import Fraction
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import SimpleNamespace

import fsspec
import numpy as np
import pytest
import torch
import webdataset
from PIL import Image

from lit_video.__main__ import main
from lit_video.datamodules import VideoCSV, VideoFolder, VideoShards
from lit_video.datamodules.digest import data_digest
from lit_video.datamodules.preparation.shards import Pictures, write_shards
from lit_video.datamodules.video_list import VideoList
from lit_video.errors import UserError
from lit_video.video.augmentation import EvaluationViews
from lit_video.video.clips import ClipDataset, VideoRecord
from lit_video.video.decoding import DecodeError, decode, forget_tables
from lit_video.video.sampling import Dense
from lit_video.video.shards import decode_shard
from tests.datamodules.test_determinism import epochs, evaluated, same
from tests.video.bad_files import write

LOSSLESS = Pictures("webp", quality=100, videos=5)
SETTINGS = dict(frames=4, image_size=16, batch_size=4, augmentation="xvit-paper-k400", sampling=Dense(seconds=0.5))
CLASSES = ("run", "sit")


@pytest.fixture(autouse=True)
def new_shards():
    """A shard of another test may have had the same name."""
    forget_tables()


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """Eight training videos of two classes, one of them with uneven times, and four of each other split."""
    root = tmp_path_factory.mktemp("videos")
    for split, each in (("train", 4), ("val", 2), ("test", 2)):
        for name in CLASSES:
            (root / split / name).mkdir(parents=True)
            for i in range(each):
                write(root / split / name / f"{i}.mp4", frames=12 + 2 * i)
    write(root / "train/run/uneven.mkv", pts=[0, 1, 2, 40, 41, 60, 61, 62, 63, 90])
    return root


@pytest.fixture(scope="module")
def shards(root, tmp_path_factory):
    """Those videos without loss."""
    folder = tmp_path_factory.mktemp("shards")
    assert write_shards(VideoFolder(str(root)), folder, LOSSLESS) == (17, 4, {})
    return folder


def files(root, **changes):
    return VideoFolder(root=str(root), **(SETTINGS | dict(num_workers=0) | changes))


def shard_data(shards, **changes):
    return VideoShards(root=str(shards), **(SETTINGS | dict(num_workers=0) | changes))


@pytest.fixture(scope="module")
def two_epochs(root):
    """Of the files."""
    return epochs(files(root))


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_shards_without_loss_train_on_the_very_batches_of_the_files(shards, two_epochs, workers):
    batches = epochs(shard_data(shards, num_workers=workers))
    assert same(batches[0], two_epochs[0])
    assert same(batches[1], two_epochs[1])
    assert not same(*batches)


def test_the_middle_of_an_epoch_goes_on_with_what_was_left_of_it(shards, two_epochs):
    data = shard_data(shards, num_workers=2)
    data.load_state_dict({"epoch": 0, "seen": 4})
    assert same(epochs(data, (0,))[0], two_epochs[0][1:])


def test_two_processes_share_the_samples_of_one(shards, two_epochs):
    def videos(rank):
        data = shard_data(shards, batch_size=2)
        data.trainer = SimpleNamespace(world_size=2, global_rank=rank, accumulate_grad_batches=1)
        loader = data.train_dataloader()
        return [raw["video"].tolist() for raw in loader]

    both = [one + other for one, other in zip(videos(0), videos(1), strict=True)]
    assert both == [batch["video"].tolist() for batch in two_epochs[0]]


def test_validation_and_test_see_what_they_see_of_the_files(root, shards):
    for changes in (dict(), dict(test_clips=3, num_workers=2)):
        one, other = files(root, **changes), shard_data(shards, **changes)
        assert same(evaluated(one.val_dataloader()), evaluated(other.val_dataloader()))
        assert same(evaluated(one.test_dataloader()), evaluated(other.test_dataloader()))


def test_classes_records_and_digest_are_those_of_the_data_set(root, shards):
    one, other = files(root), shard_data(shards)
    assert other.class_names == list(CLASSES)
    assert other.present == ("train", "val", "test")
    assert data_digest(other) == data_digest(one)
    pairs = [(a, b) for split in one.present for a, b in zip(one.records(split), other.records(split), strict=True)]
    assert all(a.label == b.label for a, b in pairs)
    for a, b in pairs:
        before, after = a.table(), b.table()
        assert (after.times, after.time_base, after.seconds) == (before.times, before.time_base, before.seconds)
        assert np.array_equal(b.decode([0, 7]), decode(a.path, [0, 7]))
        assert [frame.sum() for frame in b.decode_in_order([1, 2])] == [f.sum() for f in decode(a.path, [1, 2])]
    other.check()


def test_labels_and_segments_of_any_data_set_stay(tmp_path, root):
    lines = ["path,label,start,end", "train/run/0.mp4,a,0,0.2", "train/run/0.mp4,b,0.2,0.44", "train/sit/1.mp4,b,,"]
    for name in ("train.csv", "val.csv"):
        (tmp_path / name).write_text("\n".join([*lines[: 4 if name == "train.csv" else 3], ""]))
    (tmp_path / "train").symlink_to(root / "train")
    settings = SETTINGS | dict(num_workers=0, batch_size=3)
    command = ["data", "shards", str(tmp_path), str(tmp_path / "out"), "--dataset", "csv", "--form", "webp"]
    # both splits have the same video: as training data this is refused
    assert main([*command, "--quality", "100"]) == 2
    (tmp_path / "val.csv").write_text("path,label,start,end\ntrain/sit/2.mp4,b,0,0.5\ntrain/run/2.mp4,a,,\n")
    assert main([*command, "--quality", "100"]) == 0
    one, other = VideoCSV(root=str(tmp_path), **settings), VideoShards(root=str(tmp_path / "out"), **settings)
    assert same(epochs(one)[0], epochs(other)[0])
    described = members(tmp_path / "out/000000.tar")
    (both,) = [each for each in described.values() if each["path"] == "train/run/0.mp4"]
    assert both["records"] == [["train", 0, 0.0, 0.2], ["train", 1, 0.2, 0.44]]


class Two(VideoList):
    """Two labels per video."""

    @property
    def class_names(self):
        return {"verb": ["a", "b"], "noun": ["c", "d"]}


def test_several_labels_and_folders_of_frames_stay(tmp_path, root, frames):
    folders = [frames, shutil.copytree(frames, tmp_path / "others")]
    records = [VideoRecord(folder, (1, 0), fps=10.0) for folder in folders]
    write_shards(Two(records), tmp_path / "out", LOSSLESS)
    data = shard_data(tmp_path / "out")
    assert data.num_classes == {"verb": 2, "noun": 2}
    for record in data.records("val"):
        assert record.label == (1, 0)
        assert (record.table().count, record.table().seconds) == (12, Fraction(6, 5))
        assert np.array_equal(record.decode(range(12)), decode(root / "train/run/0.mp4", range(12)))


@pytest.fixture
def frames(tmp_path, root):
    """A video as a folder of pictures."""
    (tmp_path / "frames").mkdir()
    for i, picture in enumerate(decode(root / "train/run/0.mp4", range(12))):
        Image.fromarray(picture).save(tmp_path / f"frames/{i}.png")
    return tmp_path / "frames"


def test_frames_of_another_rate_are_not_taken_for_those_that_are_written(frames, tmp_path):
    write_shards(Two([VideoRecord(frames, (1, 0), fps=10.0)]), tmp_path / "out", LOSSLESS)
    with pytest.raises(UserError, match="was made with other videos, labels or rates"):
        write_shards(Two([VideoRecord(frames, (1, 0), fps=20.0)]), tmp_path / "out", LOSSLESS)


def test_a_frame_that_is_replaced_in_its_folder_is_written_again(frames, tmp_path):
    data = Two([VideoRecord(frames, (1, 0), fps=10.0)])
    write_shards(data, tmp_path / "out", LOSSLESS)
    Image.new("RGB", Image.open(frames / "3.png").size, "red").save(frames / "3.png")  # the folder's time stays
    write_shards(data, tmp_path / "out", LOSSLESS)
    (record,) = shard_data(tmp_path / "out").records("val")
    assert (record.decode([3]) == (255, 0, 0)).all()


# how they are written


def members(shard):
    with tarfile.open(shard) as tar:
        return {m.name: json.load(tar.extractfile(m)) for m in tar if m.name.endswith(".json")}


def test_webdataset_reads_our_shards(root, shards):
    seen = {}
    for shard in sorted(shards.glob("*.tar")):
        for sample in webdataset.WebDataset(str(shard), shardshuffle=False).decode("rgb8"):
            pictures = [sample[key] for key in sorted(sample) if key.endswith(".webp")]
            seen[sample["json"]["path"]] = np.stack(pictures)
    assert len(seen) == 17
    for path, pictures in seen.items():
        assert np.array_equal(pictures, decode(root / path, range(len(pictures))))


def test_pictures_are_small_and_of_their_quality(tmp_path):
    for split in ("train", "val", "test"):
        for name in CLASSES:
            (tmp_path / "in" / split / name).mkdir(parents=True)
            write(tmp_path / "in" / split / name / "1.mp4", frames=3, height=90, width=160)
    command = ["data", "shards", str(tmp_path / "in"), "--dataset", "folder", "--short-side", "32"]
    for quality in (30, 95):
        assert main([*command, str(tmp_path / str(quality)), "--quality", str(quality)]) == 0
    low, high = (shard_data(tmp_path / str(quality)).records("val")[0] for quality in (30, 95))
    assert (low.table().height, low.table().width) == (32, 56)
    source = decode(tmp_path / "in/val/run/1.mp4", range(3))
    small = [np.asarray(Image.fromarray(frame).resize((56, 32), Image.Resampling.BICUBIC)) for frame in source]
    grey = np.stack(small).mean(-1)  # colours have half the resolution
    errors = [np.abs(record.decode(range(3)).mean(-1) - grey).mean() for record in (low, high)]
    assert errors[1] < 4 < errors[0]


def bytes_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix in {".tar", ".csv", ".json"}}


def test_writing_that_was_killed_goes_on_and_ends_with_the_same_bytes(root, shards, tmp_path):
    expected = bytes_of(shards)
    for name in ("000000.tar", "000000.csv", "000001.tar", "plan.json"):  # 1 was not finished
        (tmp_path / name).write_bytes(expected[name])
    os.utime(tmp_path / "000000.tar", (1, 1))
    (tmp_path / ".000002.tar.part").write_bytes(b"begun")
    with pytest.raises(UserError, match=r"has no shards.json: no shards, or data shards has not ended"):
        shard_data(tmp_path).check()
    write_shards(VideoFolder(str(root)), tmp_path, LOSSLESS)
    assert bytes_of(tmp_path) == expected
    assert (tmp_path / "000000.tar").stat().st_mtime == 1, "a finished shard stays"
    assert not list(tmp_path.glob(".*.part"))


def test_only_the_shard_of_a_changed_video_is_written_again(root, shards, tmp_path):
    folder = copied(shards, tmp_path / "copy")
    times = {path.name: path.stat().st_mtime_ns for path in folder.glob("*.tar")}
    os.utime(root / "val/sit/1.mp4", (1, 1))  # older: restored from a backup
    write_shards(VideoFolder(str(root)), folder, LOSSLESS)
    changed = [path for path in folder.glob("*.tar") if path.stat().st_mtime_ns != times[path.name]]
    assert len(changed) == 1
    assert "val/sit/1.mp4" in {each["path"] for each in members(changed[0]).values()}


def test_other_pictures_or_videos_are_refused(root, shards, tmp_path):
    folder = copied(shards, tmp_path / "copy")
    with pytest.raises(UserError, match=r'was made with \{"version": 1, "form": "webp", "quality": 100'):
        write_shards(VideoFolder(str(root)), folder, Pictures())
    with pytest.raises(UserError, match="was made with other videos, labels or rates; give another folder"):
        write_shards(VideoList(VideoFolder(str(root)).records("val")), folder, LOSSLESS)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--quality", "0"], "--quality: is 0, expected 1 to 100"),
        (["--videos", "0"], "--videos: is 0, expected at least 1"),
        (["--form", "png"], "png"),
        (["--nope"], "--nope"),
    ],
)
def test_mistakes_are_one_line(root, tmp_path, capsys, flags, message):
    assert main(["data", "shards", str(root), str(tmp_path / "out"), "--dataset", "folder", *flags]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert message in line
    assert not (tmp_path / "out").exists()


# what is broken


def dataset(records, **changes):
    return ClipDataset(records, Dense(seconds=0.5), 4, EvaluationViews(1, 16), 0, clips=1, **changes)


def copied(shards, folder):
    folder.mkdir()
    for name, content in bytes_of(shards).items():
        (folder / name).write_bytes(content)
    return folder


def test_a_video_that_cannot_be_read_counts_as_broken_as_it_would_without_shards(tmp_path, root, capsys):
    for split in ("train", "val", "test"):
        for name in CLASSES:
            (tmp_path / "in" / split / name).mkdir(parents=True)
            (tmp_path / "in" / split / name / "0.mp4").symlink_to(root / split / name / "0.mp4")
    whole = (root / "train/run/3.mp4").read_bytes()
    (tmp_path / "in/train/run/1.mp4").write_bytes(whole[: len(whole) // 2])
    assert main(["data", "shards", str(tmp_path / "in"), str(tmp_path / "out"), "--dataset", "folder"]) == 1
    assert "broken (1, listed in" in capsys.readouterr().out
    with (tmp_path / "out/broken.csv").open() as file:
        ((path, reason),) = [*csv.reader(file)][1:]
    assert path == "train/run/1.mp4"
    record = shard_data(tmp_path / "out").records("train")[1]
    with pytest.raises(DecodeError) as error:
        dataset([record])[0, 0]
    with pytest.raises(DecodeError) as of_file:
        files(tmp_path / "in").records("train")[1].table()
    assert str(error.value).removeprefix(f"{record.path}: ") == reason
    assert str(of_file.value) == f"{tmp_path / 'in/train/run/1.mp4'}: {reason}"
    sample = dataset([record], fail=False)[0, 0]
    assert sample["broken"] == str(error.value) and not sample["clip"].any()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ("picture", "frame 8 is damaged in"),
        ("description", "its description in .* is damaged"),
        ("cut", "the file ends early"),
        ("gone", "No such file"),
    ],
)
def test_a_damaged_sample_is_never_a_picture(shards, tmp_path, damage, message):
    data = shard_data(copied(shards, tmp_path / "x"))
    record = data.records("val")[0]
    shard = Path(record.place.shard)
    content = bytearray(shard.read_bytes())
    if damage == "picture":
        with tarfile.open(shard) as tar:
            key = f"{next(m.name for m in tar if m.offset_data == record.place.start).split('.')[0]}.000008.webp"
            content[tar.getmember(key).offset_data + 99] ^= 1
    elif damage == "description":
        content[record.place.start] = 0
    elif damage == "cut":
        del content[record.place.start + 1 :]
    shard.unlink() if damage == "gone" else shard.write_bytes(content)
    with pytest.raises(DecodeError, match=message) as error:
        record.decode([3, 8])
    assert str(error.value).startswith(f"{record.path}: ")
    if damage == "picture":
        assert record.decode([3, 7]).any(), "other frames are whole"
    if damage == "gone":
        with pytest.raises(UserError, match="No such file or directory; write it again"):
            data.check()
    whole = data.records("val")[:2]
    if damage != "picture":
        assert dataset(whole, fail=False)[0, 0]["broken"].startswith(f"{record.path}: ")


def test_settings_for_files_and_foreign_folders_are_refused(root, tmp_path):
    for name, value in (("manifest", "x"), ("keep_gb", 1.0)):
        with pytest.raises(ValueError, match=f"{name} is .*, but shards hold no video files"):
            VideoShards(str(tmp_path), **{name: value})
    with pytest.raises(UserError, match="no shards, or data shards has not ended"):
        _ = VideoShards(str(root)).class_names
    with pytest.raises(UserError, match=r"data.root: nope://shards: Protocol not known: nope"):
        _ = VideoShards("nope://shards").class_names
    (tmp_path / "shards.json").write_text('{"version": 99}')
    with pytest.raises(UserError, match="has version 99, this lit_video reads 1; write the shards again"):
        _ = VideoShards(str(tmp_path)).class_names


# through a network


class Server(SimpleHTTPRequestHandler):
    """Files of a folder; parts of them too, unless that is off; every third answer is a failure if that is on."""

    ranges, fails, asked = True, False, []

    def do_GET(self):
        path = Path(self.translate_path(self.path))
        self.asked.append((path.name, self.headers.get("Range")))
        if not path.is_file():
            return self.send_error(404)
        if self.fails and len(self.asked) % 3 == 0:
            return self.send_error(503)
        content, status = path.read_bytes(), 200
        if self.ranges and (asked := self.headers.get("Range")):
            first, last = map(int, asked.removeprefix("bytes=").split("-"))
            content, status = content[first : last + 1], 206
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args):
        pass


@pytest.fixture
def serve(shards):
    """Function that serves the shards by HTTP: the URL."""
    servers = []

    def start(**settings):
        handler = type("Handler", (Server,), settings | {"asked": []})
        server = ThreadingHTTPServer(("127.0.0.1", 0), lambda *a: handler(*a, directory=str(shards)))
        Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_address[1]}", handler.asked

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("workers", [0, 2])
def test_http_gives_the_same_batches(serve, two_epochs, workers):
    url, asked = serve()
    data = shard_data(url, num_workers=workers)
    data.check()
    assert same(epochs(data, (0,))[0], two_epochs[0])
    parts = [part for name, part in asked if name.endswith(".tar")]
    assert parts and all(parts), "only parts of shards are asked for"


def test_what_a_network_loses_is_asked_for_again(serve, shards, monkeypatch):
    monkeypatch.setattr("lit_video.video.shards.time.sleep", lambda seconds: None)
    url, asked = serve(fails=True)
    (expected,) = shard_data(shards).records("val")[:1]
    place = expected.place._replace(shard=f"{url}/{Path(expected.place.shard).name}")
    for i in range(5):
        assert np.array_equal(decode_shard(expected.path, place, [i]), expected.decode([i]))
    assert len(asked) > 6, "a description, five pictures, and what failed"


def test_a_server_without_parts_and_one_without_shards_are_named(serve):
    whole, _ = serve(ranges=False)
    record = shard_data(whole).records("val")[0]
    with pytest.raises(DecodeError, match="the server gives whole files, not parts of them"):
        record.decode([0])
    with pytest.raises(UserError, match=r"/nowhere has no shards.json"):
        _ = shard_data(f"{whole}/nowhere").class_names


def test_any_file_system_of_fsspec_will_do(shards, two_epochs):
    memory = fsspec.filesystem("memory")
    for name, content in bytes_of(shards).items():
        memory.pipe(f"/bucket/{name}", content)
    data = shard_data("memory://bucket")
    data.check()
    assert same(epochs(data, (0,))[0], two_epochs[0])
    assert torch.equal(next(iter(data.val_dataloader()))["video"], torch.arange(4))
