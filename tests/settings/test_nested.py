"""Test how layers of settings are merged, and one setting put into nested ones."""

import pytest

from lit_video.errors import UserError
from lit_video.experiment.constructors import Constructors, arguments_of
from lit_video.experiment.layers import of_files, of_row, with_user_settings
from lit_video.settings.flags import UserSetting, read_flags
from lit_video.settings.nested import by_key, merged, put, read_settings
from lit_video.tables.reading import read_table
from lit_video.tables.table import Row

CLASSES = Constructors()


def xvit(**arguments):
    return {"class_path": "XViT", "init_args": arguments}


MERGED = {
    "a value": ({"a": 1, "b": 2}, {"b": 3}, {"a": 1, "b": 3}),
    "null": ({"a": {"b": 1}}, {"a": None}, {"a": None}),
    "a list": ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
    "arguments of a class": (xvit(window=1, ratio=0.5), {"init_args": {"window": 2}}, xvit(window=2, ratio=0.5)),
    "arguments alone": (xvit(window=1), {"window": 2}, xvit(window=2)),
    "the same class": (xvit(window=1), {"class_path": "XViT"}, xvit(window=1)),
    "the same class with its module": (
        xvit(window=1),
        "lit_video.modules.XViT",
        {"class_path": "lit_video.modules.XViT", "init_args": {"window": 1}},
    ),
    "another class": (
        xvit(window=1, dropout=0.1),
        "TimeSformer",
        {"class_path": "TimeSformer", "init_args": {"dropout": 0.1}},
    ),
    "another class with arguments": (
        xvit(window=1, dropout=0.1),
        {"class_path": "ViViT", "init_args": {"variant": 2}},
        {"class_path": "ViViT", "init_args": {"dropout": 0.1, "variant": 2}},
    ),
    "arguments of a class by name": (
        {"class_path": "VideoCSV", "init_args": {"sampling": "DenseStride"}},
        {"sampling": {"init_args": {"stride": 2}}},
        {
            "class_path": "VideoCSV",
            "init_args": {"sampling": {"class_path": "DenseStride", "init_args": {"stride": 2}}},
        },
    ),
    "fields of a dataclass": (
        xvit(optimization={"lr": 1, "momentum": 0.5}),
        {"optimization": {"lr": 2}},
        xvit(optimization={"lr": 2, "momentum": 0.5}),
    ),
    "free names": (
        {"class_path": "VideoCSV", "init_args": {"groups": {"up": ["walk"]}}},
        {"init_args": {"groups": {"down": ["fall"]}}},
        {"class_path": "VideoCSV", "init_args": {"groups": {"down": ["fall"]}}},
    ),
}


@pytest.mark.parametrize("case", MERGED)
def test_layers_are_merged(case):
    old, new, expected = MERGED[case]
    assert merged(old, new, CLASSES) == expected


PUT = {
    "of a class": ("model.window", 2, xvit(window=2)),
    "with init_args": ("model.init_args.window", 2, xvit(window=2)),
    "a class": ("model", "TimeSformer", {"class_path": "TimeSformer", "init_args": {}}),
    "the class's name": ("model.class_path", "TimeSformer", {"class_path": "TimeSformer", "init_args": {}}),
    "a field": ("model.optimization.lr", 0.1, xvit(window=1, optimization={"lr": 0.1})),
    "null": ("model.window", None, xvit(window=None)),
}


@pytest.mark.parametrize("case", PUT)
def test_a_key_finds_its_place(case):
    key, value, expected = PUT[case]
    before = {"model": xvit(window=1)}
    assert put(before, key, value, classes=CLASSES) == {"model": expected}
    assert before == {"model": xvit(window=1)}, "it is unchanged"


def test_a_key_of_a_list_is_one_of_its_last_member():
    settings = put({}, "trainer.callbacks+", "LearningRateMonitor", classes=CLASSES)
    settings = put(settings, "trainer.callbacks+", "EMAWeightAveraging", classes=CLASSES)
    settings = put(settings, "trainer.callbacks.decay", 0.9, classes=CLASSES)
    averaging = {"class_path": "EMAWeightAveraging", "init_args": {"decay": 0.9}}
    assert settings == {"trainer": {"callbacks": ["LearningRateMonitor", averaging]}}


def test_a_row_replaces_a_mapping_but_keeps_what_it_leaves_out_of_the_size():
    files = {"model": xvit(size={"depth": 2, "num_heads": 4}, optimization={"lr": 1, "momentum": 0.5})}
    row = Row("one", "one", {"model.size": {"depth": 3}, "model.optimization": {"lr": 2}}, {})
    expected = xvit(size={"depth": 3, "num_heads": 4}, optimization={"lr": 2})
    assert of_row(files, row) == {"model": expected}


