"""The predictions against measured steps of one and two processes. Imports no torch."""

from dataclasses import dataclass
from statistics import median
from typing import Any

from lit_video.costs.scaling import Cluster, Model, ddp_step


@dataclass(frozen=True)
class Check:
    """A kind of step: time over that of the same passes without communication, predicted and measured."""

    name: str
    predicted: float
    measured: float


def loopback(stored: dict[str, Any]) -> Cluster:
    """The two processes as a cluster: a line through the smallest and largest all-reduce; nothing overlaps.

    Communication is work of the same cores that compute.
    """
    points = [(row["bytes"], median(row["seconds"])) for row in stored["all_reduce"]]
    (small, fast), (large, slow) = points[0], points[-1]
    bandwidth = (large - small) / (slow - fast)
    hop = max(fast - small / bandwidth, 0) / 2  # a ring of two sends its payload once, in two steps
    return Cluster(2, bandwidth, bandwidth, share=1, link_hop=hop, network_hop=hop, overlap=0)


def check(stored: dict[str, Any]) -> list[Check]:
    """Steps of two processes with one reduction, and with one in several passes; medians of the rounds' ratios."""
    cluster, rounds = loopback(stored), stored["seconds"]
    apart = median(rounds["two apart"])
    model = Model(stored["parameters"], 0, 1, apart / stored["clips"], 0)
    checks = []
    for name, passes in (("two", 1), ("two, accumulated", stored["passes"])):
        predicted = ddp_step(model, 2, stored["clips"], passes, cluster).seconds / (passes * apart)
        ratios = [with_reduction / (passes * without) for with_reduction, without in _rounds(rounds, name)]
        checks.append(Check(name, predicted, median(ratios)))
    return checks


def contention(stored: dict[str, Any]) -> float:
    """What two processes that do not communicate take from each other: their time over that of one alone."""
    return median(two / one for one, two in zip(stored["seconds"]["one"], stored["seconds"]["two apart"], strict=True))


def _rounds(seconds: dict[str, list[float]], name: str) -> list[tuple[float, float]]:
    return list(zip(seconds[name], seconds["two apart"], strict=True))
