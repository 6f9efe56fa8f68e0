"""``benchmark data``: what it reports of tiny videos, and that wrong pixels cannot pass."""

import json
from dataclasses import replace
from fractions import Fraction

import av
import numpy as np
import pytest
from av.video.frame import PictureType

from lit_video.__main__ import main
from lit_video.benchmark.clip_decoders import clip_decoders, cut, same, truth, why_not
from lit_video.benchmark.data_plot import figure
from lit_video.benchmark.data_timing import time_clips
from lit_video.benchmark.sample_videos import KINDS, encode
from lit_video.datamodules.preparation.encoding import PRESETS
from lit_video.utils.figures import plt


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """Two tiny videos in one folder."""
    folder = tmp_path_factory.mktemp("videos")
    for seed in range(2):
        encode(folder / f"{seed}.mp4", replace(KINDS[0], width=96, height=72, frames=40), seed)
    return folder


def test_a_format_made_by_another_preset_is_made_anew(tmp_path, monkeypatch):
    root = tmp_path / "videos"
    root.mkdir()
    encode(root / "0.mp4", replace(KINDS[0], width=96, height=72, frames=40), 0)

    def size():
        flags = ["--clips", "1", "--loader-clips", "0", "--formats", "fast", "-o", str(tmp_path / "x.json")]
        assert main(["benchmark", "data", str(root), *flags]) == 0
        (row,) = json.loads((tmp_path / "x.json").read_text())["formats"]
        return row["size_ratio"]

    before = size()
    monkeypatch.setitem(PRESETS, "fast", replace(PRESETS["fast"], crf=45))
    assert size() < 0.8 * before


FEW = ["--clips", "1", "--loader-clips", "4", "--workers", "0", "--clips-per-second", "100"]


