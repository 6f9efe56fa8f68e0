"""Test which rows ``fit`` selects, and the settings that ``--print-config`` prints."""

import pytest
import yaml

from lit_video.__main__ import main
from lit_video.errors import UserError
from lit_video.runs.folder import read_record
from tests.command_line import parse_request
from tests.conftest import FOUR_SKILLS


def rows(table, *flags):
    return [row.name for row in parse_request(["--config", str(table), *flags]).rows]


def test_rows_are_named_or_numbered_with_commas_or_one_by_one(table):
    assert rows(table[0]) == ["first", "second"]
    assert rows(table[0], "--row", "second,0") == ["second", "first"]
    assert rows(table[0], "--row", "first", "--row=second") == ["first", "second"]
    assert rows(table[0], "--row", "first,0") == ["first"]
    with pytest.raises(UserError, match="no row 'third'"):
        rows(table[0], "--row", "first,third")


def printed(capsys, *flags):
    capsys.readouterr()
    assert main(["fit", "--config", "experiments/ablation_tw.yaml", *flags, "--print-config"]) == 0
    return list(yaml.safe_load_all(capsys.readouterr().out))


def test_printed_settings_are_those_that_the_run_records(fitted, tiny, capsys):
    run = fitted("ablation_tw", "tw1")
    flags = [*tiny, *FOUR_SKILLS, "--trainer.max_epochs=1", "--trainer.logger=false"]
    assert printed(capsys, "--row", "tw1", *flags) == [read_record(run).identity.settings]


def test_a_seed_in_a_file_is_that_of_the_run_or_refused(capsys, tmp_path, tiny):
    (tmp_path / "seed.yaml").write_text("seed_everything: 42\n")
    flags = ["--config", str(tmp_path / "seed.yaml"), "--row=tw1", *FOUR_SKILLS, *tiny]
    assert printed(capsys, *flags, "--seeds=42")[0]["seed_everything"] == 42
    assert main(["fit", "ablation_tw", *flags, "--print-config"]) == 2
    assert "seed.yaml: seed_everything: is the seed of the run; leave it out" in capsys.readouterr().err


def test_printed_settings_hold_the_scale_s_recipe_and_the_row(capsys, tiny):
    scale = ["--config", "experiments/scale/ssv2.yaml", "--data.root=/tmp"]
    paper = printed(capsys, *scale)
    assert [row["model"]["init_args"]["window"] for row in paper] == [0, 0, 1, 2, 2]
    (released,) = printed(capsys, *scale, "--row", "tw1", "--recipe", "released", "--seeds", "4")
    for config, frames, scope, seed in ((paper[2], 8, "per_head", 0), (released, 16, "full", 4)):
        settings = config["model"]["init_args"]
        assert (settings["size"], settings["scope"]) == ("B", scope)
        assert settings["image_weights"] == "timm:vit_base_patch16_224.orig_in21k"
        assert (config["data"]["init_args"]["num_frames"], config["seed_everything"]) == (frames, seed)
