"""Test every kind of model that ``probe`` takes: tiny ones, made by the test."""

import json
import shutil
import sys

import pytest
import torch
from torch import nn

import lit_video
from lit_video.__main__ import main
from lit_video.attention import Joint
from lit_video.errors import UserError
from lit_video.probes.frozen import ModelOptions
from lit_video.probes.library_names import refuse_unknown_model
from lit_video.probes.sources import frozen_model
from lit_video.weights.hub import DRAWN_FILE
from lit_video.weights.integrity import EXPORTED
from tests.probes.conftest import CLIP, probed

pytestmark = pytest.mark.usefixtures("quick_probe")
CLIPS = torch.randint(0, 256, (2, 8, 3, 32, 32), dtype=torch.uint8)
PIXELS = {"image_mean": [0.4, 0.5, 0.6], "image_std": [0.2, 0.25, 0.3], "do_normalize": True}


class Small(nn.Module):
    """Colours, a linear layer, and a dropout that would change features in training."""

    def __init__(self, width=4):
        super().__init__()
        self.drop = nn.Dropout(0.5)
        self.norm = nn.BatchNorm1d(3)
        self.head = nn.Linear(3, width)

    def forward(self, clip):
        return self.head(self.drop(self.norm(clip.mean((2, 3, 4)))))


def test_a_run_is_read_at_the_input_of_its_classifier(run):
    model = frozen_model(run, ModelOptions())
    trained = lit_video.load(run)
    assert model.clip.num_frames == trained.settings["num_frames"]
    clips = torch.randint(0, 256, (2, model.clip.num_frames, 3, *model.clip.image_size), dtype=torch.uint8)
    normal = ((clips / 255 - model.clip.mean) / model.clip.std).transpose(1, 2)
    head = trained.model.get_classifier()
    with torch.no_grad():
        torch.testing.assert_close(head(model.features(clips)), trained.model(normal), atol=1e-5, rtol=1e-5)
    assert model.digest == frozen_model(trained, ModelOptions()).digest
    random = frozen_model(run, ModelOptions(random_weights=True))
    assert random.digest != model.digest
    assert random.digest == frozen_model(run, ModelOptions(random_weights=True)).digest
    assert random.digest != frozen_model(run, ModelOptions(random_weights=True, seed=1)).digest
    assert frozen_model(run, ModelOptions(tokens=True)).features(clips).ndim == 3


def test_the_command_probes_a_run(run, here, capsys):
    assert main(["probe", str(run), "--pairs", "4", "-o", "out"]) == 0
    said = capsys.readouterr()
    assert "drift" in said.out and "the settings of its test" in said.out
    assert (here / "out/skills.png").is_file() and "out/skills.png" in said.err


def test_a_probe_says_if_its_motions_were_seen_in_pretraining(run):
    assert "seen in pretraining" in " ".join(frozen_model("hub:drawn", ModelOptions()).remarks)
    assert not frozen_model("hub:drawn", ModelOptions(random_weights=True)).remarks
    assert "seen in pretraining" not in " ".join(frozen_model(run, ModelOptions()).remarks)


@pytest.mark.parametrize("weights", ["hub:drawn", None])
def test_a_probe_says_if_a_model_was_fine_tuned_from_drawn_videos(weights, tmp_path):
    shutil.copytree(DRAWN_FILE.parent, tmp_path / "run")
    settings = tmp_path / "run" / EXPORTED
    content = json.loads(settings.read_text())
    content["hyper_parameters"]["weights"] = weights
    settings.write_text(json.dumps(content))

    remarks = frozen_model(tmp_path / "run" / DRAWN_FILE.name, ModelOptions()).remarks
    assert ("seen in pretraining" in " ".join(remarks)) == bool(weights)


FILE = """
import torch

small = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 8 * 32 * 32, 4))


def colours(clips):
    return clips.mean((2, 3, 4))
"""


