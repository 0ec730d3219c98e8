"""Credits carried from step to step, against the plain recurrence over every frame of every step."""

from __future__ import annotations

import random
from collections import deque

import pytest

import sweep
from tests.models import BARE, cells, close, cut, point

SEED = 20_261_205
TICK = 64  # rates and times are such that everything is a whole number of 1/64 ns


def waiting(chunk, steps, *, rate, credit_size, credits, channels, latency, drain, back, wait):
    """Time that all frames of all steps take beyond their time on the wire and `wait` between steps; in ticks.

    The plain recurrence: a frame starts when the wire is free, its step has begun, and its channel has the credits.
    """
    out = [deque() for _ in range(channels)]
    held = [0] * channels
    clock = drained = 0
    for _ in range(steps):
        for i, frame in enumerate(chunk):
            queue, channel, need = out[i % channels], i % channels, cells(frame, credit_size)
            while held[channel] + need > credits:
                returned, freed = queue.popleft()
                clock = max(clock, returned)
                held[channel] -= freed
            clock += frame.pitch * TICK // rate
            drained = max(drained, clock + latency) + drain
            queue.append((drained + back, need))
            held[channel] += need
        clock += wait
    wire = sum(frame.pitch * TICK // rate for frame in chunk)
    return clock - steps * (wire + wait)


SHAPES = ((2, 200), (3, 60), (8, 40), (24, 12), (100, 3), (1000, 1))
"""Chips and frames of a chunk, at most: many steps of few frames, or the other way round."""


def random_ring(draw, shapes=SHAPES, windows=8):
    """A ring in ticks, and the same as parameters of the model."""
    payload = draw.choice((64, 1000, 1344))
    overhead, packet_format = draw.choice(((58, "standard"), (30, "afh_gen1"), (16, "afh_lite")))
    minimum, gap = draw.choice(((0, 0), (64, 20), (1500, 20)))
    rate = draw.choice((16, 32, 64))
    chips, frames = draw.choice(shapes)
    full_frames = draw.randrange(frames)
    size = payload * full_frames + draw.choice((1, payload, draw.randint(1, payload)))
    chunk = cut(size, payload, overhead, minimum, gap)
    credit_size = draw.choice((32, 64, 256, 2048))
    channels = draw.choice((1, 1, 2, 8))
    most = max(cells(frame, credit_size) for frame in chunk)
    credits = min(most * draw.randint(1, windows) + draw.choice((0, draw.randrange(most))), 32767)
    ticks = chunk[0].pitch * TICK // rate
    base, fixed, back = (draw.randrange(draw.choice((1, 8 * ticks, 60 * ticks)) + 1) for _ in range(3))
    drain = draw.choice((0, 0, draw.randrange(ticks + 1), draw.randint(ticks, 4 * ticks)))
    hops = draw.randrange(3)
    span = draw.choice(("link", "path"))
    alpha = base + hops * fixed
    if hops:
        alpha += hops * min(64, chunk[0].size) * TICK // rate
    latency = base if span == "link" else alpha
    returns = draw.choice((None, back))
    collective, algorithm, steps = draw.choice(
        (
            ("all_reduce", "ring", 2 * (chips - 1)),
            ("all_gather", "ring", chips - 1),
            ("reduce_scatter", "ring", chips - 1),
            ("all_to_all", "pairwise", chips - 1),
            ("all_to_all", "direct", chips - 1),
        )
    )
    streaming = algorithm == "direct" or draw.random() < 0.5
    waits = 0 if collective == "all_to_all" and streaming else alpha
    expected = waiting(
        chunk,
        steps,
        rate=rate,
        credit_size=credit_size,
        credits=credits,
        channels=channels,
        latency=latency,
        drain=drain,
        back=latency if returns is None else returns,
        wait=waits,
    )
    given = {
        "packet_format": packet_format,
        "max_payload": payload,
        "min_frame": minimum,
        "line_gap": gap,
        "link_bandwidth": rate,
        "chip_count": chips,
        "message_size": size * chips,
        "credit_size": credit_size,
        "credit_limit": credits,
        "virtual_channels": channels,
        "base_latency": base / TICK,
        "switch_fixed": fixed / TICK,
        "switch_hops": hops,
        "propagation": 0,
        "drain_time": drain / TICK,
        "credit_span": span,
        "collective": collective,
        "algorithm": algorithm,
        "cdma_issue": "streaming" if streaming else "blocking",
        **({} if returns is None else {"credit_return_latency": returns / TICK}),
    }
    return given, expected / TICK


@pytest.mark.plain
def test_carried_equals_the_plain_recurrence_on_3000_random_cases():
    draw = random.Random(SEED)
    waited = 0
    for _ in range(3000):
        given, expected = random_ring(draw)
        got = point("credit_time", credit_scope="carried", **given)
        assert got.status == "ok"
        assert got.value == pytest.approx(expected, rel=1e-12, abs=1e-6), given
        waited += expected > 0
    assert waited > 1500


def test_long_steps_that_start_with_credits_of_earlier_ones_still_out():
    """Windows inside a step must not be skipped before what older frames hold back has settled."""
    draw = random.Random(SEED)
    for _ in range(3000):
        given, expected = random_ring(draw, shapes=((3, 120), (4, 80), (8, 60)), windows=12)
        assert point("credit_time", credit_scope="carried", **given).value == pytest.approx(
            expected, rel=1e-12, abs=1e-6
        )


def test_rates_that_are_no_round_numbers_change_nothing_but_the_rounding():
    """Times that do not fit a grid: states repeat up to rounding only."""
    draw = random.Random(SEED)
    for _ in range(300):
        given, _ = random_ring(draw)
        given |= {"link_bandwidth": draw.uniform(10, 100), "base_latency": draw.uniform(0, 2000), "switch_hops": 0}
        given |= {"credit_span": "path", "collective": "all_reduce", "algorithm": "ring"}
        given.pop("credit_return_latency", None)
        overhead = {"standard": 58, "afh_gen1": 30, "afh_lite": 16}[given["packet_format"]]
        size = given["message_size"] // given["chip_count"]
        expected = 0.0
        chunk = cut(size, given["max_payload"], overhead, given["min_frame"], given["line_gap"])
        clock = drained = 0.0
        out = [deque() for _ in range(given["virtual_channels"])]
        held = [0] * given["virtual_channels"]
        steps = 2 * (given["chip_count"] - 1)
        for _ in range(steps):
            begun = clock
            for i, frame in enumerate(chunk):
                channel, need = i % len(out), cells(frame, given["credit_size"])
                while held[channel] + need > given["credit_limit"]:
                    returned, freed = out[channel].popleft()
                    clock = max(clock, returned)
                    held[channel] -= freed
                clock += frame.pitch / given["link_bandwidth"]
                drained = max(drained, clock + given["base_latency"]) + given["drain_time"]
                out[channel].append((drained + given["base_latency"], need))
                held[channel] += need
            expected += clock - begun - sum(frame.pitch for frame in chunk) / given["link_bandwidth"]
            clock += given["base_latency"]
        got = point("credit_time", credit_scope="carried", **given)
        assert got.value == pytest.approx(expected, rel=1e-9, abs=1e-6), given


SCENARIO_B = {
    "message_size": 2**20,
    "chip_count": 32,
    "link_bandwidth": 200,
    "packet_format": "standard",
    "vlan": "on",
    "base_latency": 200,
    "switch_hops": 1,
    "switch_fixed": 500,
    "propagation": 0,
    "credit_limit": 256,
    **BARE,
}


def test_the_published_time_of_scenario_b_with_carried_credits():
    """A 25-frame chunk fits the 42-frame window, but the credits of a step are still out in the next."""
    assert f"{sweep.quantities.collective_latency(**SCENARIO_B):.2f}" == "54058.42"
    assert f"{sweep.quantities.collective_latency(credit_scope='carried', **SCENARIO_B):.2f}" == "66744.24"


def test_two_steps_by_hand():
    """n = 2, one frame of 64 ns and 4 credits each, 4 credits: the second frame waits for the first one's credits.

    Out 64 + 100, back 300 ns: they are there at 464 ns. The second step begins at 164 ns, so it waits 300 ns.
    """
    given = {
        "packet_format": "afh_lite",
        "max_payload": 1008,
        "message_size": 2016,
        "chip_count": 2,
        "link_bandwidth": 16,
        "base_latency": 100,
        "credit_limit": 4,
        "credit_return_latency": 300,
        **BARE,
    }
    assert sweep.quantities.credit_time(credit_scope="step", **given) == 0
    assert sweep.quantities.credit_time(credit_scope="carried", **given) == 300
    assert sweep.quantities.collective_latency(credit_scope="carried", **given) == 2 * 164 + 300


@pytest.mark.parametrize("credit_limit", [6, 12, 42, 256, 512])
def test_carried_credits_wait_at_least_as_long_as_steps_that_forget(credit_limit):
    given = {**SCENARIO_B, "credit_limit": credit_limit}
    forgets = sweep.quantities.credit_time(credit_scope="step", **given)
    assert sweep.quantities.credit_time(credit_scope="carried", **given) >= forgets * (1 - 1e-12)


@pytest.mark.parametrize(
    ("credit_limit", "size", "status"),
    [(5, 8, "ok"), (5, 8 * 1344, "infeasible"), (6, 8 * 1344, "ok"), (1, 0, "ok"), (1, 8, "ok")],
)
def test_a_chunk_whose_frames_need_more_credits_than_exist_never_starts(credit_limit, size, status):
    given = {"credit_scope": "carried", "credit_limit": credit_limit, "message_size": size, "credit_size": 256}
    assert point("credit_time", **given).status == status
    assert point("collective_latency", chip_count=1, **given).value == 0


def test_pause_frames_carry_no_credits():
    assert point("credit_time", credit_scope="carried", flow_control="pfc", credit_limit=1).value == 0


@pytest.mark.parametrize(
    "choices",
    [
        {"algorithm": "tree"},
        {"algorithm": "halving_doubling"},
        {"algorithm": "direct"},
        {"collective": "all_to_all", "algorithm": "ring"},
        {"credit_model": "rounds"},
    ],
)
def test_where_steps_do_not_follow_each_other_on_one_link_there_is_no_formula(choices):
    assert point("credit_time", credit_scope="carried", **choices).status == "infeasible"
    assert point("credit_time", credit_scope="carried", chip_count=1, **choices).value == 0


def test_a_drain_that_is_slower_by_two_parts_in_a_million_is_not_taken_for_a_state_that_repeats():
    """The backlog grows by 1/16384 ns per frame; after 16384 frames it is a nanosecond, and credits begin to wait."""
    wire, extra, frames, steps = 64.0, 2.0**-14, 4, 100_000
    given = {
        "packet_format": "afh_lite",
        "max_payload": 1008,
        "message_size": 1008 * (steps + 1),
        "chip_count": steps + 1,
        "link_bandwidth": 16,
        "credit_limit": 4 * frames,
        "base_latency": 64.0,
        "credit_return_latency": (frames - 1) * wire - 2 * 64.0 - extra - 1.0,
        "drain_time": wire + extra,
        "collective": "all_to_all",
        "algorithm": "direct",
        **BARE,
    }
    clock = drained = waited = 0.0
    out = deque()
    for _ in range(steps):
        start = max(clock, out.popleft() if len(out) == frames else 0.0)
        waited += start - clock
        clock = start + wire
        drained = max(drained, clock + 64.0) + given["drain_time"]
        out.append(drained + given["credit_return_latency"])
    assert waited > 4
    assert sweep.quantities.credit_time(credit_scope="carried", **given) == pytest.approx(waited, rel=1e-6)


def test_millions_of_steps_are_extrapolated_from_a_few():
    """Beyond the first steps each period of them waits alike: the time grows in proportion."""
    given = {"credit_scope": "carried", "credit_limit": 6, "base_latency": 1000}
    first, second, third = (
        sweep.quantities.credit_time(chip_count=chips, message_size=chips * 3000, **given)
        for chips in (1_000_001, 4_000_001, 7_000_001)
    )
    assert third - second == close(second - first)
    assert first > 0
