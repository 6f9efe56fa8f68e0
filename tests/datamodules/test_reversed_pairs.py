"""Test every step of the argument that classes of TemporalSkills differ in time only."""

import shutil
from itertools import pairwise

import numpy as np
import pytest
import torch

from lit_video.datamodules import Augmentation, TemporalSkills, temporal_skills
from lit_video.errors import UserError
from lit_video.modules import XViT
from lit_video.network.vit import ViTSize
from lit_video.video.augmentation import EvaluationViews
from lit_video.video.clips import ClipDataset
from lit_video.video.decoding import frame_table
from lit_video.video.sampling import Dense, Segments
from lit_video.video.seeding import seeded
from tests.datamodules.conftest import whole

SECOND = Dense(seconds=1.0)
SETTINGS = dict(pairs=(2, 1, 1), num_frames=8, image_size=16, batch_size=4, num_workers=0)


def skills(root, **changes):
    return TemporalSkills(root=str(root), **(SETTINGS | changes))


@pytest.fixture(scope="module")
def data_sets(tmp_path_factory):
    root = tmp_path_factory.mktemp("pairs")
    made = {
        "skills": skills(root),
        "long skills": skills(root, length=16, skills=("zoom", "order7", "count", "speed", "occlusion")),
        "slow skills": skills(root, length=16, frames_per_step=2, skills=("zoom", "order3")),
    }
    for data in made.values():
        data.prepare_data()
    return made


@pytest.fixture(params=["skills", "long skills", "slow skills"])
def data(request, data_sets):
    return data_sets[request.param]


def paired(records):
    """Return (backward, forward) record numbers of every pair: same skill, same file name."""
    number = {(r.label, r.path.name): i for i, r in enumerate(records)}
    return [(i, number[(label + 1, name)]) for (label, name), i in number.items() if label % 2 == 0]


# (a) the files


def test_both_files_of_a_pair_decode_to_the_same_pictures_in_opposite_order(data):
    for split, pairs in data.pairs.items():
        records = data.records(split)
        assert len(paired(records)) == len(data.skills) * pairs
        for left, right in paired(records):
            assert np.array_equal(whole(records[left].path), whole(records[right].path)[::-1])


def test_frames_are_coded_on_their_own_and_differ(data):
    tables = [frame_table(record.path) for record in data.records("val")]
    assert all(tables[left] == tables[right] for left, right in paired(data.records("val")))
    for record, table in zip(data.records("val"), tables, strict=True):
        assert table.keyframes == table.pts
        assert table.count >= 8
        frames = whole(record.path)
        assert all(not np.array_equal(a, b) for a, b in pairwise(frames))


# (b) the clips


def evaluation(data, sampling, num_frames, clips):
    records = data.records("test")
    return records, ClipDataset(records, sampling, num_frames, view=EvaluationViews(3, 16), seed=0, clips=clips)


@pytest.mark.parametrize(
    ("name", "sampling", "frames", "clips"),
    [
        ("skills", Segments(), 8, 1),  # the embedded experiments
        ("skills", Segments(), 4, 2),
        ("long skills", Segments(), 16, 1),
        ("long skills", Segments(), 8, 2),
        ("long skills", SECOND, 6, 3),
        ("long skills", SECOND, 8, 5),
    ],
    ids=str,
)
def test_evaluation_clips_of_a_pair_show_the_same_frames_in_opposite_order(data_sets, name, sampling, frames, clips):
    records, dataset = evaluation(data_sets[name], sampling, frames, clips)
    for left, right in paired(records):
        for clip in range(clips):
            one = dataset[(0, left * clips + clip)]["clip"]
            other = dataset[(0, right * clips + clips - 1 - clip)]["clip"]
            assert one.shape == (3, frames, 3, 16, 16)
            assert torch.equal(one, other.flip(1)), records[left].path


@pytest.mark.parametrize("sampling", [SECOND, Segments()], ids=str)
def test_random_clips_choose_mirrored_frames_equally_often(data_sets, sampling):
    table = frame_table(data_sets["long skills"].records("train")[0].path)
    draws = 1500
    times = np.zeros((8, table.count))
    for seed in range(draws):
        with seeded("symmetry", seed):
            numbers = sampling.numbers(table, 8)
        times[np.arange(8), numbers] += 1
    mirrored = times[::-1, ::-1]
    # the difference of two counts of mean n has a standard deviation below sqrt(2 n)
    assert (np.abs(times - mirrored) <= 5 * np.sqrt(times + mirrored) + 1).all()
    assert (times.sum(0) > 0).mean() > 0.9