@pytest.mark.parametrize("name", ["colours", "small"])
def test_the_command_probes_a_function_or_module_of_a_file(name, here, capsys):
    (here / "features_of_mine.py").write_text(FILE)
    clip = ["--num-frames", "8", "--image-size", "32", "--mean", "0.5", "--std", "0.25"]
    try:
        assert main(["probe", f"features_of_mine.py:{name}", "--pairs", "4", "-o", "out", *clip]) == 0
        assert "as given" in capsys.readouterr().out and (here / "out/skills.csv").is_file()
        assert main(["probe", "features_of_mine.py:missing"]) == 2
        assert "missing" in capsys.readouterr().err
        assert main(["profile", f"features_of_mine.py:{name}", "--look"]) == 2
        assert f"has no scheme {name}" in capsys.readouterr().err
    finally:
        sys.modules.pop("features_of_mine", None)


@pytest.mark.parametrize("model", ["a.python/run", "my.py/run", "hub:drawn", "torchvision:r3d_18", Small()])
def test_profile_refuses_a_model_and_names_the_command_for_it(model, here):
    (here / "a.python/run").mkdir(parents=True)
    (here / "my.py/run").mkdir(parents=True)
    with pytest.raises(UserError, match="no attention scheme; what a trained model sees: lit_video probe"):
        lit_video.profile(model)


@pytest.mark.parametrize("scheme", ["joint", Joint])
def test_probe_refuses_a_scheme(scheme):
    with pytest.raises(UserError, match="is an attention scheme, not a trained model"):
        lit_video.probe(scheme)


