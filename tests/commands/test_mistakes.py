"""Test that a user's mistake is one line with file and key and exit status 2, and nothing is written or trained."""

import shlex
import subprocess
import sys

import pytest
import torch
from filelock import FileLock

from lit_video.__main__ import main
from lit_video.runs.folder import has_result, run_folders
from tests.commands.conftest import one_line
from tests.conftest import ROOT


def fit(*args):
    return main(["fit", *map(str, args)])


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("{model.windw: 1}", "row second: model.windw: no such setting (did you mean model.window?) (fit --help all "),
        ("{model.optimization.lr: -1}", "row second: model: lr is -1.0"),
        ("{model.num_classes: 5}", "model.num_classes: is taken from the data set; leave it out"),
        ("{model.window: 9}", "row second: model: window 9 at ratio 0.5 leaves no channel per offset"),
        ("{model.num_frames: 3}", "model.num_frames: is taken from the data set; set it there, as data.num_frames"),
        (
            "{data.augmentation: timesformer, data.augmentation.flip: 0.5}",
            "row second: data.augmentation.flip: augmentation is the recipe timesformer, which is taken whole",
        ),
        ("{trainer.max_epochs: two}", "row second: trainer.max_epochs: Expected a int, got two"),
    ],
)
def test_a_wrong_setting_in_a_later_row_stops_everything(setting, message, table, tiny, tmp_path, capsys):
    path, rewrite = table
    rewrite("{model.window: 1}", setting)
    flags = [flag for flag in tiny if setting.split(":")[0].strip("{") not in flag]  # flags win over rows
    one = [] if "windw" in setting else ["--row", "second"]  # skips the first row, which is valid and takes time
    assert fit("--config", path, "--runs", tmp_path / "runs", *one, *flags) == 2
    line = one_line(capsys)
    assert message in line
    assert "two.yaml" in line
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--model=XVit"], "model: no such class: XVit"),
        (["--trainer.precision=bf16-mixd"], "'bf16'], got bf16-mixd"),
        (["--runs=/proc/nowhere"], "--runs: cannot write /proc/nowhere"),
        (["--data.seed=7"], "data.seed: is the seed of the run; leave it out, and choose seeds by --seeds"),
        (["--model.windw=1"], "command line: model.windw: no such setting (did you mean model.window?)"),
        (["--data.frame=4"], "command line: data.frame: no such setting (did you mean data.num_frames?)"),
        (["--model.optimization.lr=abc"], "model.optimization.lr: Expected a float. Got value: abc"),
        (["--data=VideoFolder", "--data.root=/nowhere"], "data.root: /nowhere does not exist; give the folder"),
    ],
)
def test_a_wrong_flag_is_reported(flags, message, table, tiny, tmp_path, capsys):
    assert fit("--config", table[0], "--runs", tmp_path / "runs", *tiny, *flags) == 2
    assert message in one_line(capsys)
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("name", "code", "reason"),
    [
        (".net.MyNet", "", "begins with a dot"),
        ("broken_net.MyNet", "def (", "SyntaxError"),
        ("failing_net.MyNet", "raise TypeError('this')", "TypeError: this (failing_net.py, line 1)"),
    ],
)
def test_a_class_whose_module_cannot_be_imported_is_reported(name, code, reason, table, tmp_path, capsys, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    tmp_path.joinpath(f"{name.rpartition('.')[0]}.py").write_text(code)
    assert fit("--config", table[0], "--runs", tmp_path / "runs", f"--model={name}") == 2
    line = one_line(capsys)
    assert f"command line: model: {name}: " in line
    assert reason in line


MISTAKES = """
train                                          | no command 'train' (did you mean fit or finetune?); commands: finetune,
evaluate --ckpt RUN                            | no command 'evaluate' (did you mean test?); commands: finetune,
data train                                     | no command 'train'; commands: check, prepare
repport                                        | no command 'repport' (did you mean report?)
fit                                            | name a table, by its YAML or its name
fit --config experiments/ablation_tx.yaml      | has this name (did you mean experiments/ablation_t
table TABLE --runs nowhere                     | nowhere: no such folder
fit TABLE --trainer.epochs 3                   | --trainer.epochs=3; here it is --trainer.max_epochs
fit TABLE --data=VideoFoldr                    | data: no such class: VideoFoldr (did you mean VideoFolder?)
profile divded                                 | no built-in scheme (did you mean divided?); give FILE.py
sweep TABLE --gpus 2                           | --trainer.devices of fit, --gpus-per-run of sweep
fit TABLE --row tw9                            | no row 'tw9' (did you mean tw2?); rows: tw0,
fit TABLE --seeds 0..2                         | --seeds: is 0..2, expected whole numbers with commas
fit TABLE --seed 3                             | unrecognized arguments: --seed=3 (did you mean --seeds?)
fit TABLE --depth 3                            | --depth=3; settings are --data.X, --model.X, --trainer.X
fit TABLE --recipe paper                       | --recipe paper: no file has recipes
sweep experiments/skills.yaml --mem 3G         | --mem: is for Slurm; add --launcher slurm
table TABLE --plot skills.png                  | no run of ablation_tw was tested on groups of classes
report nowhere                                 | nowhere: no such folder
predict --chkpt RUN video.mp4                  | --chkpt=RUN (did you mean --ckpt?)
test                                           | --ckpt: give a run's last.ckpt or its folder
test --ckpt ablation_tw/tw9                    | --ckpt: ablation_tw/tw9: no such file
test --ckpt README.md                          | run.json, which holds its settings, does not exist
test --weights hub:nothing                     | hub:nothing: no such weights
weights fetch timesformer                      | no such weights (did you mean timesformer-
cost --row tw1                                 | --row: needs a table; name one
data                                           | give a command: check, prepare
finetune nowhere                               | nowhere: no such folder
finetune README.md                             | README.md: is no table (.csv, .tsv, .txt); give the folder
finetune docs                                  | docs: holds
finetune docs --weights nothing                 | --weights: nothing: no such file; give a run's last
finetune docs --time 3                         | --time=3; here it is --minutes of finetune
probe RUN --num_frames 8                       | --num_frames=8 (did you mean --num-frames?)
probe RUN --pairs 1                            | --pairs: is 1, expected a whole number of at least 4
prepare                                        | no command 'prepare' (did you mean data prepare?)
data prepare docs x --short-side 8             | --short-side: is 8, expected a whole number of at least 16
sweep TABLE --jobs 0                           | argument --jobs: is 0, expected a whole number of at least 1
fit TABLE --print_config                       | --print_config (did you mean --print-config?)
fit TABLE --num_workers 3                      | --num_workers=3; here it is --data.num_workers
compare docs --schemes xvit,timesformer        | no scheme 'timesformer' (did you mean divided?); schemes: xvit
compare docs --schemes ViViT                   | no scheme 'ViViT' (did you mean vivit2?); schemes: xvit
finetune docs --scheme dividd                  | no scheme 'dividd' (did you mean divided?); schemes: xvit
"""
OF_FILES = """
predict --ckpt RUN empty                       | empty: holds no video
predict --ckpt RUN photo.jpg                   | photo.jpg: is a picture, not a video
predict --ckpt RUN photos                      | photos: holds pictures but no video; give --fps N
predict --ckpt empty photos                    | --ckpt: empty: holds no checkpoint
embed photo.jpg --ckpt RUN                     | photo.jpg: is a picture, not a video
attention empty --ckpt RUN                     | empty: holds no video
data check nowhere --dataset VideoFolder       | nowhere: no such folder
data check photo.jpg --dataset VideoFolder     | photo.jpg: is a file, expected the folder
data check empty --dataset VideoCSV            | empty: holds no file
data check photos --dataset VideoFolder -o /no/x | --output /no/x: no such folder
data prepare empty x                           | SRC: empty holds no video
probe nowhere                                  | nowhere: no such file
probe empty                                    | empty: holds no checkpoint
probe photo.jpg                                | photo.jpg: is no model
probe RUN                  | RUN/last.ckpt is damaged, or no checkpoint of lit_video
probe torchvision:r3d                          | torchvision:r3d: no video model of torchvision (did you mean s3d?)
probe timm:resnet10                            | timm:resnet10: no model of timm (did you mean resnet10t?)
predict --ckpt RUN video.mp4                   | RUN/last.ckpt is damaged, or no checkpoint of lit_video
embed video.mp4 --ckpt RUN | RUN/last.ckpt is damaged, or no checkpoint of lit_video
attention video.mp4 --ckpt RUN                 | RUN/last.ckpt is damaged, or no checkpoint of lit_video
export --ckpt RUN --to pt2 -o x                | RUN/last.ckpt is damaged, or no checkpoint of lit_video
test --ckpt RUN --config ablation_tw           | RUN/last.ckpt is damaged, or no checkpoint of lit_video
data check photos --dataset VideoFolder --data.nope 0 | data.nope: no such setting (did you mean data.order?)
data floors utd_mhad --data.root nowhere       | nowhere does not exist; give the folder that holds UTD-MHAD
fit ablation_tw --data=VideoFolder --data.root nowhere | nowhere does not exist; give the folder that holds train/
fit xvit_ssv2 --config scale/ssv2 --data.root nowhere | folder that holds annotations and videos of SomethingV2
fit ablation_tw --data.frame 4                 | command line: data.frame: no such setting
fit ablation_tw --model.windw 1 | model.windw: no such setting (did you mean model.window?)
probe hub:nothing                              | hub:nothing: no such weights
probe nothing.py:f                             | nothing.py: no such file
probe nothing.pt2                              | nothing.pt2: no such file
profile divided --on empty                     | empty: holds no file: no video
report photo.jpg                               | photo.jpg: is no folder of runs and no pack
finetune empty                                 | empty: holds no file: no video
finetune photos                                | photos: holds 1 .jpg: no video
"""
WITHOUT_TORCH = """
import shlex, sys
sys.modules["torch"] = None
from lit_video.__main__ import main
for line in sys.stdin:
    print(line, main(shlex.split(line)), file=sys.stderr)
"""
TRIED = [[part.strip() for part in line.split("|", 1)] for line in MISTAKES.strip().splitlines()]
TRIED_ON_FILES = [[part.strip() for part in line.split("|", 1)] for line in OF_FILES.strip().splitlines()]


@pytest.mark.parametrize(("line", "message"), TRIED)
def test_a_mistake_of_a_new_user_is_one_line(line, message, tmp_path, monkeypatch, capsys):
    for name in ("experiments", "docs", "README.md"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    assert main(shlex.split(line.replace("TABLE", "--config experiments/ablation_tw.yaml"))) == 2
    assert message in one_line(capsys)
    assert sorted(tmp_path.iterdir()) == before


def write_no_videos(folder):
    """Write an empty folder, a photo, a folder of photos, and a run without content."""
    for name in ("empty", "photos", "RUN"):
        (folder / name).mkdir()
    for name in ("photo.jpg", "photos/1.jpg", "RUN/last.ckpt", "video.mp4"):
        (folder / name).write_bytes(b"")


@pytest.mark.parametrize(("line", "message"), TRIED_ON_FILES)
def test_what_is_no_video_or_no_model_is_one_line(line, message, tmp_path, monkeypatch, capsys):
    write_no_videos(tmp_path)
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    assert main(shlex.split(line)) == 2
    assert message in one_line(capsys)
    assert sorted(tmp_path.rglob("*")) == before


def test_no_mistake_waits_for_torch(tmp_path):
    write_no_videos(tmp_path)
    for entry in ROOT.iterdir():
        if entry.name not in ("runs", "own"):  # with finished runs, some of the lines are no mistakes
            (tmp_path / entry.name).symlink_to(entry)
    lines = [line.replace("TABLE", "--config experiments/ablation_tw.yaml") for line, _ in TRIED + TRIED_ON_FILES]
    command = [sys.executable, "-c", WITHOUT_TORCH]
    done = subprocess.run(command, input="\n".join(lines), cwd=tmp_path, capture_output=True, text=True)
    assert done.stderr.count("error: ") == len(lines) and "no module" not in done.stderr, done.stderr


def test_a_row_that_runs_elsewhere_is_left_alone(table, tiny, tmp_path, capsys):
    run_dir = tmp_path / "runs/two/default/first/seed0"
    run_dir.mkdir(parents=True)
    with FileLock(run_dir / "lock"):
        assert fit("--config", table[0], "--row", "first", "--runs", tmp_path / "runs", *tiny) == 2
    assert "two first seed 0: another process is running it" in one_line(capsys)
    assert not (run_dir / "run.json").exists()


@pytest.mark.slow
@pytest.mark.parametrize("own_processes", [False, True])
def test_a_row_that_cannot_run_is_reported_and_the_others_go_on(own_processes, table, tiny, tmp_path, capsys, request):
    if not own_processes:
        request.getfixturevalue("rows_in_this_process")
    path, rewrite = table
    rewrite("    second:", "    third: {set: {trainer.strategy: none}}\n    second:")  # found by the run itself
    blocked = tmp_path / "runs/two/default/first/seed0"
    blocked.mkdir(parents=True)
    with FileLock(blocked / "lock"):
        assert fit("--config", path, "--runs", tmp_path / "runs", "--trainer.logger=false", *tiny) == 1
    printed = capsys.readouterr()
    assert "two first seed 0: runs elsewhere, left alone" in printed.out
    assert "two third seed 0: FAILED" in printed.out
    assert "fit: 2 runs have no result" in printed.err
    assert "Traceback" not in printed.err
    assert has_result(tmp_path / "runs/two/default/second/seed0")
    assert "not run" in printed.out


def test_a_broken_video_is_reported_by_its_path(table, tiny, tmp_path, capsys):
    root = tmp_path / "videos"
    for split in ("train", "val", "test"):
        for name in ("a", "b"):
            (root / split / name).mkdir(parents=True)
            (root / split / name / "1.mp4").write_bytes(b"no video")
    flags = ["--data=VideoFolder", f"--data.root={root}", "--data.batch_size=2", "--trainer.logger=false"]
    args = ["--config", table[0], "--row=first", "--runs", tmp_path / "runs", *flags, "--data.num_workers=1"]
    assert fit(*args) == 2
    line = one_line(capsys)
    assert f"{root}/train/" in line
    assert "1.mp4: Invalid data found when processing input; fix the video" in line


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without a GPU")
def test_what_only_the_run_can_find_out_is_reported_too(table, tiny, tmp_path, capsys):
    flags = [*tiny, "--trainer.accelerator=gpu", "--row=first", "--trainer.logger=false"]
    assert fit("--config", table[0], "--runs", tmp_path / "runs", *flags) == 2
    assert "trainer: " in one_line(capsys)
    assert not run_folders(tmp_path / "runs")


@pytest.mark.parametrize("form", ["--config {}", "--config={}", "-c {}", "-c={}"])
def test_what_a_file_would_set_to_no_effect_is_refused_in_any_form_of_the_flag(form, tmp_path, capsys):
    file = tmp_path / "own.yaml"
    file.write_text("data: {class_path: TemporalSkills}\nmodel: {class_path: XViT, init_args: {num_classes: 3}}\n")
    assert main(["test", *form.format(file).split(), "--model.weights=none.pth"]) == 2
    assert f"{file}: model.num_classes: is taken from the data set" in one_line(capsys)
