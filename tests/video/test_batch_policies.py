"""Policies on whole batches: the clips of the workers' policies, or theirs but for rounding; the same statistics."""

import pickle
from collections import Counter

import numpy as np
import pytest
import torch
from PIL import Image
from timm.data.auto_augment import AugmentOp
from torchvision.transforms import v2

from lit_video.datamodules import VideoFolder
from lit_video.video.augmentation import Augmentation, TrainingView
from lit_video.video.auto_augment import for_clip, posterize, timm_v0
from lit_video.video.batch_policies import KERNELS, PolicyDraws, apply, encoded, planned
from lit_video.video.seeding import seeded
from tests.video.bad_files import write
from tests.video.test_augmentation import photo

POLICIES = ["auto", "rand", "timm-v0", "vivit-rand"]
VIDEO = photo(60, 80, frames=3)


def both(policy, seeds=range(60), side=40):
    """Clips ``(n, 1, 3, 3, side, side)`` by the worker, by the batch from the same draws, and without a policy."""
    of_worker, of_batch = (TrainingView(Augmentation(policy=policy), side, place) for place in ("worker", "batch"))
    clips = ([], [], [])
    for seed in seeds:
        with seeded(seed):
            clips[0].append(of_worker(VIDEO))
        with seeded(seed):
            clips[1].append(of_batch(VIDEO))
            clips[2].append(of_batch.draw_policy())
    plain = torch.stack(clips[1])
    return torch.stack(clips[0]), apply(plain, planned(torch.stack(clips[2]))), plain


@pytest.mark.parametrize("policy", ["auto", "rand"])
def test_torchvisions_policies_are_bit_by_bit_the_workers(policy):
    worker, batch, plain = both(policy)
    assert torch.equal(batch, worker)
    assert not torch.equal(batch, plain)


def test_vivits_policy_is_the_workers_but_for_rounding():
    worker, batch, plain = both("vivit-rand")
    errors = (worker.float() - batch.float()).abs().flatten(1)
    # one grey level before colours are made 3.7 times stronger is several after it
    assert (errors.mean(1) < 2).all() and errors.mean() < 0.4
    changed = (worker.float() - plain.float()).abs().flatten(1).mean(1) > 2
    assert changed.sum() > 30


def with_timm(name, args, frames):
    """An operation of timm, bilinear, of every frame."""
    op = AugmentOp(name, 1.0, 5, {"img_mean": (128,) * 3, "interpolation": Image.BILINEAR, "translate_const": 100})
    fn = posterize if name == "Posterize" else op.aug_fn
    return torch.from_numpy(for_clip(lambda image: fn(image, *args, **op.kwargs), frames)).permute(0, 3, 1, 2)


V0 = {
    "Equalize": (), "AutoContrast": (), "Invert": (), "Color": (1.7,), "Posterize": (3,), "Solarize": (77,),
    "SolarizeAdd": (33,), "Rotate": (-21.0,), "ShearX": (0.27,), "ShearY": (-0.12,), "TranslateYRel": (0.4,),
}  # fmt: skip


@pytest.mark.parametrize("name", V0)
def test_an_operation_of_timms_v0_is_its_own_but_for_rounding(name):
    expected = with_timm(name, V0[name], VIDEO).float()
    clips = torch.from_numpy(VIDEO).permute(0, 3, 1, 2)
    numbers = [*map(float, V0[name])] + [0.0] * (4 - len(V0[name]))
    actual = KERNELS[f"timm {name}"](clips, numbers).float()
    errors = (actual - expected).abs()
    geometric = name in {"Rotate", "ShearX", "ShearY", "TranslateYRel"}
    assert errors.mean() < (2.5 if geometric else 0.6), "of 255; edges are filled half a pixel apart"
    assert (clips.float() - expected).abs().mean() > 3 * errors.mean() + 1
    assert geometric or errors.max() <= 2
    used = {op.name for pair in timm_v0().policy for op in pair}
    assert used == V0.keys()


def draws(policy, count):
    drawn = PolicyDraws(policy, (48, 64))
    with seeded("statistics"):
        return torch.stack([drawn() for _ in range(count)])


def frequencies(tables):
    names = [*KERNELS, "none"]
    counts = Counter(names[int(i)] for i in tables[:, :, 0].flatten())
    return {name: count / len(tables) for name, count in counts.items()}


def test_randaugment_draws_two_of_fourteen_evenly_and_half_of_the_signs():
    tables = draws("rand", 4000)
    found = frequencies(tables)
    assert len(found) == 14 and "none" not in found
    assert all(abs(share - 2 / 14) < 0.02 for share in found.values())  # standard deviation 0.005
    rotations = tables[tables[:, :, 0] == list(KERNELS).index("Rotate")][:, 1]
    assert rotations.abs().unique().tolist() == [9.0]  # 30 degrees x 9 / 30
    assert abs((rotations < 0).double().mean() - 0.5) < 0.08


