"""Epic-Kitchens-100 as released: segments of long videos, a verb and a noun each."""

import pytest

from lit_video.datamodules import EpicKitchens100
from lit_video.errors import UserError
from lit_video.video.clips import ClipDataset, VideoRecord
from lit_video.video.sampling import Dense

HEADER = (
    "narration_id,participant_id,video_id,narration_timestamp,start_timestamp,stop_timestamp,start_frame,stop_frame,"
    "narration,verb,verb_class,noun,noun_class,all_nouns,all_noun_classes"
)
ROWS = {
    "train": [
        "P01_01_0,P01,P01_01,00:00:00.100,00:00:00.00,00:00:01.00,1,60,open door,open,3,door,3,['door'],[3]",
        "P01_01_1,P01,P01_01,00:00:01.000,00:00:00.50,00:00:01.50,30,90,"
        '"take plate, cup",take,0,plate,299,"[\'plate\', \'cup\']","[2, 13]"',
    ],
    "validation": [
        "P02_03_0,P02,P02_03,00:00:00.100,00:00:00.00,00:00:00.80,1,48,cut,cut,96,onion,7,['onion'],[7]",
        "P02_03_1,P02,P02_03,00:00:01.000,00:00:00.50,00:01:01.50,30,3690,mix,mix,8,pan,0,['pan'],[0]",
    ],
}


def classes(count):
    rows = [f"{i},name {i},\"['name {i}', 'other']\",group" for i in range(count)]
    return "\n".join(["id,key,instances,category", *rows])


@pytest.fixture
def root(tmp_path, video):
    folder = tmp_path / "annotations"
    folder.mkdir()
    for name, rows in ROWS.items():
        (folder / f"EPIC_100_{name}.csv").write_text("\n".join([HEADER, *rows]))
    (folder / "EPIC_100_verb_classes.csv").write_text(classes(97))
    (folder / "EPIC_100_noun_classes.csv").write_text(classes(300))
    video(tmp_path / "P01" / "videos" / "P01_01.MP4")
    video(tmp_path / "P02" / "videos" / "P02_03.MP4")
    return tmp_path


def epic(root, small, **changes):
    return EpicKitchens100(root=str(root), missing="skip", **(small | changes))


def test_segments_with_verb_and_noun_are_read_and_cut(root, small, load, capsys):
    data = epic(root, small)
    data.check()
    path = root / "P01" / "videos" / "P01_01.MP4"
    assert data.records("train") == [VideoRecord(path, (3, 3), 0.0, 1.0), VideoRecord(path, (0, 299), 0.5, 1.5)]
    assert data.records("test") == data.records("val")
    assert [(task, len(names), names[-1]) for task, names in data.class_names.items()] == [
        ("verb", 97, "name 96"),
        ("noun", 300, "name 299"),
    ]
    assert [record.label for record in data.records("val")] == [(96, 7), (8, 0)]
    assert "the release has 67,217" in capsys.readouterr().err
    train, test = load(data)
    assert train["label"].shape == (2, 2)
    assert test["label"].tolist() == [[96, 7], [8, 0]]


def test_a_segment_shows_its_own_part_of_the_video(root, small):
    view = epic(root, small).val_dataloader().dataset.view
    dataset = ClipDataset(epic(root, small).records("train"), Dense(seconds=1), 4, view, seed=0, clips=1)
    # seconds 0 to 1 and 0.5 to 1.5 of ten frames a second
    assert [dataset.numbers(record, 0) for record in dataset.records] == [[1, 3, 6, 8], [6, 8, 11, 13]]


@pytest.mark.parametrize("place", ["rgb_frames/P01/P01_01", "P01/rgb_frames/P01_01"])
def test_extracted_frames_are_taken_before_videos_at_the_rate_of_the_release(root, small, place):
    (root / place).mkdir(parents=True)
    info = root / "annotations" / "EPIC_100_video_info.csv"
    info.write_text("video_id,duration,fps,resolution\nP01_01,1652.152817,59.9400599400599,1920x1080\n")
    assert epic(root, small).records("train")[0] == VideoRecord(root / place, (3, 3), 0.0, 1.0, 59.9400599400599)
    info.write_text("video_id,duration,fps,resolution\nP01_01,1652.152817,0,1920x1080\n")
    with pytest.raises(
        UserError, match=r"EPIC_100_video_info.csv, line 2, column fps: is '0', expected a number above 0"
    ):
        epic(root, small).records("train")
    info.write_text("video_id,duration,fps,resolution\nP09_01,1652.152817,50,1920x1080\n")
    with pytest.raises(UserError, match=r"column video_id: P01_01 is not in EPIC_100_video_info.csv"):
        epic(root, small).records("train")


def test_one_moment_may_have_two_narrations_but_no_narration_is_there_twice(root, small):
    path = root / "annotations" / "EPIC_100_train.csv"
    path.write_text("\n".join([HEADER, *ROWS["train"], ROWS["train"][0].replace("P01_01_0", "P01_01_9")]))
    assert len(epic(root, small).records("train")) == 3
    path.write_text("\n".join([HEADER, *ROWS["train"], ROWS["train"][0]]))
    with pytest.raises(UserError, match="line 4, column narration_id: P01_01_0 is there already, at line 2"):
        epic(root, small).records("train")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (",open,3,", ",open,97,", "line 2, column verb_class: is '97', expected a whole number from 0 to 96"),
        ("00:00:01.00,1,", "00:00:00.00,1,", "line 2, column stop_timestamp: ends at 0 s, not after its start at 0 s"),
        ("00:00:00.00,00", ",00", "line 2, column start_timestamp: is empty"),
    ],
)
def test_a_wrong_row_is_reported_with_line_and_column(root, small, old, new, message):
    path = root / "annotations" / "EPIC_100_train.csv"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(UserError, match=message):
        epic(root, small).check()
