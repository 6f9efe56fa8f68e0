"""Test that lit_video.predict and attention_maps return the commands' numbers as plain values."""

import ast
import csv
import inspect
import re
from importlib import import_module
from operator import attrgetter
from pathlib import Path

import pytest
import torch

import lit_video
from lit_video.__main__ import main
from lit_video.inference.predict import video_list
from lit_video.inference.videos import find_videos
from lit_video.network.aggregation import linear_head
from lit_video.network.vit import ViTSize
from lit_video.runs.chosen_checkpoint import WAYS
from tests.checkpoints import trained
from tests.embedded import four_skills

CLIPS = dict(image_size=(16, 8))  # a part of square videos
HERE = lit_video.Evaluation(workers=0, device="cpu")


@pytest.fixture(scope="module")
def videos(data_root):
    data = four_skills(data_root / "api", **CLIPS)
    data.prepare_data()
    return [record.path for record in data.records("test")][:6]


@pytest.fixture(scope="module")
def ckpt(videos, data_root, tmp_path_factory):
    torch.manual_seed(0)
    model = lit_video.modules.TimeSformer(8, 4, (16, 8), size=ViTSize(16, 2, 2), patch_size=8)
    data = four_skills(data_root / "api", **CLIPS)
    return trained(model, data, tmp_path_factory.mktemp("api") / "last.ckpt")


def test_every_name_is_there_and_typed_as_it_is_loaded():
    stub = ast.parse(Path(lit_video.__file__).with_suffix(".pyi").read_text())
    typed = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    assert {name.asname for one in typed for name in one.names} == {*lit_video.__all__}
    for one in typed:
        for name in one.names:
            assert getattr(lit_video, name.name) is getattr(import_module(one.module), name.name)
    with pytest.raises(AttributeError, match="no attribute 'predictions'"):
        lit_video.predictions  # noqa: B018


PUBLIC = [name for name in lit_video.__all__ if not name.endswith("Error") and callable(getattr(lit_video, name))]
PUBLIC += [f"modules.{name}" for name in ("XViT", "TimeSformer", "ViViT", "Perceiver", "ConvNet")]
PUBLIC += [f"datamodules.{name}" for name in ("VideoFolder", "VideoCSV", "TemporalSkills", "VideoDataModule")]


@pytest.mark.parametrize("name", [name for name in PUBLIC if name != "RunFailed"])
def test_a_signature_shows_the_words_of_its_file(name):
    shown = str(inspect.signature(attrgetter(name)(lit_video)))
    assert not re.search(r"Union\[|Optional\[|Annotated\[|typing\.|collections\.abc|pathlib\.", shown), shown


def test_predict_gives_what_the_command_writes(ckpt, videos, tmp_path, capsys):
    text = tmp_path / "text.mp4"
    text.write_text("no video")
    result = lit_video.predict(str(ckpt), [*videos, text], top=2, evaluation=HERE)
    assert capsys.readouterr() == ("", "")
    files = ["-o", tmp_path / "p.csv", "--workers", 0, "--device", "cpu"]
    assert main(["predict", "--top", "2", *map(str, ["--ckpt", ckpt, *videos, text, *files])]) == 1
    with (tmp_path / "p.csv").open(newline="") as file:
        written = [
            (row[name], pytest.approx(float(row[f"{name}_probability"]), rel=1e-5))
            for row in csv.DictReader(file)
            if not row["broken"]
            for name in ("class", "class_2")
        ]
    assert result.paths == videos
    assert [(each.name, each.probability) for one in result.ranked for each in one.ranked["class"]] == written
    assert result.logits.shape == (6, 8) and result.features.shape == (6, 16)
    head = linear_head(lit_video.load(ckpt).model.network)
    torch.testing.assert_close(result.features @ head.weight.T + head.bias, result.logits, atol=1e-5, rtol=1e-5)
    assert len(result.class_names) == 8
    assert result.broken.keys() == {text}


def test_a_loaded_model_predicts_and_transforms_as_the_function_does(ckpt, videos):
    """Load a run by its folder, which ``finetune`` prints."""
    model = lit_video.load(ckpt.parent)
    assert isinstance(lit_video.from_pretrained(ckpt.parent), type(model.model))
    with pytest.raises(
        lit_video.UserError, match=r"^ckpt: vivit-b-k40: no such file; .*\(did you mean vivit-b-k400\?\)"
    ):
        lit_video.from_pretrained("vivit-b-k40")
    expected = lit_video.predict(ckpt.parent, videos[0], evaluation=HERE)
    assert torch.equal(model.predict(videos[0], evaluation=HERE).logits, expected.logits)
    data = video_list(model, find_videos(videos[:1]), HERE)
    frames = find_videos(videos[:1])[0].decode(data.centre_view(find_videos(videos[:1])[0])[1])
    with torch.no_grad():
        logits = model.model(model.transform(frames)).mean(0)
    torch.testing.assert_close(logits, expected.logits[0])


def test_attention_maps_are_plain_arrays(ckpt, videos):
    maps = lit_video.attention_maps(ckpt, videos[0], device="cpu")
    assert maps.frames.shape == (4, 32, 16, 3)  # a crop of the video's 32 x 32; the model sees 16 x 8
    assert maps.maps.shape == (4, 2, 1)
    assert maps.maps.mean() == pytest.approx(1)


def test_mistakes_name_the_argument_and_commands_its_flag(ckpt, videos, tmp_path, capsys):
    none = tmp_path / "none.ckpt"
    for call, message in (
        (lambda: lit_video.predict(none, videos), f"ckpt: {none}: no such file"),
        (lambda: lit_video.predict(ckpt, videos, top=0), "top: is 0, expected"),
        (lambda: lit_video.predict(ckpt, "none.mp4"), "none.mp4: no such file or folder"),
        (lambda: lit_video.predict(ckpt, []), "videos: there is none"),
        (lambda: lit_video.Evaluation(workers=-1), "workers: is -1, expected a whole number of at least 0"),
        (lambda: lit_video.Evaluation(device="tpu"), "device: is tpu, expected cpu or cuda"),
    ):
        with pytest.raises(lit_video.UserError) as raised:
            call()
        assert str(raised.value).startswith(message)
    assert main(["predict", "--ckpt", str(none), str(videos[0])]) == 2
    assert capsys.readouterr().err == f"error: --ckpt: {none}: no such file; {WAYS}\n"
