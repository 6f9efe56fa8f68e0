"""Test one rule for choices and ranges: every public constructor refuses wrong values of each argument, by its name."""

import inspect
import math
from dataclasses import MISSING, fields, is_dataclass
from typing import Annotated, Literal, get_args, get_origin

import pytest
from torch import nn

from lit_video import datamodules, modules
from lit_video.attention import MixingPlan
from lit_video.modules import TimeSformer, ViViT, XViT
from lit_video.modules.optimization import Optimization
from lit_video.network.positions import Positions, Resizing
from lit_video.network.vit import ViTSize
from lit_video.utils.arguments import Count, Range, Share, constructors, fits, types_of

SMALL = dict(num_classes=4, num_frames=4, image_size=16, patch_size=8, size=ViTSize(16, 2, 2))
GIVEN = {  # arguments without a default
    **{
        "num_classes": 4,
        "root": "nowhere",
        "embed_dim": 16,
        "depth": 2,
        "num_heads": 2,
        "stride": 2,
        "network": nn.Identity(),
    },
    **{"listed": [], "seconds": 2.0},
}
ABSTRACT = {"Sampling", "AnnotatedVideos"}


def public():
    """Return the public constructors: of models, data sets, their settings and samplings."""
    kinds = [value for module in (modules, datamodules) for value in vars(module).values() if isinstance(value, type)]
    kinds += [MixingPlan, Optimization, Positions, Resizing, ViTSize]
    return {kind.__name__: kind for kind in kinds if kind.__name__ not in ABSTRACT}


def arguments(kind):
    """Return the types of all arguments of a constructor, also those that it passes to its bases."""
    if is_dataclass(kind):
        return types_of(kind)
    found = {}
    for base in constructors(kind):
        found = types_of(base.__init__) | found
    return found


def parts(kind):
    """Iterate over a type and the types in it."""
    yield kind
    if get_origin(kind) is not Literal:
        for part in get_args(kind):
            yield from parts(part)


def bare(kind):
    """Iterate over the types in a type that have no range."""
    yield kind
    if get_origin(kind) not in (Literal, Annotated):
        for part in get_args(kind):
            yield from bare(part)


def wrong_values(kind):
    """Return values that a type does not take: no choice of a Literal, both neighbours of a range, NaN, text, None."""
    for part in parts(kind):
        if get_origin(part) is Literal:
            yield "no choice at all"
        if get_origin(part) is Annotated:
            whole, (limit,) = get_args(part)[0] is int, get_args(part)[1:]
            step = 1 if whole else 1e-9
            for edge, excluded, sign in ((limit.least, limit.above, -1), (limit.most, limit.below, 1)):
                if math.isfinite(edge):
                    outside = edge if excluded else edge + sign * step
                    yield int(outside) if whole else outside
            yield math.nan
            yield "text"
            yield 1.5 if whole else True
    if get_origin(kind) is Annotated:
        yield None


def tries():
    for name, kind in public().items():
        for argument, annotation in arguments(kind).items():
            wrong = [*wrong_values(annotation)]
            wrong += [[value] for value in wrong if value is not None]
            if wrong := [value for value in wrong if not fits(value, annotation)]:
                yield pytest.param(kind, argument, wrong, id=f"{name}-{argument}")


def parameters(kind):
    """Return a constructor's parameters by name, also those of its bases' that it takes as ``kwargs``."""
    found = {}
    for base in [kind, *constructors(kind)]:
        taken = inspect.signature(base.__init__).parameters
        found = {**taken, **found}  # the most derived class decides on the default
        if "kwargs" not in taken:
            break
    return found


def required(kind):
    if is_dataclass(kind):
        names = [field.name for field in fields(kind) if field.default is MISSING and field.default_factory is MISSING]
    else:
        names = {
            one.name
            for one in parameters(kind).values()
            if one.default is one.empty and one.kind is one.POSITIONAL_OR_KEYWORD
        }
        if kind is not modules.VideoClassifier:
            names -= {"network"}
    return {name: GIVEN[name] for name in names if name != "self"}


@pytest.mark.parametrize(("kind", "argument", "wrong"), tries())
def test_a_wrong_value_of_any_argument_is_refused_by_its_name(kind, argument, wrong):
    for value in wrong:
        with pytest.raises(ValueError, match=rf"^{argument} is "):
            kind(**required(kind) | {argument: value})


def test_every_public_constructor_has_ranges_or_choices():
    tried = {kind.values[0].__name__ for kind in tries()}
    assert tried >= {"XViT", "TimeSformer", "ViViT", "Perceiver", "ConvNet", "VideoFolder", "Optimization", "Dense"}
    # checked for each channel or as a pair; any number
    free, others = [], {"mean", "std", "short_side", "seed", "train_values", "val_values", "test_values"}
    for name, kind in public().items():
        for argument, annotation in arguments(kind).items():
            if {int, float} & set(bare(annotation)) and argument not in others:
                free.append(f"{name}.{argument}")
    assert not free, "numbers without a range"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Optimization("adam"),
            "optimizer is 'adam', expected sgd, adamw, muon or logistic (did you mean adamw?)",
        ),
        (lambda: datamodules.VideoFolder("x", order="backward"), "order is 'backward'"),
        (lambda: ViViT(**SMALL, variant=2, temporal_depth=0), "temporal_depth is 0"),
        (lambda: XViT(**SMALL | dict(size=dict(embed_dim=16, depth=0, num_heads=2))), "depth is 0"),
        (lambda: Optimization(weight_decay=-1), "weight_decay is -1"),
        (lambda: Optimization(warmup_start=-0.1), "warmup_start is -0.1"),
        (lambda: datamodules.VideoFolder("x", test_clips=0), "test_clips is 0"),
        (lambda: XViT(**SMALL, window="2"), "window is '2'"),
        (lambda: XViT(**SMALL, window=None), "window is None"),
        (lambda: XViT(**SMALL | dict(patch_size=0)), "patch_size is 0"),
        (lambda: ViViT(**SMALL, pool="max"), "pool is 'max'"),
        (lambda: XViT(**SMALL, mixed=("key", "val")), "mixed is ('key', 'val')"),
        (lambda: TimeSformer(**SMALL, freeze=-1), "freeze is -1"),
        (lambda: TimeSformer(**SMALL, task_loss="max"), "task_loss is 'max'"),
        (lambda: XViT(**SMALL | dict(num_classes={"verb": 0})), "num_classes is {'verb': 0}"),
    ],
)
def test_a_mistake_names_the_argument_and_what_it_takes(make, message):
    with pytest.raises(ValueError) as refusal:
        make()
    assert str(refusal.value).startswith(message) and "expected" in str(refusal.value)


def test_what_a_type_takes():
    assert fits(True, bool) and fits(None, int | None) and fits([1, 2], tuple[Count, Count]) and fits(1, float)
    assert fits({"width": 16}, ViTSize) and fits({"a": 1}, dict[str, Count]) and fits([], tuple[Share, ...])
    assert not fits(1, bool) and not fits(True, int) and not fits("1", int) and not fits([1], tuple[Count, Count])
    assert not fits(True, Literal[1, 2]) and not fits({"a": 0}, dict[str, Count]) and not fits("ab", list[str])
    assert 1 not in Range(0, 1, below=True) and 0 not in Range(0, above=True) and math.inf not in Range(0)
