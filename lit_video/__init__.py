"""lit_video: train, compare and reproduce video transformers in PyTorch Lightning.

The names below are loaded when they are first used: ``import lit_video`` alone takes no time.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lit_video.errors import UserError as UserError
    from lit_video.inference.options import Evaluation as Evaluation
    from lit_video.inference.predict import VideoPredictions as VideoPredictions
    from lit_video.inference.predict import predict as predict
    from lit_video.modules import ConvNet as ConvNet
    from lit_video.modules import Perceiver as Perceiver
    from lit_video.modules import TimeSformer as TimeSformer
    from lit_video.modules import ViViT as ViViT
    from lit_video.modules import XViT as XViT
    from lit_video.network.pretrained.loading import load_pretrained as load_pretrained
    from lit_video.tables.reading import read_table as read_table
    from lit_video.tables.summary import summary as summary
    from lit_video.visual.attention_maps import attention_maps as attention_maps
    from lit_video.visual.attention_picture import AttentionMaps as AttentionMaps
    from lit_video.visual.projection import Embedding as Embedding
    from lit_video.visual.projection import embed as embed

__version__ = "0.1.0"

_MODULES = {
    "AttentionMaps": "visual.attention_picture",
    "ConvNet": "modules",
    "Embedding": "visual.projection",
    "Evaluation": "inference.options",
    "Perceiver": "modules",
    "TimeSformer": "modules",
    "UserError": "errors",
    "ViViT": "modules",
    "VideoPredictions": "inference.predict",
    "XViT": "modules",
    "attention_maps": "visual.attention_maps",
    "embed": "visual.projection",
    "load_pretrained": "network.pretrained.loading",
    "predict": "inference.predict",
    "read_table": "tables.reading",
    "summary": "tables.summary",
}
__all__ = [*_MODULES]


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
