"""The predictions against measured steps of one and two processes. Imports no torch."""

from dataclasses import dataclass
from statistics import median
from typing import Any

from lit_video.costs.scaling import Cluster, Model, ddp_step


@dataclass(frozen=True)
class Check:
    """A kind of step: its time over that of the same passes without communication, predicted and measured."""

    name: str
    predicted: float
    measured: float


@dataclass(frozen=True)
class Quiet:
    """Rounds of a stored measurement in which the machine did the least else.

    They are the third of the rounds that took the shortest time in all: chosen by what they took, never by a ratio.
    """

    rounds: tuple[int, ...]
    stored: dict[str, Any]

    def seconds(self, kind: str) -> list[float]:
        """Of a kind of step, round by round."""
        return [self.stored["seconds"][kind][i] for i in self.rounds]

    def ratio(self, kind: str, to: str) -> float:
        """Median over the rounds of the time of one kind over another's."""
        return median(a / b for a, b in zip(self.seconds(kind), self.seconds(to), strict=True))

    def loopback(self) -> Cluster:
        """The two processes as a cluster: a line through the smallest and the largest all-reduce; nothing overlaps.

        Communication is work of the same cores that compute.
        """
        rows = self.stored["all_reduce"]
        points = [(row["bytes"], median(row["seconds"][i] for i in self.rounds)) for row in rows]
        (small, fast), (large, slow) = points[0], points[-1]
        bandwidth = (large - small) / (slow - fast)
        hop = max(fast - small / bandwidth, 0) / 2  # a ring of two sends its payload once, in two steps
        return Cluster(2, bandwidth, bandwidth, share=1, link_hop=hop, network_hop=hop, overlap=0)

    def checks(self) -> list[Check]:
        """Steps of two processes with one pass, and with several."""
        cluster, parameters = self.loopback(), self.stored["parameters"]
        checks = []
        for name, alone in (("two", "two apart"), ("two, accumulated", "two apart, accumulated")):
            seconds = median(self.seconds(alone))
            model = Model(parameters, 0, 1, clip_seconds=seconds, least_seconds=0)
            predicted = ddp_step(model, 2, clips=1, passes=1, cluster=cluster).seconds / seconds
            checks.append(Check(name, predicted, self.ratio(name, alone)))
        return checks


def quiet(stored: dict[str, Any]) -> Quiet:
    """The quiet third of a measurement's rounds."""
    totals = [sum(each) for each in zip(*stored["seconds"].values(), strict=True)]
    return Quiet(tuple(sorted(range(len(totals)), key=totals.__getitem__)[: max(len(totals) // 3, 1)]), stored)
