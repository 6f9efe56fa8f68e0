"""Train, compare and reproduce video transformers in PyTorch Lightning; names below are imported at first use."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lit_video import datamodules as datamodules
    from lit_video import modules as modules
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
    from lit_video.tables.reading import read_table as read_table
    from lit_video.tables.summary import summary as summary
    from lit_video.weights.loading import load_pretrained as load_pretrained

__version__ = "0.1.0"

# models and data sets are left out: jsonargparse would shorten the path lit_video.modules.XViT to lit_video.XViT
_MODULES = {
    "AttentionMaps": "inference.attention_maps",
    "Evaluation": "inference.predict",
    "TrainedModel": "inference.predict",
    "UserError": "errors",
    "VideoPredictions": "inference.predict",
    "attention_maps": "inference.attention_maps",
    "from_pretrained": "inference.predict",
    "load": "inference.predict",
    "load_pretrained": "weights.loading",
    "predict": "inference.predict",
    "read_table": "tables.reading",
    "stream": "inference.predict",
    "summary": "tables.summary",
}
__all__ = [  # literal strings: the API pages read them without importing this module
    "AttentionMaps",
    "Evaluation",
    "TrainedModel",
    "UserError",
    "VideoPredictions",
    "attention_maps",
    "datamodules",
    "from_pretrained",
    "load",
    "load_pretrained",
    "modules",
    "predict",
    "read_table",
    "stream",
    "summary",
]


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return getattr(import_module(f"lit_video.{_MODULES[name]}"), name)
    if name in __all__:
        return import_module(f"lit_video.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}; models are in {__name__}.modules")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
