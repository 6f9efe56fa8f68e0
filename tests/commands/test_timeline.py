"""predict --every: a long video as windows and segments."""

import csv
import shutil

import numpy as np
import pytest
import torch

from lit_video.__main__ import main
from lit_video.inference.predict import Evaluation, load
from lit_video.inference.predict import predict as api
from lit_video.inference.timeline import timeline, window_spans
from lit_video.video.clips import VideoRecord
from lit_video.video.decoding import DecodeError
from lit_video.video.sampling import Segments
from tests.commands.conftest import one_line
from tests.inference.colours import trained, write

PARTS = (("red", 5), ("green", 3), ("blue", 4))
HERE = Evaluation(crops=1, workers=0, device="cpu")


@pytest.fixture(scope="module")
def colours(tmp_path_factory):
    return trained(tmp_path_factory.mktemp("colours"))


@pytest.fixture(scope="module")
def video(tmp_path_factory):
    return write(tmp_path_factory.mktemp("long") / "long.mp4", *PARTS)


def predict(*args):
    return main(["predict", "--workers", "0", "--device", "cpu", *map(str, args)])


def rows(path):
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


# windows


@pytest.mark.parametrize(
    ("seconds", "window", "every", "starts"),
    [(10, 4, 2, [0, 2, 4, 6]), (9.5, 4, 2, [0, 2, 4, 5.5]), (3, 4, 2, [0]), (10, 2, 5, [0, 5, 8]), (4, 4, 1, [0])],
)
def test_windows_follow_each_other_and_the_last_one_ends_with_the_video(seconds, window, every, starts):
    spans = window_spans(seconds, window, every)
    assert [start for start, _ in spans] == starts
    assert all(end - start == min(window, seconds) for start, end in spans)
    assert spans[-1][1] == seconds


def test_every_window_is_what_predict_says_of_that_part(colours, video):
    model = load(colours)
    line = timeline(model, VideoRecord(video, 0), HERE, 0.7, 1.6)
    parts = [VideoRecord(video, 0, window.start, window.end) for window in line.windows]
    expected = api(model, parts, evaluation=Evaluation(1, 1, 8, 0, "cpu")).logits.softmax(1)
    names = model.class_names
    ours = torch.tensor([[{r.name: r.probability for r in w.ranked["class"]}[n] for n in names] for w in line.windows])
    assert len(ours) == 16 and ours.std(0).min() > 0.1
    torch.testing.assert_close(ours, expected, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("short", ["repeat", "loop"])
def test_a_video_shorter_than_a_clip_is_what_predict_says_of_it(short, colours, tmp_path):
    model = load(colours)
    model.settings["short"] = short
    record = VideoRecord(write(tmp_path / "short.mp4", ("red", 0.3), ("blue", 0.2)), 0)
    (window,) = timeline(model, record, HERE, 1.0).windows
    expected = api(model, [record], evaluation=Evaluation(1, 1, 8, 0, "cpu")).logits[0].softmax(0)
    shares = {one.name: one.probability for one in window.ranked["class"]}
    ours = torch.tensor([shares[name] for name in model.class_names])
    torch.testing.assert_close(ours, expected, atol=1e-5, rtol=1e-4)


def test_another_video_at_the_same_path_is_not_taken_for_the_first(colours, tmp_path):
    """As a service has it, which writes each upload to the same file."""
    model, path, fresh = load(colours), tmp_path / "upload.mp4", tmp_path / "fresh.mp4"
    write(path, ("red", 2))
    here = Evaluation(2, 1, 8, 0, "cpu")
    for look in (
        lambda path: timeline(model, VideoRecord(path, 0), HERE, 0.5).segments(),
        lambda path: api(model, [VideoRecord(path, 0)], evaluation=here).logits.tolist(),
    ):
        write(path, ("red", 2))
        look(path)
        write(path, ("red", 2), ("blue", 4))
        shutil.copyfile(path, fresh)  # a second encoding may differ: libx264's depends on the load of the machine
        assert look(path) == look(fresh)


def test_segments_are_the_parts_of_the_video(colours, video, tmp_path, capsys):
    out = tmp_path / "t.csv"
    assert predict(video, "--ckpt", colours, "--every", "0.25", "-o", out) == 0
    segments = rows(tmp_path / "t_segments.csv")
    assert [one["name"] for one in segments] == ["red", "green", "blue"]
    edges = [0.0, *(float(one["end"]) for one in segments)]
    assert edges == pytest.approx([0, 5, 8, 12], abs=0.25)
    assert [float(one["start"]) for one in segments] == edges[:-1]
    windows = rows(out)
    assert len(windows) == 3 * 45  # 12 s in steps of 0.25 s, the window lasting 1 s, of 3 classes
    assert sum(int(one["windows"]) for one in segments) == 45
    first = [float(row["probability"]) for row in windows if row["name"] == "red" and row["rank"] == "1"]
    assert float(segments[0]["probability"]) == pytest.approx(np.mean(first), abs=1e-5)
    shown = capsys.readouterr()
    assert all(f" {name} " in shown.out for name in ("red", "green", "blue", "0:00.0", "0:12.0"))
    assert f"wrote {out} and {tmp_path / 't_segments.csv'}\n" == shown.err


def test_clips_of_whole_videos_need_a_window(video, tmp_path, capsys):
    checkpoint = trained(tmp_path, Segments())
    capsys.readouterr()
    assert predict(video, "--ckpt", checkpoint, "--every", 1, "-o", tmp_path / "t.csv") == 2
    assert "clips (Segments) show whole videos; give --window SECONDS" in one_line(capsys)
    assert predict(video, "--ckpt", checkpoint, "--every", 0.5, "--window", 1, "-o", tmp_path / "t.csv") == 0
    assert [one["name"] for one in rows(tmp_path / "t_segments.csv")] == ["red", "green", "blue"]


@pytest.mark.parametrize("flags", [[], ["--every", "1"]], ids=["predict", "timeline"])
def test_weights_that_are_no_numbers_name_no_class(flags, colours, video, tmp_path, capsys):
    content = torch.load(colours, weights_only=False)
    content["state_dict"] = {name: value * torch.nan for name, value in content["state_dict"].items()}
    torch.save(content, tmp_path / "diverged.ckpt")
    assert predict(video, "--ckpt", tmp_path / "diverged.ckpt", *flags, "-o", tmp_path / "out.csv") == 2
    shown = capsys.readouterr()
    assert f"{video}: the model's logits are not finite, so there is no prediction" in shown.err
    assert "red" not in shown.out and not (tmp_path / "out.csv").exists()


# many videos


def test_a_video_that_breaks_on_the_way_keeps_what_was_read(colours, video, tmp_path, monkeypatch, capsys):
    real = VideoRecord.decode

    def broken(record, numbers, **given):
        if max(numbers) >= 70:
            raise DecodeError(f"{record.path}: its frame 70 is damaged")
        return real(record, numbers, **given)

    monkeypatch.setattr(VideoRecord, "decode", broken)
    out = tmp_path / "t.csv"
    assert predict(video, "--ckpt", colours, "--every", 0.5, "-o", out) == 1
    err = capsys.readouterr().err
    assert f"{video}: its frame 70 is damaged (read up to 0:07.0)" in err
    assert rows(out)[-1]["broken"] == "its frame 70 is damaged"
    assert [one["name"] for one in rows(tmp_path / "t_segments.csv")] == ["red", "green"]
    assert float(rows(tmp_path / "t_segments.csv")[-1]["end"]) == 7
