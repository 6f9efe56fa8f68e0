"""``benchmark data``: what it reports of tiny videos, and that wrong pixels cannot pass."""

import json
from dataclasses import replace
from fractions import Fraction

import av
import numpy as np
import pytest
from av.video.frame import PictureType

from lit_video.__main__ import main
from lit_video.benchmark.clip_decoders import clip_decoders, cut, same, truth
from lit_video.benchmark.data_plot import figure
from lit_video.benchmark.data_report import _feeds
from lit_video.benchmark.data_timing import time_clips
from lit_video.benchmark.sample_videos import KINDS, encode
from lit_video.utils.figures import plt


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """Two tiny videos in one folder."""
    folder = tmp_path_factory.mktemp("videos")
    for seed in range(2):
        encode(folder / f"{seed}.mp4", replace(KINDS[0], width=96, height=72, frames=40), seed)
    return folder


def test_every_library_and_sampling_has_a_row_and_no_error(root, capsys):
    arguments = ["--clips", "1", "--loader-clips", "4", "--workers", "0", "--json", "--gpu-clips", "50"]
    assert main(["benchmark", "data", str(root), *arguments]) == 0
    result = json.loads(capsys.readouterr().out)
    rows = {(row["library"], row["sampling"]): row for row in result["rows"]}
    for sampling in ("stride 8", "stride 32", "whole"):
        for library in ("lit_video", "PyTorchVideo"):
            row = rows[library, sampling]
            assert row["clips"] == 2
            assert 0 < row["decode_seconds"] < row["transform_seconds"]
        assert rows["PyTorchVideo", sampling]["decode_ratio"] == 1
    assert [error for error in result["errors"] if error["library"] in ("lit_video", "PyTorchVideo")] == []
    assert {(row["library"], row["workers"]) for row in result["loaders"]} == {("lit_video", 0), ("PyTorchVideo", 0)}
    assert all(row["clips"] >= 4 and row["clips_per_second"] > 0 for row in result["loaders"])


def test_the_table_and_the_plot_are_written(root, tmp_path, capsys):
    plot = tmp_path / "plot.png"
    arguments = ["--videos", "1", "--clips", "1", "--loader-clips", "4", "--workers", "0", "--plot", str(plot)]
    assert main(["benchmark", "data", str(root), *arguments]) == 0
    text = capsys.readouterr().out
    assert "PyTorchVideo" in text
    assert "no worker, the process itself, feeds" in text
    assert plot.stat().st_size > 1000


def measured(*loaders):
    rows = [{"videos": "v", "library": name, "workers": n, "clips_per_second": rate} for name, n, rate in loaders]
    times = (("lit_video", 0.02), ("PyTorchVideo", 0.9))
    clips = [{"videos": "v", "sampling": "whole", "library": name, "transform_seconds": s} for name, s in times]
    return {"gpu_clips": 50, "rows": clips, "loaders": rows}


def test_the_plot_has_points_on_the_log_axis_and_whole_workers():
    drawn = figure(measured(("lit_video", 0, 30.0), ("lit_video", 1, 45.0), ("PyTorchVideo", 1, 5.0)))
    points, lines = drawn.axes
    drawn.canvas.draw()
    assert points.get_xscale() == "log" and not points.patches  # no bars, whose lengths would mean nothing
    assert sorted(line.get_xdata()[0] for line in points.get_lines()) == [20, 900]
    assert [text.get_text() for text in points.texts] == ["900", "20"]
    assert [text.get_text() for text in lines.get_xticklabels()] == ["0", "1"]
    assert lines.get_ylim()[0] == 0
    plt.close(drawn)


@pytest.mark.parametrize(
    ("row", "text"),
    [
        (("lit_video", 2, 40.0), "2 workers feed 0.8 of a GPU with 50 clips/s; at this rate it takes 3 workers"),
        (("lit_video", 1, 250.0), "1 worker feeds 5.0 of a GPU with 50 clips/s; at this rate it takes 1 worker"),
        (("lit_video", 0, 20.0), "no worker, the process itself, feeds 0.4 of a GPU with 50 clips/s; at this"),
    ],
)
def test_a_gpu_takes_whole_workers(row, text):
    assert _feeds(measured(row))[0].startswith(f"v: {text}")


def test_a_decoder_that_is_one_frame_off_is_an_error_and_is_not_timed(root):
    ours = clip_decoders()[0]
    late = replace(ours, decode=lambda clip: ours.decode(replace(clip, numbers=tuple(i + 1 for i in clip.numbers))))
    rows, errors = time_clips([late], [root / "0.mp4"], "whole", clips=1)
    assert rows[0]["clips"] == 0
    assert rows[0]["decode_seconds"] is None
    assert "other pixels in frames [2," in errors[0]["error"]


def test_a_decoder_that_raises_is_an_error_with_its_reason(root):
    def fails(clip):
        raise RuntimeError("no more frames left")

    clip = cut(root / "0.mp4", "stride 8", 5, 0.0)
    assert same(replace(clip_decoders()[0], decode=fails), clip, truth(clip)) == "RuntimeError: no more frames left"


def test_a_clip_has_its_stride_and_the_span_that_stock_subsamples(root):
    clip = cut(root / "0.mp4", "stride 4", 5, 0.5)
    assert clip.numbers == (10, 14, 18, 22, 26)
    assert (clip.start, clip.end) == (Fraction(10, 25), Fraction(30, 25))


def test_made_videos_are_mostly_b_frames_and_differ_by_seed(tmp_path):
    kind = replace(KINDS[0], frames=60)
    for seed in range(2):
        encode(tmp_path / f"{seed}.mp4", kind, seed)
    with av.open(str(tmp_path / "0.mp4")) as container:
        kinds = [PictureType(frame.pict_type).name for frame in container.decode(video=0)]
    assert kinds.count("B") / len(kinds) > 0.6
    pictures = [truth(cut(tmp_path / f"{seed}.mp4", "whole", 2, 0)) for seed in range(2)]
    assert not np.array_equal(*pictures)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--workers", "two"], "--workers two"),
        (["--videos", "0"], "--videos"),
        (["--plot", "x.mp9"], "no picture"),
    ],
)
def test_a_mistake_is_one_line(root, capsys, arguments, message):
    assert main(["benchmark", "data", str(root), *arguments]) == 2
    assert message in capsys.readouterr().err


def test_a_folder_without_videos_is_refused(tmp_path, capsys):
    (tmp_path / "text.mp4").write_text("no video")
    assert main(["benchmark", "data", str(tmp_path)]) == 2
    assert "no video in this folder that can be read" in capsys.readouterr().err