def test_a_row_s_class_comes_before_its_settings():
    row = Row("one", "one", {"model.attention_type": "joint", "model": "TimeSformer"}, {})
    expected = {"class_path": "TimeSformer", "init_args": {"attention_type": "joint"}}
    assert of_row({"model": xvit(window=1)}, row) == {"model": expected}


def test_flags_are_data_once_and_flags_again():
    words = [
        "--model.init_args.window=2",
        '--data.groups={"up": ["walk"]}',
        "--data.root=null",
        "--data.root=~",
        "--nan=fail",
    ]
    given = read_flags(words)
    assert given == [
        UserSetting("model.window", "2"),
        UserSetting("data.groups", {"up": ["walk"]}),
        UserSetting("data.root", None),
        UserSetting("data.root", "~"),
        UserSetting("nan", "fail"),
    ]
    assert read_flags(setting.flag for setting in given) == given


@pytest.mark.parametrize(
    "flags", [("--data.mean=0.3", "--data=VideoFolder"), ("--data=VideoFolder", "--data.mean=0.3")]
)
def test_a_class_keeps_its_settings_in_any_order_of_flags(flags):
    expected = {"class_path": "VideoFolder", "init_args": {"mean": "0.3"}}
    assert with_user_settings({}, read_flags(flags)) == {"data": expected}


def test_a_file_s_class_keeps_the_arguments_of_an_earlier_file():
    before = {"data": {"init_args": {"mean": 0.3}}}
    expected = {"class_path": "VideoFolder", "init_args": {"mean": 0.3}}
    assert merged(before, {"data": "VideoFolder"}, CLASSES) == {"data": expected}


@pytest.mark.parametrize("key", ["data.sampling", "model.optimization", "data.augmentation"])
def test_a_value_after_a_part_of_it_is_refused(key):
    with pytest.raises(UserError, match=rf"--{key}: .*--{key}\.part"):
        read_flags([f"--{key}.part=1", f"--{key}=Other"])


@pytest.mark.parametrize("word", ["--model.window", "--data.root"])
def test_a_flag_without_a_value_is_refused(word):
    with pytest.raises(UserError, match=word):
        read_flags([word])


def test_a_flag_merges_into_what_a_row_set():
    settings = with_user_settings(
        {"model": xvit(optimization={"lr": 1, "momentum": 0.5})}, read_flags(['--model.optimization={"lr": 2}'])
    )
    assert settings == {"model": xvit(optimization={"lr": 2, "momentum": 0.5})}


def test_files_are_merged_with_the_files_that_they_name(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts/model.yaml").write_text("class_path: XViT\ninit_args: {window: 1, dropout: 0.1}\n")
    (tmp_path / "table.yaml").write_text("model: parts/model.yaml\ntable: {rows: {}}\n")
    (tmp_path / "other.yaml").write_text("model: {class_path: TimeSformer}\n")
    assert by_key(read_settings(tmp_path / "table.yaml"))["model.init_args.window"] == 1
    expected = {"model": {"class_path": "TimeSformer", "init_args": {"dropout": 0.1}}}
    assert of_files([tmp_path / "table.yaml", tmp_path / "other.yaml"]) == expected


@pytest.mark.parametrize(
    ("scale", "data", "kept"),
    [
        ("scale: true\n", "VideoCSV", {}),
        ("scale: true\n", "TemporalSkills", {"num_frames": 8, "keep_gb": 2.0}),
        ("", "VideoCSV", {"num_frames": 8, "keep_gb": 2.0}),
    ],
    ids=["another data set", "the same", "a file of the user"],
)
def test_a_scale_says_all_settings_of_another_data_set(scale, data, kept, tmp_path):
    (tmp_path / "table.yaml").write_text(
        "data: {class_path: TemporalSkills, init_args: {num_frames: 8, keep_gb: 2.0}}\ntable: {rows: {r: {}}}\n"
    )
    (tmp_path / "other.yaml").write_text(f"{scale}data: {{class_path: {data}, init_args: {{batch_size: 4}}}}\n")
    files = [tmp_path / "table.yaml", tmp_path / "other.yaml"]
    assert of_files(files)["data"] == {"class_path": data, "init_args": kept | {"batch_size": 4}}
    if scale:
        of_data = {"data": data, "data.batch_size": 4} | {f"data.{key}": value for key, value in kept.items()}
        assert read_table(files).settings == of_data


def test_a_missing_file_of_a_section_is_named(tmp_path):
    (tmp_path / "table.yaml").write_text("model: parts/model.yaml\n")
    with pytest.raises(UserError, match=r"parts/model\.yaml"):
        read_settings(tmp_path / "table.yaml")


def test_arguments_of_bases_count():
    assert {"window", "dropout", "weights"} <= arguments_of("XViT").keys()
    assert {"train", "num_frames"} <= arguments_of("lit_video.datamodules.VideoCSV").keys()
    assert arguments_of("mine.Mine") is None and CLASSES.takes("mine.Mine", "anything")
