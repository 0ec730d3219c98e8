"""One message from chip to chip, over a link and switches."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import pytest

import sweep
from tests.models import BARE, Frame, cells, close, cut, delivered, point, points, preset, starts

SEED = 20_261_203
OVERHEAD = {"standard": 58, "afh_gen1": 30, "afh_lite": 16}
SIZES = (0, 1, 47, 48, 1343, 1344, 1345, 1408, 50_000)


def hop_by_hop(frames, *, rate, hops, fixed, cable, base, forwarding):
    """Arrival of the last byte when each frame waits at each switch for its bytes, the pipeline and the port."""
    ready = [Fraction(0)] * len(frames)
    for _ in range(hops + 1):
        free = Fraction(0)
        begun = []
        for frame, earliest in zip(frames, ready, strict=True):
            begun.append(max(free, earliest))
            free = begun[-1] + Fraction(frame.pitch) / rate
        needed = [min(64, frame.size) if forwarding == "cut_through" else frame.size for frame in frames]
        ready = [start + cable + size / rate + fixed for start, size in zip(begun, needed, strict=True)]
    return free + cable + base


@pytest.mark.parametrize("forwarding", ["cut_through", "store_and_forward"])
@pytest.mark.parametrize("packet_format", OVERHEAD)
@pytest.mark.parametrize(("minimum", "gap"), [(0, 0), (64, 20)])
@pytest.mark.parametrize("hops", [0, 1, 2, 3])
def test_the_path_formula_is_every_frame_followed_hop_by_hop(forwarding, packet_format, minimum, gap, hops):
    for size in SIZES:
        frames = cut(size, 1344, OVERHEAD[packet_format], minimum, gap) or [Frame(0, 0)]
        got = point(
            "transfer_latency",
            message_size=size,
            packet_format=packet_format,
            min_frame=minimum,
            line_gap=gap,
            forwarding=forwarding,
            switch_hops=hops,
            switch_fixed=500,
            propagation=5,
            base_latency=150,
            link_bandwidth=64,
        )
        assert got.status == "ok"
        assert got.value == hop_by_hop(
            frames, rate=Fraction(64), hops=hops, fixed=500, cable=5, base=150, forwarding=forwarding
        )


@pytest.mark.parametrize("forwarding", ["cut_through", "store_and_forward"])
@pytest.mark.parametrize("rho", [0, 0.5, 0.99])
@pytest.mark.parametrize("hops", [0, 1, 3])
@pytest.mark.parametrize(("propagation_count", "cables"), [("none", 0), ("hops", 0), ("segments", 1)])
def test_path_formula(forwarding, rho, hops, propagation_count, cables):
    cables = 0 if propagation_count == "none" else hops + cables
    for size in SIZES:
        frames = cut(size, 1344, 58, 64, 20)
        first = frames[0].size if frames else 0
        wire = sum(frame.pitch for frame in frames)
        forwarded = min(64, first) if forwarding == "cut_through" else first
        wait = Fraction(1402, 50) * Fraction(rho) / (2 * (1 - Fraction(rho)))
        got = point(
            "transfer_latency",
            message_size=size,
            forwarding=forwarding,
            egress_utilization=rho,
            switch_hops=hops,
            propagation=7,
            propagation_count=propagation_count,
        )
        assert got.value == close(150 + Fraction(wire, 50) + 7 * cables + hops * (500 + Fraction(forwarded, 50) + wait))


@pytest.mark.parametrize("credit_limit", [6, 12, 512])
def test_a_transfer_is_the_sum_of_its_parts(credit_limit):
    parts = ("link_latency", "flight_time", "path_switching", "path_queueing")
    choices = itertools.product(
        ("cut_through", "store_and_forward"), ("fixed", "full", "note"), (0, 2), (0, 1, 100_000), ("rounds", "window")
    )
    for forwarding, hop_delay, hops, size, credit_model in choices:
        given = {
            "forwarding": forwarding,
            "hop_delay": hop_delay,
            "switch_hops": hops,
            "message_size": size,
            "credit_model": credit_model,
            "credit_limit": credit_limit,
            "egress_utilization": 0.7,
        }
        got = points(("transfer_latency", *parts), **given)
        assert {result.status for result in got.values()} == {"ok"}
        assert got["transfer_latency"].value == close(math.fsum(got[part].value for part in parts))


@pytest.mark.parametrize(
    ("given", "latency"),
    [
        ({}, 150),
        ({"switch_hops": 1}, 150 + 2 * 5 + 500),
        ({"switch_hops": 3}, 150 + 4 * 5 + 3 * 500),
        ({"switch_hops": 3, "propagation": 0}, 150 + 3 * 500),
        ({"switch_hops": 0, "propagation": 5}, 155),
        ({"switch_hops": 2, "forwarding": "store_and_forward"}, 150 + 3 * 5 + 2 * 500),
    ],
    ids=["direct", "1_switch", "3_switches", "no_flight", "cable", "store_and_forward"],
)
def test_an_empty_message_has_no_frame_to_forward_and_cables_fly_5_ns_with_switches(given, latency):
    assert sweep.quantities.transfer_latency(message_size=0, **given) == latency


def test_serialization_is_paid_once_however_many_switches():
    given = {"flow_control": "pfc", "link_bandwidth": 64, "propagation": 5}
    for size in (1344, 100_000, 1_048_576):
        direct, switched = (
            sweep.quantities.transfer_latency(switch_hops=hops, message_size=size, **given) for hops in (0, 3)
        )
        assert switched - direct == 3 * (500 + 1 + 5)


@pytest.mark.parametrize(("link", "port"), [(50, 50), (50, 100), (50, 10), (400, 50)])
def test_the_slowest_of_links_and_ports_paces_a_message(link, port):
    got = sweep.quantities.transfer_latency(
        message_size=1_048_576, switch_hops=1, link_bandwidth=link, port_bandwidth=port
    )
    assert got >= 150 + 2 * 5 + 500 + 1_048_576 / min(link, port)


@pytest.mark.parametrize("rho", [1, 1.2])
def test_an_overloaded_port_counts_only_where_a_switch_is_crossed(rho):
    for hops, status in ((0, "ok"), (1, "unstable"), (3, "unstable")):
        got = point("transfer_latency", message_size=1344, switch_hops=hops, egress_utilization=rho)
        assert got.status == status
        assert got.value == close(150 + 1422 / 50 if hops == 0 else math.inf)


@pytest.mark.parametrize("rho", [0.8, 1.2])
def test_with_fixed_hops_a_switch_costs_its_fixed_latency_whatever_its_load(rho):
    given = {"message_size": 1344, "switch_hops": 2, "hop_delay": "fixed", "egress_utilization": rho}
    got = point("transfer_latency", **given)
    assert got.status == "ok"
    assert got.value == close(150 + 1422 / 50 + 3 * 5 + 2 * 500)


@pytest.mark.parametrize(("forwarding", "forwarded"), [("cut_through", 64), ("store_and_forward", 1406)])
@pytest.mark.parametrize("size", [0, 1, 5000])
def test_the_note_charges_each_switch_for_a_full_frame_and_its_queue(forwarding, forwarded, size):
    wire = sum(frame.pitch for frame in cut(size, 1344, 62)) / 0.97 / 200
    queue = 1406 / 200 * 0.5 / (2 * 0.5)
    got = sweep.quantities.transfer_latency(
        message_size=size,
        link_bandwidth=200,
        vlan="on",
        base_latency=200,
        switch_hops=2,
        egress_utilization=0.5,
        forwarding=forwarding,
        **preset("design_note"),
    )
    assert got == close(200 + wire + 2 * (500 + forwarded / 200 + queue + 5))


@pytest.mark.parametrize(("span", "one_way"), [("link", 150), ("note", 150), ("path", 150 + 10 + 501)])
def test_credits_that_return_from_the_far_end_of_the_path_hold_a_message_longer(span, one_way):
    """One frame of 1008 + 16 bytes under way: 16 ns on the wire, out and back, nine times before the last."""
    given = {"packet_format": "afh_lite", "max_payload": 1008, "link_bandwidth": 64, "credit_limit": 4, **BARE}
    got = sweep.quantities.transfer_latency(message_size=10 * 1008, switch_hops=1, credit_span=span, **given)
    assert got == 9 * (16 + 2 * one_way) + 16 + 150 + 10 + 501


# Links and ports of different rates.


@pytest.mark.parametrize("forwarding", ["cut_through", "store_and_forward"])
def test_a_message_over_links_and_ports_of_any_rates_is_its_frames_one_by_one(forwarding):
    draw = random.Random(SEED)
    for _ in range(3000):
        payload = draw.choice((64, 1000, 1344))
        overhead, packet_format = draw.choice(((58, "standard"), (16, "afh_lite")))
        minimum, gap = draw.choice(((0, 0), (64, 20), (1500, 20)))
        size = draw.choice((0, 1, 48, payload, payload + 1, payload * draw.randrange(20) + draw.randint(1, payload)))
        link, port, hops = draw.choice((16, 25, 50, 100)), draw.choice((16, 25, 26, 50, 100)), draw.randint(1, 4)
        frames = cut(size, payload, overhead, minimum, gap)
        rates = [link] + [port] * hops
        expected = 150 + 5 * (hops + 1) + 500 * hops + delivered(frames, rates, forwarding)
        given = {
            "packet_format": packet_format,
            "max_payload": payload,
            "min_frame": minimum,
            "line_gap": gap,
            "message_size": size,
            "link_bandwidth": link,
            "port_bandwidth": port,
            "switch_hops": hops,
            "forwarding": forwarding,
            "flow_control": "pfc",
        }
        assert point("transfer_latency", **given).value == pytest.approx(float(expected), rel=1e-12), given
        ring = {**given, "chip_count": 3, "message_size": 3 * size}
        assert point("collective_latency", **ring).value == pytest.approx(4 * float(expected), rel=1e-12), given


@pytest.mark.plain
@pytest.mark.parametrize("forwarding", ["cut_through", "store_and_forward"])
def test_a_message_that_waits_for_credits_is_its_frames_one_by_one_too(forwarding):
    """Ports as fast as the link or faster, no gap: credits of a full frame are back after it has crossed the path."""
    draw = random.Random(SEED)
    waited = 0
    for _ in range(3000):
        payload = draw.choice((64, 1000, 1344))
        overhead, packet_format = draw.choice(((58, "standard"), (16, "afh_lite")))
        minimum = draw.choice((0, 64))
        size = payload * draw.randrange(12) + draw.choice((1, 5, payload, draw.randint(1, payload)))
        link, port, hops = draw.choice((16, 25, 50)), draw.choice((50, 100)), draw.randint(1, 4)
        frames = cut(size, payload, overhead, minimum)
        full = cut(payload, payload, overhead, minimum)
        rates = [link] + [port] * hops
        fixed, base = draw.choice((0, 10, 100)), draw.choice((0, 20, 150))
        idle = base + 5 * (hops + 1) + fixed * hops
        span = idle + delivered(full, rates, forwarding) - Fraction(full[0].pitch, link)
        credits = cells(full[0], 64) * draw.randint(1, 6) + draw.choice((0, 1))
        started = starts(
            frames,
            rate=link,
            credit_size=64,
            credits=credits,
            channels=1,
            latency=span,
            drain=Fraction(0),
            back=span,
        )
        expected = idle + delivered(frames, rates, forwarding, started=started)
        waited += started[-1] > Fraction(sum(frame.pitch for frame in frames[:-1]), link)
        given = {
            "packet_format": packet_format,
            "max_payload": payload,
            "min_frame": minimum,
            "line_gap": 0,
            "message_size": size,
            "link_bandwidth": link,
            "port_bandwidth": port,
            "switch_hops": hops,
            "switch_fixed": fixed,
            "base_latency": base,
            "forwarding": forwarding,
            "credit_size": 64,
            "credit_limit": credits,
        }
        assert point("transfer_latency", **given).value == pytest.approx(float(expected), rel=1e-12), given
        ring = {**given, "chip_count": 3, "message_size": 3 * size}
        assert point("collective_latency", **ring).value == pytest.approx(4 * float(expected), rel=1e-12), given
    assert waited > 1000


@pytest.mark.parametrize(
    ("size", "port", "latency"),
    [
        (1344, 25, 660 + 2.56 + 56.88),  # the port is as fast: 64 bytes ahead
        (1344, 100, 660 + 56.08 + 0.2),  # the frame ends at the port when it ends on the link, then the gap
        (1344, 10, 660 + 2.56 + 142.2),  # the port is slower: it paces
        (2688, 100, 660 + 56.88 + 56.08 + 0.2),
        (6, 100, 660 + 2.56 + 0.84),  # 64 bytes: all are awaited
    ],
)
def test_a_frame_from_a_slow_link_into_a_port_by_hand(size, port, latency):
    given = {"message_size": size, "link_bandwidth": 25, "port_bandwidth": port, "switch_hops": 1}
    assert sweep.quantities.transfer_latency(**given) == close(latency)


@pytest.mark.parametrize("framing", ["none", "full_frames", "exact", "note"])
@pytest.mark.parametrize("forwarding", ["cut_through", "store_and_forward"])
@pytest.mark.parametrize("port", [10, 25, 100])
def test_through_ports_of_any_rate_time_does_not_fall_as_the_message_grows(framing, forwarding, port):
    given = {"framing": framing, "forwarding": forwarding, "port_bandwidth": port, "link_bandwidth": 25}
    sizes = (0, 1, 5, 6, 7, 63, 64, 65, 1285, 1286, 1287, 1343, 1344, 1345, 1400, 2687, 2688, 2689, 2690, 2752)
    for output, scale in (("transfer_latency", 1), ("collective_latency", 8), ("incast_latency", 1)):
        times = [point(output, switch_hops=2, message_size=scale * size, **given).value for size in sizes]
        assert times == sorted(times), output


def test_a_line_rate_is_one_for_ports_too():
    given = {"message_size": 1344, "switch_hops": 2, "bandwidth_reference": "line"}
    equal = 150 + 15 + 1000 + (1422 + 2 * 64) / (50 * 16 / 17)
    assert sweep.quantities.transfer_latency(**given) == close(equal)
    assert sweep.quantities.switch_latency(**given) == close(500 + 64 / (50 * 16 / 17))


@pytest.mark.parametrize(
    ("cell", "factor"), [(256, 1536 / 1406), (1406, 1), (1, 1), (64, 1408 / 1406), (2048, 2048 / 1406)]
)
def test_a_switch_of_cells_carries_frames_more_slowly(cell, factor):
    given = {"vlan": "on", "switch_hops": 1, "message_size": 1344, "switch_cell": cell}
    assert sweep.quantities.cell_factor(**given) == close(factor)
    assert sweep.quantities.path_rate(**given) == close(50 / factor)
    assert sweep.quantities.queueing(egress_utilization=0.5, **given) == close(1406 * factor / 50 / 2)
    assert sweep.quantities.transfer_latency(**given) == close(660 + 64 / 50 + 1426 * factor / 50)


def test_the_published_factor_of_cells():
    assert f"{sweep.quantities.cell_factor(vlan='on', switch_cell=256):.4f}" == "1.0925"
    assert sweep.quantities.cell_factor(vlan="on") == 1
