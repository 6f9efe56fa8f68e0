"""Lightning's command line on nested settings: settings -> data set and model."""

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy, deepcopy
from dataclasses import dataclass
from typing import Any, Literal, Self

import torch
from jsonargparse import ArgumentError, Namespace
from jsonargparse.typing import PositiveInt, restricted_string_type
from lightning.fabric.utilities.exceptions import MisconfigurationException
from lightning.pytorch.cli import LightningArgumentParser, LightningCLI
from lightning.pytorch.utilities import rank_zero_only

from lit_video import modules
from lit_video.datamodules import VideoDataModule
from lit_video.engine.progress import ReportBroken
from lit_video.errors import UserError, one_line, raised_by
from lit_video.experiment.constructors import arguments_of
from lit_video.experiment.ignored import LINKED_SETTINGS
from lit_video.modules import VideoClassifier
from lit_video.schemes.own_classes import import_named, names_of
from lit_video.settings.effects import OWN_CODE, RUN_KEYS
from lit_video.settings.messages import explain
from lit_video.settings.nested import Nested
from lit_video.utils.startup import filter_lightning
from lit_video.weights.hub import weights_path
from lit_video.weights.reading import read_weights
from lit_video.weights.settings import flags, model_settings, pixel_settings

_logger = logging.getLogger(__name__)

TRAINER_DEFAULTS = {"use_distributed_sampler": False, "enable_model_summary": False, "num_sanity_val_steps": 0}

SUBCOMMANDS = ("fit", "test")  # Lightning's subcommands that are used here

NanPolicy = restricted_string_type("NanPolicy", r"^(fail|skip:\d+)$", docstring="fail or skip:N")

# settings of an experiment besides Lightning's: name, type, default, help
RUN_SETTINGS: tuple[tuple[str, Any, Any, str], ...] = (
    ("table", dict[str, Any] | None, None, "rows of a table (in configuration files)"),
    ("recipes", dict[str, Any] | None, None, "recipes by family (in a scale's file)"),
    ("scale", bool, False, "true: rows adapt these settings (in a scale's file)"),
    ("checkpoint_every", float, 30.0, "seconds between checkpoints of a run in training"),
    ("global_batch", PositiveInt | None, None, "clips per optimizer step, on any number of devices"),
    ("nan", NanPolicy, "fail", "at a non-finite loss: fail, or skip:N to leave out up to N steps"),
    ("compile", Literal["off", "full"], "off", "full: fit compiles the network; rounding changes, random draws do not"),
    ("float32_products", Literal["exact", "tf32"], "exact", "fit's products on a GPU; tf32 rounds factors to 10 bits"),
    ("wandb_artifact", Literal["best", "last"] | None, None, "checkpoint that fit gives to W&B; best: the tested one"),
)


@dataclass(frozen=True)
class Built:
    """Data set and model of an experiment, with the settings that they were built of."""

    datamodule: VideoDataModule
    model: VideoClassifier
    config: Namespace  # settings, parsed
    objects: Namespace  # settings with their classes built


