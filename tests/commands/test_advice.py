"""Test that what a message tells a user to do can be done as it says, and goes on."""

import re
import shlex

import pytest
import torch

import lit_video
from lit_video.__main__ import main
from lit_video.api.data import check
from lit_video.commands.parser import parse
from lit_video.errors import UserError
from lit_video.utils.environment import choose_device
from lit_video.weights.hub import weights_path
from tests.commands.test_mistakes import TRIED
from tests.conftest import ROOT

IMPERATIVE = re.compile(r"\b(add|choose|give|leave|name|set|did you mean|here it is)\b")
SHOWN = "--row tw1 --print-config"
# a mistake of tests/commands/test_mistakes.py -> what its message says, typed
OBEYED = {
    "train": "fit TABLE --row tw1 --print-config",
    "evaluate --ckpt RUN": "test --help",
    "repport": "report PACK -o out/report.html",
    "fit": "fit ablation_tw --row tw1 --print-config",
    "fit --config experiments/ablation_tx.yaml": f"fit --config experiments/ablation_tw.yaml {SHOWN}",
    "fit TABLE --trainer.epochs 3": f"fit TABLE --trainer.max_epochs 3 {SHOWN}",
    "fit TABLE --data=VideoFoldr": f"fit TABLE --data=VideoFolder --data.root videos {SHOWN}",
    "fit TABLE --row tw9": "fit TABLE --row tw2 --print-config",
    "fit TABLE --seed 3": f"fit TABLE --seeds 3 {SHOWN}",
    "sweep experiments/skills.yaml --mem 3G": "sweep experiments/skills.yaml --mem 3G --launcher slurm --dry-run",
    "sweep TABLE --gpus 2": f"fit TABLE --trainer.accelerator=cpu --trainer.devices 2 {SHOWN}",
    "report nowhere": "report PACK -o out/report.html",
    "fit TABLE --print_config": f"fit TABLE {SHOWN}",
    "fit TABLE --num_workers 3": f"fit TABLE --data.num_workers 3 {SHOWN}",
    "cost --row tw1": "cost ablation_tw --row tw1",
    "data": "data check --help",
    "prepare": "data prepare --help",
    "fit TABLE --recipe paper": f"fit TABLE --config scale/ssv2 --recipe paper {SHOWN} CPU",
    "fit TABLE --model.cls_in_time=true": f"fit TABLE {SHOWN}",
    "fit TABLE --data.seed=7": "fit TABLE --seeds 7 --row tw1 --print-config",
    "report": "report PACK -o out/report.html",
}
CPU = "--trainer.accelerator=cpu --trainer.devices=1 --trainer.strategy=auto"


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Working directory with the tables, and a folder for what is written."""
    (tmp_path / "out").mkdir()
    (tmp_path / "experiments").symlink_to(ROOT / "experiments")
    for split in ("train", "val", "test"):
        for label in ("a", "b"):
            (tmp_path / "videos" / split / label).mkdir(parents=True)
            (tmp_path / "videos" / split / label / "1.mp4").write_bytes(b"")
    monkeypatch.chdir(tmp_path)


def typed(line):
    """Return the words of a line, with its places filled in."""
    pack = min((ROOT / "benchmarks/results").glob("*.tar.xz"), key=lambda path: path.stat().st_size)
    for place, text in {"TABLE": "--config experiments/ablation_tw.yaml", "PACK": str(pack), "CPU": CPU}.items():
        line = re.sub(rf"\b{place}\b", text, line)
    return shlex.split(line)


@pytest.mark.parametrize("mistake", OBEYED)
def test_what_the_message_says_goes_on(mistake, here, capsys):
    shown = "--print-config" if mistake.startswith("fit TABLE") else ""  # a mistake that is none trains nothing
    assert main(typed(f"{mistake} {shown}")) == 2
    message = capsys.readouterr().err
    assert IMPERATIVE.search(message), message
    assert main(typed(OBEYED[mistake])) == 0, message


# a mistake of tests/commands/test_mistakes.py on files that a user has -> the command that its message leads to, which
# is parsed alone: it trains, downloads or predicts
PARSED = {
    "finetune docs --time 3": ("--minutes", "finetune docs --minutes 3"),
    "predict --chkpt RUN video.mp4": ("--ckpt", "predict --ckpt RUN video.mp4"),
    "probe RUN --num_frames 8": ("--num-frames", "probe RUN --num-frames 8"),
    "probe RUN --pairs 1": ("at least 4", "probe RUN --pairs 4"),
    "data prepare docs x --short-side 8": ("at least 16", "data prepare docs x --short-side 16"),
    "prepare": ("data prepare", "data prepare docs x"),
    "compare docs --schemes xvit,timesformer": ("divided", "compare docs --schemes xvit,divided"),
    "compare docs --schemes ViViT": ("vivit2", "compare docs --schemes vivit2,xvit"),
    "finetune docs --scheme dividd": ("divided", "finetune docs --scheme divided"),
    "profile divded": ("divided", "profile divided"),
    "test": ("--ckpt", "test --ckpt RUN"),
    "weights fetch timesformer": ("timesformer-", "weights fetch timesformer-k400"),
    "finetune README.md": ("give the folder", "finetune docs"),
    "finetune docs --weights nothing": ("give a run's last", "finetune docs --weights RUN"),
    "test --ckpt README.md": ("--config", "test --ckpt README.md --config experiments/ablation_tw.yaml"),
}


@pytest.mark.parametrize("mistake", PARSED)
def test_what_the_message_says_is_a_command(mistake, here, tmp_path, capsys):
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text("")
    advice, command = PARSED[mistake]
    assert main(typed(mistake)) == 2
    assert advice in capsys.readouterr().err
    (tmp_path / "RUN").mkdir()
    (tmp_path / "RUN/last.ckpt").write_bytes(b"")
    (tmp_path / "video.mp4").write_bytes(b"")
    assert parse(shlex.split(command)).run


def test_the_mistakes_that_are_listed_have_an_obeyed_command():
    """A row of these tables, or of a table whose message names a file of the user's, obeyed by other tests."""
    own = re.compile(r"table|sweep TABLE --jobs|.*\.\.|test --ckpt ablation|test --weights|finetune (nowhere|docs$)")
    told = [line for line, message in TRIED if IMPERATIVE.search(message)]
    assert [line for line in told if line not in OBEYED and line not in PARSED and not own.match(line)] == []


