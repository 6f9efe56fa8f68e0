"""Test that docs/architecture.md lists all state that outlives a call, with what clears it."""

import ast
import inspect
import pkgutil
import re
from importlib import import_module
from pathlib import Path

from lightning import Callback, LightningDataModule
from lightning.fabric.plugins import CheckpointIO
from torch import nn
from torch.utils.data import DataLoader, Dataset, Sampler

import lit_video
from lit_video.datamodules.broken import BrokenVideos
from lit_video.modules.weights_record import WeightsRecord

BASES = (Callback, LightningDataModule, nn.Module, DataLoader, Dataset, Sampler, CheckpointIO, BrokenVideos)
PACKAGES = ("attention", "network", "modules", "datamodules", "engine", "inference", "video")
CONSTRUCTORS = ("__init__", "__post_init__", "__init_subclass__", "__setstate__")
CHANGES = {"append", "add", "update", "setdefault", "clear", "extend", "pop", "register_buffer", "register_parameter"}
LASTING = {"self", "model", "pl_module", "module", "network", "trainer", "saver", "callback"}  # names of such objects
ROW = re.compile(r"^\| `(\w+)` \| ((?:`\w+`(?:, )?)+) \| (\S.*) \|$", re.M)


def classes():
    """Yield the classes of the package whose instances outlive a call."""
    for package in PACKAGES:
        folder = import_module(f"lit_video.{package}")
        for info in pkgutil.walk_packages(folder.__path__, f"{folder.__name__}."):
            module = import_module(info.name)
            for kind in vars(module).values():
                ours = inspect.isclass(kind) and kind.__module__ == module.__name__
                if ours and issubclass(kind, (*BASES, WeightsRecord)):
                    yield kind


def lasting_attribute(node):
    """Return the attribute of an object that outlives the call which an expression is, or is a part of; or ``None``."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in LASTING:
            return node.attr
        node = node.value
    return None


def changed(kind):
    """Return the attributes that methods of a class change after its construction."""
    (tree,) = ast.parse(inspect.cleandoc("\n" + inspect.getsource(kind))).body
    attributes = set()
    for method in tree.body:
        if not isinstance(method, ast.FunctionDef) or method.name in CONSTRUCTORS:
            continue
        for node in ast.walk(method):
            targets = []
            if isinstance(node, ast.Assign):
                targets = [part for target in node.targets for part in getattr(target, "elts", [target])]
            elif isinstance(node, ast.AugAssign | ast.AnnAssign):
                targets = [node.target]
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CHANGES:
                targets = [node.func.value]
            attributes |= {lasting_attribute(target) for target in targets}
    return attributes - {None}


def test_the_page_lists_all_state_that_outlives_a_call():
    page = (Path(lit_video.__file__).parents[1] / "docs/architecture.md").read_text()
    listed = {(row[1], name) for row in ROW.finditer(page) for name in re.findall(r"\w+", row[2])}
    expected = {(kind.__name__, name) for kind in classes() for name in changed(kind)}
    assert expected, "nothing was read"
    assert sorted(expected - listed) == [], "write down what clears it"
    assert sorted(listed - expected) == [], "no longer there"
