"""Test that nothing that a run's record names is imported, opened or written to, because it may come from anybody."""

import json
import os
import shutil
import sys

import pytest

from lit_video.__main__ import main
from lit_video.commands.parser import parse
from lit_video.datamodules import VideoDataModule
from lit_video.errors import UserError
from lit_video.experiment.recorded import TrustedPackages, run_settings
from lit_video.modules import VideoClassifier
from lit_video.network.timesformer import scheme_class
from lit_video.runs.folder import read_record, run_folders
from lit_video.schemes.own_classes import import_scheme
from lit_video.settings.flags import UserSetting
from tests.conftest import ROOT
from tests.fake_runs import change_result

RESULTS = ROOT / "benchmarks" / "results"
EVIL = {"class_path": "evil.Evil"}
FILES = {
    "evil.py": "import pathlib\npathlib.Path('ran').touch()\nfrom lit_video.video.sampling import Dense as Evil\n",
    "evil.yaml": "class_path: evil.Evil\n",
    "dense.yaml": "class_path: lit_video.video.sampling.Dense\n",
    "vivit-ssv2": "policy: none\n",
    "lit_video.attention.evil.py": "import evil\n",
}


@pytest.fixture
def record(tmp_path, monkeypatch):
    """Function that writes a run's record with changed settings, beside a module that must not run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "evil", raising=False)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    os.mkfifo(tmp_path / "pipe")  # opening it would block for ever

    def write(group="data", whole=None, model="TimeSformer", **arguments):
        settings = {
            "seed_everything": 0,
            "trainer": {"precision": "32-true"},
            "data": {"class_path": "TemporalSkills", "init_args": {}},
            "model": {"class_path": model, "init_args": {"size": "Ti"}},
        }
        settings[group]["init_args"] |= arguments
        settings |= {} if whole is None else {group: whole}
        (tmp_path / "run.json").write_text(json.dumps({"identity": {"settings": settings}}))
        return tmp_path / "run.json"

    yield write
    assert "evil" not in sys.modules and not (tmp_path / "ran").exists()


def of(**arguments):
    return {"class_path": "TemporalSkills", "init_args": arguments}


WAYS = {
    "a class": dict(whole=EVIL),
    "a file": dict(whole="evil.yaml"),
    "the model": dict(group="model", whole=EVIL),
    "a setting": dict(sampling=EVIL),
    "a setting in YAML": dict(sampling="class_path: evil.Evil"),
    "a setting in a file": dict(sampling="evil.yaml"),
    "a file that is a pipe": dict(sampling="pipe"),
    "a dotted key": {"sampling.class_path": "evil.Evil"},
    "a dotted key above": dict(whole={"class_path": "TemporalSkills", "init_args.sampling": EVIL}),
    "a path": dict(whole={"class_path": "TemporalSkills", "__path__": "evil.yaml", "init_args": {"sampling": EVIL}}),
    "a cfg in a class": dict(sampling={"class_path": "Dense", "init_args": {"cfg": "evil.yaml"}}),
    "arguments in YAML": dict(
        whole={"class_path": "TemporalSkills", "init_args": "{sampling: {class_path: evil.Evil}}"}
    ),
    "a class in a class's fields": dict(augmentation={"policy": EVIL}),
    "an optimizer's class": dict(group="model", optimization=EVIL),
    "YAML's tag": dict(sampling="!!python/object/apply:os.mkdir [ran]"),
    "a function": dict(sampling="os.system"),
    "a function with arguments": dict(sampling={"class_path": "os.mkdir", "init_args": {"path": "ran"}}),
    "a class of Lightning that writes": dict(sampling="lightning.pytorch.callbacks.ModelCheckpoint"),
    "arguments beside the arguments": dict(whole={"class_path": "TemporalSkills", "dict_kwargs": {"sampling": EVIL}}),
    "a class in plain data": dict(skills=[EVIL]),
    "a path in plain data": dict(group="model", num_classes={"__path__": "evil.yaml"}),
    "a file named like a recipe": dict(augmentation="vivit-ssv2"),
    "a class of ours of another kind": dict(sampling="lit_video.modules.xvit.XViT"),
    "a scheme": dict(group="model", attention_type="evil.Evil"),
    "a loss": dict(group="model", model="XViT", loss="evil.Evil"),
    "a metric": dict(group="model", model="XViT", metric="evil.Evil"),
    "an embedding's file": dict(group="model", model="XViT", embedding="evil.py"),
    "a scheme's file of our name": dict(group="model", attention_type="lit_video.attention.evil.py"),
    "a scheme's file by a way": dict(group="model", attention_type="lit_video.attention./../evil.py"),
}


@pytest.mark.parametrize("way", WAYS)
def test_nothing_that_a_record_names_is_imported_or_opened(way, record):
    path = record(**WAYS[way])
    with pytest.raises(UserError) as error:
        run_settings(path)
    assert str(error.value).startswith(f"{path}") and "\n" not in str(error.value)


@pytest.mark.parametrize("folder", sorted({run.parents[2]: run for run in run_folders(RESULTS)}.values()), ids=str)
def test_the_records_of_the_repository_name_classes_of_ours_alone(folder):
    """Check a run of each table without the parser, which must be able to read whatever the check accepts."""
    settings = read_record(folder).identity.settings
    for gone in ("classes", "only_classes"):  # arguments of the time, which the parser refuses too
        settings["data"]["init_args"].pop(gone, None)
    TrustedPackages({"lit_video"}).check_class(settings["data"], VideoDataModule, "data")
    TrustedPackages({"lit_video"}).check_class(settings["model"], VideoClassifier, "model")


def test_text_that_only_looks_like_a_class_or_a_file_is_a_text(record):
    settings = run_settings(record(group="model", weights="evil.yaml", image_weights=json.dumps(EVIL)))
    assert "evil" not in str(settings), "the checkpoint holds the weights"
    csv = {"class_path": "VideoCSV", "init_args": {"train": "evil.py", "root": "."}}
    assert run_settings(record(whole=csv))["data"]["init_args"]["train"] == "evil.py"


def test_what_the_user_names_is_imported(record, monkeypatch):
    path = record(sampling="mine.Mine")
    (path.parent / "mine.py").write_text("from lit_video.video.sampling import Dense\nclass Mine(Dense): pass\n")
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    with pytest.raises(UserError, match=r"data\.sampling is mine\.Mine, no class .* --data\.sampling=mine\.Mine"):
        run_settings(path)
    assert "mine" not in sys.modules
    assert "mine.Mine" in str(run_settings(path, [UserSetting("data.sampling", "mine.Mine")]))
    with pytest.raises(UserError, match="evil"):
        run_settings(record(**WAYS["a setting"]), [UserSetting("data.sampling", "mine.Mine")])


def test_a_scheme_in_a_user_s_flag_takes_the_place_of_the_record_s(record):
    path = record(group="model", attention_type="evil.Evil")
    assert "evil" not in str(run_settings(path, [UserSetting("model.attention_type", "joint")]))


def test_a_file_of_our_package_s_name_is_no_scheme(record):
    record()
    for name in ("lit_video.attention.evil.py", "lit_video.attention./../evil.py"):
        with pytest.raises(ValueError, match="whose file --scheme"):
            scheme_class(name)
    assert scheme_class(import_scheme("lit_video.attention.mixing.Mixing")).__name__ == "Mixing"


@pytest.mark.parametrize("content", [{}, {"identity": []}, {"identity": {"settings": [1]}}, {"identity": None}])
def test_a_record_without_settings_is_said(content, tmp_path):
    (tmp_path / "run.json").write_text(json.dumps(content))
    with pytest.raises(UserError, match=r"run\.json"):
        run_settings(tmp_path / "run.json")


def test_no_folder_that_a_record_names_is_written_to(run, tmp_path):
    copy, root = shutil.copytree(run, tmp_path / "copy"), tmp_path / "root"
    settings = read_record(copy).identity.settings
    settings["data"]["init_args"]["root"] = str(root)
    change_result(copy, identity={"settings": settings})
    assert main(["test", "--ckpt", str(copy), "--trainer.accelerator=cpu"]) == 0
    assert not root.exists()


def test_what_a_record_lacks_is_given_as_told(record):
    path = record()
    (path.parent / "last.ckpt").touch()
    path.write_text('{"identity": {"settings": {"trainer": {}}}}')
    with pytest.raises(UserError, match=r"has no settings .*; give --config FILE"):
        run_settings(path)
    assert parse(["test", "--ckpt", "last.ckpt", "--config", "ablation_tw"]).run


def test_the_file_of_a_record_s_scheme_is_given_as_told(record, monkeypatch):
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    path = record(group="model", attention_type="scheme_of_mine.Mine")
    (path.parent / "last.ckpt").touch()
    code = path.parent / "scheme_of_mine.py"
    code.write_text("from lit_video.attention import Space\n\n\nclass Mine(Space):\n    pass\n")
    with pytest.raises(UserError, match="if you trust it, give its file as --scheme"):
        run_settings(path)
    assert parse(["test", "--ckpt", "last.ckpt", "--scheme", str(code)]).scheme == str(code)
    assert "scheme_of_mine.Mine" in str(run_settings(path))
