"""Broken frames: go-back-N, and data that is lost without it."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest

import sweep
from tests.models import BARE, close, point

SEED = 20_261_201


@pytest.mark.parametrize("ber", [0, 1e-15, 1e-12, 1e-9, 1e-6, 1e-3, 0.5])
@pytest.mark.parametrize(("packet_format", "size"), [("standard", 1402), ("afh_lite", 1360)])
def test_a_frame_is_whole_if_all_its_bits_are(ber, packet_format, size):
    exact = 1 - (1 - Fraction(ber)) ** (8 * size)
    assert sweep.quantities.frame_error(residual_ber=ber, packet_format=packet_format) == close(exact)


def test_one_bit_in_1e12_breaks_one_frame_in_90_million():
    assert f"{1 / sweep.quantities.frame_error(residual_ber=1e-12):.3e}" == "8.916e+07"


def frames_sent(error, window, whole, draw):
    """Frames that go-back-N puts on the wire until so many have arrived whole."""
    sent = arrived = 0
    while arrived < whole:
        if draw.random() < error:
            sent += window  # the broken one and those after it, which are thrown away
        else:
            sent += 1
            arrived += 1
    return sent


@pytest.mark.parametrize(("ber", "window"), [(1e-6, 1), (1e-6, 40), (1e-5, 10), (1e-4, 3)])
def test_go_back_n_sends_a_window_of_frames_again_for_each_broken_one(ber, window):
    draw = random.Random(SEED)
    error = 1 - (1 - ber) ** (8 * 1402)
    sent = frames_sent(error, window, 200_000, draw)
    got = sweep.quantities.retry_efficiency(residual_ber=ber, retry_window=window)
    assert got == pytest.approx(200_000 / sent, rel=0.02)


@pytest.mark.parametrize(("error", "window"), [(Fraction(1, 3), 1), (Fraction(1, 3), 7), (Fraction(9, 10), 100)])
def test_go_back_n_is_the_mean_over_numbers_of_failures(error, window):
    """Failures before a success are geometric; each costs a window. Summed up to where the rest is below 1e-40."""
    terms = math.ceil(100 / -math.log10(error))
    mean = sum(error**k * (1 - error) * (1 + k * window) for k in range(terms))
    ber = -math.expm1(math.log1p(-float(error)) / (8 * 1402))
    got = sweep.quantities.retry_efficiency(residual_ber=ber, retry_window=window)
    assert got == pytest.approx(float(1 / mean), rel=1e-9)


def test_without_retry_data_is_lost_and_the_rest_is_of_use():
    given = {"packet_format": "afh_lite", "residual_ber": 1e-6}
    whole = (1 - Fraction(1e-6)) ** (8 * 1360)
    assert sweep.quantities.delivered_share(**given) == close(whole)
    assert sweep.quantities.goodput(**given) == close(50 * Fraction(1344, 1380) * whole)
    assert sweep.quantities.delivered_share(residual_ber=1e-6) == 1


def test_lite_is_not_always_best():
    """With few errors its short header wins; with many, the formats that send again keep all data."""
    for ber, winner in ((0, "afh_lite"), (1e-12, "afh_lite")):
        rates = {x: point("goodput", residual_ber=ber, packet_format=x).value for x in ("standard", "afh_lite")}
        assert max(rates, key=rates.get) == winner
    assert point("delivered_share", residual_ber=1e-6, packet_format="afh_lite").value < 0.99
    assert point("delivered_share", residual_ber=1e-6, packet_format="standard").value == 1


@pytest.mark.parametrize("packet_format", ["standard", "afh_lite"])
def test_without_errors_goodput_is_the_payload_of_the_link_rate(packet_format):
    got = point("goodput", packet_format=packet_format, credit_limit=32, base_latency=200, **BARE)
    rate = point("link_rate", packet_format=packet_format, credit_limit=32, base_latency=200, **BARE)
    frame = {"standard": 1402, "afh_lite": 1360}[packet_format]
    assert got.value == close(rate.value * 1344 / frame)


def test_by_default_all_frames_of_a_round_trip_are_sent_again():
    """28.44 ns per frame; out and back 28.44 + 2 x 150: 11.55 frames."""
    for given, window in (
        ({}, 12),
        ({"base_latency": 0}, 1),
        ({"credit_limit": 6}, 1),  # one frame may be under way
        ({"credit_limit": 31}, 5),
        ({"credit_limit": 6, "flow_control": "pfc"}, 12),
        ({"drain_time": 100}, 5),  # a frame leaves every 100 ns, and credits are back in 428.44 ns
    ):
        default = sweep.quantities.goodput(residual_ber=1e-6, **given)
        assert default == close(sweep.quantities.goodput(residual_ber=1e-6, retry_window=window, **given))


def test_the_rate_of_a_long_message_does_not_depend_on_a_message():
    given = {"switch_hops": 3, "forwarding": "store_and_forward", "credit_limit": 12, "link_bandwidth": 10}
    for output in ("link_rate", "goodput", "retry_efficiency"):
        found = {point(output, message_size=size, residual_ber=1e-6, **given).value for size in (0, 1, 1344, 10**6)}
        assert len(found) == 1


def test_a_link_on_which_no_frame_arrives_has_no_goodput():
    for packet_format in ("standard", "afh_lite"):
        for output in ("goodput", "delivered_share"):
            got = point(output, residual_ber=0.999, packet_format=packet_format)
            assert (got.value, got.status) == (0, "ok")


@pytest.mark.parametrize("channels", [1, 2, 8])
@pytest.mark.parametrize("credit_limit", [6, 13, 32, 512])
@pytest.mark.parametrize("drain_time", [0, 20, 40, 400])
def test_the_link_rate_is_what_a_long_message_adds_per_ns(channels, credit_limit, drain_time):
    given = {"virtual_channels": channels, "credit_limit": credit_limit, "drain_time": drain_time}
    window = channels * (credit_limit // 6)
    sizes = [1344 * window * windows for windows in (200, 1200)]
    short, long = (sweep.quantities.link_latency(message_size=size, **given) for size in sizes)
    rate = (sizes[1] - sizes[0]) / 1344 * 1422 / (long - short)
    assert sweep.quantities.link_rate(**given) == pytest.approx(rate, rel=1e-9)


def test_the_link_rate_in_rounds_is_what_a_long_message_adds_per_ns():
    given = {"credit_model": "rounds", "credit_limit": 63}
    sizes = [63 * 256 * windows for windows in (1344, 2 * 1344)]
    short, long = (sweep.quantities.link_latency(message_size=size, **given) for size in sizes)
    rate = (sizes[1] - sizes[0]) / 1344 * 1422 / (long - short)
    assert sweep.quantities.link_rate(**given) == pytest.approx(rate, rel=1e-9)


def test_the_published_share_of_the_line_with_32_credits():
    """PHYSICS: CBFC, 50 B/ns, loop 300 ns, frame 1402 B, 32 credits of 256 B: 46.73 %."""
    given = {"base_latency": (300 - 1402 / 50) / 2, "credit_limit": 32, **BARE}
    assert f"{100 * sweep.quantities.link_rate(**given) / 50:.2f}" == "46.73"


@pytest.mark.parametrize(("credit_limit", "status"), [(5, "infeasible"), (6, "ok")])
def test_a_link_whose_credits_hold_no_frame_has_no_rate(credit_limit, status):
    assert point("link_rate", credit_limit=credit_limit).status == status
    assert point("goodput", credit_limit=credit_limit).status == status
    assert point("link_rate", credit_limit=credit_limit, flow_control="pfc").status == "ok"
