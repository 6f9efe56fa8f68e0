"""Settings from a run's record, which may come from an untrusted source."""

import sys
from collections.abc import Sequence
from pathlib import Path

from lit_video.datamodules import VideoDataModule
from lit_video.errors import UserError
from lit_video.experiment.cli import VideoCLI, user_errors
from lit_video.experiment.recorded_classes import TrustedPackages
from lit_video.modules import VideoClassifier
from lit_video.runs.folder import read_record
from lit_video.schemes.own_classes import is_known, names_of
from lit_video.settings.effects import model_names, picked
from lit_video.settings.flags import UserSetting
from lit_video.settings.nested import Nested
from lit_video.utils.processes import usable_cores

TAKEN = ("seed_everything", "data", "model")


def run_settings(record: Path, user_settings: Sequence[UserSetting] = ()) -> Nested:
    """Return the model, data, seed and precision in a run's ``run.json``.

    A record may come from anybody. So classes must be of this package, or of a package that ``user_settings`` name;
    nothing is written to folders that the record names; callbacks, loggers, plugins and other classes of the trainer
    are left out.
    """
    try:
        identity = read_record(record.parent).identity
        if identity is None:
            raise KeyError("identity")
        settings = identity.settings
        precision = settings["trainer"]["precision"]
        taken = {key: settings[key] for key in TAKEN}
        with user_errors(lambda key: str(record)):
            named = [str(setting.value) for setting in user_settings]
            paths = [name for name in named if "." in name and name.replace(".", "").isidentifier()]
            trusted = TrustedPackages({"lit_video", *(path.partition(".")[0] for path in paths)})
            trusted.check_class(taken["data"], VideoDataModule, "data")
            trusted.check_class(taken["model"], VideoClassifier, "model")
            read = VideoCLI(taken).resolved()
    except (KeyError, TypeError, AttributeError) as error:  # the record holds something else
        raise UserError(f"{record}: has no settings ({error}); give --config FILE") from error

    arguments = read["data"]["init_args"]
    arguments["num_workers"] = min(arguments["num_workers"], usable_cores())
    module, _, name = read["data"]["class_path"].rpartition(".")
    kind = getattr(sys.modules[module], name)
    if kind.prepare_data is not VideoDataModule.prepare_data:  # this class writes videos
        arguments.pop("root", None)

    _adapt_model(read["model"]["init_args"], record, user_settings)
    return {"trainer": {"precision": precision}} | picked(read, TAKEN)


def _adapt_model(model: Nested, record: Path, user_settings: Sequence[UserSetting]) -> None:
    """Drop starting weights, which the checkpoint replaces, and own parts for which the user names others."""
    for name in model_names("files"):
        model.pop(name, None)

    named = {setting.key for setting in user_settings}
    for name, class_name in names_of(model).items():
        if f"model.{name}" in named:
            del model[name]
        elif not is_known(class_name):
            reason = f"{name} is {class_name!r}, whose module is not imported"
            raise UserError(f"{record}: {reason}; if you trust it, give its file as --scheme")
