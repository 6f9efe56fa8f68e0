"""The Lightning command line: files and flags -> data set, model and trainer."""

from __future__ import annotations

import argparse
import re
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch.cli import LightningArgumentParser, LightningCLI

import lit_video.datamodules
import lit_video.modules  # importing both lets YAML say XViT for lit_video.modules.XViT
from lit_video.datamodules import VideoDataModule
from lit_video.errors import UserError
from lit_video.modules import VideoClassifier

# the data set decides, the model follows
LINKS = ("num_classes", "frames", "image_size")
TRAINER_DEFAULTS = {"use_distributed_sampler": False, "enable_model_summary": False, "num_sanity_val_steps": 0}


class VideoCLI(LightningCLI):
    """LightningCLI with the data set's frames, image size and classes linked to the model.

    Args:
        args: flags, without the program's name.
        execute: whether the first argument is a subcommand to run; else classes are only built.
    """

    model: VideoClassifier
    datamodule: VideoDataModule

    def __init__(self, args: list[str], execute: bool = False, **trainer_defaults: Any) -> None:
        settings = {"exit_on_error": False}
        names = ("fit", "validate", "test", "predict")
        super().__init__(
            VideoClassifier,
            VideoDataModule,
            subclass_mode_model=True,
            subclass_mode_data=True,
            save_config_callback=None,
            seed_everything_default=0,
            auto_configure_optimizers=False,
            trainer_defaults=TRAINER_DEFAULTS | trainer_defaults,
            parser_kwargs={name: settings for name in names} if execute else settings,
            args=args,
            run=execute,
        )

    def add_arguments_to_parser(self, parser: LightningArgumentParser) -> None:
        """Links, and the keys of an experiment that are not Lightning's."""
        parser.add_argument("--table", type=dict[str, Any] | None, default=None, help="rows of a table (in files)")
        parser.add_argument(
            "--checkpoint_every", type=float, default=30.0, help="seconds between checkpoints of a run in training"
        )
        for name in LINKS:
            parser.link_arguments(f"data.{name}", f"model.init_args.{name}", apply_on="instantiate")
        parser.link_arguments("seed_everything", "data.init_args.seed", compute_fn=int)

    def _parse_ckpt_path(self) -> None:
        """Keep YAML and flags: LightningCLI would let a checkpoint's hyper-parameters win over them, silently."""

    def resolved(self) -> dict[str, Any]:
        """The whole configuration as plain data, without what the data set decides."""
        import yaml

        text = self.parser.dump(self.config, skip_none=False, skip_link_targets=True, format="yaml")
        config: dict[str, Any] = yaml.safe_load(text)
        return {key: value for key, value in config.items() if key not in {"config", "table"}}


class CheckCLI(VideoCLI):
    """Builds the model without memory and looks at the data, so that mistakes show before anything is trained."""

    def instantiate_classes(self) -> None:
        """Build data set and model on the meta device; no trainer."""
        with torch.device("meta"):
            built = self.parser.instantiate_classes(self.config)
        self.datamodule, self.model = built.data, built.model
        self.datamodule.check()


@contextmanager
def user_errors(where: str) -> Iterator[None]:
    """Tell what configuration errors mean in one line, beginning with ``where`` (a file, a row)."""
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "LightningCLI's args parameter")
            warnings.filterwarnings("ignore", ".*treespec, LeafSpec.*")
            yield
    except (argparse.ArgumentError, SystemExit, TypeError) as error:
        raise UserError(f"{where}: {_parse_message(str(error))}") from error
    except ValueError as error:
        raise UserError(f"{where}: {_owner(error)}{error}") from error


def _parse_message(text: str) -> str:
    """The innermost reason of a parser's nested message, with its key."""
    lines = [line.strip(" -") for line in text.splitlines() if line.strip()]
    key = re.search(r"'?(?:key|argument) \"?'?(?:--)?([\w.]+)", text)
    return f"{key[1]}: {lines[-1]}" if key and key[1] not in lines[-1] else lines[-1]


def _owner(error: ValueError) -> str:
    """``model.`` or ``data.``, whose constructor raised; their messages begin with the argument."""
    files = [Path(frame.filename) for frame in traceback.extract_tb(error.__traceback__)]
    package = Path(lit_video.datamodules.__file__).parent.parent
    inside = [file.relative_to(package).parts[0] for file in files if file.is_relative_to(package)]
    if "datamodules" in inside:
        return "data."
    return "model." if {"modules", "network", "attention"} & set(inside) else ""


def refuse_linked(args: list[str], where: str) -> None:
    """Refuse a value for what the data set decides: the parser would ignore it silently.

    Raises:
        UserError: a flag or a file sets it.
    """
    from lit_video.yamlfile import read_yaml

    for flag, value in zip(args, [*args[1:], ""], strict=True):
        name = flag.removeprefix("--model.").removeprefix("init_args.").split("=")[0]
        if flag.startswith("--model.") and name in LINKS:
            raise UserError(f"{where}: model.{name}: is taken from the data set; set data.{name} instead")
        if flag == "--config":
            model = read_yaml(Path(value)).get("model")
            model = read_yaml(Path(value).parent / model) if isinstance(model, str) and model.endswith("yaml") else model
            given = set(model.get("init_args") or {}) & set(LINKS) if isinstance(model, dict) else set()
            for name in given:
                raise UserError(f"{value}: model.{name}: is taken from the data set; set data.{name} instead")


def evaluate(argv: list[str]) -> int:
    """``validate``, ``test`` and ``predict`` of LightningCLI."""
    if {"-h", "--help"} & set(argv):
        return show(argv)
    refuse_linked(argv, argv[0])
    with user_errors(argv[0]):
        VideoCLI(argv, execute=True, logger=False)
    return 0


def show(argv: list[str]) -> int:
    """Print help or a resolved configuration."""
    try:
        VideoCLI(argv, execute=True)
    except SystemExit as stop:
        return int(stop.code or 0)
    except argparse.ArgumentError as error:
        print(f"error: {_parse_message(str(error))}", file=sys.stderr)
        return 2
    return 0
