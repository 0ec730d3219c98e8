"""Messages that meet at a switch, against a port followed frame by frame."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

import sweep
from tests.models import close, cut, delivered, point

SEED = 20_261_202


def random_incast(draw):
    """Choices of an incast, and the same as parameters of the model."""
    payload = draw.choice((64, 1000, 1344))
    overhead, packet_format = draw.choice(((58, "standard"), (16, "afh_lite")))
    minimum, gap = draw.choice(((0, 0), (64, 20), (1500, 20)))
    size = draw.choice((0, 1, payload, payload + 1, payload * draw.randrange(20) + draw.randint(1, payload)))
    link, port = draw.choice((16, 25, 50, 100)), draw.choice((16, 25, 50, 100))
    hops, senders = draw.randint(1, 4), draw.choice((1, 2, 3, 7, 8, 1000))
    forwarding = draw.choice(("cut_through", "store_and_forward"))
    frames = cut(size, payload, overhead, minimum, gap)
    given = {
        "packet_format": packet_format,
        "max_payload": payload,
        "min_frame": minimum,
        "line_gap": gap,
        "message_size": size,
        "link_bandwidth": link,
        "port_bandwidth": port,
        "switch_hops": hops,
        "incast_senders": senders,
        "forwarding": forwarding,
    }
    return frames, [link] + [port] * hops, forwarding, senders, given


@pytest.mark.plain
def test_an_incast_is_a_port_that_serves_one_frame_of_each_sender_in_turn():
    draw = random.Random(SEED)
    for _ in range(3000):
        frames, rates, forwarding, senders, given = random_incast(draw)
        hops = given["switch_hops"]
        expected = 150 + 5 * (hops + 1) + 500 * hops + delivered(frames, rates, forwarding, senders)
        got = point("incast_latency", **given)
        assert got.status == "ok"
        assert got.value == pytest.approx(float(expected), rel=1e-12), given


def test_one_sender_takes_the_time_of_a_transfer():
    draw = random.Random(SEED)
    for _ in range(200):
        *_, given = random_incast(draw)
        given |= {"incast_senders": 1, "flow_control": "pfc"}
        assert point("incast_latency", **given).value == close(point("transfer_latency", **given).value)


@pytest.mark.parametrize(("forwarding", "forwarded"), [("cut_through", 64), ("store_and_forward", 1402)])
def test_over_one_switch_at_one_rate_all_messages_follow_each_other(forwarding, forwarded):
    """min(64, g)/b + prop + fixed + n wire/b + prop + L."""
    wire = 2**20 + 781 * 78
    got = sweep.quantities.incast_latency(switch_hops=1, incast_senders=31, forwarding=forwarding)
    assert got == close(Fraction(forwarded, 50) + 5 + 500 + 31 * Fraction(wire, 50) + 5 + 150)


def test_without_a_switch_there_is_no_incast():
    assert point("incast_latency").status == "infeasible"
    assert point("incast_latency", switch_hops=1, hop_delay="fixed").status == "infeasible"
    assert point("incast_latency", switch_hops=1, egress_utilization=1).status == "unstable"
