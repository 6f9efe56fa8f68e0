"""Statistics of a test: intervals over videos and seeds, clusters, power, several tests at once, calibration."""

from lit_video.tables.statistics.calibration import calibration_error as calibration_error
from lit_video.tables.statistics.clusters import FEWEST_CLUSTERS as FEWEST_CLUSTERS
from lit_video.tables.statistics.hypotheses import chances_of_spread as chances_of_spread
from lit_video.tables.statistics.hypotheses import detectable as detectable
from lit_video.tables.statistics.hypotheses import holm_adjusted as holm_adjusted
from lit_video.tables.statistics.intervals import LEVEL as LEVEL
from lit_video.tables.statistics.intervals import Hits as Hits
from lit_video.tables.statistics.intervals import Interval as Interval
from lit_video.tables.statistics.intervals import accuracy_interval as accuracy_interval
from lit_video.tables.statistics.intervals import cautious_difference as cautious_difference
from lit_video.tables.statistics.intervals import chance_of_share as chance_of_share
from lit_video.tables.statistics.intervals import mean_of_halves as mean_of_halves
from lit_video.tables.statistics.intervals import paired_difference as paired_difference
from lit_video.tables.statistics.intervals import wilson as wilson
from lit_video.tables.statistics.spread import Spread as Spread
from lit_video.tables.statistics.spread import pooled_spread as pooled_spread
