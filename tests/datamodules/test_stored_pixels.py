"""Test that the stored pixels of drawn videos are those of decoding, and that no other file is taken for them."""

import shutil
from itertools import pairwise
from multiprocessing import get_context
from subprocess import run

import numpy as np
import pytest

from lit_video.datamodules import Augmentation, stored_pixels, temporal_skills
from lit_video.datamodules.temporal_skills import DIGESTS
from lit_video.errors import UserError
from lit_video.video.decoding import FrameTable, decode, forget_tables, frame_table
from tests.conftest import quick_or_slow
from tests.embedded import four_skills

SPLITS = ("train", "val", "test")


def few(folder, **settings):
    """Return a data module of four videos of each split."""
    return four_skills(folder, **(dict(skills=("zoom", "meeting"), pairs=(1, 1, 1)) | settings))


def draw(folder):
    few(folder).prepare_data()


@pytest.fixture
def root(made_once, tmp_path):
    """Folder of drawn videos, which tests may change."""
    shutil.copytree(made_once("drawn", draw), tmp_path, dirs_exist_ok=True)
    return few(tmp_path).root


def draw_and_store(folder):
    data = few(folder, keep_gb=0.1)
    data.prepare_data()
    clips(data)


@pytest.fixture
def stored(made_once, tmp_path):
    """Folder of drawn videos beside their stored pixels, which tests may change."""
    shutil.copytree(made_once("drawn and stored", draw_and_store), tmp_path, dirs_exist_ok=True)
    return few(tmp_path).root


@pytest.fixture(scope="module")
def decoded(made_once):
    """All clips of the drawn videos."""
    return clips(few(made_once("drawn", draw)))


def kept(root, **settings):
    return few(root.parent, **(dict(keep_gb=0.1) | settings))


def loaders(data):
    data.tested = "train"
    learned = data.test_dataloader()
    data.tested = "test"
    tests = data.test_dataloader()
    return [data.train_dataloader(), data.val_dataloader(), learned, tests, data.predict_dataloader()]


def clips(data):
    """Return all clips of all loaders."""
    return [batch["clip"] for loader in loaders(data) for batch in loader]


def equal(ones, others):
    return len(ones) == len(others) and all(one.equal(other) for one, other in zip(ones, others, strict=True))


def files(root):
    return {split: [*root.glob(f"pixels-{split}-*.npy")] for split in SPLITS}


def refuse(*arguments):
    raise AssertionError(f"{arguments[0]} is decoded")


AUGMENTED = Augmentation(crop="most", flip=0.0, random_erasing=0.5)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"augmentation": AUGMENTED, "order": "shuffled", "test_clips": 2},
        pytest.param({"order": "static"}, marks=pytest.mark.slow),
        pytest.param({"num_workers": 1}, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_clips_from_the_file_are_those_of_decoding(root, settings, monkeypatch):
    expected = clips(kept(root, keep_gb=0, **settings))
    assert not any(files(root).values()), "nothing is stored where nothing is kept"
    assert equal(clips(kept(root, **settings)), expected)
    assert [len(found) for found in files(root).values()] == [1, 1, 1]

    reader = kept(root, **settings)
    monkeypatch.setattr(reader._decode, "_decode", refuse)
    assert equal(clips(reader), expected)


def test_the_file_holds_each_video_as_it_is_decoded(stored):
    for split, (file,) in files(stored).items():
        paths = [record.path for record in kept(stored).records(split)]
        for path, pixels in zip(paths, np.load(file), strict=True):
            assert np.array_equal(pixels, decode(path, range(16)))


def test_sha256sum_checks_videos_and_pixels(stored):
    assert run(["sha256sum", "--check", "--quiet", DIGESTS], cwd=stored, check=False).returncode == 0


def removed(file):
    file.unlink()


def cut(file):
    file.write_bytes(file.read_bytes()[:-1000])


def emptied(file):
    file.write_bytes(b"")


def replaced(file):
    """Give the file other pixels, in its own format."""
    np.save(file, np.zeros_like(np.load(file)))


def flipped(file):
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)


def of_another_split(file):
    (other,) = files(file.parent)["test"]
    file.write_bytes(other.read_bytes())


def unlisted(file):
    """Forget the digest of the file."""
    sums = file.parent / DIGESTS
    lines = [line for line in sums.read_text().splitlines() if not line.endswith(file.name)]
    sums.write_text("".join(f"{line}\n" for line in lines))


def made_a_folder(file):
    file.unlink()
    file.mkdir()


HARMS = [removed, cut, emptied, replaced, flipped, of_another_split, unlisted]


# a file of other content differs from its digest, whatever the content
@pytest.mark.parametrize("harm", quick_or_slow(HARMS, {removed, cut, flipped, unlisted}))
def test_a_damaged_file_is_not_used_and_written_again(stored, decoded, harm, capsys):
    contents = {file: file.read_bytes() for (file,) in files(stored).values()}
    capsys.readouterr()
    harm(files(stored)["train"][0])
    assert equal(clips(kept(stored)), decoded)
    assert {file: file.read_bytes() for (file,) in files(stored).values()} == contents
    assert "decoded again" in capsys.readouterr().out or harm is removed