class VideoCLI(LightningCLI):
    """LightningCLI that parses settings once, and copies those of the data set to the model.

    Without ``execute`` it builds nothing by itself: :meth:`build` does, as often as it is asked for.

    Args:
        args: nested settings; with ``execute``, those of each subcommand are below its name. A list of words is taken
            too, but only to print help.
        execute: run a subcommand.
    """

    model: VideoClassifier
    datamodule: VideoDataModule

    def __init__(self, args: Nested | list[str], execute: bool = False) -> None:
        filter_lightning()
        settings = {"exit_on_error": False, "allow_abbrev": False}
        super().__init__(
            VideoClassifier,
            VideoDataModule,
            subclass_mode_model=True,
            subclass_mode_data=True,
            save_config_callback=None,
            seed_everything_default=0,
            auto_configure_optimizers=False,
            trainer_defaults=TRAINER_DEFAULTS | ({"callbacks": [ReportBroken()]} if execute else {}),
            parser_kwargs=settings | {name: {**settings} for name in SUBCOMMANDS},  # Lightning writes into them
            args=deepcopy(args),  # the parser changes its argument
            run=execute,
            load_from_checkpoint_support=execute,  # without it, by ``build``
        )

    @staticmethod
    def subcommands() -> dict[str, set[str]]:
        """Return the arguments of the Trainer that each subcommand leaves out; each subcommand has a parser to make."""
        of_lightning = LightningCLI.subcommands()
        return {name: of_lightning[name] for name in SUBCOMMANDS}

    def add_arguments_to_parser(self, parser: LightningArgumentParser) -> None:
        """Add the settings of an experiment, and link settings of the model to those of the data set."""
        for name, kind, default, text in RUN_SETTINGS:
            parser.add_argument(f"--{name}", type=kind, default=default, help=text)
        for name in LINKED_SETTINGS:
            parser.link_arguments(f"data.{name}", f"model.init_args.{name}", apply_on="instantiate")
        parser.link_arguments("seed_everything", "data.init_args.seed", compute_fn=int)

    def before_instantiate_classes(self) -> None:
        """Import the classes of a subcommand, and take the settings of its weights."""
        if self.subcommand:
            take_named(self.config[self.subcommand])

    def _set_seed(self) -> None:
        """Seed the process's generators for a subcommand; who only reads settings goes on with the user's."""
        if self.subcommand:
            super()._set_seed()

    def instantiate_classes(self) -> None:
        """Build a subcommand's data set, model and trainer."""
        if self.subcommand:
            super().instantiate_classes()

    def build(self, device: str = "cpu") -> Built:
        """Build data set and model on a device, from the seed; on ``meta`` without memory, to find mistakes.

        A model in memory keeps its settings for checkpoints; to note them takes as long as to build it.
        """
        take_named(self.config)
        if device != "meta":
            super()._set_seed()
            self._add_instantiators()
        with torch.device(device):
            objects = self.parser.instantiate(self.config)
        return Built(objects.data, objects.model, self.config, objects)

    def _dump_config(self) -> None:
        """Note the settings for checkpoints; unlike Lightning's own, unchecked, and by JSON, which takes a third."""
        if self.subcommand:
            super()._dump_config()
        elif not hasattr(self, "config_dump"):
            text = self.parser.dump(
                self.config, skip_link_targets=False, skip_unset=False, skip_validation=True, format="json"
            )
            self.config_dump = json.loads(text)

    def _parse_ckpt_path(self) -> None:
        """Keep YAML and flags; LightningCLI would silently override them with a checkpoint's hyper-parameters."""

    def resolved(self) -> dict[str, Any]:
        """Return the configuration as plain data, without linked settings, file names, table rows and unset classes."""
        text = self.parser.dump(
            self.config, skip_unset=False, skip_validation=True, skip_link_targets=True, format="json"
        )
        config: dict[str, Any] = json.loads(text)
        model = (config.get("model") or {}).get("init_args") or {}
        for name in OWN_CODE:
            if name in model and model[name] is None:
                del model[name]
        return {key: value for key, value in config.items() if key not in {"config", *RUN_KEYS["rows"]}}

    def with_settings(self, settings: Nested) -> Self:
        """Return this command line with other settings, read by the same parser."""
        other = copy(self)
        other.parse_arguments(self.parser, deepcopy(settings))
        vars(other).pop("config_dump", None)  # noted of this one's settings
        return other


def take_named(config: Namespace) -> None:
    """Import a user's classes; with ``weights_settings apply`` take the settings of the released weights."""
    model = config.model.init_args
    import_named(model)
    if not _takes_settings(model):
        return

    stored = read_weights(weights_path(model.weights), model.weights_ema, model.weights_source)
    of_model = model_settings(stored)
    of_pixels = pixel_settings(stored)
    changes = [_take(model, of_model, "model"), _take(config.data.init_args, of_pixels, "data")]
    changed = " ".join(change for change in changes if change)
    if changed:
        rank_zero_only(_logger.info)(f"{model.weights}: settings of its training are used: {changed}")


def _takes_settings(model: Mapping[str, Any]) -> bool:
    """Return whether the settings of the released weights are taken."""
    return bool(model.get("weights")) and model.get("weights_settings") == "apply"


def is_changed_by_building(model: Mapping[str, Any]) -> bool:
    """Return whether :func:`take_named` changes settings: the model names a user's classes, or takes settings."""
    return bool(names_of(model)) or _takes_settings(model)


def _take(arguments: Any, settings: Mapping[str, Any], part: Literal["model", "data"]) -> str:
    """Overwrite arguments by the settings of the same name; return the changes as flags."""
    taken: dict[str, Any] = {}
    for key, value in settings.items():
        if key in arguments and arguments[key] != value:
            arguments[key] = value
            taken[key] = value
    return flags(taken, part)


def _family_arguments() -> dict[str, Nested]:
    """Return the arguments of every model family, by its name."""
    families = [name for name in modules.__all__ if name != VideoClassifier.__name__]
    return {name: arguments_of(name) or {} for name in families}


@contextmanager
def user_errors(where: Callable[[str], str]) -> Iterator[None]:
    """Report configuration errors in one line; ``where`` returns the origin of a setting from its key."""
    try:
        yield
    except UserError as error:  # the message begins with the setting's key
        raise UserError(f"{where(str(error).split(':')[0])}: {error}") from error
    except MisconfigurationException as error:  # from the trainer, for instance without a GPU
        raise UserError(f"{where('trainer')}: trainer: {one_line(error)}") from error
    except (ArgumentError, ValueError, TypeError) as error:
        if isinstance(error, TypeError) and raised_by(error) != "jsonargparse":  # a fault of the program
            raise
        key, reason = explain(str(error), _family_arguments())
        raise UserError(": ".join(filter(None, (where(key), key, reason)))) from error


def show(argv: list[str]) -> int:
    """Print help or a resolved configuration."""
    try:
        VideoCLI(argv, execute=True)
    except SystemExit as stop:
        return int(stop.code or 0)
    except ArgumentError as error:
        raise UserError(": ".join(filter(None, explain(str(error), _family_arguments())))) from error
    return 0
