"""Test released data sets in their authors' layout: records, missing videos, and wrong rows."""

import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from lit_video import datamodules
from lit_video.datamodules.annotated import AnnotatedVideos
from lit_video.datamodules.released import in_training
from lit_video.errors import UserError
from lit_video.video.clips import ClipDataset, VideoRecord
from lit_video.video.decoding import FrameTable, exact, segment
from lit_video.video.sampling import Dense


@dataclass
class Release:
    """Files of a small release: annotations, videos, and the labels expected of them."""

    kind: str
    files: dict[str, Any]
    train: dict[str, Any]  # label by video
    val: dict[str, Any]
    names: Any
    settings: dict[str, Any] = field(default_factory=dict)
    others: tuple[str, ...] = ()  # other videos of the release

    def open(self, root, video, small, **changes):
        for name, content in self.files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(content if isinstance(content, str) else json.dumps(content))
        for name in (*self.train, *self.val, *self.others):
            video(root / name)
        settings = {"missing": "skip"} | small | self.settings | changes
        return getattr(datamodules, self.kind)(root=str(root), **settings)


LABELS = [f"{i:03d} massaging person's head" if i % 2 else f"{i:03d} air drumming" for i in range(700)]


def kinetics_rows(split, classes):
    return [f'"{label}",{split}{i:08d},{i},{i + 10},{split},0' for i, label in enumerate(LABELS[:classes])]


def kinetics(classes, folder=lambda label: "", endings=("mp4", "mp4"), lists=("train", "val")):
    head = "label,youtube_id,time_start,time_end,split,is_cc"
    files = {
        f"annotations/{name}.csv": "\n".join([head, *kinetics_rows(split, classes)]).replace(",val,", f",{name},")
        for name, split in zip(lists, ("train", "val"), strict=True)
    }
    videos = [
        {
            f"{split}/{folder(LABELS[i])}{split}{i:08d}_{i:06d}_{i + 10:06d}.{ending}": i
            for i, ending in enumerate(endings)
        }
        for split in ("train", "val")
    ]
    return Release(f"Kinetics{classes}", files, *videos, LABELS[:classes])


ACTIONS = [f"Action{i:03d}" for i in range(101)]
DEEDS = [f"deed_{i:02d}" for i in range(51)]


def ucf(split):
    videos = [{f"{ACTIONS[i]}/v_{part}_g0{split}_c0{i}.avi": i for i in (0, 1)} for part in ("train", "test")]
    files = {
        "classInd": "".join(f"{i + 1} {name}\r\n" for i, name in enumerate(ACTIONS)),
        f"trainlist0{split}": "".join(f"{name} {i + 1}\n" for name, i in videos[0].items()),
        f"testlist0{split}": "".join(f"{name}\n" for name in videos[1]),
    }
    files = {f"ucfTrainTestlist/{name}.txt": text for name, text in files.items()}
    there = [{f"UCF-101/{name}": label for name, label in part.items()} for part in videos]
    return Release("UCF101", files, *there, ACTIONS, {"split": split})


def hmdb(split):
    listed = "{name}!one;#(x)_u.avi 1 \n{name}_two.avi 2 \nother.avi 0 \n"
    files = {f"testTrainMulti_7030_splits/{n}_test_split{split}.txt": listed.replace("{name}", n) for n in DEEDS}
    train = {f"hmdb51_org/{n}/{n}!one;#(x)_u.avi": i for i, n in enumerate(DEEDS[:2])}
    val = {f"hmdb51_org/{n}/{n}_two.avi": i for i, n in enumerate(DEEDS[:2])}
    return Release("HMDB51", files, train, val, DEEDS, {"split": split}, ("hmdb51_org/deed_00/other.avi",))


