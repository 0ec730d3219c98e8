"""SEND and RECV by hand."""

from __future__ import annotations

import pytest

from sweep.models.cdma import mesh_hops
from sweep.models.topology_file import read_topology
from tests.models import close, point, points


def test_hops_of_a_mesh_are_steps_along_rows_and_columns():
    width = 4
    for one in range(16):
        for other in range(16):
            expected = abs(one // width - other // width) + abs(one % width - other % width)
            assert mesh_hops(float(one), float(other), float(width)) == expected


SEND = {"noc_bandwidth": 100, "noc_hop_latency": 3, "mesh_width": 4, "src_core": 5, "dst_core": 10, "cdma_core": 0}


def test_a_send_is_its_way_through_both_chips_and_between_them():
    """4096 B at 100 B/ns; core 5 is 2 hops from the engine, core 10 is 4."""
    found = points(("send_latency", "transfer_latency"), message_size=4096, switch_hops=1, **SEND)
    chips = (2 + 4) * 3 + 2 * 4096 / 100
    assert found["send_latency"].value == close(chips + found["transfer_latency"].value)


def test_a_send_that_waits_for_its_receiver_takes_a_small_message_longer():
    """58 + 1 B, padded to 64, with a gap of 20 B at 50 B/ns, over 150 ns and no switch."""
    free = point("send_latency", message_size=4096, **SEND).value
    waiting = point("send_latency", message_size=4096, recv_credit="on", **SEND).value
    assert waiting - free == pytest.approx(150 + 84 / 50, rel=1e-12)


def test_in_a_topology_the_receiver_answers_over_the_way_back():
    system = read_topology(
        "chips: P1-R1-B2-C4\ninterconnect: {c2c: {base_latency: 100}, b2b: {base_latency: 1000, switch: {}}}", "x"
    )
    pair = {"topology": system, "route_of": "pair", "recv_credit": "on", "message_size": 4096}
    near = points(("send_latency", "transfer_latency"), src_chip=0, dst_chip=1, **pair)
    far = points(("send_latency", "transfer_latency"), src_chip=0, dst_chip=3, **pair)
    chips = 2 * 4096 / 1024
    assert near["send_latency"].value == close(near["transfer_latency"].value + chips + 100 + 84 / 50)
    back = 1000 + 2 * 5 + 500 + 64 / 50 + 84 / 50
    assert far["send_latency"].value == close(far["transfer_latency"].value + chips + back)
    assert point("send_latency", src_chip=1, dst_chip=1, **pair).status == "infeasible"


def test_nothing_to_send_takes_the_latencies_alone():
    assert point("send_latency", message_size=0, noc_hop_latency=0, **{"switch_hops": 0}).value == 150
