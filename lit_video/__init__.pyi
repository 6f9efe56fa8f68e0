# The names of the package, once: type checkers and documentation read them here, and __init__.py does at import
from lit_video import datamodules as datamodules
from lit_video import modules as modules
from lit_video.api.compare import compare as compare
from lit_video.api.cost import cost as cost
from lit_video.api.dashboard import dashboard as dashboard
from lit_video.api.data import check as check
from lit_video.api.data import floors as floors
from lit_video.api.data import prepare as prepare
from lit_video.api.doctor import doctor as doctor
from lit_video.api.embed import embed as embed
from lit_video.api.export import export as export
from lit_video.api.finetune import finetune as finetune
from lit_video.api.fit import fit as fit
from lit_video.api.fit import row_settings as row_settings
from lit_video.api.pack import pack as pack
from lit_video.api.probe import probe as probe
from lit_video.api.profile import profile as profile
from lit_video.api.report import report as report
from lit_video.api.sweep import progress as progress
from lit_video.api.sweep import sweep as sweep
from lit_video.api.table import table as table
from lit_video.api.test import test as test
from lit_video.api.test import test_settings as test_settings
from lit_video.api.weights import fetch_weights as fetch_weights
from lit_video.api.weights import list_models as list_models
from lit_video.api.weights import published_weights as published_weights
from lit_video.errors import RunFailed as RunFailed
from lit_video.errors import RunStopped as RunStopped
from lit_video.errors import UserError as UserError
from lit_video.inference.attention_maps import AttentionMaps as AttentionMaps
from lit_video.inference.attention_maps import attention_maps as attention_maps
from lit_video.inference.predict import TrainedModel as TrainedModel
from lit_video.inference.predict import VideoPredictions as VideoPredictions
from lit_video.inference.predict import from_pretrained as from_pretrained
from lit_video.inference.predict import load as load
from lit_video.inference.predict import predict as predict
from lit_video.inference.predict import stream as stream
from lit_video.inference.videos import Evaluation as Evaluation
from lit_video.launching.slurm import Resources as Resources
from lit_video.tables.reading import read_table as read_table
from lit_video.tables.summary import summary as summary
from lit_video.utils.messages import show_messages as show_messages
from lit_video.weights.loading import load_pretrained as load_pretrained

__version__: str
MODULES: dict[str, str]