# (c) the models


def network(classes, window, positions="space", ta_layers=0):
    torch.manual_seed(0)
    model = XViT(
        num_classes=classes,
        num_frames=8,
        image_size=16,
        size=ViTSize(32, 2, 4),
        patch_size=8,
        window=window,
        ta_layers=ta_layers,
        positions=positions,
    )
    # weights far from the zeros and small values at the start of training
    for name, parameter in model.named_parameters():
        if "head" in name and parameter.ndim == 2:
            torch.nn.init.normal_(parameter)
        if "embed" in name or "cls_token" in name:
            torch.nn.init.normal_(parameter, std=0.5)
    return model.eval()


@pytest.fixture
def clips_of_pairs(data):
    """Three crops of all test videos as clips of float64, the two members of each pair apart."""
    records, dataset = evaluation(data, data.sampling, 8, 1)
    sides = [torch.cat([dataset[(0, pair[side])]["clip"] for pair in paired(records)]) for side in (0, 1)]
    return [(clip.transpose(1, 2).double() / 255 - 0.5) / 0.5 for clip in sides]


@pytest.fixture
def labels_of_pairs(data):
    records = data.records("test")
    return [torch.tensor([records[pair[side]].label] * 3) for pair in paired(records) for side in (0, 1)]


def both(model, clips_of_pairs):
    with torch.no_grad():
        return [model.double()(clips) for clips in clips_of_pairs]


@pytest.mark.parametrize(("positions", "ta_layers"), [("none", 0), ("space", 0), ("space", 2)])
def test_spatial_attention_with_temporal_averaging_or_attention_gives_a_pair_one_answer(
    data, clips_of_pairs, labels_of_pairs, positions, ta_layers
):
    left, right = both(network(data.num_classes, 0, positions, ta_layers), clips_of_pairs)
    assert left.std(0).min() > 0.01, "logits that do not depend on the clip would prove nothing"
    torch.testing.assert_close(left, right, rtol=0, atol=1e-12 * float(left.abs().max()))
    # so in each pair and crop at most one is right
    labels = [torch.cat(labels_of_pairs[side::2]) for side in (0, 1)]
    correct = (left.argmax(1) == labels[0]).int() + (left.argmax(1) == labels[1]).int()
    assert correct.max() <= 1


def test_space_time_mixing_can(data, clips_of_pairs):
    left, right = both(network(data.num_classes, 1), clips_of_pairs)
    assert ((left - right).abs().amax(1) > 1e-3).all()


def test_positions_in_time_tell_more_than_a_set_of_frames(data, clips_of_pairs):
    left, right = both(network(data.num_classes, 0, "space-time"), clips_of_pairs)
    assert ((left - right).abs().amax(1) > 1e-3).all()


# (d) generation


def few(root):
    return skills(root, pairs=(1, 1, 1), skills=("zoom", "meeting"))


# (d) the batches of training


