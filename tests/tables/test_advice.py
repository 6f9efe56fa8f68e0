"""Test that what a message on a table or a folder of runs tells to do can be done as it says, and goes on."""

import re
import shutil

import pytest
import yaml

from lit_video.__main__ import main
from lit_video.errors import UserError
from lit_video.tables.claims import read_claims
from lit_video.tables.reading import read_table
from tests.fake_runs import change_result, write_table_runs, write_two_rows
from tests.tables.experiments import EXPERIMENTS


@pytest.fixture
def own(tmp_path):
    """Function that writes a table and an overlay of one's own, and reads them."""

    def read(name="mine", overlay=""):
        lines = (EXPERIMENTS / "ablation_tw.yaml").read_text()
        files = [tmp_path / f"{name}.yaml"]
        files[0].write_text(lines)
        if overlay:
            files.append(tmp_path / "overlay.yaml")
            files[1].write_text(overlay)
        return read_table(files)

    return read


def test_a_table_whose_name_makes_no_folder_is_renamed_as_told(own):
    with pytest.raises(UserError, match=r"rename it, .* for instance") as error:
        own("my table")
    (advised,) = re.findall(r"rename it, (\S+) for instance", str(error.value))
    assert own(advised).name == advised


def test_a_file_with_recipes_says_that_it_is_of_a_scale_as_told(own):
    recipes = "recipes: {xvit: {paper: {trainer.max_epochs: 3}}}\n"
    with pytest.raises(UserError, match="add the line scale: true"):
        own(overlay=recipes)
    assert own(overlay="scale: true\n" + recipes).rows


def test_a_key_that_is_there_twice_is_renamed_as_told(own):
    with pytest.raises(UserError, match="rename one"):
        own(overlay="trainer: {max_epochs: 3}\ntrainer: {max_steps: 4}\n")
    assert own(overlay="trainer: {max_epochs: 3}\n").rows


CLAIM = {"claim": "c", "section": "1", "table": "ablation_tw", "better": [["tw2", "tw0"]], "varies": "model.window"}
CLAIMS = {
    "kind": ({**CLAIM, "spread": ["tw0"]}, "give one of", CLAIM),
    "a comma": ({**CLAIM, "section": ["4", "1"]}, "quote a text that has a comma", {**CLAIM, "section": "4, 1"}),
    "varies": ({**CLAIM, "varies": []}, "name the settings in which the rows of a pair differ", CLAIM),
    "control": ({**CLAIM, "claim": "temporal attention is better"}, "name its control row (control)", CLAIM),
    "rows": (
        {**CLAIM, "varies": "model.causal"},
        "choose rows that differ in one thing, or name it in varies",
        CLAIM,
    ),
}


@pytest.mark.parametrize("case", CLAIMS)
def test_what_a_message_on_a_claim_says_goes_on(case, tmp_path):
    wrong, advice, mended = CLAIMS[case]
    shutil.copytree(EXPERIMENTS, tmp_path / "experiments", ignore=shutil.ignore_patterns("claims"))
    file = tmp_path / "experiments/claims/paper.yaml"
    file.parent.mkdir()
    file.write_text(yaml.safe_dump({"source": "s", "claims": [wrong]}))
    with pytest.raises(UserError, match=re.escape(advice)):
        read_claims(tmp_path / "experiments")
    file.write_text(yaml.safe_dump({"source": "s", "claims": [mended]}))
    assert len(read_claims(tmp_path / "experiments")) == 1


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Folder of fake runs of a table, in the working directory."""
    monkeypatch.chdir(tmp_path)
    return write_two_rows(tmp_path)


def test_rows_of_one_seed_get_more_seeds_as_told(runs, capsys):
    assert main(["table", "ablation_tw", "--pairs"]) == 0
    assert "add --seeds 0,1,2" in capsys.readouterr().out
    assert main(["fit", "ablation_tw", "--row", "tw1", "--seeds", "0,1,2", "--print-config"]) == 0


def test_runs_of_other_settings_are_moved_away_as_told(runs, capsys):
    assert main(["table", "ablation_tw"]) == 0
    change_result(
        runs / "ablation_tw/embedded/tw1/seed0", identity={"settings": {"model": {"init_args": {"window": 2}}}}
    )
    capsys.readouterr()
    assert main(["table", "ablation_tw"]) == 2
    assert "move it away, or run it again" in capsys.readouterr().err
    shutil.move(runs / "ablation_tw/embedded/tw1", runs.parent / "tw1")
    assert main(["table", "ablation_tw"]) == 0


def test_a_table_that_moved_is_given_as_told(runs, capsys):
    for run in (runs / "ablation_tw/embedded").glob("*/seed0"):
        change_result(run, table="mine")
    (runs / "ablation_tw").rename(runs / "mine")
    assert main(["report", "runs/mine", "-o", "page.html"]) == 2
    assert "give the folder of mine.yaml: --experiments DIR" in capsys.readouterr().err
    tables = runs.parent / "tables"
    shutil.copytree(EXPERIMENTS, tables)
    shutil.copy(tables / "ablation_tw.yaml", tables / "mine.yaml")
    assert main(["report", "runs/mine", "--experiments", str(tables), "-o", "page.html"]) == 0


def test_a_folder_without_runs_gets_one_as_told(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["report"]) == 2
    said = capsys.readouterr().err
    assert "lit_video fit TABLE, or lit_video finetune DIR" in said
    write_table_runs(tmp_path / "runs", "ablation_tw", scale="embedded", seeds=1, rows=["tw0"])
    assert main(["report", "-o", "page.html"]) == 0


def test_two_runs_of_one_name_are_packed_alone_as_told(runs, tmp_path, capsys):
    copy = tmp_path / "copy"
    shutil.copytree(runs, copy)
    assert main(["pack", "runs", "copy", "-o", "packs"]) == 2
    assert "give only one of the two" in capsys.readouterr().err
    assert main(["pack", "runs", "-o", "packs"]) == 0
