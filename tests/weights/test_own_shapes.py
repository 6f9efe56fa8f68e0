"""Test that a user's checkpoint starts a model of other frames, sides and classes, like the authors' names would."""

import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import save_file

from lit_video.modules import Perceiver, TimeSformer, ViViT, XViT
from lit_video.modules.optimization import Optimization
from lit_video.weights.hugging_face import export_hf_timesformer, export_hf_vivit
from tests.checkpoints import trained
from tests.commands.test_weights_settings import named_as_released
from tests.modules.test_checkpoint_doors import BASE, loader
from tests.weights.test_pretrained_loading import authors_names

# family, its settings, the writer of the authors' names
FAMILIES = {
    "xvit": (XViT, dict(scope="full"), named_as_released),
    "timesformer divided": (TimeSformer, {}, authors_names),
    "timesformer joint": (TimeSformer, dict(attention_type="joint"), export_hf_timesformer),
    "timesformer space": (TimeSformer, dict(attention_type="space"), export_hf_timesformer),
    "timesformer axial": (TimeSformer, dict(attention_type="axial"), None),
    "vivit 1": (ViViT, {}, export_hf_vivit),
    "vivit 2": (ViViT, dict(variant=2), None),
    "vivit 3": (ViViT, dict(variant=3), None),
    "vivit 4": (ViViT, dict(variant=4), None),
    "perceiver": (Perceiver, dict(num_latents=4), None),
}
SHAPES = [
    dict(num_frames=8),
    dict(num_frames=6, image_size=48),
    dict(image_size=(32, 48)),
    dict(image_size=(64, 16)),
    dict(num_classes=7, num_frames=8, image_size=(16, 64)),
]


def laid_out(table, slots, source, target, space, time):
    """Resize a table over (t, h, w) to another such grid; tokens in front stay."""
    lead, cells = table[:, :slots], table[:, slots:].unflatten(1, source)[0]
    cells = F.interpolate(cells.permute(0, 3, 1, 2), target[1:], mode=space)
    cells = cells.flatten(2).permute(2, 1, 0)
    times = target[0] // source[0]
    cells = cells.repeat(1, 1, times) if time == "repeat" else F.interpolate(cells, target[0], mode=time)
    return torch.cat((lead, cells.permute(2, 0, 1).flatten(0, 1)[None]), dim=1)


def expected(name, old, new):
    """Return the tables of a network's start, by the rule of the family's authors, restated."""
    source, target, slots = tuple(old.embed.grid), tuple(new.embed.grid), old.embed.slots
    space, time = ("nearest", "nearest") if "timesformer" in name else ("bicubic", "linear")
    if name == "xvit":
        time = "linear" if target[0] % source[0] else "repeat"
    joint = name in ("vivit 1", "vivit 3", "vivit 4", "perceiver")
    frame = slice(None) if joint else slice(1, None)
    grids = [(1, *grid[frame])[-3:] for grid in (source, target)]
    tables = {"embed.pos_embed": laid_out(old.embed.pos_embed, slots, *grids, space, time)}
    for key, first in (("embed.temp_embed", 0), ("aggregate.pos_embed", 1)):
        if key in old.state_dict():
            table = old.state_dict()[key]
            tables[key] = laid_out(table, first, (source[0], 1, 1), (target[0], 1, 1), "nearest", time)
    return tables


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    made = {}

    def make(name):
        if name not in made:
            kind, settings, _ = FAMILIES[name]
            torch.manual_seed(0)
            model = kind(**BASE | settings, optimization=Optimization(lr=1.0))
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter.normal_(std=0.2)
            folder = tmp_path_factory.mktemp("run")
            made[name] = trained(model, loader(BASE), folder / "last.ckpt"), model
        return made[name]

    return make


def start(name, shape, path, **options):
    kind, settings, _ = FAMILIES[name]
    model = kind(**BASE | settings | shape, weights=str(path), **options)
    model.setup("fit")
    return model.network


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", FAMILIES)
def test_own_names_start_a_model_of_another_shape(name, shape, run, tmp_path, capsys):
    path, model = run(name)
    new = start(name, shape, path.parent)
    tables = expected(name, model.network, new)
    for key, value in new.state_dict().items():
        if "num_classes" not in shape or ".head" not in key:
            want = tables.get(key, model.network.state_dict()[key])
            torch.testing.assert_close(value, want, atol=1e-6, rtol=1e-5, msg=key)
    assert ("image_size" in shape) <= (": resized" in capsys.readouterr().out)
    if writer := FAMILIES[name][2]:
        save_file(writer(model.network), tmp_path / "model.safetensors")
        (tmp_path / "config.json").write_text('{"image_size": 32, "num_frames": 4}')
        theirs = start(name, shape, tmp_path, weights_settings="ignore").state_dict()
        assert all(torch.equal(theirs[key], value) for key, value in new.state_dict().items() if ".head" not in key)


@pytest.mark.parametrize("shape", [{}, dict(num_frames=8, image_size=48)], ids=str)
def test_a_file_of_tensors_alone_is_taken_and_its_lack_of_settings_said(shape, run, tmp_path, capsys):
    _, model = run("timesformer divided")
    save_file(model.network.state_dict(), tmp_path / "a.safetensors")
    new = start("timesformer divided", shape, tmp_path / "a.safetensors")
    tables = expected("timesformer divided", model.network, new)
    for key, value in new.state_dict().items():
        torch.testing.assert_close(value, tables.get(key, model.network.state_dict()[key]), atol=1e-6, rtol=1e-5)
    assert "its settings are not known" in capsys.readouterr().out


def test_fixed_positions_stay_those_of_their_formula(tmp_path):
    """Compute VideoMAE's positions anew for another grid, because they are no weights."""
    settings = BASE | dict(pool="fc_norm")
    path = trained(ViViT(**settings), loader(BASE), tmp_path / "last.ckpt")
    new = ViViT(**settings | dict(num_frames=8, image_size=48), weights=str(path))
    fixed = new.network.embed.pos_embed.clone()
    new.setup("fit")
    assert torch.equal(new.network.embed.pos_embed, fixed)
