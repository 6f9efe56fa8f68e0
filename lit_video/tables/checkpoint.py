"""Checkpoints by their file, their run's folder, or their row of a table."""

import json
import re
import sys
from collections.abc import Collection
from importlib.util import find_spec
from pathlib import Path

from lit_video.errors import OptionError, UserError
from lit_video.tables.results import read_result
from lit_video.tables.run_files import RUN, has_result, read_run

RUNS, BEST = Path("runs"), "best"  # of a run, the folder of Lightning's ModelCheckpoint
WAYS = "give a run's last.ckpt, its folder, or TABLE/ROW of runs/"


def find_checkpoint(text: str) -> Path:
    """The file of a checkpoint.

    Args:
        text: the file; the folder of a run, of which it is the checkpoint that was tested; ``TABLE/ROW`` of ``runs/``,
            its first seed.

    Raises:
        UserError: there is none, or several.
    """
    path = Path(text)
    if path.is_dir():
        return _of_run(path)
    if path.exists() or path.suffix == ".ckpt":
        return path
    named = len(path.parts) == 2 and not path.is_absolute()
    found = RUNS.glob(f"{path.parts[0]}/*/{path.parts[1]}/seed*") if named else ()
    runs = [run for run in found if has_result(run)]
    if not runs:
        raise OptionError("ckpt", f"{text}: no such file; {WAYS}")
    scales = sorted({run.parents[1].name for run in runs})
    if len(scales) > 1:
        raise OptionError("ckpt", f"{text}: was run at several scales ({', '.join(scales)}); give a run's folder")
    return _of_run(min(runs, key=lambda run: int(run.name.removeprefix("seed"))))


def settings_of(checkpoint: Path) -> Path:
    """``run.json`` of a checkpoint's run; it may not exist."""
    folder = checkpoint.parent.parent if checkpoint.parent.name == BEST else checkpoint.parent
    return folder / RUN


def run_flags(record: Path, given: Collection[str] = ()) -> list[str]:
    """The model and the data of a run, by its ``run.json``, as flags, with its seed and precision.

    A file can come from anybody: none of its callbacks, loggers, plugins and other classes of a trainer is taken, and
    no module is imported because it names a class, unless the user's ``given`` flags name it too.

    Raises:
        UserError: it is damaged, has no settings yet, or names a class of a module that is not imported.
    """
    settings = read_run(record.parent).get("identity", {}).get("settings")
    if not settings:
        raise UserError(f"{record}: has no settings; give --config FILE")
    named = json.dumps([settings["data"], settings["model"]], ensure_ascii=False)
    for key, name in re.findall(r'"(\w+)": "((?:[^"\\]|\\.)+)"', named):  # any text may be a class
        scheme = key == "attention"
        if (module := _would_import(name, absent=scheme)) and not any(flag.endswith(f"={name}") for flag in given):
            way = f"give --scheme {module}.py" if scheme else f"name it in a flag, as --model {name}"
            raise UserError(f"{record}: {key} is {name}, whose module is not imported; if you trust it, {way}")
    groups = [f"--{name}={json.dumps(settings[name])}" for name in ("data", "model")]
    precision = settings["trainer"]["precision"]
    return [f"--seed_everything={settings['seed_everything']}", f"--trainer.precision={json.dumps(precision)}", *groups]


def _would_import(name: str, absent: bool) -> str:
    """The module that ``MODULE.CLASS`` would import first, or that is absent; empty if there is none."""
    module, *rest = name.split(".")
    if not module or not rest or module in sys.modules:
        return ""
    spec = find_spec(module)
    return module if (spec.origin or len(rest) > 1 if spec else absent) else ""  # a folder alone has no code


def _of_run(folder: Path) -> Path:
    result = read_result(folder, anywhere=True)
    path = folder / (result["weights"]["file"] if result and "weights" in result else "last.ckpt")
    if not path.is_file() and (exported := folder / "model.safetensors").is_file():
        return exported
    if not path.is_file():
        raise OptionError("ckpt", f"{folder}: holds no checkpoint; {WAYS}")
    return path
