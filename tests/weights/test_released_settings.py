"""Test that every published model builds with its settings, and that one is tested by its name alone."""

import pytest
import torch
import yaml

import lit_video
from lit_video.__main__ import main
from lit_video.experiment.cli import VideoCLI
from lit_video.utils.files import data_folder
from lit_video.utils.yaml_files import read_yaml
from lit_video.weights.hub import RELEASES_FILE, Release, releases
from lit_video.weights.reading import StoredWeights
from lit_video.weights.settings import refuse_other_settings
from tests.commands.test_weights_settings import release as xvit_release
from tests.tables.experiments import nested

CLASSES = {"Kinetics400": 400, "Kinetics600": 600, "SomethingV2": 174, "HowTo100MTasks": 1059}
# ViT-B/16 on 8 frames of 224 pixels, T+S, as published; vivit-b-k400: B with FE in ViViT's Table 2
PARAMETERS = {"timesformer-k400": 121_566_352, "vivit-b-k400": 88_954_000}


def holds(config, key, value):
    part, _, setting = key.partition(".")
    built = config[part].init_args[setting] if setting else config[part]
    if not hasattr(built, "class_path"):
        return built == (tuple(value) if isinstance(value, list) else value)
    given = value if isinstance(value, dict) else {"class_path": value}
    arguments = given.get("init_args", {})
    return built.class_path.endswith(f".{given['class_path']}") and all(
        built.init_args[name] == argument for name, argument in arguments.items()
    )


@pytest.mark.parametrize("name", [name for name, release in releases().items() if not release.inside])
def test_every_release_builds_with_its_settings(name, tmp_path):
    release = releases()[name]
    built = VideoCLI(nested(release.settings | {"data.root": str(tmp_path)})).build("meta")
    network, data = built.model.network, built.datamodule
    for key, value in release.settings.items():
        assert holds(built.config, key, value), key
    assert bool(release.address) != bool(release.repository) and (release.published or not release.address)
    if name.startswith("xvit"):
        bias = {"base_model.new_fc.bias": torch.ones(CLASSES[release.settings["data"]])}
        refuse_other_settings(built.model.hparams, StoredWeights(bias))
    if name in PARAMETERS:
        assert sum(parameter.numel() for parameter in network.parameters()) == PARAMETERS[name]
    assert data.channels == ("bgr" if "timesformer" in name and "ssv2" in name else "rgb")


@pytest.fixture
def known(tiny, tmp_path, monkeypatch):
    """Published model of the embedded data set, fetched."""
    settings = {"model": "XViT", "data": "TemporalSkills"}
    for flag in tiny:
        key, _, value = flag.removeprefix("--").partition("=")
        settings[key] = yaml.safe_load(value)
    settings |= {
        "data.image_size": 32,
        "model.size": {"embed_dim": 16, "depth": 2, "num_heads": 4},
        "model.patch_size": 8,
    }
    settings |= {"data.skills": ["drift", "zoom", "rotation", "meeting"], "model.scope": "full"}
    settings = {key: value for key, value in settings.items() if not key.startswith(("trainer", "model.size."))}
    monkeypatch.setenv("LIT_VIDEO_DATA", str(tmp_path))
    table = read_yaml(RELEASES_FILE)
    table["sources"]["xvit"]["classes"][8] = table["sources"]["xvit"]["classes"][174]
    monkeypatch.setattr("lit_video.weights.settings.read_yaml", lambda path: table)
    release = Release("tiny", settings, "https://nowhere.invalid/tiny.pyth", None, {"top1": 50.0})
    monkeypatch.setattr("lit_video.weights.hub.releases", lambda: {"tiny": release})
    release.place.parent.mkdir(parents=True)
    torch.save({"model_state": xvit_release(8)}, release.place)
    return tiny


def test_a_published_model_is_tested_by_its_name(known, capfd):
    assert main(["test", "--weights", "hub:tiny"]) == 0
    by_name = [line for line in capfd.readouterr().out.splitlines() if "test/video_top" in line]
    assert len(by_name) == 2
    videos = sorted(data_folder().rglob("*.mp4"))[:2]
    model = lit_video.load("hub:tiny")
    assert model.class_names == [f"class {i}" for i in range(8)] and not model.model.training
    assert model.predict(videos, evaluation=lit_video.Evaluation(workers=0, device="cpu")).logits.shape == (2, 8)
    assert main(["test", "--weights", "hub:tiny", "--data.test_clips=1", "--model.scope=per_head"]) == 2
    assert "hub:tiny: it was trained with other settings: set --model.scope full" in capfd.readouterr().err


def test_a_loaded_release_sees_its_pixels_where_channels_differ(known, monkeypatch):
    frames = torch.randint(0, 256, (4, 32, 32, 3), dtype=torch.uint8)
    plain = lit_video.load("hub:tiny").model
    mean, std = (0.5, 0.4, 0.3), (0.2, 0.3, 0.25)
    monkeypatch.setattr("lit_video.inference.predict.channel_pixels", lambda stored: (mean, std))
    model = lit_video.load("hub:tiny")
    pixels = ((frames / 255 - torch.tensor(mean)) / torch.tensor(std)).permute(3, 0, 1, 2)[None]
    with torch.no_grad():
        torch.testing.assert_close(
            model.model(model.transform(frames.numpy()))[:1], plain(pixels), atol=1e-4, rtol=1e-4
        )
