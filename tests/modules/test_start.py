"""Test that starting weights are read when training starts, and that a model computes nothing before."""

import copy

import pytest
import timm
import torch
from lightning import Trainer

from lit_video.errors import UserError
from lit_video.modules import XViT
from lit_video.modules.optimization import Optimization
from lit_video.network.vit import ViTSize
from tests.checkpoints import QUIET
from tests.conftest import quick_or_slow

HOW = dict(num_classes=3, num_frames=2, image_size=32, size="Ti", window=0)


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    path = tmp_path_factory.mktemp("image") / "vit.pth"
    torch.save(timm.create_model("vit_tiny_patch16_224", img_size=32).state_dict(), path)
    return path


def test_image_weights_are_loaded_before_the_first_clip_or_it_is_refused(image, tmp_path):
    model, clip = XViT(**HOW, image_weights=str(image)).eval(), torch.zeros(1, 3, 2, 32, 32)
    with pytest.raises(UserError, match=r"vit\.pth is loaded when training starts; call setup\('fit'\)"):
        model(clip)
    model.setup("fit")
    stored = torch.load(image)["blocks.0.attn.proj.weight"]
    assert torch.equal(model.network.blocks[0].scheme.attn.proj.weight, stored)
    logits = model(clip)
    for parameter in model.parameters():
        parameter.data += 0.1
    model.setup("fit")
    assert not torch.equal(model(clip), logits), "trained weights are kept"
    # a model with the weights of a checkpoint does not need the file
    trained = XViT(**HOW, image_weights=str(tmp_path / "gone.pth")).eval()
    trained.load_state_dict(model.state_dict())
    trained.setup("fit")
    assert torch.equal(trained(clip), model(clip))
    assert torch.equal(copy.deepcopy(trained)(clip), model(clip))


class OwnOptimizer(XViT):
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.0)


class Compiled(XViT):
    def __init__(self, **settings):
        super().__init__(**settings)
        self.network = torch.compile(self.network, backend="eager")


SMALL = dict(num_classes=2, num_frames=2, image_size=16, size=ViTSize(16, 1, 2), patch_size=8, window=0)
STILL = Optimization(lr=1e-12)
CLIPS = [(torch.full((3, 2, 16, 16), float(i)), i) for i in range(2)]


def trainer(epochs=1):
    return Trainer(max_epochs=epochs, accelerator="cpu", **QUIET)


def loader():
    return torch.utils.data.DataLoader(CLIPS, batch_size=2)


@pytest.fixture(params=["weights", "image_weights"])
def start(request, tmp_path):
    """Setting that names a file of weights, the file, and its patch embedding."""
    path, size = tmp_path / "start.pth", dict(img_size=16, patch_size=8, embed_dim=16, depth=1, num_heads=2)
    image = timm.models.VisionTransformer(**size, num_classes=0)
    given = XViT(**SMALL).network if request.param == "weights" else image
    torch.save(given.state_dict(), path)
    patches = given.embed.patches.proj if request.param == "weights" else given.patch_embed.proj
    return {request.param: str(path)}, path, patches.weight


@pytest.mark.parametrize("kind", quick_or_slow([XViT, OwnOptimizer], {XViT}))
def test_a_checkpoint_needs_the_file_of_its_start_no_more(kind, start, tmp_path):
    given, path, patches = start
    model, run = kind(**SMALL, **given, optimization=STILL), trainer()
    run.fit(model, loader())
    found = model.network.embed.patches.proj.weight
    torch.testing.assert_close(found, patches, atol=1e-6, rtol=0)
    checkpoint = tmp_path / "last.ckpt"
    run.save_checkpoint(checkpoint)
    expected = torch.cat(trainer().predict(model, loader()))
    path.write_bytes(b"another file")

    def again():
        return kind(**SMALL, **given, optimization=STILL)

    for file in ("another", "none"):
        other = again()
        trainer(epochs=2).fit(other, loader(), ckpt_path=checkpoint)
        torch.testing.assert_close(torch.cat(trainer().predict(other, loader())), expected)
        trainer().validate(again(), loader(), ckpt_path=checkpoint, verbose=False)
        trainer().test(again(), loader(), ckpt_path=checkpoint, verbose=False)
        assert torch.equal(torch.cat(trainer().predict(again(), loader(), ckpt_path=checkpoint)), expected), file
        trainer(epochs=2).fit(kind.load_from_checkpoint(checkpoint), loader())
        with pytest.raises(UserError, match=f"model.{next(iter(given))}: .*start.pth"):
            trainer().fit(again(), loader())
        path.unlink(missing_ok=True)


def test_a_test_of_given_weights_reads_them(tmp_path):
    network = XViT(**SMALL).network
    torch.save(network.state_dict(), tmp_path / "start.pth")
    model = XViT(**SMALL, weights=str(tmp_path / "start.pth"))
    trainer().test(model, loader(), verbose=False)
    assert torch.equal(model.eval()(CLIPS[0][0][None]), network.eval()(CLIPS[0][0][None]))


@pytest.mark.slow
def test_compiled_networks_and_plain_ones_take_each_other_s_checkpoints(tmp_path):
    clip = torch.randn(1, 3, 2, 16, 16)
    for kind, other in ((Compiled, XViT), (XViT, Compiled)):
        model, run = kind(**SMALL, optimization=STILL), trainer()
        run.fit(model, loader())
        run.save_checkpoint(tmp_path / "last.ckpt")
        read = other(**SMALL, weights=str(tmp_path / "last.ckpt"), freeze="backbone")
        read.setup("fit")
        for found in (other.load_from_checkpoint(tmp_path / "last.ckpt"), read):
            assert torch.equal(found.eval()(clip), model.eval()(clip))


class OwnLoss(XViT):
    def __init__(self, criterion, weights_of_classes=None, **settings):
        super().__init__(**settings)
        self.criterion = criterion

    def loss(self, logits, target):
        return self.criterion(logits, target)


def test_a_module_as_an_argument_is_given_again_to_what_reads_a_checkpoint(tmp_path):
    own = dict(criterion=torch.nn.CrossEntropyLoss(weight=torch.ones(2)), weights_of_classes=torch.ones(2))
    with pytest.warns(UserWarning, match=r"criterion: checkpoints leave out this CrossEntropyLoss; give it again"):
        model = OwnLoss(**own, **SMALL)
    run, path = trainer(), tmp_path / "last.ckpt"
    run.fit(model, loader())
    run.save_checkpoint(path)
    assert torch.equal(torch.load(path, weights_only=True)["hyper_parameters"]["weights_of_classes"], torch.ones(2))
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'criterion'"):
        OwnLoss.load_from_checkpoint(path)
    assert OwnLoss.load_from_checkpoint(path, criterion=own["criterion"]).criterion is own["criterion"]
    trainer(epochs=2).fit(OwnLoss(**own, **SMALL), loader(), ckpt_path=path)
