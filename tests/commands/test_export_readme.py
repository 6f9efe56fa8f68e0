"""Test that the code in an export's README gives the prediction of ``predict`` for a video's centre view."""

import re

import numpy as np
import pytest
import torch

from lit_video.__main__ import main
from lit_video.inference.predict import predict
from lit_video.inference.videos import Evaluation
from lit_video.modules import TimeSformer, ViViT, XViT
from lit_video.network.vit import ViTSize
from lit_video.video.sampling import Dense, DenseStride, ReleasedDense, Segments
from tests.checkpoints import untrained
from tests.video import made

SHAPE = dict(num_frames=4, image_size=32)
SMALL = dict(num_classes=3, size=ViTSize(16, 2, 2), patch_size=8)
SAMPLINGS = [Dense(1.0), Dense(9.0), Segments(), DenseStride(5), DenseStride(40), DenseStride(4, fps=10)]
FORMS = {"pt2": TimeSformer, "hf-timesformer": TimeSformer, "hf-vivit": ViViT, "onnx": XViT, "safetensors": XViT}


def run_readme(folder, monkeypatch):
    monkeypatch.chdir(folder)
    (code,) = re.findall(r"```python\n(.*?)```", (folder / "README.md").read_text(), re.DOTALL)
    names = {}
    with torch.no_grad():
        exec(code, names)
    return names


def exported(to, tmp_path, **data):
    """Return a checkpoint and the folder of its export."""
    model = FORMS[to](**SMALL, **{key: data[key] for key in SHAPE})
    ckpt = untrained(model, tmp_path / "last.ckpt", ["run", "jump", "sit"], **data)
    assert main(["export", "--to", to, "--ckpt", str(ckpt), "-o", str(tmp_path / "out")]) == 0
    return ckpt, tmp_path / "out"


def probabilities(names):
    if "classes" in names:
        scores = {one["label"]: one["score"] for one in names["classes"]}
        return torch.tensor([scores[name] for name in ("run", "jump", "sit")])
    return torch.as_tensor(np.asarray(names["logits"]))[0].softmax(0)


OPTIONS = [("hf-timesformer", {"sampling": each}, frames) for each in SAMPLINGS for frames in (15, 30)]
OPTIONS += [("hf-vivit", {"views": view}, 30) for view in ("even", "whole", "released")]
OPTIONS += [("safetensors", {}, 30), ("pt2", {"image_size": (32, 16), "channels": "bgr", "mean": (0.4, 0.5, 0.3)}, 30)]
OPTIONS += [(to, {"mean": (0.4, 0.5, 0.3), "std": (0.3, 0.2, 0.4)}, 15) for to in ("hf-timesformer", "hf-vivit")]
SLOW = [("onnx", {}, 30)]


@pytest.mark.parametrize(
    ("to", "data", "frames"), [*OPTIONS, *(pytest.param(*one, marks=pytest.mark.slow) for one in SLOW)]
)
def test_the_lines_of_the_readme_predict_the_same(to, data, frames, tmp_path, monkeypatch):
    data = SHAPE | dict(mean=0.4, std=0.3, test_crops=1) | data
    ckpt, folder = exported(to, tmp_path, **data)
    video = folder / "VIDEO.mp4"
    made.write(video, num_frames=frames, height=48, width=70)
    expected = predict(ckpt, video, evaluation=Evaluation(clips=1, crops=1, workers=0)).logits[0].softmax(0)
    names = run_readme(folder, monkeypatch)
    # resized pixels are rounded, which differs by a level between instruction sets: 2e-4 of a probability
    torch.testing.assert_close(probabilities(names), expected, atol=1e-3, rtol=0)


@pytest.mark.parametrize("other", [{"sampling": ReleasedDense()}, {"short": "loop"}])
def test_of_samplings_that_the_lines_do_not_cover_the_frames_are_given(other, tmp_path, monkeypatch):
    _, folder = exported("hf-vivit", tmp_path, **SHAPE, **other)
    assert run_readme(folder, monkeypatch)["frames"].shape == (4, 32, 32, 3)
    assert "{'stride': 16, 'fps': None}" in (folder / "README.md").read_text() or "short" in other


def test_of_a_model_without_a_data_module_the_lines_take_a_clip(tmp_path, monkeypatch):
    ckpt = untrained(ViViT(**SMALL, **SHAPE), tmp_path / "last.ckpt")
    assert main(["export", "--to", "hf-vivit", "--ckpt", str(ckpt), "-o", str(tmp_path / "out")]) == 0
    assert run_readme(tmp_path / "out", monkeypatch)["logits"].shape == (1, 3)
