"""Predictions of scaling against numbers worked out by hand."""

from dataclasses import replace

import pytest

from lit_video.costs.scaling import (
    BUCKET,
    Cluster,
    Model,
    all_reduce_bytes,
    all_reduce_seconds,
    ddp_step,
    fsdp_step,
    gather_seconds,
    step_bytes,
)

# nodes of 4; 100 bytes/s inside a node, 50 between nodes; hops of 1 and 10 seconds; nothing overlaps
CLUSTER = Cluster(node=4, link=100, network=50, share=1, link_hop=1, network_hop=10, overlap=0)
FREE = replace(CLUSTER, link_hop=0, network_hop=0)


def test_bytes_per_step():
    assert all_reduce_bytes(100, 4) == 150
    assert step_bytes("ddp", 1000, 2) == 4000  # 4 bytes x 1000 x 2 x 1/2
    assert step_bytes("fsdp", 1000, 2) == 6000  # two gathers and a scatter, half of 4000 bytes each
    assert step_bytes("fsdp", 1000, 8) / step_bytes("ddp", 1000, 8) == pytest.approx(1.5)
    assert step_bytes("ddp", 1000, 1) == 0


def test_all_reduce_in_a_node_and_between_nodes():
    assert all_reduce_seconds(200, 1, CLUSTER) == 0
    assert all_reduce_seconds(200, 2, CLUSTER) == 2 * 1 + 200 / 100
    # 8 devices, 2 nodes: 350 bytes at 50 a second; ring 2 (6 x 1 + 1 x 10) = 32, tree 2 (3 x 1 + 1 x 10) = 26
    assert all_reduce_seconds(200, 8, CLUSTER) == 26 + 350 / 50
    # a network that is faster than the links does not help
    assert all_reduce_seconds(200, 8, replace(FREE, network=1e9)) == 350 / 100


def test_share_of_the_bandwidth():
    assert all_reduce_seconds(200, 2, replace(FREE, share=0.5)) == 4


def test_gather_latency_grows_with_the_ring():
    assert gather_seconds(80, 1, CLUSTER) == 0
    assert gather_seconds(80, 8, CLUSTER) == (6 * 1 + 1 * 10) + 70 / 50
    assert gather_seconds(80, 16, CLUSTER) == (12 * 1 + 3 * 10) + 75 / 50


def test_ddp_step_hides_all_but_the_last_bucket():
    parameters = 2 * BUCKET // 4  # two buckets
    model = Model(parameters, block=0, blocks=1, clip_seconds=3, least_seconds=0)
    cluster = replace(FREE, link=BUCKET)  # a bucket a second between two devices
    step = ddp_step(model, 2, clips=1, passes=1, cluster=cluster)
    assert (step.compute, step.communication, step.exposed, step.seconds) == (3, 2, 2, 5)
    # backward is 2 of the 3 seconds: half of it hides one second of two
    assert ddp_step(model, 2, 1, 1, replace(cluster, overlap=0.5)).exposed == 1
    assert ddp_step(model, 2, 1, 1, replace(cluster, overlap=1)).exposed == 1  # the last bucket, of one second
    assert ddp_step(model, 1, 1, 1, cluster).exposed == 0


def test_accumulation_is_free_of_communication_in_ddp_not_in_fsdp():
    model = Model(BUCKET // 4, block=0, blocks=1, clip_seconds=3, least_seconds=0)
    cluster = replace(FREE, link=BUCKET)
    assert ddp_step(model, 2, 1, 1, cluster).communication == ddp_step(model, 2, 1, 4, cluster).communication == 1
    assert ddp_step(model, 2, 1, 4, cluster).seconds == 4 * 3 + 1
    # half the bytes a collective: (2 gathers + 1 scatter) x 1/2, and (8 + 1) x 1/2
    assert fsdp_step(model, 2, 1, 1, cluster).communication == 1.5
    assert fsdp_step(model, 2, 1, 4, cluster).communication == 4.5


def test_fsdp_step_pays_latency_per_block():
    model = Model(1000, block=250, blocks=3, clip_seconds=0, least_seconds=0)
    # 4 groups x 3 collectives, each 16 seconds of latency and 7/8 of 1000 bytes at 50 a second
    assert fsdp_step(model, 8, 1, 1, CLUSTER).communication == 4 * 3 * (16 + 875 / 50)
    # with everything hidden: the first gather and the last scatter
    slow = replace(model, clip_seconds=1e9)
    assert fsdp_step(slow, 8, 1, 1, replace(CLUSTER, overlap=1)).exposed == 2 * (16 + 875 / 50)


def test_few_clips_do_not_take_less_than_starting_the_operators():
    model = Model(1, 1, 1, clip_seconds=1, least_seconds=2.5)
    assert [model.compute(clips) for clips in (1, 2, 3)] == [2.5, 2.5, 3]