DIVES = [["Back", f"{i}5som", "05Twis", "FREE"] for i in range(48)]
DIVED = {
    split: [{"vid_name": f"{split}_8Vy_{label}", "label": label, "start_frame": 0} for label in (7, 47)]
    for split in ("train", "test")
}
DIVING = Release(
    "Diving48",
    {"Diving48_vocab.json": DIVES, **{f"Diving48_V2_{split}.json": entries for split, entries in DIVED.items()}},
    *({f"rgb/{entry['vid_name']}.mp4": entry["label"] for entry in entries} for entries in DIVED.values()),
    [" ".join(dive) for dive in DIVES],
)

MOMENTS = Release(
    "MomentsInTime",
    {
        "moments_categories.txt": "blocking,1\ncrying,2\nadult+male+singing,0\n",
        "trainingSet.csv": '"blocking/karate-id_4.mp4",blocking,3,0\n"crying/a.mp4",crying,3,0\n',
        "validationSet.csv": '"blocking/b, c.mp4",blocking,3,0\n"crying/d.mp4",crying,3,0\n',
    },
    {"training/blocking/karate-id_4.mp4": 1, "training/crying/a.mp4": 2},
    {"validation/blocking/b, c.mp4": 1, "validation/crying/d.mp4": 2},
    ["adult+male+singing", "blocking", "crying"],
    {"classes": 3},
)

CHARADES_HEAD = "id,subject,scene,quality,relevance,verified,script,objects,descriptions,actions,length"


def doing(*numbers):
    return tuple(int(i in numbers) for i in range(157))


CHARADES = Release(
    "Charades",
    {
        "Charades/Charades_v1_classes.txt": "\n".join(f"c{i:03d} Doing {i} things" for i in range(157)),
        "Charades/Charades_v1_train.csv": f"{CHARADES_HEAD}\n"
        '46GP8,HR43,Kitchen,6,7,Yes,"A person, cooking.",food;stove,"A, B",c092 11.90 21.20;c147 0.00 12.60,24.83\n'
        "B2,H,K,6,7,Yes,x,y,z,c001 1 2;c001 4 5,24.83",
        "Charades/Charades_v1_test.csv": f"{CHARADES_HEAD}\n"
        "YSKX3,QHJ,Bedroom,7,7,Yes,A person sits.,bed,Sits.,c000 0.00 2.00,32.00\nN11GT,A,B,4,4,Yes,x,y,z,,20.00",
    },
    {"Charades_v1_480/46GP8.mp4": doing(92, 147), "Charades_v1_480/B2.mp4": doing(1)},
    {"Charades_v1_480/YSKX3.mp4": doing(0), "Charades_v1_480/N11GT.mp4": doing()},
    [f"Doing {i} things" for i in range(157)],
)

TEMPLATES = ["Holding something next to something", "Pretending to put something on a surface"]
TEMPLATES += [f"Pushing something {i} times" for i in range(2, 174)]
SOMETHING = Release(
    "SomethingV2",
    {
        "labels/labels.json": {name: str(i) for i, name in reversed(list(enumerate(TEMPLATES)))},
        "labels/train.json": [
            {"id": "78687", "template": "Holding [something] next to [something]", "placeholders": ["potato", "box"]},
            {"id": "42326", "label": "pushing a cup 2 times", "template": "Pushing [something] 2 times"},
        ],
        "labels/validation.json": [
            {"id": i, "template": "Pretending to put [something] on a surface"} for i in ("74225", "74226")
        ],
    },
    {"20bn-something-something-v2/78687.webm": 0, "20bn-something-something-v2/42326.webm": 2},
    {"20bn-something-something-v2/74225.webm": 1, "20bn-something-something-v2/74226.webm": 1},
    TEMPLATES,
)

