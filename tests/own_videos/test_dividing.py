"""Test that recordings are not divided, and that every class is trained, validated and tested on."""

from collections import Counter, defaultdict
from dataclasses import replace
from datetime import datetime

import pytest

from lit_video.errors import UserError
from lit_video.own_videos.dividing import assign_splits, fold_names, folds, held_out, limits, without_rare
from lit_video.own_videos.finding import OwnVideo
from lit_video.own_videos.groups import find_groups
from lit_video.own_videos.plan import few_of_every_class


def named(names):
    return [OwnVideo(f"{label}/{name}.mp4", label) for label, name in names]


NAMES = {
    "a counter after a recording": ([f"0626_15{r}_{i:02d}_CLASS" for r in range(4) for i in range(3)], "150"),
    "persons, as in KTH": ([f"person{p:02d}_CLASS_d{i}" for p in range(5) for i in range(3)], "person00"),
    "groups, as in UCF101": ([f"v_CLASS_g{g:02d}_c{c:02d}" for g in range(4) for c in range(3)], "g00"),
}


@pytest.mark.parametrize("case", NAMES)
def test_names_tell_recordings(case):
    names, first = NAMES[case]
    videos = named((label, name.replace("CLASS", label)) for label in ("walk", "sit") for name in names)
    groups = find_groups(videos)
    assert min(groups.names) == first
    assert len(set(groups.names)) == len({name[: len(name) - 8] for name in names}) or len(set(groups.names)) in (4, 5)


RECORDINGS = range(6)
FORMED = {  # names of four parts of each recording, and what is said; no recording may be torn apart
    "seconds": (lambda label, r: [f"{label}{r}x_s{10 * k}_e{10 * k + 10}" for k in range(4)], "guess"),
    "parts": (lambda label, r: [f"{'abcdef'[r] * 3}{label}_p{k}" for k in range(1, 5)], "guess"),
    "scenes": (lambda label, r: [f"film {label} {'abcdef'[r] * 2} scene{k}" for k in range(1, 5)], "guess"),
    "repetitions": (lambda label, r: [f"{'abcdef'[r]}{label}-rec{k}" for k in range(4)], "guess"),
    "UCF101": (lambda label, r: [f"v_{label}_g{r:02d}_c{k:02d}" for k in range(4)], "UCF101"),
    "KTH": (lambda label, r: [f"person{r:02d}_{label}_d{k}_uncomp" for k in range(4)], "KTH"),
    "NTU": (lambda label, r: [f"S001C00{k}P{r:03d}R001A{len(label):03d}_rgb" for k in range(4)], "NTU"),
    "Kinetics": (lambda label, r: [f"{label:_<10}{r}_{10 * k:06d}_{10 * k + 10:06d}" for k in range(4)], "Kinetics"),
    "GoPro": (lambda label, r: [f"GX0{k}{len(label)}{r:03d}" for k in range(1, 5)], "GoPro"),
    "12 hours": (
        lambda label, r: [f"2024-01-01 at {1 + r % 3}.0{k}.07 {'AP'[r // 3]}M {label}" for k in range(4)],
        "guess",
    ),
}


@pytest.mark.parametrize("case", FORMED)
def test_no_name_tears_a_recording_apart(case):
    name_of, said = FORMED[case]
    videos, recordings = list[OwnVideo](), list[object]()
    for label in ("walk", "sit"):
        for r in RECORDINGS:
            for name in name_of(label, r):
                videos.append(OwnVideo(f"{label}/{name}.mp4", label))
                recordings.append(r if case in ("UCF101", "KTH", "NTU", "12 hours") else (label, r))
    groups = find_groups(videos)
    assert (groups.names is None) == (said is None)
    assert (said or "--group") in groups.reason
    if groups.names:
        assert len({*zip(groups.names, recordings, strict=True)}) == len({*recordings})
        assert len({*groups.names}) >= len(RECORDINGS)


def test_a_part_of_names_is_a_guess_where_the_rest_names_no_more_recordings():
    videos = named((label, f"{label}_s{s:02d}_{i}") for label in ("walk", "sit") for s in range(5) for i in range(3))
    groups = find_groups(videos)
    assert len({*groups.names}) == 5 and "guess" in groups.reason and "--group" in groups.reason


