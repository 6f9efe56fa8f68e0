"""Every link of the argument that the classes of MovingShapes differ in time only (see its docstring)."""

import math
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import av
import numpy as np
import pytest
import torch
import yaml

from lit_video.datamodules import MovingShapes, moving_shapes
from lit_video.datamodules.moving_shapes_rendering import HEIGHT, MOTIONS, SHAPES, WIDTH, draw_scene, render
from lit_video.errors import UserError
from lit_video.modules import XViT
from lit_video.network.vit import ViTSize
from lit_video.video.augmentation import Augmentation, EvaluationViews
from lit_video.video.clips import ClipDataset
from lit_video.video.decoding import decode, frame_table
from lit_video.video.released_sampling import ReleasedSegments
from lit_video.video.sampling import Dense, DenseStride, Segments, WholeVideo
from lit_video.video.seeding import digest, seeded

EXPERIMENTS = Path(__file__).resolve().parents[2] / "experiments"
PAIRS = (4, 2, 2)
SECOND = Dense(seconds=1.0)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    data = shapes(tmp_path_factory.mktemp("shapes"))
    data.prepare_data()
    return data


def shapes(root, pairs=PAIRS, **changes):
    settings = dict(frames=8, image_size=16, batch_size=4, num_workers=0, sampling=SECOND)
    return MovingShapes(root=str(root), pairs=pairs, **(settings | changes))


def paired(records):
    """(left, right) record numbers of every pair: same shape, same file name."""
    number = {(r.label, r.path.name): i for i, r in enumerate(records)}
    return [(i, number[(label + 1, name)]) for (label, name), i in number.items() if label % 2 == 0]


def whole(path):
    return decode(path, range(frame_table(path).count))


# (a) the files


def test_both_files_of_a_pair_decode_to_the_same_pictures_in_opposite_order(data):
    for split, pairs in data.pairs.items():
        records = data.records(split)
        assert len(paired(records)) == 4 * pairs
        for left, right in paired(records):
            assert np.array_equal(whole(records[left].path), whole(records[right].path)[::-1])


def test_the_tables_of_a_pair_differ_in_nothing(data):
    records = data.records("train")
    for left, right in paired(records):
        assert frame_table(records[left].path) == frame_table(records[right].path)


def test_frames_are_coded_on_their_own_and_differ(data):
    for record in data.records("val"):
        table = frame_table(record.path)
        assert table.keyframes == table.pts
        assert table.count > 12
        frames = whole(record.path)
        assert all(not np.array_equal(a, b) for a, b in pairwise(frames))


def test_encoding_keeps_the_pictures(data):
    """What is decoded is what was drawn, up to colour subsampling and a fine quantiser."""
    job, (left, right) = data._jobs()[0]
    drawn = render(data.scene(*job)).astype(int)
    assert np.abs(whole(right) - drawn).mean() < 6
    assert np.abs(whole(left)[::-1] - drawn).mean() < 6


# (b) the clips


def evaluation(data, sampling, frames, clips, split="test"):
    records = data.records(split)
    return records, ClipDataset(records, sampling, frames, EvaluationViews(3, 16), 0, clips)


@pytest.mark.parametrize("split", ["val", "test"])
@pytest.mark.parametrize(
    ("sampling", "frames", "clips"),
    [
        (SECOND, 8, 1),  # the embedded experiments
        (SECOND, 8, 3),
        (SECOND, 16, 2),
        (SECOND, 4, 1),
        (SECOND, 6, 2),
        (SECOND, 10, 1),
        (Dense(seconds=0.5), 4, 3),
        (Segments(), 8, 1),
        (Segments(), 8, 2),
    ],
    ids=str,
)
def test_evaluation_clips_of_a_pair_show_the_same_frames_in_opposite_order(data, split, sampling, frames, clips):
    records, dataset = evaluation(data, sampling, frames, clips, split)
    for left, right in paired(records):
        for clip in range(clips):
            one = dataset[(0, left * clips + clip)]["clip"]
            other = dataset[(0, right * clips + clips - 1 - clip)]["clip"]
            assert one.shape == (3, frames, 3, 16, 16)
            assert torch.equal(one, other.flip(1)), records[left].path


