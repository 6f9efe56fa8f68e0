"""Statistics of a test: intervals over videos and seeds, clusters, power, several tests at once, calibration."""

from lit_video.tables.statistics.calibration import calibration_error
from lit_video.tables.statistics.few_differ import cautious_difference
from lit_video.tables.statistics.intervals import Hits, Interval, paired_difference
from lit_video.tables.statistics.levels import CONFIDENCE, LEVEL
from lit_video.tables.statistics.multiplicity import holm_adjusted
from lit_video.tables.statistics.power import POWER, detectable
from lit_video.tables.statistics.ranks import kendall_tau
from lit_video.tables.statistics.share import accuracy_interval, chance_of_share
from lit_video.tables.statistics.spread import Spread, chances_of_spread, pooled_spread

__all__ = [
    "CONFIDENCE",
    "LEVEL",
    "POWER",
    "Hits",
    "Interval",
    "Spread",
    "accuracy_interval",
    "calibration_error",
    "cautious_difference",
    "chance_of_share",
    "chances_of_spread",
    "detectable",
    "holm_adjusted",
    "kendall_tau",
    "paired_difference",
    "pooled_spread",
]
