"""Test that no setting of a user's own file after the table is lost to a row without a word."""

import pytest

from lit_video.__main__ import main
from lit_video.errors import UserError
from lit_video.experiment.request import build_request
from lit_video.experiment.spec import Spec
from lit_video.runs.record import Override
from lit_video.settings.flags import read_flags

SETS = {
    "a value": ("model.window: 1", "model: {init_args: {window: 2}}", "model.window", "2"),
    "a nested value": (
        "model.optimization.lr: 0.1",
        "model: {init_args: {optimization: {lr: 0.2}}}",
        "model.optimization.lr",
        "0.2",
    ),
    "a list": ("model.mixed: [key]", "model: {init_args: {mixed: [key, value]}}", "model.mixed", '["key", "value"]'),
    "null": ("data.augmentation.flip: 0.5", "data: {init_args: {augmentation: null}}", "data.augmentation", "null"),
    "a mapping's part": (
        "model.size: {embed_dim: 16, depth: 2, num_heads: 2}",
        "model: {init_args: {size: {depth: 3}}}",
        "model.size.depth",
        "3",
    ),
    "a named size's part": ("model.size: Ti", "model: {init_args: {size: {depth: 3}}}", "model.size.depth", "3"),
    "a value that the row's mapping leaves out": (
        "model.optimization: {lr: 0.1}",
        "model: {init_args: {optimization: {weight_decay: 0.3}}}",
        "model.optimization.weight_decay",
        "0.3",
    ),
    "another class": ("data.sampling: Segments", "data: {init_args: {sampling: Dense}}", "data.sampling", "Dense"),
    "another model, which lacks the setting": ("model.window: 1", "model: TimeSformer", "model", "TimeSformer"),
    "a value of the trainer": ("trainer.max_epochs: 3", "trainer: {max_epochs: 4}", "trainer.max_epochs", "4"),
    "a value of the run": ("global_batch: 8", "global_batch: 16", "global_batch", "16"),
}


@pytest.fixture
def asked(table, tmp_path):
    """Function that builds the request for row ``second`` with its settings and a later file."""
    path, rewrite = table

    def build(row, content, *flags, name="mine.yaml", rows=("second",)):
        rewrite("set: {model.window: 1}", f"set: {{{row}}}")
        own = tmp_path / name
        own.parent.mkdir(exist_ok=True)
        own.write_text(content + "\n")
        return build_request([path, own], list(rows), user_settings=read_flags(flags))

    return build


@pytest.mark.parametrize("case", SETS)
def test_a_later_file_and_a_row_that_disagree_are_refused(case, asked):
    row, content, key, given = SETS[case]
    with pytest.raises(UserError) as refused:
        asked(row, content)

    line = str(refused.value)
    assert line.count("\n") == 0 and "mine.yaml: " in line and "row second sets" in line
    assert f"--{key}={given} " in line


@pytest.mark.parametrize("case", SETS)
def test_a_file_that_says_it_is_of_a_scale_gives_way_to_the_row(case, asked):
    row, content, _, _ = SETS[case]
    assert asked(row, f"scale: true\n{content}").rows[0].name == "second"


@pytest.mark.parametrize("name", ["scale/mine.yaml", "parts/mine.yaml"])
def test_a_folder_that_is_called_scale_says_nothing(name, asked):
    row, content, key, _ = SETS["a value"]
    with pytest.raises(UserError, match=key):
        asked(row, content, name=name)


def test_a_file_that_says_otherwise_of_its_scale_is_refused(asked):
    with pytest.raises(UserError, match=r"mine\.yaml: scale: expected true or false, got 'ssv2'"):
        asked("model.window: 1", "scale: ssv2")
    with pytest.raises(UserError, match=r"mine\.yaml: recipes: .*scale: true"):
        asked("model.window: 1", "recipes: {xvit: {own: {global_batch: 8}}}")


@pytest.mark.parametrize("case", SETS)
def test_a_flag_decides_whatever_file_and_row_say(case, asked):
    row, content, key, given = SETS[case]
    flag = f"--{key}={given}".replace("model.", "model.init_args.")
    assert [setting.key for setting in asked(row, content, flag).user_settings] == [key]


@pytest.mark.parametrize(
    ("row", "content"),
    [
        ("model.window: 1", "model: {init_args: {window: 1}}"),
        ("model.window: 1", "model: {init_args: {ratio: 0.25}}"),
        ("model.mixed: [key]", "model: {init_args: {mixed: [key]}}"),
        ("model.size: {embed_dim: 16, depth: 2, num_heads: 2}", "model: {init_args: {size: {mlp_ratio: 2}}}"),
        (
            "data.sampling: Dense",
            "data: {init_args: {sampling: {class_path: lit_video.video.sampling.Dense, init_args: {seconds: 0.5}}}}",
        ),
        ("data.sampling: lit_video.video.sampling.Dense", "data: {init_args: {sampling: Dense}}"),
        ("data.sampling.seconds: 0.5", "data: {init_args: {sampling: Dense}}"),
        ("model: TimeSformer", "model: {init_args: {dropout: 0.1}}"),
        ("data.sampling: Dense", "data: {init_args: {sampling: {init_args: {seconds: 2.0}}}}"),
    ],
)
def test_files_and_rows_that_agree_are_taken(row, content, asked):
    assert asked(row, content).rows[0].name == "second"


def test_only_chosen_rows_count(asked):
    assert asked("model.window: 1", "model: {init_args: {window: 0}}", rows=("first",)).rows[0].name == "first"
    with pytest.raises(UserError, match="row second sets"):
        asked("model.window: 1", "model: {init_args: {window: 0}}", rows=("first", "second"))


def test_an_own_file_wins_over_what_all_rows_share_and_labels_the_run(table, tmp_path):
    """Check it on a recipe of a scale, which is a setting of each row."""
    path, rewrite = table
    rewrite("  set: {model.ta_layers: 0}", "  family: xvit\n  set: {model.ta_layers: 0}")
    scale = tmp_path / "big.yaml"
    scale.write_text("scale: true\nrecipes: {xvit: {paper: {trainer.max_epochs: 35}}}\n")
    own = tmp_path / "mine.yaml"
    own.write_text("trainer: {max_epochs: 2}\n")
    run = build_request([path, scale, own], ["second"]).runs[0]
    assert (run.settings["trainer"]["max_epochs"], run.row_settings["trainer"]["max_epochs"]) == (2, 35)
    assert run.folder.parts[-3] == "big+mine"
    assert run.origin("trainer.max_epochs") == f"{own}: row second"
    assert run.origin("data.num_workers") == f"{path}: row second"
    assert run.origin("model.window") == f"{path}, {scale}, {own}: row second"
    assert Spec(run).overridden == {"trainer.max_epochs": Override(35, 2)}


def test_a_file_before_the_table_is_no_later_one(table, tmp_path):
    own = tmp_path / "mine.yaml"
    own.write_text("model: {init_args: {window: 2}}\n")
    assert len(build_request([own, table[0]]).rows) == 2


def test_the_command_says_so_in_one_line(table, tmp_path, capsys):
    own = tmp_path / "mine.yaml"
    own.write_text("model: {init_args: {window: 2}}\n")
    command = ["fit", "--config", str(table[0]), "--config", str(own), "--row", "second", "--print-config"]
    assert main([*command, "--runs", str(tmp_path / "runs")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert str(own) in line and "--model.window=2" in line