def test_every_library_sampling_and_format_has_a_row_and_no_error(root, capsys):
    assert main(["benchmark", "data", str(root), *FEW, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    rows = {(row["library"], row["sampling"]): row for row in result["rows"]}
    for sampling in ("stride 8", "stride 32", "whole"):
        for library in ("lit_video", "PyTorchVideo"):
            row = rows[library, sampling]
            assert row["clips"] == 2
            assert 0 < row["decode_seconds"] < row["transform_seconds"]
        assert rows["PyTorchVideo", sampling]["decode_ratio"] == 1
    assert [error for error in result["errors"] if error["library"] in ("lit_video", "PyTorchVideo")] == []
    loaders = {row["library"]: row for row in result["loaders"]}
    assert loaders.keys() == {"lit_video", "PyTorchVideo", "torchcodec", "decord"}
    for library, row in loaders.items():
        if why_not(library):
            assert row["missing"] == why_not(library)
        else:
            assert row["clips"] >= 4 and row["clips_per_second"] > 0 and row["workers"] == 0
    assert not why_not("lit_video")
    formats = {row["format"]: row for row in result["formats"]}
    assert [*formats] == ["source", "small", "fast", "fastest", "shards"]
    assert all(0 < row["decode_seconds"] < row["clip_seconds"] for row in formats.values())
    assert formats["source"]["size_ratio"] == 1 and formats["source"]["psnr"] is None
    assert formats["small"]["size_ratio"] < formats["fast"]["size_ratio"] < formats["fastest"]["size_ratio"]
    assert all(30 < formats[name]["psnr"] < 50 for name in ("small", "fast", "fastest", "shards"))
    files = sorted(path.suffix for path in root.with_name(f"{root.name}-formats").rglob("*.[mt]*"))
    assert files == [".mp4"] * 6 + [".tar"]


def test_rows_are_printed_and_kept_as_they_are_measured(root, tmp_path, capsys, monkeypatch):
    kept, plot = tmp_path / "kept.json", tmp_path / "plot.png"
    flags = ["--videos", "1", "-o", str(kept), "--formats", "source,fast", "--plot", str(plot)]
    seen = []

    def stopped(decoders, paths, sampling, clips):
        if seen:
            raise KeyboardInterrupt
        seen.append((sampling, capsys.readouterr().out, json.loads(kept.read_text())))
        return time_clips(decoders, paths, sampling, clips)

    monkeypatch.setattr("lit_video.benchmark.data_timing.time_clips", stopped)
    assert main(["benchmark", "data", str(root), *FEW, *flags]) == 130
    ((_, printed, before),) = seen
    lines = printed.strip().splitlines()
    assert lines[0].startswith("A training clip, 8 frames with stride 8")
    assert [line.split()[1] for line in lines[1:]] == ["format", "source", "fast"]
    assert [row["format"] for row in before["formats"]] == ["source", "fast"] and not before["rows"]
    assert "cores, 100/s" in lines[1]
    assert float(lines[2].split()[5]) == pytest.approx(100 * before["formats"][0]["clip_seconds"], abs=0.06)
    result, out = json.loads(kept.read_text()), capsys.readouterr().out
    assert {row["sampling"] for row in result["rows"]} == {"stride 8"} and not result["loaders"]
    assert f"interrupted; what is measured is in {kept}" in out and out.count("PyTorchVideo  ") == 1
    assert plot.stat().st_size > 1000


def measured(*loaders):
    rows = [{"videos": "v", "library": name, "workers": n, "clips_per_second": rate} for name, n, rate in loaders]
    times = (("lit_video", 0.02), ("PyTorchVideo", 0.9))
    clips = [{"videos": "v", "sampling": "whole", "library": name, "transform_seconds": s} for name, s in times]
    sizes = {"size_ratio": 1.5, "decode_seconds": 0.01, "clip_seconds": 0.025}
    formats = [
        {"videos": "v", "format": "source", "psnr": None} | sizes,
        {"videos": "v", "format": "b", "psnr": 40} | sizes,
    ]
    rows.append({"videos": "v", "library": "decord", "missing": "not installed"})
    return {"clips_per_second": 100.0, "rows": clips, "formats": formats, "loaders": rows}


def test_the_plot_has_points_on_log_axes_and_bars_from_nought():
    drawn = figure(measured(("lit_video", 0, 30.0), ("lit_video", 1, 45.0), ("PyTorchVideo", 1, 5.0)))
    points, bars, loaders = drawn.axes
    drawn.canvas.draw()
    assert points.get_xscale() == "log" and not points.patches  # no bars, whose lengths would mean nothing
    assert sorted(line.get_xdata()[0] for line in points.get_lines()) == [20, 900]
    assert [text.get_text() for text in points.texts] == ["900", "20"]
    assert [bar.get_width() for bar in bars.patches] == [2.5, 2.5, 1, 1]
    assert bars.get_xlim()[0] == 0 and bars.get_title() == "cores for 100 clips/s: decode, view, collate"
    assert [text.get_text() for text in bars.texts] == ["2.5: bytes x 1.50, 40.0 dB", "2.5: bytes x 1.50"]
    assert loaders.get_xscale() == "log"
    rates = [
        (name.get_text(), line.get_xdata()[0])
        for name, line in zip(loaders.get_yticklabels(), loaders.get_lines(), strict=True)
    ]
    assert rates[::-1] == [
        ("v, 0 workers, lit_video", 30),
        ("v, 1 workers, lit_video", 45),
        ("v, 1 workers, PyTorchVideo", 5),
    ]
    plt.close(drawn)


def test_a_part_that_was_not_measured_has_no_panel():
    drawn = figure(measured() | {"rows": [], "loaders": [{"videos": "v", "library": "decord", "missing": "no"}]})
    assert len(drawn.axes) == 1
    plt.close(drawn)


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
        (["--workers", "two"], "--workers: is two"),
        (["--videos", "0"], "--videos"),
        (["--plot", "x.mp9"], "no picture"),
        (["--formats", "source,mpeg"], "--formats source,mpeg: no format 'mpeg'; there are source, small, "),
        (["--augmentation", "x"], "--augmentation is x, expected one of xvit-paper-ssv2"),
        (["-o", "/nowhere/x.json"], "-o /nowhere/x.json: no such folder /nowhere"),
        (["--clips-per-second", "0"], "--clips-per-second"),
    ],
)
def test_a_mistake_is_one_line(root, capsys, arguments, message):
    assert main(["benchmark", "data", str(root), *arguments]) == 2
    assert message in capsys.readouterr().err


def test_formats_that_cannot_be_written_are_one_line(root, tmp_path, capsys):
    (tmp_path / "link").symlink_to(root)
    (tmp_path / "link-formats").write_text("a file")
    assert main(["benchmark", "data", str(tmp_path / "link"), *FEW]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert f"cannot write {tmp_path / 'link-formats'} (Not a directory); give a link to ROOT" in line


def test_a_folder_without_videos_is_refused(tmp_path, capsys):
    (tmp_path / "text.mp4").write_text("no video")
    assert main(["benchmark", "data", str(tmp_path)]) == 2
    assert "no video in this folder that can be read" in capsys.readouterr().err
