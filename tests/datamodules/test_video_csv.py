"""Test tables of videos in all usual forms."""

from contextlib import nullcontext

import lightning
import lightning.pytorch.callbacks
import pytest
import torch

from lit_video.datamodules import VideoCSV
from lit_video.datamodules.checks import refuse_choice
from lit_video.datamodules.inspection import find_faults
from lit_video.errors import UserError
from lit_video.modules import XViT
from lit_video.network.vit import ViTSize
from lit_video.video.clips import ClipDataset, VideoRecord
from tests.video.made import write

TRAIN = "path,label\na/1.mp4,walk\na/2.mp4,sit\n"
VAL = "path,label\nb/1.mp4,walk\nb/2.mp4,sit\n"


@pytest.fixture
def root(tmp_path, video):
    for name in ("a/1.mp4", "a/2.mp4", "b/1.mp4", "b/2.mp4", "with space, comma/1.mp4"):
        video(tmp_path / name)
    (tmp_path / "train.csv").write_text(TRAIN)
    (tmp_path / "val.csv").write_text(VAL)
    return tmp_path


@pytest.fixture
def table(root, small):
    """Function that opens the data set with another training table."""

    def opened(text=TRAIN, **changes):
        content = text if isinstance(text, bytes) else text.encode()
        (root / "train.csv").write_bytes(content)
        return VideoCSV(root=str(root), **(small | changes))

    return opened


def test_a_table_per_split_is_read(root, table, load):
    data = table()
    data.check()
    assert data.class_names == ["sit", "walk"]
    assert data.num_classes == 2
    assert data.records("train") == [VideoRecord(root / "a" / "1.mp4", 1), VideoRecord(root / "a" / "2.mp4", 0)]
    assert data.records("test") == data.records("val")
    train, test = load(data)
    assert sorted(train["label"].tolist()) == [0, 1]
    assert test["label"].tolist() == [1, 0]


@pytest.mark.parametrize("name", ["ModelCheckpoint", "EarlyStopping"])
def test_videos_that_choose_a_checkpoint_are_not_tested(name, root, table):
    callbacks = [getattr(lightning.pytorch.callbacks, name)(monitor=key) for key in ("train/loss", "val/loss")]
    data = table()
    refuse_choice(data, callbacks[:1])
    with pytest.raises(UserError, match=f"callbacks: {name} chooses by val/loss, and 2 of the validation videos"):
        refuse_choice(data, callbacks)
    (root / "link").symlink_to("b")
    (root / "test.csv").write_text("path,label\na/1.mp4,walk\na/../link/2.mp4,sit\n")
    with pytest.raises(UserError, match=r"1 of the validation videos are also tested \(.*link/2.mp4\)"):
        refuse_choice(table(test="test.csv"), callbacks)
    (root / "test.csv").write_text("path,label\na/1.mp4,walk\n")
    refuse_choice(table(test="test.csv"), callbacks)


