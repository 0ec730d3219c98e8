"""One hop through a switch: fixed latency, forwarding, queueing."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

import sweep
from tests.models import close, point

MAXIMUM = {"packet_format": "standard", "vlan": "on"}  # 1344 + 62 = 1406 bytes


@pytest.mark.parametrize("queueing_model", ["md1_note", "md1"])
@pytest.mark.parametrize(
    ("rate", "fixed", "rho", "latency", "about"),
    [
        (200, 500, 0, "500.320", "500"),
        (200, 500, 0.5, "503.835", "504"),
        (200, 500, 0.8, "514.380", "514"),
        (400, 300, 0, "300.160", "300"),
        (400, 300, 0.8, "307.190", "307"),
    ],
)
def test_published_latencies_in_bytes_per_ns(queueing_model, rate, fixed, rho, latency, about):
    got = sweep.quantities.switch_latency(
        port_bandwidth=rate, switch_fixed=fixed, egress_utilization=rho, queueing_model=queueing_model, **MAXIMUM
    )
    assert f"{got:.3f}" == latency
    assert f"{got:.0f}" == about


@pytest.mark.parametrize("queueing_model", ["md1_note", "md1"])
@pytest.mark.parametrize(
    ("rate", "fixed", "rho", "latency"),
    [
        (25, 500, 0, "502.56"),
        (25, 500, 0.5, "530.68"),
        (25, 500, 0.8, "615.04"),
        (50, 300, 0, "301.28"),
        (50, 300, 0.8, "357.52"),
    ],
)
def test_published_latencies_in_bits_per_ns(queueing_model, rate, fixed, rho, latency):
    got = sweep.quantities.switch_latency(
        port_bandwidth=rate, switch_fixed=fixed, egress_utilization=rho, queueing_model=queueing_model, **MAXIMUM
    )
    assert f"{got:.2f}" == latency


@pytest.mark.parametrize(("rho", "wait"), [(0.5, "28.12"), (0.8, "112.48"), (0.9, "253.08")])
def test_published_mean_waits_of_an_md1_queue(rho, wait):
    assert f"{sweep.quantities.queueing(port_bandwidth=25, egress_utilization=rho, **MAXIMUM):.2f}" == wait


@pytest.mark.parametrize("rho", [0, 0.001, 0.01, 0.25, 0.5, 0.9, 0.99, 0.999_999])
def test_the_mean_wait_is_that_of_pollaczek_and_khinchine(rho):
    service = Fraction(1406, 25)
    load = Fraction(rho)
    arrivals = load / service
    wait = arrivals * service**2 / (2 * (1 - load))
    assert sweep.quantities.queueing(port_bandwidth=25, egress_utilization=rho, **MAXIMUM) == close(wait)


@pytest.mark.parametrize(
    ("rho", "md1", "md1_note"),
    [
        (0, 0, 0),
        (0.01, 7.03 * 0.01 / 1.98, 0),
        (0.0101, 7.03 * 0.0101 / 1.9798, 7.03 * 0.0101 / 1.9798),
        (0.99, 347.985, 347.985),
        (0.995, 699.485, 347.985),
        (1, math.inf, 347.985),
        (1.2, math.inf, 347.985),
    ],
)
def test_a_full_port_is_unstable_and_the_note_cuts_it_off(rho, md1, md1_note):
    for model, wait in (("md1", md1), ("md1_note", md1_note)):
        given = {"port_bandwidth": 200, "egress_utilization": rho, "queueing_model": model, **MAXIMUM}
        status = "unstable" if wait == math.inf else "ok"
        queueing, latency = point("queueing", **given), point("switch_latency", **given)
        assert (queueing.status, latency.status) == (status, status)
        assert queueing.value == close(wait)
        assert latency.value == close(500.32 + wait)


def test_the_wait_diverges_towards_a_full_port():
    waits = [sweep.quantities.queueing(egress_utilization=1 - 10.0**-digits) for digits in range(1, 13)]
    assert waits == sorted(waits)
    assert waits[-1] > 1e13


def test_cut_through_waits_for_64_bytes_and_store_and_forward_for_the_frame():
    given = {"port_bandwidth": 200, **MAXIMUM}
    assert sweep.quantities.switch_latency(forwarding="cut_through", **given) == close(500.32)
    assert sweep.quantities.switch_latency(forwarding="store_and_forward", **given) == close(507.03)


def test_cut_through_waits_no_longer_than_a_frame():
    given = {"packet_format": "afh_lite", "max_payload": 16, "port_bandwidth": 16, "min_frame": 0}
    for forwarding in ("cut_through", "store_and_forward"):
        assert sweep.quantities.switch_latency(forwarding=forwarding, **given) == 502


def test_the_gap_after_a_frame_neither_delays_forwarding_nor_queues():
    for output in ("forwarding_delay", "queueing"):
        given = {"forwarding": "store_and_forward", "egress_utilization": 0.5}
        times = {point(output, line_gap=gap, **given).value for gap in (0, 20, 1000)}
        assert len(times) == 1


def test_padding_is_forwarded_and_queues():
    given = {"packet_format": "afh_lite", "max_payload": 16, "port_bandwidth": 16, "forwarding": "store_and_forward"}
    assert sweep.quantities.forwarding_delay(min_frame=64, **given) == 4
    assert sweep.quantities.queueing(min_frame=64, egress_utilization=0.5, **given) == 2


def test_ports_are_as_fast_as_the_link_unless_given():
    given = {"egress_utilization": 0.5, **MAXIMUM}
    assert sweep.quantities.switch_latency(link_bandwidth=200, **given) == close(503.835)
    assert sweep.quantities.switch_latency(link_bandwidth=50, port_bandwidth=200, **given) == close(503.835)
