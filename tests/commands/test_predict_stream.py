"""``predict --stream`` says after every frame what the model says of the video up to it, a line at a time."""

import csv
import io
import shutil
import sys

import pytest
import torch

import lit_video
from lit_video.__main__ import main
from lit_video.datamodules import Segments, TemporalSkills
from lit_video.inference.predict import load
from lit_video.inference.streaming import stream_predictor
from lit_video.modules import XViT
from lit_video.modules.optimization import Optimization
from lit_video.network.vit import ViTSize
from lit_video.video.batch import normalise
from lit_video.video.clips import VideoRecord
from lit_video.video.decoding import decode
from tests.checkpoints import trained
from tests.commands.conftest import one_line
from tests.embedded import CLIPS, four_skills
from tests.inference.colours import write

CAUSAL = dict(causal=True, positions="space", window=2)
ON_CPU = lit_video.Evaluation(device="cpu")
PARTS = (("red", 1), ("green", 1), ("blue", 1.5))  # 35 frames, longer than a clip of one second


def causal_run(folder, root, of=TemporalSkills, sampling=CLIPS["sampling"], crops=3, **options):
    data = four_skills(root, of, sampling=sampling, test_crops=crops)
    torch.manual_seed(0)
    model = XViT(
        data.num_classes,
        *(4, 16, ViTSize(16, 2, 2), 8),
        optimization=Optimization(optimizer="adamw", lr=0.05),
        **CAUSAL | options,
    )
    return trained(model, data, folder / "last.ckpt")


@pytest.fixture(scope="module")
def causal(root, tmp_path_factory):
    return causal_run(tmp_path_factory.mktemp("causal"), root)


@pytest.fixture(scope="module")
def long_video(tmp_path_factory):
    return write(tmp_path_factory.mktemp("long") / "long.mp4", *PARTS)


def stream(*args):
    return main(["predict", "--stream", "--device", "cpu", *map(str, args)])


def lines(capsys):
    return list(csv.DictReader(io.StringIO(capsys.readouterr().out)))


def test_every_line_is_what_the_network_says_of_the_video_up_to_it(causal, long_video, capsys):
    assert stream("--ckpt", causal, long_video, "--top", 8) == 0
    rows = lines(capsys)
    loaded = load(causal)
    step = 1.0 / 4  # clips of a second and 4 frames
    numbers = [int(10 * (i + 0.5) * step) for i in range(14)]
    data = four_skills(**loaded.settings)
    views = data.view(data.test_crops)(decode(long_video, numbers))
    clips = normalise(views[None], data.mean, data.std)
    with torch.no_grad():
        tokens = [loaded.model.network.features(clips[:, :, : i + 1])[:, -4:] for i in range(14)]
        logits = torch.stack([loaded.model.network.aggregate(one).mean(0) for one in tokens])
    expected = logits.softmax(1)
    assert len(rows) == 14 * 8
    assert [float(row["seconds"]) for row in rows[::8]] == [n / 10 for n in numbers]
    assert {row["path"] for row in rows} == {str(long_video)} and {row["task"] for row in rows} == {"class"}
    for i, shares in enumerate(expected):
        of_frame = {row["name"]: float(row["probability"]) for row in rows[8 * i : 8 * i + 8]}
        assert [of_frame[name] for name in loaded.class_names] == pytest.approx(shares.tolist(), abs=2e-4)
    assert (expected[1:] - expected[:-1]).abs().amax(1).min() > 5e-4


def test_one_line_per_frame_and_as_many_videos_as_named(causal, long_video, videos, tmp_path, capsys):
    assert stream("--ckpt", causal, long_video, videos[0], "-o", tmp_path / "out.csv") == 0
    assert capsys.readouterr() == ("", f"wrote {tmp_path / 'out.csv'}\n")
    rows = list(csv.DictReader((tmp_path / "out.csv").open()))
    assert [row["path"] for row in rows].count(str(long_video)) == 14
    assert {row["rank"] for row in rows} == {"1"}
    assert stream("--ckpt", causal, videos[0]) == 0  # the first video leaves nothing behind
    assert lines(capsys) == [row for row in rows if row["path"] == str(videos[0])]


def test_a_name_steers_no_terminal_and_stays_as_it_is_in_a_file(causal, videos, tmp_path, capsys, monkeypatch):
    video = shutil.copy(videos[0], tmp_path / "a\x1b[2J.mp4")
    assert stream("--ckpt", causal, video, "-o", tmp_path / "out.csv") == stream("--ckpt", causal, video) == 0
    assert str(video) in (tmp_path / "out.csv").read_text() and str(video) in capsys.readouterr().out
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert stream("--ckpt", causal, video) == 0 and "\x1b" not in capsys.readouterr().out


def test_lines_come_while_the_video_is_decoded(causal, long_video, tmp_path, capsys):
    """What comes before a broken place is written, with the reason after it."""
    cut = tmp_path / "cut.ts"
    write(cut, *PARTS)
    content = cut.read_bytes()
    cut.write_bytes(content[: len(content) // 2] + b"\xff" * (len(content) // 2))
    text = tmp_path / "text.mp4"
    text.write_text("no video")
    assert stream("--ckpt", causal, text, cut, long_video) == 1
    out, err = capsys.readouterr()
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["path"] for row in rows].count(str(long_video)) == 14
    assert err.splitlines()[0].startswith(f"{text}: Invalid data")
    assert err.splitlines()[-1].endswith("of 3 videos could not be read")
    predictor = stream_predictor(load(causal), ON_CPU)
    moments = predictor(VideoRecord(long_video, 0))
    assert next(moments)[0] == 0.1  # before the rest is decoded


def test_clips_without_a_rate_need_one(root, long_video, tmp_path, capsys):
    ckpt = causal_run(tmp_path, root, sampling=Segments())
    (tmp_path / "kept.csv").write_text("of another day")
    assert stream("--ckpt", ckpt, long_video, "-o", tmp_path / "kept.csv") == 2
    assert (tmp_path / "kept.csv").read_text() == "of another day"
    message = (
        "--rate: Segments, the sampling of its clips, sets no rate for the frames of a stream: give one, in frames"
    )
    assert message in one_line(capsys)
    assert stream("--ckpt", ckpt, long_video, "--rate", 2) == 0
    assert len(lines(capsys)) == 7


def test_models_that_cannot_stream_are_refused(checkpoint, long_video, capsys):
    assert main(["predict", "--ckpt", str(checkpoint), str(long_video), "--stream", "--device", "cpu"]) == 2
    assert one_line(capsys).startswith("error: --ckpt: this model cannot stream: Mixing reads later frames")