def test_the_folder_and_the_settings_of_a_data_set_are_given_as_told(here, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="holds no file; give the folder of the data set"):
        check("empty", "VideoFolder")
    with pytest.raises(UserError, match="is no setting of the data set; give those of data"):
        check("videos", "VideoFolder", settings={"model": {"window": 1}})
    checked = check("videos", "VideoFolder", settings={"data": {"num_frames": 4}})
    assert checked.data.num_frames == 4


@pytest.mark.parametrize("variable", ["RANK", "WANDB_SWEEP_ID"])
def test_a_process_that_trains_one_run_gets_one_as_told(variable, monkeypatch):
    monkeypatch.setenv(variable, "1")
    monkeypatch.setattr("lit_video.training.run.run_row", lambda run, stops: None)
    with pytest.raises(UserError, match="trains only one; name it by --row and --seeds"):
        lit_video.fit("ablation_tw", seeds=[0])
    assert lit_video.fit("ablation_tw", rows="tw1", seeds=[0])


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without a GPU")
def test_a_device_that_is_not_there_is_left_out_as_told():
    with pytest.raises(UserError, match="leave the flag out"):
        choose_device("cuda")
    assert choose_device(None).type == "cpu"


def test_a_name_of_hugging_face_is_given_as_a_folder_as_told(tmp_path):
    with pytest.raises(UserError, match=r"hf download some/model --local-dir DIR\) and give DIR"):
        weights_path("some/model")
    assert weights_path(str(tmp_path)) == tmp_path


def test_an_installation_that_lacks_a_package_says_what_installs_it(monkeypatch, capsys):
    def lacking(words):
        raise ModuleNotFoundError("No module named 'numpy'", name="numpy")

    monkeypatch.setattr("lit_video.__main__.parse", lacking)
    monkeypatch.setattr("sys.prefix", str(ROOT / ".venv"))
    assert main(["fit"]) == 2
    assert "run pip install -e . -c constraints.txt, or make setup" in capsys.readouterr().err
    assert (ROOT / "constraints.txt").is_file() and "\nsetup:" in (ROOT / "Makefile").read_text()
