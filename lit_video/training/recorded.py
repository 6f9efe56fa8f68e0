"""Settings from a run's record, which may come from an untrusted source."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from lit_video.datamodules import VideoDataModule
from lit_video.errors import UserError
from lit_video.modules import VideoClassifier
from lit_video.runs.folder import read_record
from lit_video.schemes.loading import is_known, names_of
from lit_video.settings.effects import model_names, picked
from lit_video.settings.flags import Given
from lit_video.settings.nested import Nested
from lit_video.training.cli import ReadCLI, user_errors
from lit_video.training.recorded_classes import TrustedPackages
from lit_video.utils.processes import usable_cores

TAKEN = ("seed_everything", "data", "model")


def run_settings(record: Path, given: Sequence[Given] = ()) -> Nested:
    """Return the model, data, seed and precision in a run's ``run.json``.

    Classes must be of this package, or of a package that the user's ``given`` settings name. Nothing is written to
    folders named in the record; callbacks, loggers, plugins and other classes of the trainer are left out.
    """
    try:
        identity = read_record(record.parent).identity
        if identity is None:
            raise KeyError("identity")
        settings = identity.settings
        precision = settings["trainer"]["precision"]
        taken = {key: settings[key] for key in TAKEN}
        with user_errors(lambda key: str(record)):
            trusted = TrustedPackages({"lit_video", *_packages(given)})
            trusted.check_class(taken["data"], VideoDataModule, "data")
            trusted.check_class(taken["model"], VideoClassifier, "model")
            read = ReadCLI(taken).resolved()
    except (KeyError, TypeError, AttributeError) as error:  # the record holds something else
        raise UserError(f"{record}: has no settings ({error}); give --config FILE") from error
    data, model = read["data"], read["model"]["init_args"]
    data["init_args"]["num_workers"] = min(data["init_args"]["num_workers"], usable_cores())
    module, _, name = data["class_path"].rpartition(".")
    if getattr(sys.modules[module], name).prepare_data is not VideoDataModule.prepare_data:  # this class writes videos
        data["init_args"].pop("root", None)
    for name in model_names("files"):  # the checkpoint replaces the starting weights
        model.pop(name, None)
    for name, class_name in names_of(model).items():
        if any(setting.key == f"model.{name}" for setting in given):
            del model[name]
        elif not is_known(class_name):
            reason = f"{name} is {class_name!r}, whose module is not imported"
            raise UserError(f"{record}: {reason}; if you trust it, give its file as --scheme")
    return {"trainer": {"precision": precision}} | picked(read, TAKEN)


def _packages(given: Sequence[Given]) -> Iterator[str]:
    """Iterate over the packages of classes that the user's settings name."""
    for setting in given:
        name = str(setting.value)
        if "." in name and name.replace(".", "").isidentifier():
            yield name.partition(".")[0]
