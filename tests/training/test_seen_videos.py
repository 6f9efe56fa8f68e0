"""Test that every printed accuracy counts test videos that were trained on, and that mistakes are named by file."""

import csv
import re
import shutil
from pathlib import Path

import pytest

from lit_video.__main__ import main
from lit_video.inference.predict import load
from lit_video.inference.videos import find_videos
from lit_video.reports.card import headline
from lit_video.runs.folder import read_finished
from tests.conftest import SMALL_TABLE, TINY, draw_nothing, listed_videos


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Folder with a run tested on four videos; it starts from a run that was trained on two of them."""
    folder = tmp_path_factory.mktemp("copied")
    names = [f"{split}/{label}/{i}.mp4" for split in ("train", "val", "test") for label in "ab" for i in range(2)]
    root = listed_videos(folder / "videos", "path", [(name,) for name in names], (4, 16, 16))
    before = shutil.copytree(root, folder / "before")
    for label in "ab":
        (before / f"test/{label}/1.mp4").rename(before / f"train/{label}/1.mp4")
    (folder / "own.yaml").write_text(f"""\
data: {{class_path: VideoFolder, init_args: {{root: {root}}}}}
model: {SMALL_TABLE}/model.yaml
table: {{title: Own, source: a test, rows: {{first: {{}}}}}}
""")
    flags = [*(flag for flag in TINY if "pairs" not in flag), "--trainer.logger=false"]
    fit = ["fit", "--config", str(folder / "own.yaml"), *flags]
    with pytest.MonkeyPatch.context() as patch:
        draw_nothing(patch)
        assert main([*fit, f"--data.root={before}", "--runs", str(folder / "earlier")]) == 0
        (start,) = (folder / "earlier").rglob("last.ckpt")
        assert main([*fit, f"--model.weights={start}", "--runs", str(folder / "runs")]) == 0
    return folder


@pytest.fixture
def copied(trained, monkeypatch):
    monkeypatch.chdir(trained)
    return trained / "runs/own/default/first/seed0"


def test_no_accuracy_is_printed_without_what_was_seen(copied, capsys):
    assert read_finished(copied).result.test_seen == 2
    assert headline(copied)[0].endswith("; 2 of 4 test videos trained on")
    assert main(["table", "--config", "own.yaml", "--overridden"]) == 0
    assert "first (2 of 4 test videos trained on)" in capsys.readouterr().out
    assert main(["test", "--ckpt", str(copied)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(line.endswith(", 2 of 4 trained on") for line in lines if "test/" in line)
    for number, path in enumerate(sorted(shutil.copytree("videos", Path("renamed")).glob("*/*"))):
        path.rename(path.with_name("xy"[number % 2]))
    assert main(["test", "--ckpt", str(copied), "--data.root=renamed"]) == 2
    assert "'x' is class unknown of the weights and class 0 of the data" in capsys.readouterr().err
    rows = list(csv.DictReader((copied / "mistakes.csv").read_text().splitlines()))
    assert {row["file"].split("/")[0] for row in rows} <= {"test"} and len(rows) == 4 - round(
        read_finished(copied).result.metrics["test/video_top1"] / 25
    )
    assert main(["report", "runs", "-o", "page.html", "--overridden"]) == 0
    page = Path("page.html").read_text()
    assert all(row["file"] in page for row in rows) and page.count('class="strip"') == len(rows)


def test_every_command_says_of_each_video_whether_it_was_seen(copied, capsys):
    assert main(["predict", "--ckpt", str(copied), "videos/train", "videos/test", "--top", "1", "-o", "p.csv"]) == 0
    found = csv.DictReader(Path("p.csv").read_text().splitlines())
    assert [one["trained_on"] for one in found] == ["yes"] * 4 + ["no", "yes"] * 2
    said = capsys.readouterr()
    assert said.out.count("trained on") == 6 and "6 of 8 trained on: right answers there say nothing" in said.err
    assert main(["embed", "--ckpt", str(copied), "videos/train", "videos/test", "-o", "e.svg"]) == 0
    texts = re.sub("<[^>]*>", " ", Path("e.svg").read_text()).split()
    assert "features of 8 videos, hollow: 6 of 8 trained on" in " ".join(texts)
    assert capsys.readouterr().err.endswith("6 of 8 trained on\n")
    assert main(["embed", "--ckpt", str(copied), "videos/test/a"]) == 2
    assert "2 videos could be read, which is too few" in capsys.readouterr().err
    assert main(["attention", "videos/test/a/1.mp4", "--ckpt", str(copied)]) == 0
    assert "the model was trained on this video" in capsys.readouterr().err


@pytest.mark.slow
def test_a_run_that_starts_from_another_has_seen_its_videos_too(copied):
    shutil.copytree("videos", "others")
    for number, file in enumerate(sorted(Path("others").glob("*/*/*.mp4"))):
        listed_videos(file.parent, "path", [(file.name,)], (4, 16, 18 + 2 * number))
    flags = ["--data.root=others", "--runs=again", "--trainer.logger=false", f"--model.weights={copied / 'last.ckpt'}"]
    settings = read_finished(copied).identity.settings
    size = [
        f"--model.size.{key}={settings['model']['init_args']['size'][key]}"
        for key in ("embed_dim", "depth", "num_heads")
    ]
    clips = ["--data.num_frames=4", "--data.image_size=16", "--data.batch_size=4", "--trainer.max_epochs=1"]
    assert main(["fit", "--config", "own.yaml", *flags, *size, *clips, "--data.num_workers=0"]) == 0
    trained = load(next(Path("again").rglob("last.ckpt")))
    assert all(trained.saw(find_videos(["videos/train", "others/train"])))
    assert not any(trained.saw(find_videos("others/val")))
    assert main(["export", "--to", "safetensors", "--ckpt", str(copied), "-o", "out"]) == 0
    assert load("out").saw(find_videos("videos/test/a")) == [False, True]
    assert "## Accuracy" in Path("out/README.md").read_text()
    shutil.copytree(copied, "longer")  # its result is of another checkpoint
    shutil.copy(next(Path("again").rglob("last.ckpt")), "longer/last.ckpt")
    assert main(["export", "--to", "safetensors", "--ckpt", "longer", "-o", "out"]) == 2