@pytest.mark.parametrize("sampling", [None, Dense(seconds=2.0)], ids=["default", "2 s"])
def test_clips_longer_than_a_video_are_refused_or_keep_the_argument(data, tmp_path, sampling):
    """Where a video is too short its last frame is repeated, which is its partner's first."""
    try:
        accepted = shapes(tmp_path, sampling=sampling).sampling
    except ValueError:
        return
    records, dataset = evaluation(data, accepted, 8, 1)
    for left, right in paired(records):
        assert torch.equal(dataset[(0, left)]["clip"], dataset[(0, right)]["clip"].flip(1)), records[left].path


@pytest.mark.parametrize(
    "sampling", [DenseStride(2), DenseStride(2, fps=12), ReleasedSegments(), WholeVideo(1.0)], ids=str
)
def test_samplings_that_cut_no_symmetric_clips_are_refused(tmp_path, sampling):
    with pytest.raises(ValueError, match=r"^sampling is .*, expected Dense or Segments"):
        shapes(tmp_path, sampling=sampling)


# (c) the models


def network(window, positions="space", ta_layers=0):
    torch.manual_seed(0)
    model = XViT(
        num_classes=8,
        frames=8,
        image_size=16,
        size=ViTSize(32, 2, 4),
        patch=8,
        window=window,
        ta_layers=ta_layers,
        positions=positions,
    )
    # far from the zeros and small values that training starts with
    for name, parameter in model.named_parameters():
        if "head" in name and parameter.ndim == 2:
            torch.nn.init.normal_(parameter)
        if "embed" in name or "cls_token" in name:
            torch.nn.init.normal_(parameter, std=0.5)
    return model.eval()


@pytest.fixture(scope="module")
def clips_of_pairs(data):
    """All three crops of all test videos, left and right members apart, as clips of float64."""
    records, dataset = evaluation(data, SECOND, 8, 1)
    sides = [torch.cat([dataset[(0, pair[side])]["clip"] for pair in paired(records)]) for side in (0, 1)]
    return [(clip.transpose(1, 2).double() / 255 - 0.5) / 0.5 for clip in sides]


@pytest.fixture(scope="module")
def labels_of_pairs(data):
    records = data.records("test")
    return [torch.tensor([records[pair[side]].label] * 3) for pair in paired(records) for side in (0, 1)]


def both(model, clips_of_pairs):
    with torch.no_grad():
        return [model.double()(clips) for clips in clips_of_pairs]


@pytest.mark.parametrize("positions", ["none", "space"])
def test_spatial_attention_with_temporal_averaging_gives_a_pair_one_answer(clips_of_pairs, labels_of_pairs, positions):
    left, right = both(network(0, positions), clips_of_pairs)
    assert left.std(0).min() > 0.01, "logits that do not depend on the clip would prove nothing"
    torch.testing.assert_close(left, right, rtol=0, atol=1e-12 * float(left.abs().max()))
    # so of each pair and crop at most one is right
    labels = [torch.cat(labels_of_pairs[side::2]) for side in (0, 1)]
    correct = (left.argmax(1) == labels[0]).int() + (left.argmax(1) == labels[1]).int()
    assert correct.max() <= 1


@pytest.mark.parametrize("ta_layers", [1, 2])
def test_temporal_attention_over_spatial_attention_cannot_either(clips_of_pairs, ta_layers):
    left, right = both(network(0, ta_layers=ta_layers), clips_of_pairs)
    assert left.std(0).min() > 0.01
    torch.testing.assert_close(left, right, rtol=0, atol=1e-12 * float(left.abs().max()))


def test_space_time_mixing_can(clips_of_pairs):
    left, right = both(network(1), clips_of_pairs)
    assert ((left - right).abs().amax(1) > 1e-2).all()


def test_temporal_positions_can_so_the_embedded_experiments_leave_them_out(clips_of_pairs):
    left, right = both(network(0, "space-time"), clips_of_pairs)
    assert ((left - right).abs().amax(1) > 1e-2).all()
    model = yaml.safe_load((EXPERIMENTS / "parts" / "xvit_embedded.yaml").read_text())["init_args"]
    assert model["positions"] in ("none", "space")


