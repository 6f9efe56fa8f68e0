"""Names of schemes, for every row of our tables and for every family's defaults."""

import inspect
import subprocess
import sys

import pytest

from lit_video import modules
from lit_video.network.convnets import Architecture
from lit_video.training.scheme_names import scheme_name


@pytest.mark.parametrize(
    ("class_path", "init_args", "name"),
    [
        ("lit_video.modules.XViT", {"window": 1, "exact": False}, "X-ViT"),
        ("lit_video.modules.xvit.XViT", {"window": 2, "exact": True}, "X-ViT exact"),
        ("TimeSformer", {"attention": "local_global"}, "TimeSformer local-global"),
        ("ViViT", {"variant": 2, "temporal": "encoder"}, "ViViT-2"),
        ("ViViT", {"variant": 2, "temporal": "mean"}, "ViViT-2 mean"),
        ("ViViT", {"variant": 3, "temporal": "mean"}, "ViViT-3"),  # which has no temporal encoder to leave out
        ("ConvNet", {"architecture": "slowfast"}, "SlowFast"),
        ("ConvNet", {"architecture": "r2plus1d", "depth": 50}, "R(2+1)D"),
        ("Perceiver", {}, "Perceiver"),
        ("their.package.Mamba", {"attention": "none"}, "Mamba"),
    ],
)
def test_a_scheme_is_called_by_family_and_attention(class_path, init_args, name):
    assert scheme_name({"class_path": class_path, "init_args": init_args}) == name


@pytest.mark.parametrize("family", ["XViT", "TimeSformer", "ViViT", "ConvNet", "Perceiver"])
def test_left_out_settings_are_the_defaults_of_the_class(family):
    signature = inspect.signature(getattr(modules, family)).parameters.values()
    defaults = {p.name: p.default for p in signature if p.default is not p.empty}
    whole = {"class_path": f"lit_video.modules.{family}", "init_args": defaults}
    assert (
        scheme_name({"class_path": family, "init_args": None})
        == scheme_name(whole)
        == scheme_name({"class_path": family})
    )


def test_every_architecture_of_convolutions_has_a_name_of_its_own():
    names = {scheme_name({"class_path": "ConvNet", "init_args": {"architecture": a}}) for a in Architecture.__args__}
    assert len(names) == len(Architecture.__args__)
    assert not names & set(Architecture.__args__)


def test_names_need_no_torch():
    code = "import sys, lit_video.training.scheme_names; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