TASKS = {"52907": 6, "109057": 6, "7": 3}  # videos by task
HOWTO_HEAD = "video_id,category_1,category_2,rank,task_id"
HOWTO_ROWS = [f"{task}v{i:02d},Cars & Vehicles,Motorcycles,{i},{task}" for task, n in TASKS.items() for i in range(n)]
# a video of two tasks belongs to the one that ranks it higher
HOWTO_ROWS += ["52907v03,A,B,99,109057", "109057v05,A,B,0,52907"]
HOWTO_VIDEOS = {f"52907v{i:02d}": 0 for i in range(6)} | {f"109057v{i:02d}": int(i < 5) for i in range(6)}
HOWTO = Release(
    "HowTo100MTasks",
    {
        "HowTo100M_v1.csv": "\n".join([HOWTO_HEAD, *HOWTO_ROWS]),
        "task_ids.csv": "7\tBoil Eggs\n52907\tRide, Safely\n109057\tMake Pancakes\n",
    },
    *(
        {f"videos/{name}.webm": label for name, label in HOWTO_VIDEOS.items() if in_training(name) is trained}
        for trained in (True, False)
    ),
    ["Ride, Safely", "Make Pancakes"],
    {"classes": 2, "least_videos": 5, "test_clips": 4},
)

EPIC_HEAD = (
    "narration_id,participant_id,video_id,narration_timestamp,start_timestamp,stop_timestamp,start_frame,stop_frame,"
    "narration,verb,verb_class,noun,noun_class,all_nouns,all_noun_classes"
)
EPIC_TRAIN = [
    "P01_01_0,P01,P01_01,00:00:00.100,00:00:00.00,00:00:01.00,1,60,open door,open,3,door,3,['door'],[3]",
    "P01_01_1,P01,P01_01,00:00:01.000,00:00:00.50,00:00:01.50,30,90,"
    '"take plate, cup",take,0,plate,299,"[\'plate\', \'cup\']","[2, 13]"',
]
EPIC_VAL = [
    "P02_03_0,P02,P02_03,00:00:00.100,00:00:00.00,00:00:00.80,1,48,cut,cut,96,onion,7,['onion'],[7]",
    "P02_03_1,P02,P02_03,00:00:01.000,00:00:00.50,00:01:01.50,30,3690,mix,mix,8,pan,0,['pan'],[0]",
]


EPIC_SEGMENTS = [  # times, numbers of the released frames, and their rate
    ("00:00:05.44", "00:00:07.00", 326, 420, 60),
    ("00:00:00.00", "00:00:01.00", 1, 60, 60),
    ("00:00:10.02", "00:00:11.50", 501, 575, 50),
    ("00:20:00.50", "00:20:00.60", 72030, 72036, 60),
]


def epic_classes(count):
    rows = [f"{i},name {i},\"['name {i}', 'other']\",group" for i in range(count)]
    return "\n".join(["id,key,instances,category", *rows])


EPIC = Release(
    "EpicKitchens100",
    {
        "annotations/EPIC_100_train.csv": "\n".join([EPIC_HEAD, *EPIC_TRAIN]),
        "annotations/EPIC_100_validation.csv": "\n".join([EPIC_HEAD, *EPIC_VAL]),
        "annotations/EPIC_100_verb_classes.csv": epic_classes(97),
        "annotations/EPIC_100_noun_classes.csv": epic_classes(300),
    },
    {},
    {},
    {task: [f"name {i}" for i in range(count)] for task, count in (("verb", 97), ("noun", 300))},
    {},
    ("P01/videos/P01_01.MP4", "P02/videos/P02_03.MP4"),
)

RELEASES = {
    "kinetics400": kinetics(400),
    "kinetics600, validate.csv": kinetics(600, lists=("train", "validate")),
    "kinetics700": kinetics(700),
    "kinetics400 by label_": kinetics(400, lambda label: f"{label.replace(' ', '_')}/", ("mkv", "webm")),
    "ucf 1": ucf(1),
    "ucf 3": ucf(3),
    "hmdb 3": hmdb(3),
    "diving": DIVING,
    "moments": MOMENTS,
    "charades": CHARADES,
    "something": SOMETHING,
    "howto": HOWTO,
}


