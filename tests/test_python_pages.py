"""Test that every Python block and command of docs/in_python.md and docs/recipes.md runs."""

import re
import shlex
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch
from timm.models.vision_transformer import VisionTransformer

from lit_video.__main__ import main
from lit_video.modules import TimeSformer, XViT
from lit_video.network.vit import ViTSize
from lit_video.runs.folder import read_record
from lit_video.video.decoding import decode
from lit_video.weights.hub import find
from tests.checkpoints import untrained
from tests.conftest import ROOT, few_stills
from tests.video import made

PYTHON = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
PAGES = ("in_python", "recipes", "adding", "streaming")
IN_PYTHON, RECIPES, ADDING, STREAMING = ((ROOT / f"docs/{name}.md").read_text() for name in PAGES)
TENSORBOARD = find_spec("tensorboard")
COMMANDS = re.findall(r"^ *lit_video (.+)$", RECIPES, re.MULTILINE)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Empty working and home folder, from which modules are imported."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    yield tmp_path
    for name in ("my_scheme", "my_video"):
        sys.modules.pop(name, None)


def test_the_example_of_the_readme_is_that_of_the_page():
    (shown,) = PYTHON.findall((ROOT / "README.md").read_text())
    lines = [line for line in shown.splitlines() if line.strip()]
    blocks = [block.replace("\n\n", "\n") for block in PYTHON.findall(IN_PYTHON)]
    assert any("\n".join(lines) in block for block in blocks)


@pytest.mark.slow
def test_the_blocks_in_python_run(here, checkpoint, videos, monkeypatch, capsys):
    monkeypatch.setenv("LIT_VIDEO_DATA", str(here))
    (here / "last.ckpt").symlink_to(checkpoint)
    (here / "videos").symlink_to(videos[0].parents[2])
    (here / "my_scheme.py").write_text(PYTHON.findall(ADDING)[0])
    fetched = find("hub:timesformer-k400").place
    fetched.parent.mkdir(parents=True)
    small = TimeSformer(num_classes=400, size=ViTSize(16, 1, 2))  # small stand-in for the release
    torch.save(small.network.state_dict(), fetched)
    blocks, names = PYTHON.findall(IN_PYTHON), {"__name__": "page", "small": ViTSize(16, 1, 2)}
    blocks = [block for block in blocks if find_spec("accelerate") or "import Accelerator" not in block]
    assert len(blocks) >= 8
    for block in blocks:
        exec(
            block.replace('"Ti"', "small").replace("TimeSformer(num_classes=400)", "TimeSformer(400, size=small)"),
            names,
        )
    clip = (names["pixels"] / 255 - 0.45) / 0.225
    torch.testing.assert_close(names["logits"], small.eval()(clip))
    assert 0 <= names["accuracy"] <= 1 and len(names["queries"].paths) == 8
    assert names["again"].num_classes == 8


def test_a_file_is_streamed_frame_by_frame(here, capsys):
    made.write(here / "VIDEO.mp4", "libx264", num_frames=4, fps=10, height=16, width=16)
    model = XViT(3, 4, 16, size=ViTSize(16, 2, 2), patch_size=8, causal=True, positions="space")
    path = untrained(model, here / "last.ckpt", ["a", "b", "c"], num_frames=4, image_size=16)
    names = {"__name__": "page"}
    exec(PYTHON.findall(STREAMING)[1].replace("RUN", str(path)), names)
    clip = names["trained"].transform(decode(here / "VIDEO.mp4", range(4)))
    with torch.no_grad():
        torch.testing.assert_close(names["logits"], names["trained"].model(clip).mean(0), atol=1e-5, rtol=1e-5)
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["0", "1", "2", "3"]


def test_the_focal_loss_of_class_numbers_is_that_of_their_probabilities():
    names = {"__name__": "page"}
    exec(PYTHON.findall(RECIPES)[0], names)
    logits, target = torch.randn(4, 4), torch.tensor([1, 0, 3, 3])  # the batch size is the number of classes
    share = logits.softmax(1)[range(4), target]
    for given in (target, torch.eye(4)[target]):
        assert names["Focal"].loss(None, logits, given) == pytest.approx((-((1 - share) ** 2) * share.log()).mean())


def test_a_student_learns_from_its_teacher_in_training_alone():
    names = {"__name__": "page"}
    exec(PYTHON.findall(RECIPES)[0], names)
    size = {"num_frames": 4, "image_size": 16, "patch_size": 8, "size": ViTSize(16, 1, 2)}
    student, teacher, plain = names["Distilled"](3, **size), XViT(3, **size).eval(), XViT(3, **size)
    names["teacher"] = lambda run: teacher
    clip, target = torch.randn(2, 3, 4, 16, 16), torch.tensor([0, 2])
    logits = student(clip)
    taught = torch.nn.functional.cross_entropy(logits, teacher(clip).softmax(1))
    torch.testing.assert_close(student.loss(logits, target), plain.loss(logits, target) + taught)
    student.eval()
    torch.testing.assert_close(student.loss(logits, target), plain.loss(logits, target))
    assert not any(name.startswith("teacher") for name in student.state_dict())


@pytest.mark.slow
def test_the_recipes_run(here, data_root, monkeypatch, capsys):
    monkeypatch.setenv("LIT_VIDEO_DATA", str(data_root))
    monkeypatch.setattr("lit_video.training.stills.Stills", few_stills)
    (block,) = PYTHON.findall(RECIPES)
    (here / "my_video.py").write_text(block)
    torch.save(VisionTransformer(img_size=32, patch_size=8, embed_dim=64, depth=4, num_heads=4).state_dict(), "vit.pth")
    # four pairs: the recipe of a lesson shows one skill, whose videos must fill a batch
    small = ["--data.pairs=[4,1,1]", "--data.fresh=0", "--data.lesson=null", "--data.num_workers=0"]
    small += ["--trainer.max_epochs=1", "--trainer.logger=false"]
    small += ["--trainer.check_val_every_n_epoch=1", "--trainer.accelerator=cpu", "--data.batch_size=8"]
    for number, command in enumerate(COMMANDS):
        if "TensorBoard" in command and not TENSORBOARD:
            continue
        run = next(here.glob("runs/**/seed0"), Path("RUN"))  # a run of an earlier recipe
        words = shlex.split(command.replace("$lr", "0.003").replace("RUN", str(run)))
        if words[0] == "fit":
            runs = [] if "--runs" in words or number == 0 else ["--runs", f"runs/{number}"]
            given = {word.partition("=")[0] for word in words}
            words += [flag for flag in small if flag.partition("=")[0] not in given] + runs
        if words[0] == "report":
            words.append("--overridden")  # trainings here are shorter than the row's
        assert main(words) == 0, f"{command}\n{capsys.readouterr().err}"
    results = [read_record(path.parent).result for path in here.glob("runs/**/run.json")]
    assert len(results) == sum(command.startswith("fit") for command in COMMANDS) - (not TENSORBOARD)
    assert (here / "report.html").stat().st_size > 1000
    logged = {
        folder: "".join(map(Path.read_text, here.glob(f"{folder}/**/metrics.csv"))) for folder in ("logs", "metrics")
    }
    assert "train/loss" in logged["logs"] and "val/f1" in logged["metrics"]
