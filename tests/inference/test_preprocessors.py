"""Test that transformers' preprocessors turn a video into the clip of the model's own test."""

import numpy as np
import pytest
import torch

from lit_video.inference.export import _preprocessor
from lit_video.video.augmentation import EvaluationViews, WholeViews
from lit_video.video.batch import normalise

MEAN = (0.4, 0.5, 0.3)
transformers = pytest.importorskip("transformers", reason="transformers is not installed")


@pytest.mark.parametrize("vivit", [False, True])
@pytest.mark.parametrize(("views", "kind"), [("even", EvaluationViews), ("whole", WholeViews)])
def test_frames_that_are_no_squares_become_the_clip_of_the_test(vivit, views, kind):
    # one grey with a brighter left end, which a centre crop does not show
    frames = np.full((2, 32, 64, 3), 100, np.uint8)
    frames[:, :, :8] = 200
    settings = _preprocessor({"image_size": 16, "mean": MEAN, "std": 0.5, "views": views}, vivit)
    processor = getattr(transformers, settings.pop("image_processor_type"))(**settings)
    theirs = torch.as_tensor(np.asarray(processor(list(frames), return_tensors="np")["pixel_values"]))
    ours = normalise(kind(1, 16)(frames)[None], MEAN, 0.5).transpose(1, 2)
    assert theirs.shape == ours.shape
    shown = bool((ours[..., 0] > ours[..., -1] + 0.5).all())
    assert shown == (views == "whole")
    torch.testing.assert_close(theirs[..., 6:], ours[..., 6:], atol=0.02, rtol=0)
    torch.testing.assert_close(theirs[..., 0], ours[..., 0], atol=0.02, rtol=0)
