"""A message followed frame by frame, against the closed form and against brute force."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest

from tests.models import BARE, close, cut, point, points, starts

SEED = 20_240_613
QUANTILES = (Fraction(1, 2), Fraction(9, 10), Fraction(99, 100), Fraction(1))


def random_link(draw):
    """Parameters of a link with 1 to 40 frames under tight credits, times in 1/8 ns."""
    optional = {"credit_return_latency": draw.randrange(4000) / 8} if draw.random() < 0.5 else {}
    return {
        "message_size": 1344 * draw.randrange(40) + draw.randint(1, 1344),
        "link_bandwidth": draw.choice((16.0, 32.0, 64.0)),
        "base_latency": draw.randrange(4000) / 8,
        "drain_time": draw.choice((0.0, 10.0, 1422 / 64, draw.randrange(1600) / 8)),
        "credit_limit": draw.choice((6, 7, 11, 12, 13, 17, 18, 30, 512)),
        "virtual_channels": draw.choice((1, 2, 3, 8)),
        **optional,
    }


def arrivals(given):
    """When each frame of a message has arrived."""
    rate, base = Fraction(given["link_bandwidth"]), Fraction(given["base_latency"])
    frames = cut(given["message_size"], 1344, 58, 64, 20)
    started = starts(
        frames,
        rate=rate,
        credit_size=256,
        credits=given["credit_limit"],
        channels=given["virtual_channels"],
        latency=base,
        drain=Fraction(given["drain_time"]),
        back=Fraction(given.get("credit_return_latency", base)),
    )
    return [start + frame.pitch / rate + base for start, frame in zip(started, frames, strict=True)]


def when_share_has_arrived(times, share):
    """First arrival by which at least a share of the frames is there."""
    return next(time for count, time in enumerate(sorted(times), start=1) if count >= share * len(times))


def test_the_trace_is_every_frame_with_its_credits():
    draw = random.Random(f"{SEED} frames")
    for _ in range(400):
        given = random_link(draw)
        times = arrivals(given)
        got = points(("traced_link_latency", "frame_delivery"), **given)
        assert got["traced_link_latency"].value == float(times[-1]), given
        expected = [float(when_share_has_arrived(times, share)) for share in QUANTILES]
        assert got["frame_delivery"].value.tolist() == expected, given
        assert {result.status for result in got.values()} == {"ok"}


def test_the_trace_ends_when_the_closed_form_says():
    draw = random.Random(f"{SEED} closed form")
    for _ in range(400):
        given = {
            **random_link(draw),
            "link_bandwidth": draw.choice((11.2, 46.57, 50.0)),
            "packet_format": draw.choice(("standard", "afh_gen1", "afh_lite")),
            "framing": draw.choice(("none", "full_frames", "exact", "note")),
            "credit_span": draw.choice(("link", "path")),
            "switch_hops": draw.randrange(3),
        }
        got = points(("traced_link_latency", "link_latency"), **given)
        assert got["traced_link_latency"].value == close(got["link_latency"].value), given


@pytest.mark.parametrize("count", [1, 2, 3, 9, 10, 11, 99, 100, 101, 1000])
def test_a_share_has_arrived_with_the_first_frame_that_completes_it(count):
    """Frames of 16 ns back to back over 100 ns."""
    given = {"packet_format": "afh_lite", "max_payload": 1008, "link_bandwidth": 64, "flow_control": "cbfc", **BARE}
    got = point("frame_delivery", message_size=1008 * count, base_latency=100, credit_limit=32767, **given)
    nth = [-(-count // 2), -(-9 * count // 10), -(-99 * count // 100), count]
    assert got.value.tolist() == [100 + 16 * n for n in nth]


def test_no_frames_arrive_in_the_base_latency():
    got = points(("traced_link_latency", "frame_delivery"), message_size=0)
    assert got["traced_link_latency"].value == 150
    assert got["frame_delivery"].value.tolist() == [150] * 4


@pytest.mark.parametrize(
    ("size", "credit_limit", "status"),
    [(1222, 5, "ok"), (1223, 5, "infeasible"), (1345, 5, "infeasible"), (1345, 6, "ok")],
)
def test_a_frame_beyond_all_credits_never_arrives(size, credit_limit, status):
    got = points(("traced_link_latency", "frame_delivery"), message_size=size, credit_limit=credit_limit)
    assert {result.status for result in got.values()} == {status}
    assert np.all(np.isnan(got["frame_delivery"].value)) == (status == "infeasible")


def test_a_trace_of_more_than_1e8_frames_is_beyond_the_budget():
    for frames, status in ((10**8 + 1, "budget"), (10**12, "budget")):
        got = point("traced_link_latency", message_size=1344 * frames)
        assert got.status == status
        assert math.isnan(got.value)


@pytest.mark.parametrize("credit_limit", [1, 6, 12])
def test_frames_on_a_link_with_pause_frames_wait_for_no_credits(credit_limit):
    got = point("traced_link_latency", message_size=10 * 1344, flow_control="pfc", credit_limit=credit_limit)
    assert got.status == "ok"
    assert got.value == close(150 + 10 * 1422 / 50)
