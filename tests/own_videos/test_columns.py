"""Test that every column of a table of videos is used, named or refused, in any case and spelling of its name.

Each list has names and cells that people wrote, and others that no list in the package has.
"""

import csv

import pytest

from lit_video.datamodules import VideoCSV
from lit_video.errors import UserError
from lit_video.own_videos.dividing import folds
from lit_video.own_videos.finding import find_own_videos
from lit_video.own_videos.groups import find_groups
from lit_video.own_videos.listed import ColumnsAsked
from lit_video.utils.columns import group_columns, words_of
from lit_video.utils.text import natural

PERSONS = [f"S{number // 4}" for number in range(24)]
LABELS = [("turn", "sit")[number % 2] for number in range(24)]


def table(folder, columns, name="labels.csv"):
    """Write a table of 24 videos of two classes with further columns; return the videos that are found."""
    (folder / "videos").mkdir(exist_ok=True)
    rows = {"path": [f"videos/v{number:02d}.mp4" for number in range(24)], "label": LABELS, **columns}
    with (folder / name).open("w", newline="") as file:
        csv.writer(file).writerows([[*rows], *zip(*rows.values(), strict=True)])
    return folder / name


def found_in(folder, columns, **asked):
    return find_own_videos(table(folder, columns), ColumnsAsked(**asked))


def parts(first, second, third=None):
    """Return the cells of a column in which 16 rows train, and 8 are held out (4 and 4 with a third part)."""
    return [first] * 16 + ([second] * 8 if third is None else [second] * 4 + [third] * 4)


SPLITS = {  # columns, and the splits of the last eight rows
    "split": ({"split": parts("train", "test")}, "test"),
    "train and holdout": ({"partition": parts("train", "holdout")}, "test"),
    "train and eval": ({"Partition": parts("train", "eval")}, "test"),
    "eval beside a test": ({"subset": parts("train", "eval", "test")}, "val test"),
    "FER2013": ({"Usage": parts("Training", "PublicTest", "PrivateTest")}, "test"),
    "is_test": ({"is_test": parts(0, 1)}, "test"),
    "isTest": ({"isTest": parts("False", "True")}, "test"),
    "train": ({"train": parts("yes", "no")}, "test"),
    "in_training": ({"in_training": parts("yes", "no")}, "test"),
    "used_for_test": ({"used_for_test": parts("no", "yes")}, "test"),
    "two flags": ({"is_val": parts(0, 1, 0), "is_test": parts(0, 0, 1)}, "val test"),
    "DATA_SPLIT": ({"DATA_SPLIT": parts("TRAIN", "DEV", "TEST")}, "val test"),
    "by its cells": ({"teil": parts("Train", "Test")}, "test"),
    # no list of the package has these
    "official split": ({"official split": parts("train set", "test set")}, "test"),
    "TrainTestSplit": ({"TrainTestSplit": parts("train", "test")}, "test"),
    "held out": ({"phase": parts("learning", "held-out")}, "test"),
    "split_1": ({"split_1": parts("trn", "tst")}, "test"),
    "numbered": ({"subset": parts("train1", "val2", "test1")}, "val test"),
}


@pytest.mark.parametrize("case", SPLITS)
def test_the_users_division_is_used_whatever_it_is_called(case, tmp_path):
    columns, held_out = SPLITS[case]
    own = found_in(tmp_path, columns)
    assert {video.split for video in own.videos[:16]} == {"train"}
    assert {video.split for video in own.videos[16:]} == {*held_out.split()}
    assert "split: column `" in own.notes[0] and "not used" not in " ".join(own.notes)


