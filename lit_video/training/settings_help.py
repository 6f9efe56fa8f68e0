"""All settings of a run in groups, the papers' knobs first, from signatures and docstrings: ``fit --help all``."""

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping
from textwrap import fill
from typing import Any

from lightning.pytorch import Trainer

from lit_video import datamodules, modules
from lit_video.modules.optimization import Optimization
from lit_video.training.cli import LINKS, SETTINGS

MODELS = (modules.XViT, modules.TimeSformer, modules.ViViT, modules.Perceiver, modules.ConvNet)
KNOBS = (  # as the papers' tables name them; what follows is in the order of the signatures
    *("window", "attention", "tubelet", "ta_layers", "variant", "layers", "mixed", "ratio", "scope", "boundary"),
    *("summary", "size", "patch", "positions", "latents", "architecture", "image_weights", "drop_path"),
)
OFTEN = ("max_epochs", "devices", "num_nodes", "precision", "gradient_clip_val", "callbacks", "logger")
WIDTH = 110
BASE = len(datamodules.VideoDataModule.__mro__)


def settings_help() -> str:
    """The text: knobs of the papers, other settings of models, training, data, and names of the trainer's options."""
    of_models: dict[str, list[tuple[str, str, str]]] = {}
    for model in MODELS:
        for name, default, text in _described(model):
            of_models.setdefault(name, []).append((model.__name__, default, text))
    others = [name for name in of_models if name not in (*KNOBS, *LINKS)]
    base = {f"model.{name}": rest for name, *rest in _described(modules.VideoClassifier) if name != "network"}
    base = {name: rest for name, rest in base.items() if name.partition(".")[2] not in LINKS}
    optimization = {f"model.optimization.{name}": rest for name, *rest in _described(Optimization)}
    run = {name: [str(default), text] for name, _, default, text in SETTINGS if name not in ("table", "recipes")}
    data = {f"data.{name}": rest for name, *rest in _described(datamodules.VideoDataModule) if name != "seed"}
    sets = [each for each in vars(datamodules).values() if isinstance(each, type)]
    sets = [each for each in sets if issubclass(each, datamodules.VideoDataModule) and len(each.__mro__) > BASE]
    own = {f"data {each.__name__}": ["", ", ".join(_own(each)) or "nothing"] for each in sets}
    trainer = [name for name in inspect.signature(Trainer).parameters if name not in OFTEN]
    parts = [
        "Settings are flags, or keys of a YAML file. --model NAME and --data NAME choose the class;\n"
        "--model.help NAME and --data.help NAME print one with types. A value in brackets is the default.",
        _group("The papers' knobs", _shared(of_models, KNOBS)),
        _group("Other settings of the models", _shared(of_models, others)),
        _group("Weights and what is trained, of every model", base),
        _group("Training", optimization | run),
        _group("Data, of every data set", data),
        _group("Data sets, each with what it alone takes as --data.X", own),
        "Trainer (Lightning's; fit --help trainer prints what each is)\n"
        + "\n".join(_wrapped("  ", " ".join(f"--trainer.{name}" for name in names)) for names in (OFTEN, trainer)),
    ]
    return "\n\n".join(parts)


def _described(kind: type) -> Iterator[tuple[str, str, str]]:
    """Name, default and text of each parameter of a class that its docstring explains."""
    texts = dict(re.findall(r"^    (\w+): (.+(?:\n {8}.*)*)", inspect.cleandoc(kind.__doc__ or ""), re.MULTILINE))
    for name, parameter in inspect.signature(kind).parameters.items():
        if name in texts:
            text = re.sub(r":\w+:|[`~]|\s+", lambda found: " " if found[0].isspace() else "", texts[name])
            yield name, "" if parameter.default is parameter.empty else str(parameter.default), text


def _own(kind: type) -> list[str]:
    """Parameters of a data set that not every data set has."""
    above = kind.__mro__[: len(kind.__mro__) - BASE]
    names = [name for each in above for name in inspect.signature(each).parameters if name not in ("args", "kwargs")]
    return [name for name in dict.fromkeys(names) if name not in inspect.signature(kind.__mro__[-BASE]).parameters]


def _shared(of_models: Mapping[str, list[tuple[str, str, str]]], names: Iterable[str]) -> dict[str, list[str]]:
    """Settings of several models: the first one's text, and each one's default."""
    known = {name: of_models[name] for name in names if name in of_models}
    return {f"model.{n}": [", ".join(f"{model} {d}" for model, d, _ in each), each[0][2]] for n, each in known.items()}


def _group(title: str, settings: Mapping[str, list[Any]]) -> str:
    lines = [
        _wrapped(f"  --{name:24} ", f"{text}{default and f' [{default}]'}")
        for name, (default, text) in settings.items()
    ]
    return "\n".join([title, *lines])


def _wrapped(start: str, text: str) -> str:
    lines = fill(text, WIDTH, initial_indent=" " * min(len(start), 29), subsequent_indent=" " * min(len(start), 29))
    return start.rstrip() + "\n" + lines if len(start) > 29 else start + lines[len(start) :]