CAMERAS = """walk_{} clip_{} part{} IMG_{} DSC_{} DSCN{} MVI_{} GOPR{} GX01{} dji_{} P101{} C{} {} clip_({}) Movie-{}
VID-20240101-WA{} IMG_{}_copy VID_20240101_{} WhatsApp_Video_2024-01-01_({}) MOV_{} 2024-01-01_{} MAH{}"""


@pytest.mark.parametrize("joiner", ["_", " "])
def test_what_cameras_and_phones_call_files_is_no_recording(joiner):
    for camera in CAMERAS.split():
        names = [camera.replace("_", joiner).format(f"{i:04d}") for i in range(1, 9)]
        assert find_groups(named((label, name) for label in ("walk", "sit") for name in names)).names is None, camera
    mixed = [camera.format(f"{i:04d}") for camera in CAMERAS.split() for i in range(1, 5)]
    assert find_groups(named((label, name) for label in ("walk", "sit") for name in mixed)).names is None


@pytest.mark.parametrize(
    "pattern",
    [
        "VID_2024{:%m%d_%H%M%S}",
        "PXL_2024{:%m%d_%H%M%S}123",
        "2024{:%m%d_%H%M%S}",
        "DJI_2024{:%m%d%H%M%S}_0001_D",
        "WhatsApp Video 2024{:-%m-%d at %H.%M.%S}",
    ],
)
def test_times_within_minutes_are_a_guess_of_a_recording(pattern):
    times = [datetime(2024, 1, 31, 12 + i % 4, i // 4, 7) for i in range(24)]
    groups = find_groups(named(("ab"[i % 2], pattern.format(time)) for i, time in enumerate(times)), least=2)
    assert [name[11:13] for name in groups.names] == [str(time.hour) for time in times]
    assert "a guess by the times in their file names (less than 5 minutes apart): 4 groups" in groups.reason
    few = find_groups(named(("ab"[i % 2], pattern.format(time)) for i, time in enumerate(times)))
    assert few.names is None and "a guess" in few.reason and "not kept together" in few.reason


def test_a_column_tells_and_another_can_be_chosen():
    rows = [{"speaker": f"s{i % 5}", "room": f"r{i % 3}"} for i in range(30)]
    videos = [OwnVideo(f"{i}.mp4", "ab"[i // 15], columns=row) for i, row in enumerate(rows)]
    assert find_groups(videos).names == [row["speaker"] for row in rows]
    assert find_groups(videos, "room").names == [row["room"] for row in rows]
    assert find_groups(videos, "none").names is None
    with pytest.raises(UserError, match="--group rom: no such column, or an empty cell in it; columns: speaker, room"):
        find_groups(videos, "rom")


def test_a_column_with_too_few_values_is_refused_or_passed_over():
    videos = [OwnVideo(f"{i}.mp4", "ab"[i % 2], columns={"speaker": f"s{i % 2}"}) for i in range(20)]
    assert find_groups(videos).names is None
    assert "class 'a' has fewer than 3" in find_groups(videos).reason
    with pytest.raises(UserError, match="class 'a' has fewer than 3 groups, too few"):
        find_groups(videos, "speaker")
    two = [OwnVideo(f"{i}.mp4", "ab"[i % 2], columns={"speaker": f"s{i % 4}"}) for i in range(20)]
    assert find_groups(two, least=2).names == [f"s{i % 4}" for i in range(20)]


def test_a_group_that_cannot_be_kept_together_is_still_one_draw():
    """A speaker in too few groups of a class is divided over the splits; his videos are not independent."""
    rows = [{"speaker": f"s{i % 4}"} for i in range(20)]
    videos = [OwnVideo(f"{i}.mp4", "ab"[i % 2], columns=row) for i, row in enumerate(rows)]
    groups = find_groups(videos)
    assert groups.names is None and groups.draws == [row["speaker"] for row in rows]
    assert find_groups(videos, "none").draws is None
    kept = find_groups(videos, least=2)
    assert kept.draws == kept.names == groups.draws
    constant = [replace(video, columns={"source": "film"}) for video in videos]
    assert find_groups(constant).draws is None, "one value for all tells nothing"
    minutes = named(("ab"[i % 2], f"VID_20240131_12{i:02d}00") for i in range(20))
    assert len({*find_groups(minutes[:4] + named([("a", "VID_20240131_150000")])).draws}) == 2


def test_few_draws_need_a_larger_difference_between_models():
    videos = [OwnVideo(f"{i}.mp4", "ab"[i % 2], "train" if i < 20 else "test") for i in range(44)]
    draws = [f"r{i // 4}" for i in range(44)]
    (alone, *_), (counted, *_) = limits(videos), limits(videos, draws)
    assert "24 test videos" in alone and "28 points" in alone
    assert "28 points (57 if" in counted and "6 groups" in counted
    folded = [replace(video, split=f"fold{i % 2}") for i, video in enumerate(videos)]
    assert "11 groups" in limits(folded, draws)[0]
    assert "(100 if" in limits(videos, ["r"] * 44)[0]


def test_folds_test_every_video_once_and_divide_no_recording():
    videos = named((label, f"{label}{i}") for label in ("walk", "sit", "fall") for i in range(20))
    groups = [f"rec{i % 6}" for i in range(60)]
    divided, how = folds(videos, groups)
    assert fold_names(video.split for video in divided) == [f"fold{i}" for i in range(1, 6)]
    assert (
        how.startswith("Few videos, so 5-fold cross-validation: groups of 10, 10, 10, 10, 20; each")
        and divided == folds(videos, groups)[0]
    )
    assert len({*zip(groups, (video.split for video in divided), strict=True)}) == 6, "each group in one split"
    for split in fold_names(video.split for video in divided):
        assert {video.label for video in divided if video.split != split} == {"walk", "sit", "fall"}
    assert fold_names(["train", "test", None]) == []


def test_a_class_in_one_fold_is_named():
    videos = [OwnVideo(f"{i}.mp4", "ab"[i % 2], f"fold{i % 4 + 1}") for i in range(8)]
    videos += [OwnVideo("c.mp4", "c", "fold1")]
    assert "All videos of c are in one fold" in limits(videos)[2]


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize(("walks", "test", "val"), [(80, 0.2, 0.16), (40, 1 / 3, 0)])
def test_classes_have_equal_shares_and_groups_are_whole(grouped, walks, test, val):
    sizes = {"walk": walks, "sit": walks // 2, "fall": walks // 2}
    videos = named((label, f"{i}") for label, count in sizes.items() for i in range(count))
    groups = [f"g{i % 10}" for i in range(len(videos))] if grouped else None
    divided, how = assign_splits(videos, groups)
    assert "chosen at random" in how and ("too few to choose" in how) == (not val) == ("validation" not in how)
    shares = defaultdict(Counter)
    for video in divided:
        shares[video.split][video.label] += 1
    for label, count in sizes.items():
        assert shares["test"][label] == pytest.approx(test * count, abs=4 if grouped else 2)
        assert shares["val"][label] == pytest.approx(val * count, abs=4 if grouped else 2)
    if groups:
        assert len({*zip(groups, (video.split for video in divided), strict=True)}) == 10, "each group in one split"
    assert assign_splits(videos, groups)[0] == divided


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (("train", "val", "test"), {"train": 20, "val": 10, "test": 10}),
        (("train", "val"), {"train": 16, "val": 4, "test": 10}),
        (("train", "test"), {"train": 16, "val": 4, "test": 10}),
    ],
)
def test_given_splits_are_kept(given, expected, monkeypatch):
    monkeypatch.setattr("lit_video.own_videos.dividing.FEW_TO_TRAIN", 20)
    counts = {"train": 20, "val": 10, "test": 10}
    videos = [OwnVideo(f"{s}{i}.mp4", "ab"[i % 2], s) for s in given for i in range(counts[s])]
    divided, _ = assign_splits(videos, None)
    assert Counter(video.split for video in divided) == expected
    tested = {video.path for video in divided if video.split == "test"}
    assert tested == {video.path for video in videos if video.split == given[-1]}


@pytest.mark.parametrize("test", ["test", "val"])
@pytest.mark.parametrize(("number", "validates"), [(238, False), (240, True)])
def test_few_training_videos_beside_given_test_videos_all_train(test, number, validates):
    videos = [OwnVideo(f"{i}.mp4", "ab"[i % 2], "train") for i in range(number)]
    videos += [OwnVideo(f"t{i}.mp4", "ab"[i % 2], test) for i in range(10)]
    divided, how = assign_splits(videos, None)
    counts = Counter(video.split for video in divided)
    assert ("val" in counts) == validates == ("the last one is tested" not in how)
    assert counts["train"] + counts["val"] == number and counts["test"] == 10


@pytest.mark.parametrize(("persons", "validates"), [(1, False), (2, True)])
def test_videos_of_one_person_beside_a_given_test_of_others_all_train(persons, validates):
    videos = [OwnVideo(f"{i}.mp4", "ab"[i // 2 % 2], "train") for i in range(240)]
    videos += [OwnVideo(f"t{i}.mp4", "ab"[i % 2], "test") for i in range(10)]
    groups = [f"p{i % persons}" for i in range(240)] + [f"t{i % 3}" for i in range(10)]
    divided, how = assign_splits(videos, groups)
    counts = Counter(video.split for video in divided)
    assert ("val" in counts) == validates == ("one group" not in how)
    assert counts["train"] + counts["val"] == 240


@pytest.mark.parametrize("divide", [assign_splits, folds])
def test_videos_that_are_one_group_by_copies_cannot_be_divided(divide):
    with pytest.raises(UserError, match="one group"):
        divide(named((label, str(i)) for label in "ab" for i in range(100)), ["x"] * 200)


@pytest.mark.parametrize("number", [40, 200])
def test_training_videos_alone_are_divided_as_if_no_split_were_given(number):
    """Divide them, or the test videos would choose the checkpoint."""
    videos = [OwnVideo(f"{i}.mp4", "ab"[i % 2], "train") for i in range(number)]
    divided, how = assign_splits(videos, None)
    free = [replace(video, split=None) for video in videos]
    assert (divided, how) == assign_splits(free, None) and "chosen at random" in how
    assert not held_out(videos) and {video.split for video in divided} >= {"train", "test"}


def test_splits_and_classes_without_training_videos_are_refused(monkeypatch):
    videos = [OwnVideo(f"{s}{i}.mp4", "ab"[i % 2], s) for s in ("val", "test") for i in range(10)]
    for given, named in ((videos[:10], "val"), (videos, "test or val")):
        with pytest.raises(UserError, match=f"all videos are of the split {named}; give training"):
            assign_splits(given, None)
    trained = [replace(video, split="train") for video in videos[10:]]
    for split in ("val", "test"):
        with pytest.raises(UserError, match="class 'c' has test videos, but none to train"):
            assign_splits(
                [*trained, *(replace(v, split=split) for v in videos[:10]), OwnVideo("c.mp4", "c", split)], None
            )
    monkeypatch.setattr("lit_video.own_videos.dividing.FEW_TO_TRAIN", 0)
    one = [OwnVideo(f"{label}/{split}.mp4", label, split) for label in "abc" for split in ("train", "test")]
    with pytest.raises(UserError, match="every class has one video to train and to validate"):
        assign_splits(one, None)


def test_rare_classes_are_left_out_by_name():
    videos = named([*[("walk", str(i)) for i in range(5)], *[("sit", str(i)) for i in range(5)], ("fall", "0")])
    kept, lines = without_rare(videos)
    assert len(kept) == 10
    assert lines == ["left out: class 'fall', 1 of the 3 videos that it needs"]
    with pytest.raises(UserError, match=r"only one class has 3 videos or more.*fall has 1"):
        without_rare(videos[:5] + videos[-1:])


def test_what_a_test_cannot_decide_is_said_first():
    videos = [OwnVideo(f"{split}{i}.mp4", "ab"[i % 2], split) for split in ("train", "val", "test") for i in range(10)]
    lines = limits(videos)
    assert lines[0] == "With 10 test videos, two models that differ by less than 44 points may be equally good."
    assert lines[1] == "Baseline: always answering 'a' gives 50 %."
    lines = limits([video for video in videos if (video.split, video.label) != ("val", "b")])
    assert "No video of b to choose the checkpoint: too few videos, or too few recordings." in lines


def test_the_few_videos_of_a_rehearsal_have_every_class_and_as_many_videos_as_there_are_places():
    videos = named([*(("walk", number) for number in range(500)), ("sit", 0), ("stand", 0)])
    few = few_of_every_class(videos, 8)
    assert len({video.path for video in few}) == len(few) == 8
    assert {video.label for video in few} == {"walk", "sit", "stand"}
    assert few_of_every_class(videos[:5], 8) == videos[:5]