@pytest.mark.parametrize("policy", ["auto", "timm-v0"])
def test_autoaugment_draws_its_pairs_with_their_probabilities(policy):
    if policy == "auto":
        pairs = v2.AutoAugment()._policies
    else:
        pairs = [[(f"timm {op.name}", op.prob) for op in pair] for pair in timm_v0().policy]
    expected = Counter()
    for pair in pairs:
        for name, probability, *_ in pair:
            expected[name] += probability / len(pairs)
    found = frequencies(draws(policy, 4000))
    expected["none"] = 2 - sum(expected.values())
    assert found.keys() == {name for name, share in expected.items() if share}
    assert all(abs(found[name] - expected[name]) < 0.04 for name in found)  # standard deviation below 0.01


def test_each_clip_has_its_own_draws_and_equal_ones_run_once():
    tables = draws("rand", 64)
    plan = planned(tables)
    assert len({tuple(table.flatten().tolist()) for table in tables}) > 50
    assert sum(len(op.clips) for op in plan) == 128
    # 14 operations, of which 9 have two signs, in each of two steps
    assert 28 < len(plan) <= 2 * 23
    for op in plan:
        steps = [(tables[op.clips, step, 0] == list(KERNELS).index(op.name)).all() for step in range(2)]
        assert any(steps)


def test_a_plan_changes_the_clips_it_names_alone_and_all_frames_of_them_alike():
    clips = torch.from_numpy(np.stack([VIDEO[:1].repeat(3, 0)] * 3)).permute(0, 1, 4, 2, 3)[:, None].contiguous()
    before = clips.clone()
    tables = torch.stack([encoded(), encoded([("Invert", (0.0,)), ("Rotate", (9.0,))]), encoded()])
    changed = apply(clips, planned(tables))
    assert torch.equal(clips, before)
    assert torch.equal(changed[[0, 2]], clips[[0, 2]])
    assert not torch.equal(changed[1], clips[1])
    assert (changed[1] == changed[1][:, :1]).all()
    inverted_first = apply(clips, planned(encoded([("Rotate", (9.0,)), ("Invert", (0.0,))])[None].expand(3, 2, 5)))
    assert not torch.equal(inverted_first[1], changed[1]), "the order counts: what comes in is grey"


@pytest.mark.parametrize("policy", POLICIES)
def test_draws_survive_the_way_to_a_spawned_worker(policy):
    view = pickle.loads(pickle.dumps(TrainingView(Augmentation(policy=policy), 16, "batch")))
    with seeded(0):
        there = view.draw_policy()
    with seeded(0):
        assert torch.equal(TrainingView(Augmentation(policy=policy), 16, "batch").draw_policy(), there)


# in a data set


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    root = tmp_path_factory.mktemp("videos")
    for split in ("train", "val", "test"):
        for name in "ab":
            (root / split / name).mkdir(parents=True)
            for i in range(3 if split == "train" else 1):
                write(root / split / name / f"{i}.mp4", frames=12 + i)
    (root / "train/b/0.mp4").write_bytes(b"no video")
    return root


def batches(root, **changes):
    class Trainer:
        training, testing, accumulate_grad_batches, world_size, global_rank = True, False, 1, 1, 0

    settings = dict(frames=4, image_size=24, batch_size=3, num_workers=0, broken="report")
    data = VideoFolder(root=str(root), **(settings | changes))
    data.trainer = Trainer()
    raws = list(data.train_dataloader())
    return [data.on_after_batch_transfer(data.on_before_batch_transfer(raw, 0), 0) for raw in raws], raws


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("policy", POLICIES)
def test_a_run_trains_on_the_same_clips_wherever_torchvisions_policy_is_applied(root, policy, workers):
    augmentation = Augmentation(policy=policy, erasing=0.5, mixup=0.4, flip=0.5)
    here, _ = batches(root, augmentation=augmentation)
    there, raws = batches(root, augmentation=augmentation, policy_place="batch", num_workers=workers)
    again, _ = batches(root, augmentation=augmentation, policy_place="batch")
    assert sum(bool(reason) for raw in raws for reason in raw["broken"]) == 1
    for a, b, c in zip(here, there, again, strict=True):
        assert torch.equal(b["clip"], c["clip"]) and torch.equal(b["target"], c["target"])
        assert torch.equal(a["target"], b["target"])
        assert torch.equal(a["clip"], b["clip"]) or policy not in ("auto", "rand")


def test_validation_has_no_policy_and_none_needs_no_draws(root):
    data = VideoFolder(root=str(root), frames=4, image_size=24, batch_size=2, num_workers=0, policy_place="batch")
    assert "policy" not in next(iter(data.val_dataloader()))
    _, raws = batches(root, policy_place="batch")
    assert "policy" not in raws[0]