@pytest.fixture(params=["videomae", "timesformer"])
def folder(request, here):
    """Folder of a tiny model of transformers with its preprocessor."""
    transformers = pytest.importorskip("transformers")
    sizes = {"image_size": 32, "num_frames": 8, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    sizes |= {"intermediate_size": 16, "patch_size": 16, "num_labels": 3}
    name = {"videomae": "VideoMAE", "timesformer": "Timesformer"}[request.param]
    config = getattr(transformers, f"{name}Config")(**sizes)
    getattr(transformers, f"{name}ForVideoClassification")(config).eval().save_pretrained(here / request.param)
    (here / request.param / "preprocessor_config.json").write_text(json.dumps(PIXELS))
    return here / request.param


def test_a_folder_of_transformers_has_its_clips_and_features(folder):
    from transformers import AutoModelForVideoClassification

    model = frozen_model(folder, ModelOptions())
    assert (model.clip.num_frames, model.clip.image_size) == (8, (32, 32))
    assert (model.clip.mean, model.clip.std) == ((0.4, 0.5, 0.6), (0.2, 0.25, 0.3))
    original = AutoModelForVideoClassification.from_pretrained(folder).eval()
    mean, std = (torch.tensor(PIXELS[key]).view(3, 1, 1) for key in ("image_mean", "image_std"))
    with torch.no_grad():
        logits = original(pixel_values=(CLIPS / 255 - mean) / std).logits
        torch.testing.assert_close(original.classifier(model.features(CLIPS)), logits, atol=1e-5, rtol=1e-5)
    assert frozen_model(folder, ModelOptions(tokens=True)).features(CLIPS).ndim == 3
    assert frozen_model(folder, ModelOptions(random_weights=True)).digest != model.digest


def test_a_folder_without_pixels_or_weights_says_so(folder):
    (folder / "preprocessor_config.json").unlink()
    with pytest.raises(UserError, match="mean, std"):
        frozen_model(folder, ModelOptions())
    (folder / "model.safetensors").unlink()
    with pytest.raises(UserError, match="random-weights"):
        frozen_model(folder, ModelOptions(mean=0.5, std=0.5))
    assert frozen_model(folder, ModelOptions(mean=0.5, std=0.5, random_weights=True)).features(CLIPS).shape == (2, 16)


def test_a_folder_that_lacks_layers_is_refused(folder):
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    kept = {name: value for name, value in weights.items() if "layer" not in name or "norm" in name}
    save_file(kept, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(UserError, match="lacks"):
        frozen_model(folder, ModelOptions())


def test_an_image_model_of_timm_is_averaged_over_frames():
    options = ModelOptions(num_frames=4, image_size=32, random_weights=True)
    model = frozen_model("timm:resnet10t", options)
    clips = CLIPS[:, :4]
    assert model.clip.mean == (0.485, 0.456, 0.406)
    torch.testing.assert_close(model.features(clips), model.features(clips.flip(1)), atol=1e-4, rtol=1e-4)
    with pytest.raises(UserError, match="resnet10t"):
        frozen_model("timm:resnet10", options)


def test_a_video_model_of_torchvision_has_the_clips_of_its_published_weights(monkeypatch):
    model = frozen_model("torchvision:swin3d_t", ModelOptions(num_frames=4, image_size=32, random_weights=True))
    assert (model.clip.mean, model.clip.std) == ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
    assert model.features(CLIPS[:, :4]).shape == (2, 768)
    own = frozen_model("torchvision:mvit_v2_s", ModelOptions(random_weights=True)).clip
    assert (own.num_frames, own.image_size, own.mean, own.std) == (16, (224, 224), 0.45, 0.225)

    def no_network(*_, **__):
        raise OSError("no network")

    monkeypatch.setattr("torchvision.models._api.load_state_dict_from_url", no_network)
    with pytest.raises(UserError, match=r"no network.*random-weights"):
        frozen_model("torchvision:r3d_18", ModelOptions())
    with pytest.raises(UserError, match="mvit_v2_s"):
        frozen_model("torchvision:mvit_v2", ModelOptions())


def test_no_model_of_a_library_is_refused_by_its_name():
    import timm
    from torchvision.models import list_models, video

    source = [f"timm:{name}" for name in timm.list_models()[::300]]
    for name in [*source, *(f"torchvision:{name}" for name in list_models(video)), "timm:vit_base_resnet26d_224"]:
        refuse_unknown_model(name)
    with pytest.raises(UserError, match="; one of mc3_18, "):
        refuse_unknown_model("torchvision:nothing")


@pytest.mark.parametrize("batch", [1, 2])
def test_an_exported_program_is_read_at_its_logits(batch, here):
    """Take a program for batches of any size, and one for a single clip."""
    shapes = None if batch == 1 else ({0: torch.export.Dim("batch")},)
    network = Small().eval()
    program = torch.export.export(network, (torch.randn(batch, 3, 8, 32, 32),), dynamic_shapes=shapes)
    torch.export.save(program, here / "model.pt2")
    data = {"num_frames": 8, "image_size": 32, "mean": 0.5, "std": 0.25, "channels": "rgb"}
    (here / "settings.json").write_text(json.dumps({"data": data}))
    seen = lit_video.probe(here / "model.pt2", pairs=4)
    assert seen.measured.direction.value == 50
    assert seen.clip.origins["mean"] == "settings.json beside it"
    assert probed(program, pairs=4).measured.direction.value == 50
    (here / "model.pt2").write_bytes(b"PK\3\4 damaged")
    with pytest.raises(UserError, match=r"model\.pt2"):
        lit_video.probe(here / "model.pt2", pairs=4)


def test_a_module_is_put_into_eval_mode_and_back():
    module = Small().train()
    module.norm.eval()
    seen = probed(module, pairs=4)
    assert seen.measured.direction.value == 50
    assert module.training and module.drop.training and not module.norm.training


def test_a_module_in_bfloat16_and_a_script_are_read():
    assert probed(Small().bfloat16(), pairs=4).measured.direction.value == 50
    assert probed(torch.jit.script(Small().eval()), pairs=4).measured.direction.value == 50


def test_features_of_a_function_may_be_half_precision_or_need_gradients():
    weight = torch.randn(3, 2, requires_grad=True)
    assert probed(lambda clip: (clip.mean((2, 3, 4)) @ weight).half(), pairs=4).measured.direction.value == 50


def _stateful():
    calls = []

    def read(clip):
        calls.append(clip)
        return clip.mean((2, 3, 4)) + len(calls)

    return read


def _training(part):
    module = nn.Sequential(part, nn.AdaptiveAvgPool3d(2), nn.Flatten()).train()
    return lambda clip: module(clip)


REFUSED = {
    "not finite": lambda clip: clip.mean((2, 3, 4)) * float("nan"),
    "tuple": lambda clip: (clip.mean((2, 3, 4)),),
    r"\(2,\)|\(1,\)": lambda clip: clip.mean((1, 2, 3, 4)),
    "int64": lambda clip: clip.mean((2, 3, 4)).long(),
    "transpose": lambda clip: nn.functional.conv3d(clip.transpose(1, 2), torch.randn(1, 3, 1, 1, 1)).flatten(1),
    "second call": _stateful(),
    "fails on clips": lambda clip: undefined,  # noqa: F821
}


@pytest.mark.parametrize("reason", REFUSED)
def test_a_function_that_gives_no_features_is_refused(reason):
    with pytest.raises(UserError, match=reason):
        probed(REFUSED[reason], pairs=4)


@pytest.mark.parametrize("part", [nn.Dropout(0.1), nn.BatchNorm3d(3)])
def test_a_function_of_a_module_in_training_mode_is_refused(part):
    with pytest.raises(UserError, match="eval"):
        probed(_training(part), pairs=4)


def test_constant_features_tell_nothing():
    seen = probed(lambda clip: torch.ones(len(clip), 5), pairs=4)
    assert seen.measured.direction.value == 50
    assert seen.measured.recognised.value == pytest.approx(100 / len(seen.skills))


def test_a_setting_that_is_not_known_is_asked_for():
    with pytest.raises(UserError, match="num_frames, mean, std"):
        lit_video.probe(Small(), image_size=32, pairs=4)
    with pytest.raises(UserError, match="num_frames"):
        probed(Small(), num_frames=1, pairs=4)
    with pytest.raises(UserError, match="mean"):
        probed(Small(), mean=127.5, pairs=4)
    with pytest.raises(UserError, match="std"):
        probed(Small(), std=0, pairs=4)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["joint", "--minutes", "3"], "joint is an attention scheme"),
        (["torchvision:r3d_18", "--look"], "--look"),
        (["torchvision:r3d_18", "--seed", "-1"], "seed"),
        (["torchvision:r3d_18", "--pairs", "2"], "pairs"),
        (["torchvision:r3d_18", "--mean", "x"], "mean"),
        (["torchvision:r3d_18", "--data.num_workers", "0"], "--data.num_workers"),
        (["runs/nowhere"], "runs/nowhere"),
        (["hub:nothing"], "hub:nothing"),
        (["nothing.py:read", "--pairs", "4"], "nothing.py"),
    ],
)
def test_a_mistake_is_one_line(words, named, here, capsys):
    assert main(["probe", *words]) == 2
    said = capsys.readouterr().err
    assert named in said and len(said.strip().splitlines()) == 1


def test_kept_features_are_read_again_mended_and_made_anew_for_another_function(here):
    seen = []

    def read(clip, scale=1.0):
        seen.append(len(clip))
        return scale * clip.mean((2, 3, 4)) ** 2

    first = probed(read, pairs=5)
    made = sum(seen)
    seen.clear()
    again = probed(read, pairs=5)
    assert again.data == first.data
    assert sum(seen) == 4 < made  # the check alone

    files = sorted(first.measured.folder.glob("*.npz"))
    assert len(files) == 5
    content = bytearray(files[2].read_bytes())
    content[len(content) // 2] ^= 1
    files[2].write_bytes(content)
    files[3].write_bytes(content[:100])
    seen.clear()
    assert probed(read, pairs=5).data == first.data
    assert sum(seen) == 4 + 2 * 2 * len(first.skills)

    changed = lit_video.probe(lambda clip: read(clip, 3.0), pairs=5, **CLIP)
    assert changed.measured.folder != first.measured.folder  # another name
    read.__defaults__ = (2.0,)
    seen.clear()
    probed(read, pairs=5)
    assert sum(seen) == made