REFUSED_SPLITS = {
    "an odd cell": (
        {"partition": [*parts("train", "test")[:-1], "?"]},
        "line 25, column partition: is '?', expected tr",
    ),
    "an empty cell": ({"split": ["", *parts("train", "test")[1:]]}, "line 2, column split: is empty, expected train"),
    "HMDB51": ({"split": [number % 3 for number in range(24)]}, "column split: is '0', expected train, val or test"),
    "an odd cell of no name": ({"teil": [*parts("train", "test")[:-1], "?"]}, "column teil: is '?', expected train"),
    "two columns": (
        {"split1": parts("train", "test"), "split2": parts("train", "val")},
        "split1, split2 could all name",
    ),
    "both flags": ({"is_val": parts(0, 1), "is_test": parts(0, 1)}, "is_val, is_test is true, expected one of"),
    "a flag with a gap": ({"is_test": ["", *parts(0, 1)[1:]]}, "line 2, column is_test: is empty, expected 0 or 1"),
    "a split of two": ({"usage": parts("train and test", "test")}, "column usage: is 'train and test', expected"),
}


@pytest.mark.parametrize("case", REFUSED_SPLITS)
def test_a_half_known_split_is_refused_and_none_divides_at_random(case, tmp_path):
    columns, message = REFUSED_SPLITS[case]
    with pytest.raises(UserError) as error:
        found_in(tmp_path, columns)
    assert message in str(error.value) and "--split" in str(error.value)
    own = found_in(tmp_path, columns, split="none")
    assert {video.split for video in own.videos} == {None}
    assert all(column in own.notes[-1] for column in columns), "named as not used"


def test_a_column_that_the_user_names_is_the_split(tmp_path):
    columns = {"split1": parts("train", "test"), "split2": parts("train", "val")}
    own = found_in(tmp_path, columns, split="SPLIT2")
    assert {video.split for video in own.videos[16:]} == {"val"}
    assert "split1 (test, train; if they are the splits: --split COLUMN)" in own.notes[1]
    with pytest.raises(UserError, match=r"--split part: .* has no such column; columns: path, label, split1, split2"):
        found_in(tmp_path, columns, split="part")


@pytest.mark.parametrize("names", [["B", "C", "A"], ["fold 2", "fold 10", "fold 1"]])
def test_names_of_folds_are_folds_too(names, tmp_path):
    own = found_in(tmp_path, {"cv_fold": [names[number % 3] for number in range(24)]})
    places = [f"fold{sorted(names, key=natural).index(name) + 1}" for name in names]
    assert [video.split for video in own.videos[:3]] == places
    assert own.notes == ["3 folds: column `cv_fold`"]


@pytest.mark.parametrize("first", [0, 1])
def test_numbers_of_folds_are_the_folds_of_the_cross_validation(first, tmp_path):
    own = found_in(tmp_path, {"cv_fold": [number % 3 + first for number in range(24)]})
    divided, how = folds(own.videos, None)
    assert [video.split for video in divided[:4]] == ["fold1", "fold2", "fold3", "fold1"]
    assert "by the 3 folds of the table, of 8, 8, 8 videos" in how


PERSON_NAMES = [
    "Subject", "subject_id", "participant_id", "user_id", "signer", "patient", "video_id", "SUBJECT", "subjectID",
    "Person", "personId", "actor", "speaker_id", "Participant", "subj", "performer", "session", "recording_id",
    "group", "source_video", "ParticipantNumber", "sujet", "soggetto", "individual_no", "Driver-ID", "the_person",
    "child_code", "proband", "player01", "Orig_Video_ID",
]  # fmt: skip


@pytest.mark.parametrize("name", PERSON_NAMES)
def test_persons_are_kept_together_whatever_their_column_is_called(name, tmp_path):
    own = found_in(tmp_path, {name: PERSONS, "note": ["x"] * 24})
    groups = find_groups(own.videos)
    assert groups.names == PERSONS
    assert f"recorded together: column `{name}` (6 values)" in own.notes[0]
    assert own.notes[1] == "columns that are not used: note"


@pytest.mark.parametrize(
    "name",
    [
        *("mouse_id", "wearer", "subject_age", "height", "first_name", "who", "camera", "score"),
        *("class_weather", "id", "clip_no"),
    ],
)
def test_other_columns_are_named_and_one_with_repeated_values_with_its_flag(name, tmp_path):
    own = found_in(tmp_path, {name: PERSONS})
    assert find_groups(own.videos).names is None
    assert f"{name} (6 values; if they say what was recorded together: --group COLUMN)" in own.notes[0]
    assert "not used" in own.notes[0]
    assert find_groups(own.videos, name.upper()).names == PERSONS