def test_what_cannot_be_written_is_decoded(stored, decoded):
    made_a_folder(files(stored)["train"][0])
    assert equal(clips(kept(stored)), decoded)
    assert not [*stored.glob("*.part")]


def test_a_full_disk_is_no_failure(root, decoded, monkeypatch):
    def full(file, pixels):
        file.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(temporal_skills, "write_pixels", full)
    assert equal(clips(kept(root)), decoded)
    assert not [*root.glob("pixels-*")]


def test_videos_drawn_anew_by_another_encoder_have_a_file_of_their_own(stored, decoded, monkeypatch):
    """Videos of other contents are never served from the file of the former ones."""
    encode = temporal_skills.encode
    monkeypatch.setattr(
        temporal_skills, "encode", lambda path, frames, *rest, **keywords: encode(path, 255 - frames, *rest, **keywords)
    )
    (stored / DIGESTS).write_text("")
    kept(stored).prepare_data()
    after = clips(kept(stored))
    assert not equal(after, decoded)
    forget_tables()
    assert equal(after, clips(kept(stored, keep_gb=0)))


def test_another_decoder_has_a_file_of_its_own(stored, monkeypatch):
    monkeypatch.setattr(stored_pixels.av, "__version__", "0.1")
    clips(kept(stored))
    assert [len(found) for found in files(stored).values()] == [2, 2, 2]


@pytest.mark.parametrize("split", quick_or_slow(SPLITS, {"train"}))
def test_a_video_replaced_before_the_file_is_written_leaves_no_file(root, split):
    """Pixels of a video that is not the drawn one must not outlive it under the drawn one's digest."""
    records = kept(root).records(split)
    records[1].path.write_bytes(records[0].path.read_bytes())
    clips(kept(root))
    assert not files(root)[split]
    kept(root).prepare_data()
    clips(kept(root))
    assert files(root)[split]


def test_an_unreadable_video_leaves_no_file_and_is_reported(root):
    record = kept(root).records("train")[1]
    record.path.write_bytes(b"no video")
    data = kept(root, broken="report")
    assert sum(bool(text) for batch in data.train_dataloader() for text in batch["broken"]) == 1
    assert not files(root)["train"]


def test_only_what_fits_into_the_kept_memory_is_stored(root, monkeypatch):
    size = 4 * 16 * 32 * 32 * 3
    clips(kept(root, keep_gb=(size - 1) / 1e9))
    assert not any(files(root).values())
    monkeypatch.setattr(temporal_skills, "MOST_STORED", size - 1)
    clips(kept(root))
    assert not any(files(root).values())
    monkeypatch.setattr(temporal_skills, "MOST_STORED", size)
    clips(kept(root, keep_gb=3.5 * size / 1e9))
    assert all(files(root).values())


def test_all_drawn_videos_have_one_frame_table(root):
    tables = [frame_table(record.path) for split in SPLITS for record in kept(root).records(split)]
    assert all(one == other for one, other in pairwise(tables))


def test_a_shared_table_is_not_that_of_a_video_replaced_since(root):
    paths = [record.path for record in kept(root).records("train")]
    shared = stored_pixels.SharedTable.of(paths)
    assert isinstance(shared(paths[1]), FrameTable)
    paths[1].write_bytes(b"no video")
    paths[2].unlink()
    assert shared(paths[1]) is None
    assert shared(paths[2]) is None
    assert shared(root / "another.mp4") is None


def started(folder, queue):
    data = kept(folder)
    data.prepare_data()
    queue.put([clip.sum().item() for clip in clips(data)])


@pytest.mark.slow
def test_processes_that_start_together_write_one_file(root):
    context = get_context("spawn")
    queue = context.Queue()
    processes = [context.Process(target=started, args=(root, queue)) for _ in range(3)]
    for process in processes:
        process.start()
    sums = [queue.get(timeout=300) for _ in processes]
    for process in processes:
        process.join()
    assert sums == [[clip.sum().item() for clip in clips(kept(root, keep_gb=0))]] * 3
    lines = (root / DIGESTS).read_text().splitlines()
    assert len(lines) == len(set(lines)) == 12 + 3


def test_lost_videos_are_said_beside_stored_pixels(stored, capsys):
    kept(stored).records("val")[0].path.unlink()
    capsys.readouterr()
    kept(stored).prepare_data()
    assert "drawn again" in capsys.readouterr().out


def test_a_manifest_decides_over_stored_pixels(root, monkeypatch):
    data = kept(root, manifest="videos.sqlite")
    monkeypatch.setattr(data, "_fill", refuse)
    with pytest.raises(UserError, match=r"videos\.sqlite"):
        data._expected("train")
