"""Train, compare and reproduce video transformers in PyTorch Lightning; names below are imported at first use."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lit_video import datamodules as datamodules
    from lit_video import modules as modules
    from lit_video.api.check import check as check
    from lit_video.api.compare import compare as compare
    from lit_video.api.cost import cost as cost
    from lit_video.api.dashboard import dashboard as dashboard
    from lit_video.api.doctor import doctor as doctor
    from lit_video.api.embed import embed as embed
    from lit_video.api.export import export as export
    from lit_video.api.finetune import finetune as finetune
    from lit_video.api.fit import fit as fit
    from lit_video.api.fit import row_settings as row_settings
    from lit_video.api.floors import floors as floors
    from lit_video.api.pack import pack as pack
    from lit_video.api.prepare import prepare as prepare
    from lit_video.api.probe import probe as probe
    from lit_video.api.profile import profile as profile
    from lit_video.api.report import report as report
    from lit_video.api.sweep import progress as progress
    from lit_video.api.sweep import sweep as sweep
    from lit_video.api.table import table as table
    from lit_video.api.test import test as test
    from lit_video.api.test import test_settings as test_settings
    from lit_video.api.weights import fetch_weights as fetch_weights
    from lit_video.api.weights import published_weights as published_weights
    from lit_video.errors import RunFailed as RunFailed
    from lit_video.errors import RunStopped as RunStopped
    from lit_video.errors import UserError as UserError
    from lit_video.inference.attention_maps import AttentionMaps as AttentionMaps
    from lit_video.inference.attention_maps import attention_maps as attention_maps
    from lit_video.inference.predict import Evaluation as Evaluation
    from lit_video.inference.predict import TrainedModel as TrainedModel
    from lit_video.inference.predict import VideoPredictions as VideoPredictions
    from lit_video.inference.predict import from_pretrained as from_pretrained
    from lit_video.inference.predict import load as load
    from lit_video.inference.predict import predict as predict
    from lit_video.inference.predict import stream as stream
    from lit_video.launching.slurm import Resources as Resources
    from lit_video.tables.reading import read_table as read_table
    from lit_video.tables.summary import summary as summary
    from lit_video.utils.messages import show_messages as show_messages
    from lit_video.weights.loading import load_pretrained as load_pretrained

__version__ = "0.1.0"

# models and data sets are left out: jsonargparse would shorten the path lit_video.modules.XViT to lit_video.XViT
_MODULES = {
    "AttentionMaps": "inference.attention_maps",
    "Evaluation": "inference.predict",
    "Resources": "launching.slurm",
    "RunFailed": "errors",
    "RunStopped": "errors",
    "TrainedModel": "inference.predict",
    "UserError": "errors",
    "VideoPredictions": "inference.predict",
    "attention_maps": "inference.attention_maps",
    "check": "api.check",
    "compare": "api.compare",
    "cost": "api.cost",
    "dashboard": "api.dashboard",
    "doctor": "api.doctor",
    "embed": "api.embed",
    "export": "api.export",
    "fetch_weights": "api.weights",
    "finetune": "api.finetune",
    "fit": "api.fit",
    "floors": "api.floors",
    "from_pretrained": "inference.predict",
    "load": "inference.predict",
    "load_pretrained": "weights.loading",
    "pack": "api.pack",
    "predict": "inference.predict",
    "prepare": "api.prepare",
    "probe": "api.probe",
    "profile": "api.profile",
    "progress": "api.sweep",
    "published_weights": "api.weights",
    "read_table": "tables.reading",
    "report": "api.report",
    "row_settings": "api.fit",
    "show_messages": "utils.messages",
    "stream": "inference.predict",
    "summary": "tables.summary",
    "sweep": "api.sweep",
    "table": "api.table",
    "test": "api.test",
    "test_settings": "api.test",
}
__all__ = [  # literal strings: the API pages read them without importing this module
    "AttentionMaps",
    "Evaluation",
    "Resources",
    "RunFailed",
    "RunStopped",
    "TrainedModel",
    "UserError",
    "VideoPredictions",
    "attention_maps",
    "check",
    "compare",
    "cost",
    "dashboard",
    "datamodules",
    "doctor",
    "embed",
    "export",
    "fetch_weights",
    "finetune",
    "fit",
    "floors",
    "from_pretrained",
    "load",
    "load_pretrained",
    "modules",
    "pack",
    "predict",
    "prepare",
    "probe",
    "profile",
    "progress",
    "published_weights",
    "read_table",
    "report",
    "row_settings",
    "show_messages",
    "stream",
    "summary",
    "sweep",
    "table",
    "test",
    "test_settings",
]


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return getattr(import_module(f"lit_video.{_MODULES[name]}"), name)
    if name in __all__:
        return import_module(f"lit_video.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}; models are in {__name__}.modules")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