@pytest.mark.parametrize("name", RELEASES)
def test_a_release_is_read_and_its_sizes_are_reported(name, tmp_path, video, small, load, capsys):
    release = RELEASES[name]
    data = release.open(tmp_path, video, small)
    data.check()
    assert data.class_names == release.names
    assert data.num_classes == len(release.names)
    for split, videos in (("train", release.train), ("val", release.val), ("test", release.val)):
        found = {str(record.path.relative_to(tmp_path)): record.label for record in data.records(split)}
        assert found == videos
    if "kinetics" in name:
        printed = capsys.readouterr().err
        assert f"{data.num_classes - 2} of {data.num_classes} train videos are missing" in printed
        assert f"list {data.num_classes} videos, the release has" in printed
        assert data.video_counts["train"] == {"listed": data.num_classes, "used": 2}
    train, test = load(data)
    if name != "howto":
        assert sorted(train["label"].tolist()) == sorted(map(_listed, release.train.values()))
        assert test["label"].tolist() == [*map(_listed, release.val.values())]


def _listed(label):
    return list(label) if isinstance(label, tuple) else label


def test_85_of_120_videos_are_for_training():
    share = sum(in_training(f"video{i}") for i in range(20_000)) / 20_000
    assert share == pytest.approx(85 / 120, abs=0.015)


ENTRY = DIVED["train"][0]
EPIC_CSV, KINETICS_CSV = "annotations/EPIC_100_train.csv", "annotations/train.csv"
SPLIT_5 = "testTrainMulti_7030_splits/deed_05_test_split1.txt"
UCF, HMDB, KINETICS = RELEASES["ucf 1"], hmdb(1), RELEASES["kinetics400"]
WRONG = [
    # release, file, text to replace (None: the whole file), its replacement, message
    (KINETICS, KINETICS_CSV, None, kinetics(600).files[KINETICS_CSV], "train.csv has 600 classes, expected 400"),
    (KINETICS, "annotations/val.csv", ",val,", ",train,", "val.csv, line 2, column split: is train, expected val"),
    (UCF, "ucfTrainTestlist/testlist01.txt", "001/v_test_g01_c01", "000/v_test_g01_c00", "column path: .* at line 1"),
    (HMDB, SPLIT_5, None, "a.avi 3\n", "split1.txt, line 1, column use: is '3', expected a whole number from 0 to 2"),
    (DIVING, "Diving48_V2_train.json", None, [ENTRY | {"label": 48}], "train.json, entry 1, column label: is '48'"),
    (MOMENTS, "trainingSet.csv", '",crying', '",running', "line 2, column label: 'running' is none of the 3 classes"),
    (CHARADES, "Charades/Charades_v1_train.csv", "c147", "c157", "line 2, column actions: 'c157' is none of the 157"),
    (SOMETHING, "labels/train.json", None, '[{"id": "1"},\n {"id"', "train.json is no JSON, line 2"),
    (SOMETHING, "labels/labels.json", None, {"Doing": "a", "Holding": "b"}, "does not number the templates from 0"),
    (HOWTO, "task_ids.csv", None, "7\tBoil Eggs\n", "task_ids.csv does not name task 52907"),
    (EPIC, EPIC_CSV, "00:00:00.00,00", ",00", "line 2, column start_timestamp: is empty"),
    (EPIC, EPIC_CSV, "P01_01_1,", "P01_01_0,", "line 3, column narration_id: P01_01_0 is there already, at line 2"),
]


@pytest.mark.parametrize(("release", "file", "old", "new", "message"), WRONG, ids=lambda value: str(value)[:24])
def test_a_wrong_file_is_reported_with_its_row_and_column(release, file, old, new, message, tmp_path, video, small):
    data = release.open(tmp_path, video, small)
    text = new if isinstance(new, str) else json.dumps(new)
    assert old is None or old in (tmp_path / file).read_text()
    (tmp_path / file).write_text((tmp_path / file).read_text().replace(old, text) if old else text)
    with pytest.raises(UserError, match=message) as error:
        data.check()
        _ = data.class_names
    assert str(tmp_path) in str(error.value)


