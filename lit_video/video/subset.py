"""A share of the training videos (TimeSformer, Fig. 4)."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

from lit_video.video.clips import VideoRecord
from lit_video.video.seeding import digest


def share_of(records: Sequence[VideoRecord], share: float) -> list[VideoRecord]:
    """A share of every class's videos, rounded up, in the order of the records.

    A larger share holds a smaller one. Which videos are kept depends on their place among their class's alone, so that
    classes listed in pairs keep pairs.

    Args:
        records: of a split.
        share: above 0, at most 1.
    """
    places: dict[object, list[int]] = defaultdict(list)
    for index, record in enumerate(records):
        places[record.label].append(index)
    kept = []
    for indices in places.values():
        order = sorted(range(len(indices)), key=lambda place: digest("share", place))
        kept += [indices[place] for place in order[: math.ceil(share * len(indices))]]
    return [records[index] for index in sorted(kept)]
