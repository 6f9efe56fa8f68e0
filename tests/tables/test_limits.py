"""Test limits on files from elsewhere (memory, paths), on settings, and on names in printed text."""

import io
import lzma
import shutil
import subprocess
import sys
import tarfile

import numpy as np
import pytest
import torch

from lit_video.__main__ import main
from lit_video.datamodules import TemporalSkills, VideoDataModule
from lit_video.errors import UserError
from lit_video.network.vit import ViTSize
from lit_video.runs.folder import run_folders
from lit_video.utils.text import as_markdown, markdown_lines, printable, text_table
from lit_video.weights.reading import held, read_weights
from tests.fake_runs import EXPERIMENTS, write_table_runs

RUN = "two/default/first/seed0/run.json"


def packed(members, preset=1, cut=None):
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for name, content, *kind in members:
            member = tarfile.TarInfo(name)
            member.size, member.type = len(content), *(kind or [tarfile.REGTYPE])
            member.linkname = "elsewhere" if kind else ""
            tar.addfile(member, io.BytesIO(content))
    return lzma.compress(archive.getvalue(), preset=preset)[:cut]


PACKS = {
    "large": ([(RUN, bytes(7 * 10**7))], "unpacked size is "),
    "a long name": ([(RUN, b"{}", tarfile.REGTYPE), ("a" * 10**6, b"")], "no file of two/SCALE/ROW/seedK"),
    "twice": ([(RUN, b"{}"), (RUN, b"[]")], "is in it twice"),
    "a long seed": ([(f"two/default/first/seed{'9' * 5000}/run.json", b"{}")], "no file of two/SCALE/ROW/seedK"),
    "another table's": ([("three/default/first/seed0/run.json", b"{}")], "no file of two/SCALE/ROW/seedK"),
    "above": ([("../two/default/first/seed0/run.json", b"{}")], "no file of"),
    "another row": ([("two/default/first/seed0/a/run.json", b"{}")], "no file of"),
    "absolute": ([(f"/{RUN}", b"{}")], "no file of"),
    "a link": ([(RUN, b"", tarfile.SYMTYPE)], "no file of"),
    "a device": ([(RUN, b"", tarfile.CHRTYPE)], "no file of"),
}


@pytest.mark.parametrize("name", PACKS)
def test_a_pack_that_asks_for_more_is_a_line(name, tmp_path):
    members, message = PACKS[name]
    (tmp_path / "two.tar.xz").write_bytes(packed(members))
    with pytest.raises(UserError, match=r"two\.tar\.xz is damaged") as error:
        run_folders(tmp_path)
    assert message in str(error.value) and len(str(error.value)) < 400


def test_a_pack_that_is_cut_off_is_damaged(tmp_path):
    (tmp_path / "two.tar.xz").write_bytes(packed([(RUN, b"{}")], cut=-20))
    with pytest.raises(UserError, match="ended before the end"):
        run_folders(tmp_path)


@pytest.mark.slow
def test_a_report_leaves_out_what_is_damaged_and_says_so(tmp_path, capsys):
    runs, page = tmp_path / "runs", tmp_path / "page.html"
    for table in ("timesformer_schemes", "ablation_tw"):
        write_table_runs(runs, table, seeds=1, videos=30)
    bad = next((runs / "ablation_tw").rglob("predictions.npz"))
    with np.load(bad) as stored:
        np.savez(bad, **dict(stored) | {"classes": np.array([str(i) for i in range(30_000)])})
    (runs / "skills.tar.xz").write_bytes(packed(PACKS["large"][0]))
    (runs / "causal.tar.xz").write_bytes(b"garbage")
    words = ["report", str(runs), "-o", str(page), "--experiments", str(EXPERIMENTS)]
    assert main(words) == 1
    wrote, claims, *lines = capsys.readouterr().err.splitlines()
    assert "1 table" in wrote and "claims of the papers" in claims and "timesformer_schemes" in page.read_text()
    assert [line.partition(" is damaged (")[0] for line in lines] == [
        f"error: left out: {file}" for file in (runs / "causal.tar.xz", runs / "skills.tar.xz", bad)
    ]
    shutil.rmtree(runs / "timesformer_schemes")
    page.unlink()
    assert main(words) == 2 and "causal.tar.xz is damaged" in capsys.readouterr().err
    assert not page.exists()


@pytest.mark.parametrize(
    "tensor",
    [torch.zeros(1).expand(10**12), torch.empty(10**12, device="meta"), torch.eye(9).to_sparse()],
    ids=["stride 0", "meta", "sparse"],
)
def test_a_tensor_larger_than_its_file_is_refused(tensor, tmp_path):
    torch.save({"weight": tensor}, tmp_path / "x.pth")
    with pytest.raises(UserError, match="weight has more values than the file holds"):
        read_weights(tmp_path / "x.pth")


def test_views_of_one_memory_count_once():
    whole = torch.zeros(10)
    assert held([whole, whole[2:], whole.view(2, 5)]) == 10


@pytest.mark.parametrize(
    "build",
    [
        lambda: ViTSize(8, 10**12, 2),
        lambda: VideoDataModule(num_frames=10**9),
        lambda: VideoDataModule(image_size=10**6),
        lambda: TemporalSkills(pairs=(1, 1, 10**9)),
        lambda: TemporalSkills(length=8 * 10**9),
    ],
)
def test_a_setting_that_no_memory_holds_is_refused(build):
    with pytest.raises(ValueError, match=r"(pixels|depth) is "):
        build()


def test_a_test_builds_no_larger_model_than_the_checkpoint_holds(run, capsys):
    assert main(["test", "--ckpt", str(run), "--trainer.accelerator=cpu", "--model.size.embed_dim=16384"]) == 2
    assert "model: size is larger than that of the weights in the checkpoint" in capsys.readouterr().err


def test_names_steer_no_terminal_and_no_markdown():
    assert printable("a\x1b[2Jb\x9b\u202ec") == "a�[2Jb��c"
    assert as_markdown("a|b\n<script>") == "a\\|b &lt;script>"
    assert len(markdown_lines(["a"], [["x\ny | z"]]).splitlines()) == 3
    assert "[bold]\x1b" not in (text := text_table("[/x]", ["[/y]"], [["[bold]\x1b\n"]])) and "[/x]" in text


PRINTED = "fit --print-config --config experiments/timesformer_schemes.yaml --row joint"


@pytest.mark.parametrize("words", ["--help", "fit --help", "weights", pytest.param(PRINTED, marks=pytest.mark.slow)])
def test_a_full_disk_behind_the_output_is_a_line(words):
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, "-m", "lit_video", *words.split()], stdout=full, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (1, b"error: the output cannot be written: No space left on device\n")
