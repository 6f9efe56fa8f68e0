"""Which models one benchmark times: ours, their peers, their compiled twins; what cannot be built is said."""

import copy
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from lit_video.benchmark.models import BenchmarkModel, Clip, LeftOut, schemes
from lit_video.benchmark.peers import PUBLISHED, published, same_weights
from lit_video.errors import UserError
from lit_video.network.transformer import VideoTransformer
from lit_video.network.vit import ViTSize
from lit_video.training.compilation import Compile


def build(
    size: ViTSize, clip: Clip, names: list[str] | None, compile: Compile = "off"
) -> list[BenchmarkModel | LeftOut]:
    """The models of these names, or all; with each of ours, transformers' of the same weights and a compiled twin.

    Raises:
        UserError: a name is unknown, or a model that was named cannot be built.
    """
    ours, theirs = schemes(size, clip), same_weights(size, clip)
    others = {name: partial(published, name, clip.image_size) for name in PUBLISHED}
    builders: dict[str, Callable[[], BenchmarkModel]] = ours | others
    if unknown := [name for name in names or [] if name not in builders]:
        raise UserError(f"--models: no model {unknown[0]!r}; models: {', '.join(builders)}")
    models: list[BenchmarkModel | LeftOut] = []
    for name in names or builders:
        model = _attempt(name, builders[name])
        models.append(model)
        if isinstance(model, LeftOut):
            if names:
                raise UserError(f"--models: {name}: {model.reason}")
        elif isinstance(network := model.network, VideoTransformer):
            if model.against in theirs:
                models.append(_attempt(model.against, partial(theirs[model.against], network)))
            if compile != "off":
                twin = copy.deepcopy(network)
                models.append(replace(model, name=f"{name}, {compile}", network=twin, against=name, compile=compile))
    return models


def _attempt(name: str, make: Callable[[], BenchmarkModel]) -> BenchmarkModel | LeftOut:
    try:
        return make()
    except ModuleNotFoundError as error:
        return LeftOut(name, f"{(error.name or '').partition('.')[0]} is not installed")
    except (ImportError, ValueError) as error:
        return LeftOut(name, str(error))