def test_a_part_or_more_of_the_release_fails_unless_a_part_will_do(tmp_path, video, small):
    data = SOMETHING.open(tmp_path, video, small, missing="fail")
    with pytest.raises(UserError, match=r"train annotations in .* list 2 videos, the release has 168,913; .*: skip"):
        data.check()
    data.released = {"train": (1, 1)}
    with pytest.raises(UserError, match=r"list 2 videos, the release has 1; use the released files"):
        data.check()
    with pytest.raises(UserError, match=r"400 of 400 train videos are missing .* nothing is left"):
        kinetics(400, endings=()).open(tmp_path, video, small).check()


@pytest.mark.parametrize(("release", "classes"), [(HOWTO, 1059), (MOMENTS, 339)])
def test_the_number_of_classes_is_that_of_the_paper_or_said(release, classes, tmp_path, video, small):
    with pytest.raises(UserError, match=f"not {classes}|expected {classes}"):
        release.open(tmp_path, video, small, classes=classes).check()


def test_segments_with_verb_and_noun_are_read_and_cut(tmp_path, video, small, load, capsys):
    data = EPIC.open(tmp_path, video, small)
    data.check()
    assert data.class_names == EPIC.names
    path = tmp_path / "P01" / "videos" / "P01_01.MP4"
    assert data.records("train") == [
        VideoRecord(path, (3, 3), start=0.0, end=1.0),
        VideoRecord(path, (0, 299), start=0.5, end=1.5),
    ]
    assert data.records("test") == data.records("val")
    assert "the release has 67,217" in capsys.readouterr().err
    train, test = load(data)
    assert train["label"].shape == (2, 2)
    assert test["label"].tolist() == [[96, 7], [8, 0]]
    dataset = ClipDataset(data.records("train"), Dense(seconds=1), 4, view=data.view(1), seed=0, clips=1)
    # seconds 0 to 1 and 0.5 to 1.5 at ten frames per second
    assert [dataset.numbers(record, 0) for record in dataset.records] == [[1, 3, 6, 8], [6, 8, 11, 13]]


@pytest.mark.parametrize("folder", ["rgb_frames/P01/P01_01", "P01/rgb_frames/P01_01"])
@pytest.mark.parametrize(("start", "stop", "first", "last", "rate"), EPIC_SEGMENTS)
def test_extracted_frames_are_those_that_the_annotation_numbers(
    folder, start, stop, first, last, rate, tmp_path, video, small
):
    data = EPIC.open(tmp_path, video, small)
    annotations = tmp_path / EPIC_CSV
    row = "00:00:00.00,00:00:01.00,1,60,"
    annotations.write_text(annotations.read_text().replace(row, f"{start},{stop},{first},{last},"))
    (tmp_path / folder).mkdir(parents=True)
    record = data.records("train")[0]
    assert (record.path, record.label, record.fps) == (tmp_path / folder, (3, 3), rate)
    count = last + 9
    whole = FrameTable(
        pts=range(count),
        time_base=1 / exact(rate),
        keyframes=range(count),
        count=count,
        seconds=count / exact(rate),
        height=10,
        width=20,
    )
    index, part = segment(record.path, whole, start=record.start, end=record.end)
    assert (index + 1, index + part.count) == (first, last)  # frames are numbered from 1


def test_frames_without_a_valid_number_are_refused(tmp_path, video, small):
    data = EPIC.open(tmp_path, video, small)
    (tmp_path / "rgb_frames/P01/P01_01").mkdir(parents=True)
    annotations = tmp_path / EPIC_CSV
    annotations.write_text(annotations.read_text().replace("00:00:01.00,1,60,", "00:00:01.00,61,60,"))
    with pytest.raises(UserError, match="line 2, column stop_frame"):
        data.records("train")


def test_annotations_without_a_video_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr(AnnotatedVideos, "annotated", lambda self, split: ())
    with pytest.raises(UserError, match=rf"data\.root: the val annotations in {tmp_path} list no video; use the"):
        AnnotatedVideos(root=str(tmp_path)).records("val")
