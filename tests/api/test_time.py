"""Test what is said of a trained model's use of time, on videos where their direction decides and where it does not."""

import json

import numpy as np
import pytest

import lit_video
from lit_video.datamodules.drawing import encode
from lit_video.reports.card import model_card
from lit_video.runs.folder import RUN
from lit_video.runs.predictions import file_of_further

CLASSES = {"direction": ("lighten", "darken"), "colour": ("red", "blue")}
SPLITS = {"train": 24, "test": 40}  # videos of a class
SETTINGS = {
    "model.size.embed_dim": 16,
    "model.size.depth": 1,
    "model.size.num_heads": 2,
    "model.image_weights": None,
    "data.image_size": 16,
    "trainer.max_epochs": 20,
    "trainer.check_val_every_n_epoch": 10,
    "trainer.logger": False,
}


def write_videos(folder, kind):
    """Write videos of two classes: each becomes the other if it is reversed, or they differ in every frame's colour."""
    rng = np.random.default_rng(0)
    ramp = np.linspace(-60, 60, 8)[:, None, None, None]
    for split, videos in SPLITS.items():
        for number, label in enumerate(CLASSES[kind]):
            (folder / split / label).mkdir(parents=True)
            for i in range(videos):
                clip = rng.integers(60, 196) + rng.normal(0, 5, (8, 24, 32, 3))
                if kind == "direction":
                    clip += -ramp if number else ramp
                else:
                    clip[..., 2 * number] += 60
                encode(folder / split / label / f"{i}.mp4", clip.clip(0, 255).astype(np.uint8), 8)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("kind", CLASSES)
def test_a_finetuned_model_and_its_test_say_what_it_uses(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tested = lit_video.finetune(write_videos(tmp_path / kind, kind), minutes=0.1, weights="none", settings=SETTINGS)
    use = tested.time
    assert use.uses == {"direction": "direction", "colour": "one frame"}[kind]
    assert use.videos == 80 and [*use.orders] == ["reversed", "shuffled", "static"]
    metrics = json.loads((tested.run / RUN).read_text())["result"]["metrics"]
    for order, test in use.orders.items():
        assert test.accuracy == pytest.approx(metrics[f"{order}/video_top1"], abs=1e-3)
        assert test.loss.value == pytest.approx(metrics["test/video_top1"] - test.accuracy, abs=1e-3)
        assert (tested.run / file_of_further(order)).is_file()

    head = use.head.accuracy
    assert head.value == pytest.approx(metrics["one_frame/video_top1"], abs=1e-3)
    assert head.value > 90 if kind == "colour" else head.value < 70
    assert (use.head.lead.low > 0) == (kind == "direction")

    page = tested.page.read_text()
    for sentence in use.sentences:
        assert sentence in str(tested) and sentence in page.replace("&#39;", "'") and sentence in model_card(tested.run)
    assert ("Classes that need time most" in page) == (kind == "direction")
    if kind == "direction":
        swapped = {(each.name, each.taken_for) for each in use.orders["reversed"].classes}
        assert swapped == {CLASSES[kind], CLASSES[kind][::-1]}

    again = lit_video.test(tested.run)
    assert again.time.uses == use.uses and use.sentences[0] in str(again)
    assert again.time.orders["reversed"].accuracy == use.orders["reversed"].accuracy
    assert again.time.head == use.head
    assert lit_video.test(tested.run, settings={"data.order": "reversed"}).time is None
