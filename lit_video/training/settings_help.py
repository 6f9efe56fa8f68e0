"""All settings of a run in groups, from signatures and docstrings: ``fit --help all``."""

import inspect
import re
from textwrap import fill
from typing import Any

from lightning.pytorch import Trainer

from lit_video import datamodules, modules
from lit_video.modules.optimization import Optimization
from lit_video.training.cli import LINKS, SETTINGS
from lit_video.utils.settings import RUN

MODELS = (modules.XViT, modules.TimeSformer, modules.ViViT, modules.Perceiver, modules.ConvNet)
INTRODUCTION = """\
Settings are flags, or keys of a YAML file. --model NAME and --data NAME choose the class;
--model.help NAME and --data.help NAME print one with types. A value in brackets is the default."""
WIDTH, INDENT = 110, 29


def settings_help() -> str:
    """Return the text: settings of each model, of training, of the data, and names of the trainer's options."""
    base = datamodules.VideoDataModule
    sets = [each for each in vars(datamodules).values() if isinstance(each, type) and issubclass(each, base)]
    run = [_line(name, default, text) for name, _, default, text in SETTINGS if name not in RUN["rows"]]
    trainer = " ".join(f"--trainer.{name}" for name in inspect.signature(Trainer).parameters)
    groups = {
        **{f"--model {model.__name__}": _settings(model, "model.") for model in MODELS},
        "Weights and what is trained, of every model": _settings(modules.VideoClassifier, "model."),
        "Training": [*_settings(Optimization, "model.optimization."), *run],
        "Data, of every data set": _settings(base, "data."),
        **{f"--data {each.__name__}": _settings(each, "data.", base) for each in sets if each is not base},
        "Trainer (Lightning's; fit --help trainer prints what each is)": [
            fill(trainer, WIDTH, initial_indent="  ", subsequent_indent="  ")
        ],
    }
    return "\n\n".join([INTRODUCTION, *("\n".join([title, *lines]) for title, lines in groups.items())])


def _settings(kind: type, part: str, base: type = object) -> list[str]:
    """Return a line for each argument of a class that its docstring explains, and that a base class does not have."""
    texts = dict(re.findall(r"^    (\w+): (.+(?:\n {8}.*)*)", inspect.cleandoc(kind.__doc__ or ""), re.MULTILINE))
    inherited = inspect.signature(base).parameters if base is not object else ()
    skipped = {"network", "seed", *inherited, *(LINKS if part == "model." else ())}
    arguments = inspect.signature(kind).parameters.values()
    shown = [each for each in arguments if each.name in texts and each.name not in skipped]
    return [_line(part + each.name, each.default, texts[each.name]) for each in shown]


def _line(name: str, default: Any, text: str) -> str:
    """Return an argument with its text, without the marks of reStructuredText, and its default."""
    plain = re.sub(r":\w+:|[`~]", "", " ".join(text.split()))
    known = "" if default is inspect.Parameter.empty else f" [{default}]"
    start = f"  --{name} ".ljust(INDENT)
    lines = fill(plain + known, WIDTH, initial_indent=" " * INDENT, subsequent_indent=" " * INDENT)
    return f"{start}\n{lines}" if len(start) > INDENT else start + lines[INDENT:]
