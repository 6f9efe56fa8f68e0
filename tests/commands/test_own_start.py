"""Test the default starting weights of finetune and compare, from a stand-in for the hub and without a network."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import product

import pytest
import timm
import torch
from safetensors.torch import save_file
from transformers import VideoMAEConfig, VideoMAEForVideoClassification

import lit_video
from lit_video.__main__ import main
from lit_video.api import finetune
from lit_video.network.transformer import VideoTransformer
from lit_video.own_videos.starts import DEFAULT_WEIGHTS
from lit_video.utils.processes import FAILED
from lit_video.utils.yaml_files import read_yaml
from lit_video.weights.hub import DRAWN_WEIGHTS, Release, releases
from tests.commands.conftest import train_nothing
from tests.commands.test_own_videos import rooms, videos  # noqa: F401  # fixtures
from tests.conftest import quick_or_slow

REPOSITORY, COMMIT = "somebody/videomae", "0" * 40
SETTINGS = {
    "model": "ViViT",
    "model.size": {"embed_dim": 16, "depth": 2, "num_heads": 2},
    "model.patch_size": 8,
    "model.tubelet_size": 2,
}
SETTINGS |= {"model.variant": 1, "model.pool": "fc_norm", "data.num_frames": 4, "data.image_size": 16}


class Hub(BaseHTTPRequestHandler):
    """Stand-in for Hugging Face's hub, with one repository."""

    def do_GET(self):
        name = self.path.partition("?")[0].rpartition("/")[2]
        if self.path.startswith("/api/"):
            sizes = {name: len(content) for name, content in self.server.files.items()}
            files = [{"rfilename": name, "size": size} for name, size in sizes.items()]
            facts = {"id": REPOSITORY, "sha": COMMIT, "siblings": files, "cardData": {"license": "cc-by-nc-4.0"}}
            tree = [{"type": "file", "path": name, "size": size, "oid": name} for name, size in sizes.items()]
            content = json.dumps(tree if "/tree/" in self.path else facts).encode()
        else:
            content = self.server.files[name]
        self.send_response(200)
        for key, value in {"ETag": f'"{name}"', "X-Repo-Commit": COMMIT, "Content-Length": len(content)}.items():
            self.send_header(key, str(value))
        self.end_headers()
        if self.command == "GET":
            self.server.asked.append(name)
            self.wfile.write(content)

    do_HEAD = do_GET

    def log_message(self, *args):
        pass


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """Local hub with a VideoMAE of random weights in its published form."""
    config = VideoMAEConfig(
        num_frames=4, image_size=16, patch_size=8, tubelet_size=2, hidden_size=16, num_hidden_layers=2,
        num_attention_heads=2, intermediate_size=64, num_labels=7, use_mean_pooling=True, layer_norm_eps=1e-6,
    )  # fmt: skip
    torch.manual_seed(0)
    VideoMAEForVideoClassification(config).save_pretrained(tmp_path / "published")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    server.files = {path.name: path.read_bytes() for path in (tmp_path / "published").iterdir()}
    server.files |= {"pytorch_model.bin": b"the same again", "README.md": b"a card"}
    server.asked = []
    threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
    monkeypatch.setenv("LIT_VIDEO_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)  # read once, when it is imported
    monkeypatch.setattr("lit_video.weights.hub.WAIT", 60)  # enough on a loaded machine
    release = Release(DEFAULT_WEIGHTS, SETTINGS, None, REPOSITORY, {})
    stand_ins = {DEFAULT_WEIGHTS: release, DRAWN_WEIGHTS: releases()[DRAWN_WEIGHTS]}
    monkeypatch.setattr("lit_video.weights.hub.releases", lambda: stand_ins)
    server.folder = tmp_path / "published"
    yield server
    server.shutdown()
    server.server_close()


@pytest.mark.slow
def test_published_weights_go_the_whole_way(hub, videos, capsys, rows_in_this_process, monkeypatch):  # noqa: F811
    passes, forward, fit = [], VideoTransformer.forward_features, finetune.fit_experiment
    monkeypatch.setattr(
        VideoTransformer, "forward_features", lambda self, clip: passes.append(len(clip)) or forward(self, clip)
    )
    monkeypatch.setattr(finetune, "fit_experiment", lambda *given, **more: passes.clear() or fit(*given, **more))
    # the default for models that are as wide as the published one
    command = ["finetune", "rooms", "--frozen", "--minutes", "0.01", "--trainer.logger=false"]
    command += ["--trainer.max_epochs=2"]
    assert main(command) == 0
    said = capsys.readouterr().out
    where = f"http://127.0.0.1:{hub.server_port}"
    assert f"downloading {REPOSITORY}: 0 MB from {where}, licence: cc-by-nc-4.0" in said
    assert {"config.json", "model.safetensors"} <= {*hub.asked}
    assert not {"pytorch_model.bin", "README.md"} & {*hub.asked}
    assert "frozen: backbone, 120 views go through it once" in said
    # one clip for the cost of each of four rows; four views of each of 30 videos, once for all folds; tests in other
    # orders of frames do not fit into the minutes
    assert sorted(passes) == [1] * 4 + [4] * 30
    run, video = "own/rooms/runs/rooms/own/all/seed0", str(videos / "sit/rec1_1.mp4")
    state = torch.load(f"{run}/last.ckpt", weights_only=True)["state_dict"]
    published = VideoMAEForVideoClassification.from_pretrained(hub.folder).state_dict()
    key = "videomae.encoder.layer.1.output.dense.weight"
    assert torch.equal(state["network.blocks.1.mlp.fc2.weight"], published[key])
    assert lit_video.load(run).predict([video]).class_names == ["fall", "sit", "walk"]
    hub.asked.clear()
    for words in (
        ["predict", "--ckpt", run, video],
        ["attention", video, "--ckpt", run, "-o", "maps.png"],
        ["export", "--to", "safetensors", "--ckpt", run, "-o", "exported"],
        ["predict", "--ckpt", "exported/model.safetensors", video],
        command,
    ):
        assert main(words) == 0, (words, capsys.readouterr().err)
    assert not hub.asked


IMAGE = "timm:test_vit.r160_in1k"  # timm's model for tests: 64 channels, 6 layers, 2 heads


@pytest.fixture
def image(hub, monkeypatch):
    """Random weights of a timm model that is on the local hub and is the default of ``compare``."""
    torch.manual_seed(0)
    model = timm.create_model(IMAGE.partition(":")[2])
    save_file(model.state_dict(), hub.folder / "image.safetensors")
    hub.files = {"model.safetensors": (hub.folder / "image.safetensors").read_bytes(), "config.json": b"{}"}
    monkeypatch.setattr("lit_video.own_videos.images.DEFAULTS", (IMAGE,))
    return model.state_dict()


@pytest.mark.slow
def test_schemes_start_from_one_image_model(hub, image, videos, capsys, rows_in_this_process, monkeypatch):  # noqa: F811
    monkeypatch.setattr("lit_video.own_videos.sizing.FEWEST_EPOCHS", 0)  # on a machine of any speed
    command = ["compare", "rooms", "--schemes", "xvit,divided,vivit2", "--seeds", "0", "--minutes", "0.01"]
    # a learning rate that leaves the starting weights as they are
    command += ["--trainer.logger=false", "--trainer.max_epochs=1", "--model.optimization.lr=1e-12"]
    assert main(command) == 0
    said = capsys.readouterr().out
    assert f"downloading timm/test_vit.r160_in1k: 1 MB from http://127.0.0.1:{hub.server_port}, licence: " in said
    assert f"image model: {IMAGE}, " in said
    assert said.count("its positions are of 10 x 10 patches, here they are of 4 x 4: resized") == 3
    content = read_yaml(videos.parent / "own/rooms/rooms_compare.yaml")
    assert (content["data"]["init_args"]["image_size"], content["model"]["init_args"]["patch_size"]) == (64, 16)
    for row, tubelets in {"xvit": 1, "divided": 1, "vivit2": 2}.items():
        checkpoint = f"own/rooms/runs/rooms_compare/own/{row}/seed0/last.ckpt"
        state = torch.load(checkpoint, weights_only=True)["state_dict"]
        assert torch.allclose(state["network.blocks.5.mlp.fc2.weight"], image["blocks.5.mlp.fc2.weight"], atol=1e-6)
        kernel = state["network.embed.patches.proj.weight"].unflatten(1, (3, tubelets))[:, :, tubelets // 2]
        assert torch.allclose(kernel, image["patch_embed.proj.weight"], atol=1e-6)
    assert "all schemes from " + IMAGE in (videos.parent / "own/rooms/rooms_compare.html").read_text()
    assert "model.safetensors" in hub.asked
    hub.asked.clear()
    assert main(command) == 0 and not hub.asked


@pytest.mark.parametrize(
    ("flags", "status", "said"),
    [
        (["xvit,perceiver"], FAILED, f"{IMAGE}: Perceiver cannot start from it ("),
        (["xvit,perceiver", "--weights", IMAGE], 2, f"--weights {IMAGE}: Perceiver cannot start from it ("),
        (["xvit", "--weights", "timm:resnet18"], 2, "--weights timm:resnet18: timm's ResNet of this name is no plain"),
        (["xvit"], FAILED, f"{IMAGE}: in 1e-05 minutes too few epochs fit, even with clips of 8 frames x 64 pixels"),
        pytest.param(
            ["xvit", "--weights", IMAGE], FAILED, "10, the minimum; 0 fit in 1e-05 minutes (", marks=pytest.mark.slow
        ),
        pytest.param(["xvit", "--weights", "none"], FAILED, "wrote ", marks=pytest.mark.slow),
    ],
)
@pytest.mark.usefixtures("known_pace")
def test_otherwise_a_comparison_is_from_scratch(flags, status, said, image, videos, capsys, monkeypatch):  # noqa: F811
    monkeypatch.setattr("lit_video.api.own_videos.fit_for", train_nothing)
    monkeypatch.setattr("lit_video.own_videos.images.at_hand", lambda image, otherwise: True)
    monkeypatch.setattr("lit_video.own_videos.images.fetch", lambda release: None)
    assert main(["compare", "rooms", "--minutes", "0.00001", "--schemes", *flags]) == status
    printed = capsys.readouterr()
    assert said in " ".join((printed.out + printed.err).split())
    if status == FAILED:
        content = read_yaml(videos.parent / "own/rooms/rooms_compare.yaml")
        assert content["model"]["init_args"]["image_weights"] == (IMAGE if IMAGE in flags else "stills:24576")


COMPARE = ("compare", "--schemes", "xvit")
WITHOUT = [*product(("offline", "a silent name server"), (("finetune",), COMPARE))]


@pytest.mark.parametrize(
    ("how", "command"), quick_or_slow(WITHOUT, {("offline", ("finetune",)), ("a silent name server", COMPARE)})
)
@pytest.mark.usefixtures("known_pace")
def test_what_training_starts_from_without_a_network(how, command, hub, image, videos, capsys, monkeypatch):  # noqa: F811
    monkeypatch.setattr("lit_video.api.own_videos.fit_for", train_nothing)
    monkeypatch.setattr("lit_video.weights.hub.WAIT", 0.3)
    if how == "offline":
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    else:
        monkeypatch.setattr("huggingface_hub.HfApi.model_info", lambda *given, **options: time.sleep(5))
    assert main([*command, "rooms", "--minutes", "0.01"]) == FAILED
    name = DEFAULT_WEIGHTS if command == ("finetune",) else IMAGE
    start = "--weights drawn" if command == ("finetune",) else "from scratch"
    (line,) = [line for line in capsys.readouterr().out.splitlines() if start in line and name in line]
    reasons = {"offline": "HF_HUB_OFFLINE is set", "a silent name server": "in 0.3 s"}
    assert reasons[how] in line and f"lit_video weights fetch {name}" in line
    (file,) = (videos.parent / "own/rooms").glob("rooms*.yaml")
    model = read_yaml(file)["model"]
    assert model["class_path"] == "XViT"
    assert model["init_args"].get("weights") == ("hub:drawn" if command == ("finetune",) else None)
    assert not hub.asked


@pytest.mark.usefixtures("known_pace")
def test_published_weights_whose_training_does_not_fit_give_way_to_the_first_answers_model(hub, videos, monkeypatch):  # noqa: F811
    monkeypatch.setattr("lit_video.api.own_videos.fit_for", train_nothing)
    assert main(["finetune", "rooms", "--minutes", "0.00001"]) == FAILED
    assert "model.safetensors" in hub.asked
    (file,) = (videos.parent / "own/rooms").glob("rooms*.yaml")
    content = read_yaml(file)
    assert content["model"]["class_path"] == "XViT"
    assert content["model"]["init_args"]["weights"] == "hub:drawn"
    assert content["model"]["init_args"]["optimization"] == {"optimizer": "logistic"}
    assert all("logistic regression" in row["label"] for row in content["table"]["rows"].values())
