"""What training on many devices costs, predicted: communication, steps, efficiency. Imports no torch.

Bytes are per device and optimizer step, times in seconds, bandwidths in bytes per second and direction. Communication
follows the ring (Patarasuk and Yuan, J. Parallel Distrib. Comput. 69, 2009, doi:10.1016/j.jpdc.2008.09.002) with
NCCL's own model of latencies (src/graph/tuning.cc); what is sharded, ZeRO (Rajbhandari et al., arXiv:1910.02054) and
FSDP (Zhao et al., arXiv:2304.11277).
"""

from dataclasses import dataclass
from math import ceil, log2
from typing import Literal

Strategy = Literal["ddp", "fsdp"]
WORD = 4  # bytes of a parameter and of its gradient: mixed precision keeps both in float32
BUCKET = 25 * 2**20  # bytes that DDP reduces at once (``bucket_cap_mb``)


@dataclass(frozen=True)
class Cluster:
    """Devices and what connects them.

    Args:
        node: devices of a node.
        link: bandwidth of a device to the others of its node.
        network: bandwidth of a node to the others, all its cards together.
        share: of both that a collective reaches.
        link_hop: latency of a step of a ring inside a node.
        network_hop: latency of a step between nodes.
        overlap: share of the computation's time in which communication costs nothing.
    """

    node: int
    link: float
    network: float
    share: float
    link_hop: float
    network_hop: float
    overlap: float

    def bandwidth(self, devices: int) -> float:
        """Of a ring through all devices, per device: that of its narrowest place.

        A ring crosses from node to node once in each direction; NCCL runs a ring per network card, which together have
        the network's bandwidth.
        """
        return self.share * (self.link if devices <= self.node else min(self.link, self.network))


@dataclass(frozen=True)
class Model:
    """What is to be trained, on one device.

    Args:
        parameters: of the network.
        block: parameters of its largest block, which FSDP gathers at once.
        blocks: how many there are.
        clip_seconds: of computation per clip and step, forward and backward.
        least_seconds: that a step takes however few clips it has: the time to start its operators.
    """

    parameters: int
    block: int
    blocks: int
    clip_seconds: float
    least_seconds: float

    def compute(self, clips: int) -> float:
        """Seconds of forward and backward pass over so many clips on one device."""
        return max(self.least_seconds, clips * self.clip_seconds)


@dataclass(frozen=True)
class Step:
    """An optimizer step: seconds that the device computes, communicates, and waits because of it."""

    compute: float
    communication: float
    exposed: float

    @property
    def seconds(self) -> float:
        """Of the whole step."""
        return self.compute + self.exposed


def all_reduce_bytes(payload: float, devices: int) -> float:
    """Bytes that each device sends in a ring all-reduce of a payload: ``2 (n - 1) / n``."""
    return 2 * (devices - 1) / devices * payload


def gather_bytes(payload: float, devices: int) -> float:
    """Bytes that each device sends in a ring all-gather, or reduce-scatter, of a payload: ``(n - 1) / n``."""
    return (devices - 1) / devices * payload


def step_bytes(strategy: Strategy, parameters: int, devices: int) -> float:
    """Bytes that each device sends per step: DDP reduces gradients; FSDP gathers twice and scatters gradients."""
    if strategy == "ddp":
        return all_reduce_bytes(WORD * parameters, devices)
    return 3 * gather_bytes(WORD * parameters, devices)


def all_reduce_seconds(payload: float, devices: int, cluster: Cluster) -> float:
    """Time of an all-reduce: latency of the ring or of NCCL's tree, whichever is less, and the ring's bytes.

    Ring: ``2 (n - 1)`` steps, of which ``2 (m - 1)`` between m nodes. Tree: ``2 (n / m - 1)`` in a node and
    ``2 log2(m)`` between nodes.
    """
    if devices == 1:
        return 0.0
    nodes = ceil(devices / cluster.node)
    tree = 2 * ((devices / nodes - 1) * cluster.link_hop + ceil(log2(nodes)) * cluster.network_hop)
    latency = min(2 * _ring_latency(devices, nodes, cluster), tree)
    return latency + all_reduce_bytes(payload, devices) / cluster.bandwidth(devices)


def gather_seconds(payload: float, devices: int, cluster: Cluster) -> float:
    """Time of an all-gather or reduce-scatter by ring: ``n - 1`` steps, ``m - 1`` of them between m nodes."""
    if devices == 1:
        return 0.0
    latency = _ring_latency(devices, ceil(devices / cluster.node), cluster)
    return latency + gather_bytes(payload, devices) / cluster.bandwidth(devices)


def _ring_latency(devices: int, nodes: int, cluster: Cluster) -> float:
    return (devices - nodes) * cluster.link_hop + (nodes - 1) * cluster.network_hop


def ddp_step(model: Model, devices: int, clips: int, passes: int, cluster: Cluster) -> Step:
    """A step of DDP: ``passes`` passes over ``clips`` clips each per device, gradients reduced in the last.

    Buckets are reduced during the last backward pass, two thirds of its pass; the last bucket is ready only at its
    end. Accumulated passes (``no_sync``) communicate nothing.
    """
    compute = model.compute(clips)
    payload = WORD * model.parameters
    buckets = ceil(payload / BUCKET)
    one = all_reduce_seconds(payload / buckets, devices, cluster)
    hidden = cluster.overlap * compute * 2 / 3
    return Step(passes * compute, buckets * one, max(one, buckets * one - hidden))


def fsdp_step(model: Model, devices: int, clips: int, passes: int, cluster: Cluster) -> Step:
    """A step of FSDP2, a group of parameters per block: each pass gathers every group forward and backward.

    Gradients are scattered in the last pass. Groups are fetched ahead, so that all but the first gather and the last
    scatter may hide behind the computation.
    """
    compute = passes * model.compute(clips)
    payload = WORD * model.parameters
    groups = model.blocks + 1  # the blocks, and the embedding and head together
    one = gather_seconds(payload / groups, devices, cluster)
    total = groups * one * (2 * passes + 1)
    return Step(compute, total, max(2 * one, total - cluster.overlap * compute))


def step(strategy: Strategy, model: Model, devices: int, clips: int, passes: int, cluster: Cluster) -> Step:
    """A step of either strategy."""
    return (ddp_step if strategy == "ddp" else fsdp_step)(model, devices, clips, passes, cluster)