FORMS = {
    "commas": TRAIN,
    "tabs": TRAIN.replace(",", "\t"),
    "spaces": TRAIN.replace(",", " "),
    "byte order mark": "\ufeff" + TRAIN,
    "quotes": 'path,label\n"a/1.mp4","walk"\n"a/2.mp4", "sit"\n',
    "blank lines": TRAIN.replace("\n", "\n\n").rstrip(),
    "no header, spaces": TRAIN.replace("path,label\n", "").replace(",", " "),
    "no endings": TRAIN.replace(".mp4", ""),
    "a comma in a text": "who;label;path\nme, myself;walk;a/1.mp4\nyou;sit;a/2.mp4\n",
    "roundabout paths": TRAIN.replace("a/1", "./b/../a/1"),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_usual_form_of_a_table_means_the_same(root, table, form):
    data = table(FORMS[form])
    data.check()
    assert data.records("train") == [VideoRecord(root / "a" / "1.mp4", 1), VideoRecord(root / "a" / "2.mp4", 0)]


def test_quoted_paths_hold_spaces_and_commas(root, table):
    data = table('"with space, comma/1.mp4" walk\na/2.mp4 "sit down"\n')
    assert data.records("train")[0].path == root / "with space, comma" / "1.mp4"
    assert data.class_names == ["sit down", "walk"]


def test_segments_are_in_seconds_or_hours_minutes_seconds(root, table):
    text = "path,label,start,end\na/1.mp4,walk,0,0.5\na/1.mp4,sit,00:00:00.5,0:01.5\na/2.mp4,sit,1.5,\na/2.mp4,walk,,\n"
    segments = [(record.start, record.end) for record in table(text).records("train")]
    assert segments == [(0.0, 0.5), (0.5, 1.5), (1.5, None), (None, None)]
    headless = "a/1.mp4 walk 0 0.5\na/1.mp4 sit 0.5 1.5\na/2.mp4 sit 1.5\na/2.mp4 walk\n"
    data = table(headless, columns=["path", "label", "Start", "END"])
    assert [(record.start, record.end) for record in data.records("train")] == segments


def test_a_segment_behind_a_long_pause_is_sound_and_one_behind_the_end_is_broken(root, table, tmp_path):
    write(root / "a/1.mp4", pts=[time if time < 50 else time + 30 * 25 for time in range(100)])
    data = table("path,label,start,end\na/1.mp4,walk,32.5,33.5\na/1.mp4,walk,34,35\na/2.mp4,sit,,\n")
    faults = find_faults(data, tmp_path / "manifest.sqlite")
    (line,) = faults["train"]["broken"]
    assert "a/1.mp4" in line
    assert "from 34 to 35 s" in line


def test_a_segment_or_clip_longer_than_the_video_repeats_its_last_frame(root, table):
    data = table("path,label,start,end\na/1.mp4,walk,1.5,9\na/2.mp4,sit,,\n")
    view = data.val_dataloader().dataset.view
    dataset = ClipDataset(data.records("train"), data.sampling.__class__(seconds=2), 4, view=view, seed=0, clips=1)
    # frames 15 to 19 are 0.5 s, the clip is 2 s
    assert dataset.numbers(dataset.records[0], 0) == [17, 19, 19, 19]
    assert dataset[(0, 0)]["broken"] == ""


def test_numbers_as_labels_are_ordered_by_size(table):
    assert table(TRAIN + "with space/1.mp4,10\n").class_names == ["10", "sit", "walk"], "beside names"
    data = table("a/1.mp4 10\na/2.mp4 2\n")
    assert data.class_names == ["2", "10"]
    assert [record.label for record in data.records("train")] == [1, 0]


def test_groups_of_classes_are_measured_beside_the_others_and_must_be_classes(table):
    text = "a/1.mp4 walk\na/2.mp4 sit\n"
    assert table(text, groups={"up": ["walk"]}).class_groups == {"group/up": [1], "group/others": [0]}
    assert table(text, groups={"all": ["walk", "sit"]}).class_groups == {"group/all": [1, 0]}
    with pytest.raises(UserError, match=r"data.groups: 'run' is no class of .*train.csv"):
        table(text, groups={"up": ["walk", "run"]}).check()


ONE = "path,label,take\na/1.mp4,walk,1\na/2.mp4,sit,1\nb/1.mp4,walk,2\nb/2.mp4,sit,3\n"


def test_several_labels_stand_in_one_field(table):
    text = "a/1.mp4,walk|talk\na/2.mp4,sit | talk\n"
    with pytest.raises(UserError, match=r"line 1, column label: is 'walk.talk'; .* data.label_separator"):
        table(text).check()
    data = table(text, label_separator="|")
    data.check()
    assert data.class_names == ["sit", "talk", "walk"]
    assert (data.several_labels, data.num_classes) == (True, 3)
    assert [record.label for record in data.records("train")] == [(0, 1, 1), (1, 1, 0)]
    assert next(iter(data.train_dataloader()))["label"].shape == (2, 3)
    with pytest.raises(UserError, match=r"column label: is '.', expected labels"):
        table("a/1.mp4,|\na/2.mp4,sit\n", label_separator="|").check()


def test_one_table_is_divided_by_a_column(root, table):
    parts = dict(split_column="take", train_values=[1], val_values=[2, "3"], test_values=["3"])
    data = table(ONE, **parts)
    data.check()
    paths = {split: [str(r.path.relative_to(root)) for r in data.records(split)] for split in ("train", "val", "test")}
    assert paths == {"train": ["a/1.mp4", "a/2.mp4"], "val": ["b/1.mp4", "b/2.mp4"], "test": ["b/2.mp4"]}
    with pytest.raises(UserError, match=r"data.val_values: .*train.csv has no take '4'; it has 1, 2, 3"):
        table(ONE, **(parts | {"val_values": [2, 4]})).check()
    with pytest.raises(UserError, match="line 1: no column 'tke', only path, label, take"):
        table(ONE, **(parts | {"split_column": "tke"})).check()


@pytest.mark.parametrize(
    ("trained", "tested", "overlap"),
    [
        (("", ""), ("", ""), True),
        (("", "1.5"), ("1", "2"), True),
        (("1.5", ""), ("1", "2"), True),
        (("0", "1"), ("1", "2"), False),
        (("2", ""), ("1", "2"), False),
    ],
)
def test_a_video_or_a_part_that_is_trained_and_tested_on_is_reported(trained, tested, overlap, root, table):
    (root / "val.csv").write_text(f"path,label,start,end\na/1.mp4,walk,{','.join(tested)}\nb/2.mp4,sit,,\n")
    data = table(f"path,label,start,end\na/1.mp4,walk,{','.join(trained)}\na/2.mp4,sit,,\n", divides_videos=True)
    with pytest.raises(UserError, match=r"data.val: .*a/1.mp4 .* \(1 such videos\)") if overlap else nullcontext():
        data.check()


WRONG = {
    "empty": ("", "train.csv is empty"),
    "short row": (TRAIN + "a/1.mp4\n", "train.csv, line 4: 1 fields, expected 2"),
    "frame lists": ("a/1.mp4 30 1\na/2.mp4 29 0\n", r"line 1: 3 fields, expected 2 \(path, label\); .* name all"),
    "times by other names": (
        "path,label,start_frame\na/1.mp4,walk,0\n",
        "column 'start_frame' looks like a segment, counted in",
    ),
    "open quote": ('path,label\n"a/1.mp4,walk\n', "train.csv, line 2: unexpected end of data; correct the quotes"),
    "same video twice": (TRAIN + "./a/1.mp4,sit\n", "line 4, column path: ./a/1.mp4 is there already, at line 2"),
    "outside": (TRAIN + "../x.mp4,walk\n", "line 4, column path: ../x.mp4 lies outside .*; give a root"),
    "no time": ("path,label,start\na/1.mp4,walk,soon\n", "line 2, column start: is 'soon', expected .* HH:MM:SS"),
    "one class": ("a/1.mp4,walk\na/2.mp4,walk\n", r"train.csv holds one class \(walk\)"),
    "Latin-1": ("path,label\na/1.mp4,geh\xe4t\n".encode("latin-1"), "train.csv is no UTF-8 text at byte 22; save it"),
    "missing videos": (TRAIN + "a/7.mp4,sit\n", "1 of 3 train videos are missing .*a/7.mp4.; add them"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_table_is_reported_in_one_line_with_file_line_and_column(what, table):
    text, message = WRONG[what]
    with pytest.raises(UserError, match=message) as error:
        table(text).check()
    assert "\n" not in str(error.value)
    assert str(error.value).startswith("data.")


TIMED = "path,label,start_frame\na/1.mp4,walk,3\na/2.mp4,sit,5\n"


def test_columns_that_a_setting_names_are_left_out_and_others_are_named_once(root, table, capsys):
    (root / "val.csv").write_text("b/1.mp4 30 walk\n")
    data = table("a/1.mp4 30 walk\na/2.mp4 29 sit\n", columns=["path", "frames", "label"])
    assert data.records("train") == [VideoRecord(root / "a/1.mp4", 1), VideoRecord(root / "a/2.mp4", 0)]
    assert len(data.records("val")) == 1
    timed = table(TIMED, columns=["path", "label", "Start_Frame"]).records("train")
    assert [(record.label, record.start) for record in timed] == [(1, None), (0, None)]
    assert capsys.readouterr().err == "", "the setting names the unused ones"
    with pytest.raises(UserError, match=r"train.csv: column 'start_frame' looks like a segment"):
        table(TIMED, columns=["path", "label", "begin"]).records("train")
    data = table("path,label,note\na/1.mp4,walk,x\na/2.mp4,sit,y\n")
    for _ in range(2):
        data.records("train")
    assert capsys.readouterr().err == f"{root}/train.csv: columns that are not used: note\n"


def test_frame_folders_of_jester_and_something_v1_are_read_beside_videos(tmp_path, small, video):
    for number in (1, 2, 3):
        (tmp_path / "frames" / str(number)).mkdir(parents=True)
    video(tmp_path / "frames/4.mp4")
    (tmp_path / "jester-v1-train.csv").write_text("1;Swiping Left\n2;Lifting something, then letting it drop\n")
    (tmp_path / "jester-v1-validation.csv").write_text("3;Lifting something, then letting it drop\n4;Swiping Left\n")
    tables = dict(train="../jester-v1-train.csv", val="../jester-v1-validation.csv")
    data = VideoCSV(root=str(tmp_path / "frames"), fps=12.5, **tables, **small)
    data.check()
    assert data.records("val") == [VideoRecord(data.root / "3", 0, fps=12.5), VideoRecord(data.root / "4.mp4", 1)]


@pytest.mark.parametrize("above", [False, True])
def test_a_relative_root_holds_relative_and_absolute_paths(root, small, monkeypatch, above):
    monkeypatch.chdir(root.parent if above else root)
    (root / "train.csv").write_text(f"a/1.mp4,walk\n{root}/a/2.mp4,sit\n")
    data = VideoCSV(root=root.name if above else ".", **small)
    data.check()
    assert data.records("train").paths == [f"{root}/a/1.mp4", f"{root}/a/2.mp4"]


def test_a_label_that_training_has_not_is_reported(root, table):
    (root / "val.csv").write_text(VAL + "a/1.mp4,jump\n")
    with pytest.raises(UserError, match=r"val.csv, line 4, column label: 'jump' is none of the 2 classes .sit, walk"):
        table().check()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (dict(fps=0), "fps is 0"),
        (dict(train_values=[1]), r"train_values is \[1\], but split_column is not set"),
        (dict(split_column="take", train_values=[1]), "val_values is empty, expected values of the column take"),
        (dict(groups={"others": ["sit"]}), "groups is .'others'., expected names other than others"),
        (dict(groups={"up": ["sit"]}, label_separator="|"), "groups is .'up'., .* one label per video"),
    ],
)
def test_wrong_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        VideoCSV(root=".", **settings)


def test_the_best_checkpoint_is_not_tested_on_the_videos_that_chose_it(table, tmp_path):
    data, model = table(), XViT(num_classes=2, num_frames=4, image_size=16, size=ViTSize(16, 1, 2))
    best = lightning.pytorch.callbacks.ModelCheckpoint(tmp_path / "best", monitor="val/loss", save_last=True)
    quiet = dict(logger=False, enable_progress_bar=False, enable_model_summary=False, accelerator="cpu")
    trainer = lightning.Trainer(callbacks=[best], max_epochs=1, use_distributed_sampler=False, **quiet)
    trainer.fit(model, data)
    with pytest.raises(UserError, match="ModelCheckpoint chooses by val/loss, and 2 of the validation videos"):
        trainer.test(model, data, ckpt_path="best", verbose=False)
    assert trainer.test(model, data, ckpt_path="last", verbose=False)


BOTH = "path,label,back\na/1.mp4,open,close\na/2.mp4,close,open\n"


def test_a_column_names_the_reverse_and_training_shows_both_directions_beside_each_other(table):
    data = table(BOTH, pairing="reverse", reverse_column="back", batch_size=2)
    batches = list(data.train_dataloader())
    assert len(batches) == 2
    for batch in batches:
        forward, backward = batch["clip"]
        assert torch.equal(forward, backward.flip(1)) and not torch.equal(forward, backward)
        assert sorted(batch["label"].tolist()) == [0, 1]
    assert [record.backwards for record in data.training_sample()] == [False, False, True, True]
    assert [record.label for record in data.training_sample()] == [1, 0, 0, 1]
    assert len(data.records("train")) == 2, "the list of videos stays"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("path,label,back\na/1.mp4,open,close\na/2.mp4,close,shut\n", "line 3, column back: 'shut' is none of the"),
        ("path,label,back\na/1.mp4,open,close\na/2.mp4,close,close\n", "says that 'close' backwards is 'close'"),
        ("path,label,back\na/1.mp4,open,\na/2.mp4,close,open\n", "line 2, column back: is empty"),
        ("path,label,other\na/1.mp4,open,close\na/2.mp4,close,open\n", "back"),
    ],
)
def test_a_column_of_reverses_that_does_not_name_them_is_refused(table, text, line):
    data = table(text, pairing="reverse", reverse_column="back", batch_size=2)
    with pytest.raises(UserError, match=line):
        data.train_dataloader()


def test_pairing_without_reverses_says_what_is_missing(table):
    with pytest.raises(UserError, match=r"data.pairing: name the column .* data.reverse_column"):
        table(pairing="reverse", batch_size=2).train_dataloader()
    with pytest.raises(ValueError, match="pairing"):
        table(pairing="reverse", batch_size=2, features="features")