def test_the_embedded_experiments_cut_clips_for_which_the_argument_holds():
    settings = yaml.safe_load((EXPERIMENTS / "parts" / "data_embedded.yaml").read_text())["init_args"]
    # an odd number of frames has a middle one, which may fall between two frames of the video
    assert settings["frames"] % 2 == 0
    # a video shorter than the clip would repeat its last frame, which is the other's first
    assert settings["sampling"]["init_args"]["seconds"] <= min(s.frames / s.fps for s in scenes(300))
    assert settings["augmentation"]["flip"] == 0


def place(frames):
    """Angle of the shape around the torus in every frame, from its column brightness: a function of single frames."""
    columns = frames.mean((1, 3))
    wave = np.exp(2j * np.pi * np.arange(WIDTH) / WIDTH)
    return np.angle((columns - columns.mean(1, keepdims=True)) @ wave)


def test_a_sum_over_frames_that_knows_their_times_shows_the_motion():
    """The claim is about models without temporal positions, and needs that restriction.

    The sum of cos(place - speed * time) over frames is a sum of functions of single frames and their times; it is
    large only for shapes that move right.
    """
    correct = []
    for scene in scenes(200, difficulty=0):
        frames = np.linspace(0, scene.fps - 1, 8).round().astype(int)
        turn = 2 * np.pi * 30 / WIDTH * frames / scene.fps
        video = render(scene)[: scene.fps]
        for direction, clip in ((1, video), (-1, video[::-1])):
            score = np.cos(place(clip[frames].astype(float)) - turn).sum()
            correct.append((score > 2) == (direction == 1))
    assert np.mean(correct) > 0.6


# (d) training clips and nuisance


def scenes(count, shape="disk", difficulty=0.25):
    return [draw_scene(digest("test", i), shape, difficulty) for i in range(count)]


@pytest.mark.parametrize("sampling", [SECOND, Dense(seconds=0.5), Segments()], ids=str)
def test_random_clips_choose_mirrored_frames_equally_often(data, sampling):
    table = frame_table(data.records("train")[0].path)
    draws = 4000
    times = np.zeros((8, table.count))
    for seed in range(draws):
        with seeded("symmetry", seed):
            numbers = sampling.numbers(table, 8)
        times[np.arange(8), numbers] += 1
    mirrored = times[::-1, ::-1]
    # the difference of two counts of mean n has a standard deviation below sqrt(2 n)
    assert (np.abs(times - mirrored) <= 5 * np.sqrt(times + mirrored) + 1).all()
    assert (times.sum(0) > 0).mean() > 0.9


@pytest.mark.parametrize(("axis", "size"), [("x", WIDTH), ("y", HEIGHT)])
def test_starts_are_uniform_over_the_torus(axis, size):
    starts = np.array([getattr(scene, axis) for scene in scenes(3000)])
    counts = np.histogram(starts, bins=12, range=(0, size))[0]
    assert counts.sum() == 3000
    chi_square = ((counts - 250) ** 2 / 250).sum()
    assert chi_square < 31.3  # 99.9 % of a chi-square with 11 degrees of freedom


def test_nuisance_is_drawn_independently():
    drawn = scenes(3000)
    values = np.array([[s.x, s.y, s.speed, s.slope, s.radius, s.noise, s.fps, s.background[0]] for s in drawn])
    correlations = np.corrcoef(values.T) - np.eye(values.shape[1])
    assert np.abs(correlations).max() < 0.08  # standard deviation 0.018


def test_both_motions_have_the_same_mean_picture(data):
    total = np.zeros((2, HEIGHT, WIDTH, 3), dtype=np.int64)
    for record in data.records("train"):
        total[record.label % 2] += whole(record.path).sum(0, dtype=np.int64)
    assert total.any()
    assert np.array_equal(total[0], total[1])


def test_shapes_move_as_their_label_says(data):
    for split in ("train", "val", "test"):
        for record in data.records(split):
            steps = np.diff(place(whole(record.path).astype(float)))
            drift = np.median((steps + np.pi) % (2 * np.pi) - np.pi)
            assert (drift > 0) == (MOTIONS[record.label % 2] == "right"), record.path


