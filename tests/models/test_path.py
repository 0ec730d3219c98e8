"""Paths over switches that differ: against a table filled frame by frame, and against paths over switches alike."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sweep.models.path import time_over
from sweep.models.topology_file import read_topology
from tests.models import close, cut, point, points

SEED = 20_261_206


def slowly(switches, wire_rate, frames, gap):
    """When the last byte and gap of some frames has left the last segment, frame by frame and hop by hop."""
    rates = [wire_rate, *(rate for rate, *_ in switches)]
    free = [0.0] * len(rates)
    for size in frames:
        start = 0.0
        for hop, rate in enumerate(rates):
            if hop:
                before, (_, fixed, awaited, _) = rates[hop - 1], switches[hop - 1]
                start += fixed + max(min(awaited, size) / before, size / before - size / rate)
            start = max(start, free[hop])
            free[hop] = start + (size + gap) / rate
    return free[-1]


def test_time_over_switches_that_differ_is_that_of_frames_followed_one_by_one():
    draw = random.Random(SEED)
    for _ in range(2000):
        switches = [
            (draw.uniform(10, 100), draw.uniform(0, 500), draw.choice((64.0, math.inf)), 0.0)
            for _ in range(draw.randint(0, 5))
        ]
        first, gap = draw.uniform(64, 1500), draw.choice((0.0, 20.0))
        last, count = draw.uniform(64, first), draw.randint(1, 12)
        wire = draw.uniform(10, 100)
        found = time_over(np.array(switches).reshape(-1, 4), 1.0, wire, float(count), first, last, gap)
        assert found == close(slowly(switches, wire, [first] * (count - 1) + [last], gap))


EXISTING = (
    ("all_reduce", "ring"),
    ("all_reduce", "tree"),
    ("all_reduce", "halving_doubling"),
    ("all_to_all", "pairwise"),
    ("all_gather", "direct"),
)
FREE = {"flow_control": "pfc"}


@settings(deadline=None, database=None, max_examples=60)
@given(
    st.integers(1, 4),
    st.sampled_from((25.0, 50.0, 80.0)),
    st.sampled_from(("cut_through", "store_and_forward")),
    st.sampled_from(("full", "note", "fixed")),
    st.sampled_from((0, 1, 1344, 5000, 1 << 20)),
    st.sampled_from((0.0, 0.5)),
)
@pytest.mark.plain
def test_switches_alike_take_the_same_time_when_they_are_taken_for_different(
    hops, port, forwarding, hop_delay, size, utilization
):
    switch = f"{{port_bandwidth: {port}, forwarding: {forwarding}, egress_utilization: {utilization}, port_count: 64}}"
    system = read_topology(
        f"chips: P1-R1-B1-C8\ninterconnect:\n  c2c: {{link_bandwidth: 50, switches: [{', '.join([switch] * hops)}]}}\n",
        "x",
    )
    common = {"topology": system, "message_size": size, "hop_delay": hop_delay, **FREE}
    outputs = ("transfer_latency", "collective_latency", "path_latency", "path_queueing")
    for collective, algorithm in EXISTING:
        choice = {"collective": collective, "algorithm": algorithm}
        alike = points(outputs, **common, **choice)
        different = points(outputs, path_switches="different", **common, **choice)
        for name in outputs:
            if different[name].status == "infeasible":
                assert (name, hop_delay) == ("collective_latency", "full")
                assert algorithm in ("tree", "halving_doubling")
                continue
            assert different[name].value == pytest.approx(alike[name].value, rel=1e-12, abs=1e-9), name


DIFFERENT = """
chips: P1-R1-B1-C8
interconnect:
  c2c:
    link_bandwidth: 50
    propagation: 0
    switches:
      - {port_bandwidth: 100, switch_fixed: 300, egress_utilization: 0.5}
      - {port_bandwidth: 25, switch_fixed: 500, egress_utilization: 0.8, forwarding: store_and_forward}
"""


def test_a_transfer_over_two_switches_that_differ_by_hand():
    """Four frames of 1402 B and one of 58 + 624, at 50, 100 and 25 B/ns: the last port is the slowest."""
    system = read_topology(DIFFERENT, "x")
    found = points(("transfer_latency", "path_queueing"), topology=system, message_size=6000, route_of="pair", **FREE)
    frames = [frame.size for frame in cut(6000, 1344, 58, 64, 20)]
    assert frames == [1402] * 4 + [682]
    first = 1402 / 50 - 1402 / 100 + 300  # the port is faster than the link and must not run out
    second = 1402 / 100 + 500  # all of the frame is in
    sent = (4 * 1422 + 702) / 25
    waits = 1402 / 100 * 0.5 / (2 * 0.5) + 1402 / 25 * 0.8 / (2 * 0.2)
    assert found["path_queueing"].value == close(waits)
    assert found["transfer_latency"].value == close(150 + first + second + sent + waits)


def test_waits_at_each_port_are_those_of_its_own_rate_and_use_and_other_models_have_no_formula():
    system = read_topology(DIFFERENT, "x")
    given = {"topology": system, "route_of": "pair", "message_size": 6000}
    assert point("transfer_latency", queueing_model="mg1", **given).status == "infeasible"
    busy = read_topology(DIFFERENT.replace("0.8", "1"), "x")
    assert point("transfer_latency", **{**given, "topology": busy}).status == "unstable"
    assert point("transfer_latency", queueing_model="md1_note", **{**given, "topology": busy}).status == "ok"


def test_without_a_topology_nobody_knows_how_switches_differ():
    for name in ("transfer_latency", "collective_latency", "path_rate"):
        assert point(name, path_switches="different", switch_hops=2).status == "infeasible"


def test_what_is_summed_up_message_by_message_has_no_formula_over_switches_that_differ():
    system = read_topology(DIFFERENT, "x")
    given = {"topology": system, "message_size": 6000}
    assert point("collective_latency", **given).status == "ok"
    assert point("collective_latency", algorithm="halving_doubling", **given).status == "infeasible"


def test_parts_of_a_collective_over_switches_that_differ_sum_to_its_time():
    system = read_topology(DIFFERENT, "x")
    parts = ("wire_time", "header_time", "switch_time", "queueing_time", "pipeline_time", "credit_time")
    found = points(("collective_latency", *parts), topology=system, message_size=1 << 20)
    assert math.fsum(found[name].value for name in parts) == close(found["collective_latency"].value)