@pytest.mark.parametrize("workers", [0, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("name", "sampling"), [("skills", None), ("long skills", SECOND)])
def test_with_pairing_a_film_stands_beside_its_reverse_with_the_same_crop_box_and_mixture(
    data_sets, name, sampling, workers
):
    made = data_sets[name]
    erased = Augmentation(crop="most", random_erasing=0.5, mixup=0.4, label_smoothing=0.1)
    settings = dict(length=made.length, skills=tuple(made.skills), sampling=sampling, augmentation=erased)
    data = skills(str(made.root.parent), pairing="reverse", batch_size=4, num_workers=workers, **settings)
    assert data.root == made.root
    shown = []
    for batch in data.train_dataloader():
        assert torch.equal(batch["clip"][::2], batch["clip"][1::2].flip(2)), "the same crop of the same frames"
        assert torch.equal(batch["label"][::2] // 2, batch["label"][1::2] // 2)
        shown += batch["video"].tolist()
        augmented = data.augment(batch)
        assert torch.equal(augmented["clip"][::2], augmented["clip"][1::2].flip(2)), "the same box, and films mix"
        exchanged = augmented["target"].unflatten(1, (-1, 2)).flip(2).flatten(1)
        assert torch.allclose(augmented["target"][::2], exchanged[1::2]), "labels are each other's opposite"
    assert sorted(shown) == list(range(len(data.records("train"))))


def test_fresh_films_are_as_difficult_as_those_of_training_and_no_film_is_in_both(tmp_path):
    data = skills(tmp_path, fresh=3, skills=("drift", "order1"))
    data.prepare_data()
    assert len(data.records("fresh")) == 2 * 2 * 3 and data.further_splits == ("train", "fresh")
    assert data.draws("fresh").count == 6
    pairs = data.drawn_pairs()
    of_split = {
        split: [pair for pair in pairs if pair.paths[0].is_relative_to(data.root / split)] for split in data.pairs
    }
    assert {pair.difficulty for pair in of_split["fresh"]} == {pair.difficulty for pair in of_split["train"]}
    assert not {pair.seed for pair in of_split["fresh"]} & {pair.seed for pair in of_split["train"]}
    (batch,) = list(skills(tmp_path, fresh=3, skills=("drift", "order1"), batch_size=12).test_loader("fresh"))
    assert batch["label"].bincount().tolist() == [3, 3, 3, 3]
    assert skills(tmp_path).further_splits == ("train",)


def test_an_interrupted_generation_is_completed_and_stray_half_files_do_not_become_records(tmp_path, monkeypatch):
    """Interrupt in the middle of a file: no half file has a final name, and none is ever read."""
    calls = []

    def interrupted(self, part, path):
        calls.append(path)
        if len(calls) == 6:
            part.write_bytes(b"half a video")
            raise KeyboardInterrupt
        return replaced(self, part, path)

    data, replaced = few(tmp_path), TemporalSkills._replace
    files = [path for pair in data.drawn_pairs() for path in pair.paths]
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(TemporalSkills, "_replace", interrupted)
        data.prepare_data()
    assert sum(path.exists() for path in files) == 5
    assert [*tmp_path.rglob("*.part*")], "files of processes that were stopped"
    before = {path: path.stat().st_mtime_ns for path in files[:4]}
    few(tmp_path).prepare_data()
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert not [*tmp_path.rglob("*.part*")]
    records = [record.path for split in ("train", "val", "test") for record in data.records(split)]
    assert sorted(records) == sorted(files) and all(frame_table(path).count >= 8 for path in records)


def test_videos_and_digests_are_the_same_for_any_number_of_processes(tmp_path, monkeypatch):
    lists = []
    for cores in (1, 3):
        monkeypatch.setattr("lit_video.utils.parallel.usable_cores", lambda cores=cores: cores)
        data = skills(tmp_path / str(cores), pairs=(3, 1, 1), skills=("occlusion", "order1"))
        data.prepare_data()
        lists.append((data.root / temporal_skills.DIGESTS).read_text())
    assert lists[0] == lists[1] and len(lists[0].splitlines()) == 20


def test_a_disk_that_fills_up_while_drawing_is_one_line(tmp_path, monkeypatch):
    def full(path, *arguments, **keywords):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(temporal_skills, "encode", full)
    with pytest.raises(UserError, match=r"data.root: cannot write .* \(No space left on device\); set data.root"):
        few(tmp_path).prepare_data()


def removed(files):
    for path in files[:5]:
        path.unlink()


def exchanged(files):
    """Give a video the content and the times of another one."""
    shutil.copy2(files[0], files[2])


def emptied(files):
    files[-1].write_bytes(b"")


def unlisted(files):
    """Empty the list of digests: nobody knows then what was drawn."""
    (files[0].parents[2] / temporal_skills.DIGESTS).write_text("")


@pytest.mark.parametrize("harm", [removed, exchanged, emptied, unlisted])
def test_videos_that_are_missing_or_changed_are_drawn_again(harm, tmp_path, capsys):
    data = few(tmp_path)
    data.prepare_data()
    files = [path for pair in data.drawn_pairs() for path in pair.paths]
    contents = [path.read_bytes() for path in files]
    times = [path.stat().st_mtime_ns for path in files]
    few(tmp_path).prepare_data()
    assert [path.stat().st_mtime_ns for path in files] == times, "nothing is drawn twice"
    capsys.readouterr()
    harm(files)
    few(tmp_path).prepare_data()
    assert [path.read_bytes() for path in files] == contents
    assert "drawn again" in capsys.readouterr().out or harm is unlisted


def test_a_video_that_was_not_drawn_is_refused(tmp_path):
    data = few(tmp_path)
    data.prepare_data()
    first = data.drawn_pairs()[0].paths[0]
    shutil.copy(first, first.with_name("other.mp4"))
    with pytest.raises(UserError, match=r"other\.mp4"):
        few(tmp_path).prepare_data()


# (e) the interface


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UserError, match=r"data.root: cannot write .*; set data.root"):
        skills(tmp_path / "file").prepare_data()