def test_the_video_is_periodic_in_both_directions():
    """A shape that leaves on one side comes in on the other, so no border shows where it came from."""
    scene = draw_scene(1, "cross", 0.0)
    quiet = {"noise": 0.0, "texture": 0.0, "gradient": (0.0, 0.0), "slope": 0.0}
    base = type(scene)(**(vars(scene) | quiet))
    moved = type(scene)(**(vars(base) | {"x": base.x + 17, "y": base.y + 11}))
    difference = render(moved).astype(int) - np.roll(render(base), (11, 17), axis=(1, 2))
    assert np.abs(difference).max() <= 1


# (e) generation


def files(data):
    return [data.root / path.relative_to(data.root) for _, paths in data._jobs() for path in paths]


def states(paths):
    return {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in paths}


def test_an_interrupted_generation_is_completed_and_what_exists_stays(tmp_path):
    data = shapes(tmp_path, pairs=(1, 1, 1))
    data.prepare_data()
    before = states(files(data))
    assert len(before) == 24
    removed = files(data)[3::7]
    for path in removed:
        path.unlink()
    (data.root / "complete").unlink()
    shapes(tmp_path, pairs=(1, 1, 1)).prepare_data()
    after = states(files(data))
    assert {path: content for path, (_, content) in after.items()} == {p: content for p, (_, content) in before.items()}
    # a pair is written together: only removed files and their partners may be new
    partners = {path for _, pair in data._jobs() for path in pair if set(pair) & set(removed)}
    assert all(after[path] == before[path] for path in after if path not in partners)
    assert (data.root / "complete").exists()


def test_a_complete_set_is_not_touched(data):
    before = states(files(data))
    data.prepare_data()
    assert states(files(data)) == before


def test_stray_half_files_do_not_become_records(tmp_path, monkeypatch):
    """An interruption in the middle of a file: no half file under a final name, and none is ever read."""
    calls = []

    def interrupted(path, *args, **kwargs):
        calls.append(path)
        if len(calls) == 6:
            Path(path).write_bytes(b"half a video")
            raise KeyboardInterrupt
        return encode(path, *args, **kwargs)

    data, encode = shapes(tmp_path, pairs=(1, 1, 1)), moving_shapes.encode
    with monkeypatch.context() as patch:
        patch.setattr(moving_shapes, "encode", interrupted)
        with pytest.raises(KeyboardInterrupt):
            data.prepare_data()
    assert not (data.root / "complete").exists()
    assert sum(path.exists() for path in files(data)) == 5
    with monkeypatch.context() as patch:
        patch.setattr(moving_shapes.os, "getpid", lambda: 1)  # the next run is another process
        shapes(tmp_path, pairs=(1, 1, 1)).prepare_data()
    records = [record.path for split in ("train", "val", "test") for record in data.records(split)]
    assert sorted(records) == sorted(files(data))
    assert all(frame_table(path).count > 12 for path in records)


def test_two_processes_may_generate_at_once(tmp_path):
    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(shapes(tmp_path, pairs=(1, 1, 1)).prepare_data) for _ in range(2)]
        for one in both:
            one.result()
    data = shapes(tmp_path, pairs=(1, 1, 1))
    assert all(frame_table(path).count > 12 for path in files(data))
    assert not list(data.root.glob("**/*part*"))


def test_a_file_says_what_it_shows(data):
    (seed, shape), (left, right) = data._jobs()[5]
    for path in (left, right):
        with av.open(str(path)) as container:
            assert str(seed) in container.metadata["comment"]
            assert shape in container.metadata["comment"]


def test_what_a_seed_draws_is_what_this_version_has_always_drawn():
    """Where this fails, VERSION has to rise: users' folders hold the old pictures under the same name."""
    assert moving_shapes.VERSION == 1
    assert digest(1, "train", "disk", 0) == 3950070712527391190
    scene = draw_scene(0, "disk", 0.25)
    assert (scene.fps, scene.frames) == (30, 49)
    assert [scene.x, scene.y, scene.speed, scene.slope, scene.radius] == pytest.approx(
        [35.01583, 19.57050, 38.70145, 0.25268284, 6.255477], rel=1e-5
    )
    assert [*scene.foreground, *scene.background] == pytest.approx(
        [0.9199684, 0.9536242, 0.7865752, 0.1214040, 0.01843809, 0.007437436], rel=1e-5
    )
    assert render(scene).mean((0, 1, 2)) == pytest.approx([45.31099, 26.85910, 22.39912], abs=0.01)