@pytest.mark.parametrize(
    ("first", "other"), [("1", "1.0"), ("S1", "s1"), ("S1", " S1"), ("01", "1"), ("anna b", "Anna  B"), ("P007", "p7")]
)
def test_two_spellings_of_a_person_are_one(first, other, tmp_path):
    cells = [f"other {number % 5}" if number % 6 else first for number in range(24)]
    own = found_in(tmp_path, {"subject": [other if number == 12 else cell for number, cell in enumerate(cells)]})
    names = find_groups(own.videos).names
    assert names[0] == names[12] and len({*names}) == 6


def test_persons_with_an_empty_cell_are_refused_and_persons_come_before_sessions(tmp_path):
    with pytest.raises(UserError, match=r"line 2, column Subject: is empty \(1 of 24 rows\); .* --group none"):
        found_in(tmp_path, {"Subject": ["", *PERSONS[1:]]})
    own = found_in(tmp_path, {"Subject": ["", *PERSONS[1:]]}, group="none")
    assert "Subject (6 values; if they say what was recorded together: --group COLUMN)" in own.notes[0]
    assert found_in(tmp_path, {"Subject": [""] * 24}).notes == [
        "columns that are not used: Subject (0 values; if they say what was recorded together: --group COLUMN)"
    ]
    sessions = [str(number // 2) for number in range(24)]
    assert find_groups(found_in(tmp_path, {"session": sessions, "person": PERSONS}).videos).names == PERSONS
    assert group_columns(["scene", "Actor", "notes"]) == ["Actor", "scene"]


TIMES = [
    "start,end", "clipStart,clipEnd", "start1,end1", "in,out", "st,ed", "start_time,end_time", "Start,Stop",
    "begin,end", "onset,offset", "from,to", "tmin,tmax", "t0,t1", "t_start,t_end", "startTime,endTime",
    "start_sec,end_sec", "starttime,stoptime", "time_1,time_2", "start(s),end(s)", "segment_start,segment_end",
    "Begin_Time,End_Time", "first,last", "anfang,ende", "début,fin", "inicio,fin", "T-Start,T-End",
    "event.start,event.end", "ActionBegin,ActionFinish", "annotation_start_sec,annotation_end_sec", "START,END",
]  # fmt: skip


@pytest.mark.parametrize("names", TIMES)
def test_segments_are_trained_whatever_their_columns_are_called(names, tmp_path):
    start, end = names.split(",")
    own = found_in(tmp_path, {start: ["0.2"] * 24, end: ["0:00.6"] * 24})
    assert {(video.start, video.end) for video in own.videos} == {(0.2, 0.6)}
    assert own.notes == [f"segment: `{start}`, `{end}` in seconds"]


@pytest.mark.parametrize(
    ("names", "cells", "segment"),
    [
        ("start,duration", ("0.2", "0.4"), (0.2, 0.6)),
        ("time,duration", ("0.2", "0.4"), (0.2, 0.6)),
        ("clipStart,clipLength", ("0.2", "0.4"), (0.2, 0.6)),
        ("onset,dur", ("0.2", "0.4"), (0.2, 0.6)),
        ("offset,duration", ("0.2", "0.4"), (0.2, 0.6)),
        ("start_ms,end_ms", ("200", "600"), (0.2, 0.6)),
        ("startMillis,durationMillis", ("200", "400"), (0.2, 0.6)),
        ("start,begin_note", ("0.2", "soon"), (0.2, None)),
        ("stop,note", ("0.6", "x"), (None, 0.6)),
        ("start,start_frame", ("0.2", "5"), (0.2, None)),
    ],
)
def test_durations_milliseconds_and_one_end_are_understood(names, cells, segment, tmp_path):
    own = found_in(tmp_path, {name: [cell] * 24 for name, cell in zip(names.split(","), cells, strict=True)})
    for time, expected in zip((own.videos[0].start, own.videos[0].end), segment, strict=True):
        assert time == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(
    ("names", "cells", "message"),
    [
        ("first_frame,last_frame", ("5", "15"), "column 'first_frame' looks like a segment, counted in frames"),
        ("startFrame,endFrame", ("5", "15"), "column 'startFrame' looks like a segment, counted in frames"),
        ("start_f,end_f", ("5", "15"), "column 'start_f' looks like a segment, counted in frames"),
        ("start,end", ("soon", "0.6"), "line 2, column start: is 'soon', expected seconds"),
        ("clipStart,clipEnd", ("0.6", "0.2"), "line 2, column clipEnd: ends at 0.2 s, not after its start at 0.6 s"),
        ("start,clip_start", ("0.2", "0.3"), "columns start, clip_start could all be a segment's start"),
        ("timestamp,note", ("0.2", "x"), "column 'timestamp' could be the start of a segment"),
        ("start,end", ("-1", "0.6"), "line 2, column start: is '-1', expected seconds"),
    ],
)
def test_times_that_are_half_known_are_refused(names, cells, message, tmp_path):
    columns = {name: [cell] * 24 for name, cell in zip(names.split(","), cells, strict=True)}
    with pytest.raises(UserError) as error:
        found_in(tmp_path, columns)
    assert message in str(error.value)
    with pytest.raises(UserError) as error:
        VideoCSV(root=str(tmp_path), train="labels.csv").records("train")
    assert message in str(error.value)


@pytest.mark.parametrize(
    "columns",
    [
        {"from": ["Berlin"] * 24, "to": ["Paris"] * 24},
        {"first_name": ["Ada"] * 24, "last_name": ["King"] * 24},
        {"duration": ["2.0"] * 24},
        {"frames": ["20"] * 24},
        {"start_date": ["2024-01-01"] * 24},
        {"length": ["3"] * 24, "width": ["4"] * 24},
        {"in": ["1"] * 24},
        {"endpoint": ["3"] * 24},
        {"weekend": ["0"] * 24},
    ],
)
def test_columns_that_are_no_times_are_named(columns, tmp_path):
    own = found_in(tmp_path, columns)
    assert not any(video.is_part for video in own.videos)
    assert all(name in own.notes[-1] for name in columns) and "not used" in own.notes[-1]


@pytest.mark.parametrize("names", [("left", "right"), ("入点", "出点")])
def test_columns_whose_cells_could_be_a_segment_are_named_as_such(names, tmp_path):
    first, second = names
    own = found_in(tmp_path, {first: ["0.2"] * 24, second: ["1"] * 24})
    assert own.notes[-1].endswith(f"if {first} and {second} are the seconds of a segment, name them start and end")
    own = found_in(tmp_path, {first: ["0.2"] * 24, second: [*["1"] * 23, "0.1"]})
    assert own.notes[-1] == f"columns that are not used: {first}, {second}"


def test_the_table_of_the_report_is_read_in_all_its_columns(tmp_path):
    """Read partition, Subject, clipStart and clipEnd, as in data/table_columns of the cases."""
    columns = {
        "partition": parts("train", "holdout"),
        "Subject": PERSONS,
        "clipStart": ["0.2"] * 24,
        "clipEnd": ["1"] * 24,
    }
    own = found_in(tmp_path, columns)
    assert own.notes == [
        "segment: `clipStart`, `clipEnd` in seconds; split: column `partition` (holdout as test); "
        "recorded together: column `Subject` (6 values)"
    ]


def test_video_csv_reads_the_same_segments_and_names_what_uses_the_others(tmp_path, capsys):
    table(
        tmp_path,
        {"partition": parts("train", "holdout"), "Subject": PERSONS, "clipStart": ["0.2"] * 24, "note": ["x"] * 24},
    )
    data = VideoCSV(root=str(tmp_path), train="labels.csv")
    assert {(record.start, record.end) for record in data.records("train")} == {(0.2, None)}
    said = capsys.readouterr().err
    assert "partition (holdout, train; if they are the splits: data.split_column)" in said
    assert "Subject (6 values; if they say what was recorded together: data.draw_column), note" in said


def test_names_are_read_by_their_words():
    assert words_of("clipStart") == words_of("clip_start") == words_of("CLIP-START") == words_of("clipstart")
    assert words_of("subjectid") == ["subject", "id"] and words_of("dataset") == ["dataset"]