# (f) the interface


def test_classes_are_shapes_times_motions(data):
    assert data.class_names == [
        "disk moving left",
        "disk moving right",
        "ring moving left",
        "ring moving right",
        "bars moving left",
        "bars moving right",
        "cross moving left",
        "cross moving right",
    ]
    assert data.num_classes == 8


def test_classes_are_known_before_any_video_is_written(tmp_path):
    assert shapes(tmp_path).num_classes == 8
    assert not list(tmp_path.iterdir())


def test_splits_are_balanced_and_share_no_video(data):
    pictures = set()
    for split, pairs in zip(("train", "val", "test"), PAIRS, strict=True):
        records = data.records(split)
        assert np.bincount([r.label for r in records]).tolist() == [pairs] * 8
        assert all(r.path.parent.name == data.class_names[r.label] for r in records)
        pictures |= {decode(r.path, [0]).tobytes() for r in records}
    assert len(pictures) == 8 * sum(PAIRS)


def test_durations_and_rates_vary():
    drawn = scenes(200)
    assert {s.fps for s in drawn} == {12, 15, 20, 25, 30}
    seconds = [Fraction(s.frames, s.fps) for s in drawn]
    assert 1.1 < min(seconds) < 1.3
    assert 1.9 < max(seconds) < 2.1


@pytest.mark.parametrize("shape", SHAPES)
def test_the_shape_stands_out_from_the_background_at_every_difficulty(shape):
    for difficulty in (0.0, 0.5, 1.0):
        for scene in scenes(50, shape, difficulty):
            assert min(f - b for f, b in zip(scene.foreground, scene.background, strict=True)) >= 0.29
            assert 0 < scene.radius < min(HEIGHT, WIDTH) / 4


def test_difficulty_changes_the_pictures_and_the_folder(tmp_path):
    easy, hard = (shapes(tmp_path, difficulty=difficulty) for difficulty in (0.0, 1.0))
    assert easy.root != hard.root
    videos = [render(data.scene(3, "disk")).astype(float) for data in (easy, hard)]
    assert videos[0].shape == videos[1].shape
    # what stays of a background pixel from frame to frame is noise
    noise = [np.median(np.abs(np.diff(video, axis=0))) for video in videos]
    assert noise[1] > noise[0]


def test_pictures_are_a_function_of_the_seed():
    one, again, other = (render(draw_scene(seed, "ring", 0.25)) for seed in (5, 5, 6))
    assert np.array_equal(one, again)
    assert one.shape != other.shape or not np.array_equal(one, other)


@pytest.mark.parametrize("difficulty", [-0.1, 1.1, math.nan])
def test_difficulty_outside_0_to_1_is_refused(tmp_path, difficulty):
    with pytest.raises(ValueError, match=f"difficulty is {difficulty}"):
        shapes(tmp_path, difficulty=difficulty)


def test_flips_are_refused_because_they_swap_classes(tmp_path):
    with pytest.raises(ValueError, match="flip"):
        shapes(tmp_path, augmentation=Augmentation(flip=0.5))


def test_a_split_without_pairs_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"pairs is \[1, 0, 1\]"):
        shapes(tmp_path, pairs=(1, 0, 1))


def test_the_folder_is_the_given_one_then_the_environments_then_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("LIT_VIDEO_DATA", str(tmp_path / "environment"))
    assert shapes(tmp_path / "given").root.parent == tmp_path / "given"
    assert MovingShapes().root.parent == tmp_path / "environment"
    monkeypatch.delenv("LIT_VIDEO_DATA")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert MovingShapes().root.parent == tmp_path / ".cache" / "lit_video"


def test_a_folder_that_cannot_be_written_is_reported_in_one_line(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UserError, match="cannot write") as error:
        shapes(tmp_path / "file").prepare_data()
    assert "data.root" in str(error.value)
    assert "\n" not in str(error.value)


def test_training_batches_hold_both_motions(data):
    labels = torch.cat([raw["label"] for raw in data.train_dataloader()])
    assert torch.bincount(labels).tolist() == [PAIRS[0]] * 8
