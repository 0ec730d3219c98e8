"""A point-to-point link: base latency, serialization, and waiting for credits."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest

import sweep
from tests.models import BARE, cells, close, cut, delivered, point, points, preset, starts

DRAINS = ("none", "below_frame_time", "frame_time", "above_frame_time")
SEED = 20_240_611


# Rates and serialization.


def test_transcoding_and_fec_leave_16_of_17_bytes_of_a_line_rate():
    share = Fraction(256, 257) * Fraction(514, 544)
    assert share == Fraction(16, 17)
    assert f"{sweep.quantities.wire_rate(link_bandwidth=1.0, bandwidth_reference='line'):.6f}" == "0.941176"
    assert sweep.quantities.wire_rate(link_bandwidth=53.125, bandwidth_reference="line") == close(50)


def test_a_mac_rate_already_excludes_fec():
    assert sweep.quantities.wire_rate(link_bandwidth=50) == 50


@pytest.mark.parametrize("reference", ["mac", "line"])
def test_fec_overhead_takes_its_share_of_the_rate(reference):
    share = {"mac": 1, "line": Fraction(16, 17)}[reference]
    got = sweep.quantities.wire_rate(link_bandwidth=50, fec_overhead=0.03, bandwidth_reference=reference)
    assert got == close(50 * share * Fraction(97, 100))


@pytest.mark.parametrize(
    ("given", "latency"),
    [
        ({}, 150 + (1048576 + 781 * 78) / 50),
        ({"message_size": 0}, 150),
        ({"message_size": 1}, 151.68),
        ({"message_size": 1344}, 150 + 1422 / 50),
        ({"message_size": 1345}, 150 + 1506 / 50),
        ({"message_size": 1344, "fec_overhead": 0.03}, 150 + 1422 / 48.5),
        ({"message_size": 1344, "bandwidth_reference": "line"}, 150 + 1422 * 17 / 800),
        ({"message_size": 1344, "packet_format": "afh_lite", "base_latency": 0, "link_bandwidth": 400}, 3.45),
    ],
    ids=["1_MiB", "0_B", "1_B", "1344_B", "1345_B", "fec", "line_rate", "lite"],
)
def test_latency_is_pipelines_and_serialization_while_credits_last(given, latency):
    assert sweep.quantities.link_latency(**given) == close(latency)


@pytest.mark.parametrize("packet_format", ["standard", "afh_gen1", "afh_gen2_16b", "afh_lite"])
@pytest.mark.parametrize("credit_model", ["rounds", "window"])
@pytest.mark.parametrize("framing", ["none", "full_frames", "exact", "note"])
def test_an_empty_message_takes_the_base_latency(packet_format, credit_model, framing):
    got = point("link_latency", message_size=0, packet_format=packet_format, credit_model=credit_model, framing=framing)
    assert (got.value, got.status) == (150, "ok")


@pytest.mark.parametrize("framing", ["none", "full_frames", "exact", "note"])
@pytest.mark.parametrize("credit_limit", [6, 13, 512])
def test_no_message_beats_its_bytes_at_the_rate_of_the_link(framing, credit_limit):
    for size in (1, 63, 1343, 1344, 1345, 10_000, 1_000_003):
        got = point("link_latency", framing=framing, credit_limit=credit_limit, message_size=size)
        assert got.status == "ok"
        assert got.value >= 150 + size / 50


# Credits as rounds.


def latency_of_the_note(size, *, rate, base, overhead, credits, credit_size, fec=0.03):
    """calc_paxi_latency of the design note."""
    packets = math.ceil(size / 1344)
    last_payload = size - (packets - 1) * 1344
    wire = ((packets - 1) * (1344 + overhead) + last_payload + overhead) / (1 - fec)
    inflight = credits * credit_size
    stall = (math.ceil(size / inflight) - 1) * 2 * base if size > inflight else 0.0
    return base + wire / rate + stall


@pytest.mark.parametrize("flow_control", ["cbfc", "pfc"])
@pytest.mark.parametrize(
    ("size", "stall"),
    [(0, 0), (1, 0), (131_071, 0), (131_072, 0), (131_073, 300), (262_144, 300), (262_145, 600), (1_310_721, 3000)],
)
def test_each_window_of_credits_waits_a_round_trip_in_the_note_with_pause_frames_too(flow_control, size, stall):
    got = sweep.quantities.credit_stall(message_size=size, flow_control=flow_control, **preset("design_note"))
    assert got == stall


@pytest.mark.parametrize(
    ("packet_format", "vlan", "overhead"),
    [("standard", "off", 58), ("standard", "on", 62), ("afh_gen1", "off", 30), ("afh_lite", "off", 16)],
)
def test_the_design_note_profile_is_the_notes_link_formula(packet_format, vlan, overhead):
    draw = random.Random(SEED)
    for size in (0, 1, 1343, 1344, 1345, 65_536, 65_537, *(draw.randrange(10**7) for _ in range(60))):
        link = {"rate": draw.choice((50, 200, 400)), "base": draw.choice((150, 200)), "credits": draw.randrange(1, 600)}
        got = point(
            "link_latency",
            packet_format=packet_format,
            vlan=vlan,
            message_size=size,
            link_bandwidth=link["rate"],
            base_latency=link["base"],
            credit_limit=link["credits"],
            switch_hops=draw.randrange(3),
            **preset("design_note"),
        )
        assert got.status == "ok"
        assert got.value == close(latency_of_the_note(size, overhead=overhead, credit_size=256, **link))


# Credits as a sliding window.


@pytest.mark.parametrize(
    ("credit_size", "credits"), [(32, 44), (64, 22), (128, 11), (256, 6), (1024, 2), (2048, 1), (1402, 1), (1401, 2)]
)
def test_a_frame_takes_whole_credits(credit_size, credits):
    assert sweep.quantities.frame_credits(credit_size=credit_size) == credits


def test_credits_count_padding_but_not_the_gap():
    one_byte = {"message_size": 1, "credit_limit": 1}
    assert point("link_latency", credit_size=64, **one_byte).status == "ok"
    assert point("link_latency", credit_size=63, **one_byte).status == "infeasible"


@pytest.mark.parametrize(
    ("size", "credit_limit", "status"),
    [
        (0, 1, "ok"),
        (1222, 5, "ok"),
        (1223, 5, "infeasible"),
        (1344, 5, "infeasible"),
        (1344, 6, "ok"),
        (1345, 5, "infeasible"),
        (1345, 6, "ok"),
        (1_048_576, 5, "infeasible"),
    ],
)
@pytest.mark.parametrize("virtual_channels", [1, 8])
def test_a_frame_that_needs_more_credits_than_its_channel_has_never_starts(
    size, credit_limit, status, virtual_channels
):
    got = point("link_latency", message_size=size, credit_limit=credit_limit, virtual_channels=virtual_channels)
    assert got.status == status
    assert math.isnan(got.value) == (status == "infeasible")


@pytest.mark.parametrize(
    ("message_size", "credit_size", "needed"),
    [(736, 32, 23), (864, 32, 27), (1344, 32, 42), (1344, 256, 6), (1, 32, 1), (33, 32, 2), (448, 64, 7)],
)
def test_without_framing_a_frame_takes_the_credits_of_its_payload(message_size, credit_size, needed):
    given = {"framing": "none", "message_size": message_size, "credit_size": credit_size}
    assert sweep.quantities.last_frame_credits(**given) == needed
    assert point("link_latency", credit_limit=needed, **given).status == "ok"
    if needed > 1:
        assert point("link_latency", credit_limit=needed - 1, **given).status == "infeasible"


@pytest.mark.parametrize(("framing", "frame"), [("none", 1344), ("full_frames", 1402)])
@pytest.mark.parametrize("credit_size", [32, 64, 128, 256, 1024, 2048])
def test_in_proportion_the_last_frame_takes_the_credits_of_its_share_of_a_full_one(framing, frame, credit_size):
    for full in (0, 1, 9):
        for rest in (1, *range(32, 1345, 32), 1343):
            size = 1344 * full + rest
            got = point("last_frame_credits", framing=framing, message_size=size, credit_size=credit_size).value
            assert (size, got) == (size, math.ceil(Fraction(rest * frame, 1344 * credit_size)))


def test_one_frame_of_credits_is_stop_and_wait():
    """Frames of 64 ns over 100 ns, drained in 16 ns, credits back after 40 ns: one frame per 220 ns."""
    given = {
        "packet_format": "afh_lite",
        "max_payload": 1008,
        "link_bandwidth": 16,
        "base_latency": 100,
        "credit_limit": 4,
        "drain_time": 16,
        "credit_return_latency": 40,
        **BARE,
    }
    assert sweep.quantities.link_latency(message_size=1008, **given) == 164
    assert sweep.quantities.link_latency(message_size=10 * 1008, **given) == 9 * 220 + 164
    assert sweep.quantities.link_latency(message_size=9 * 1008 + 16, **given) == 9 * 220 + 102


def test_unset_a_credit_returns_in_the_latency_of_its_span():
    """One frame of 64 ns under way: out and back is 64 + 100 + 100 ns over the link, 2 x 520 ns over the path."""
    given = {
        "packet_format": "afh_lite",
        "max_payload": 1008,
        "message_size": 10 * 1008,
        "link_bandwidth": 16,
        "base_latency": 100,
        "credit_limit": 4,
        "switch_hops": 1,
        "switch_fixed": 406,
        **BARE,
    }
    assert sweep.quantities.link_latency(credit_span="link", **given) == 9 * 264 + 164
    assert sweep.quantities.link_latency(credit_span="note", **given) == 9 * 264 + 164
    assert sweep.quantities.link_latency(credit_span="path", **given) == 9 * (64 + 2 * 520) + 164
    assert sweep.quantities.transfer_latency(credit_span="path", **given) == 9 * (64 + 2 * 520) + 64 + 520


def test_a_receiver_that_drains_slower_than_the_wire_sets_the_pace():
    """Frames of 64 ns drained in 100 ns with 3 under way: frame i >= 3 waits for the drain of frame i - 3."""
    given = {
        "packet_format": "afh_lite",
        "max_payload": 1008,
        "link_bandwidth": 16,
        "base_latency": 50,
        "credit_limit": 12,
        "drain_time": 100,
        "credit_return_latency": 10,
        **BARE,
    }
    drained_first = 64 + 50 + 100
    for frames, start in ((3, 2 * 64), (4, drained_first + 10), (5, drained_first + 110), (12, drained_first + 810)):
        assert sweep.quantities.link_latency(message_size=frames * 1008, **given) == start + 64 + 50


@pytest.mark.parametrize(("channels", "percent"), [(1, "46.73"), (2, "93.47"), (3, "100.00"), (8, "100.00")])
def test_credits_for_five_frames_per_300_ns_hold_a_50_gb_s_link_at_the_published_share(channels, percent):
    given = {
        "link_bandwidth": 50,
        "base_latency": (300 - 1402 / 50) / 2,
        "credit_limit": 32,
        "virtual_channels": channels,
        **BARE,
    }
    assert sweep.quantities.credit_loop(**given) == close(300)
    windows = 1000
    frames = windows * 5 * channels
    first = sweep.quantities.link_latency(message_size=1344 * 5 * channels, **given)
    later = sweep.quantities.link_latency(message_size=1344 * (5 * channels + frames), **given)
    assert f"{100 * 1402 * frames / (later - first) / 50:.2f}" == percent


@pytest.mark.parametrize("credit_limit", [1, 5, 6, 512])
@pytest.mark.parametrize("drain_time", [0, 1000])
def test_pause_frames_need_no_credits(credit_limit, drain_time):
    given = {"flow_control": "pfc", "credit_limit": credit_limit, "drain_time": drain_time}
    got = point("link_latency", message_size=100 * 1344, **given)
    assert got.status == "ok"
    assert got.value == close(150 + 100 * 1422 / 50)


def random_link(draw, channels, drain, whole):
    """A link in exact rationals; `whole` full frames of credits, with 2^k B/ns and times in 1/64 ns."""
    payload = draw.choice((64, 1000, 1344))
    overhead, packet_format = draw.choice(((58, "standard"), (30, "afh_gen1"), (16, "afh_lite")))
    minimum, gap = draw.choice(((0, 0), (64, 20), (1500, 20)))
    credit_size = draw.choice((32, 64, 128, 256, 1024, 2048))
    rate = draw.choice((16, 32, 64))
    message = payload * draw.randrange(24) + draw.randint(1, payload)
    full = cut(payload, payload, overhead, minimum, gap)[0]
    ticks = full.pitch * 64 // rate
    need = cells(full, credit_size)
    drain_ticks = {
        "none": 0,
        "below_frame_time": draw.randrange(1, ticks),
        "frame_time": ticks,
        "above_frame_time": draw.randint(ticks + 1, 4 * ticks),
    }[drain]
    base, back, fixed, cable = (draw.randrange(6 * ticks) for _ in range(4))
    return {
        "frames": cut(message, payload, overhead, minimum, gap),
        "rate": Fraction(rate),
        "credits": max(whole * need + draw.choice((0, 0, draw.randrange(need))), 1),
        "base": Fraction(base, 64),
        "drain": Fraction(drain_ticks, 64),
        "back": draw.choice((None, Fraction(back, 64))),
        "hops": draw.randrange(4),
        "fixed": Fraction(fixed, 64),
        "cable": Fraction(cable, 64),
        "span": draw.choice(("link", "path")),
        "given": {
            "packet_format": packet_format,
            "max_payload": payload,
            "min_frame": minimum,
            "line_gap": gap,
            "credit_size": credit_size,
            "message_size": message,
            "virtual_channels": channels,
        },
    }


def given_of(link):
    """The same link as parameters of the model."""
    optional = {} if link["back"] is None else {"credit_return_latency": float(link["back"])}
    return {
        **link["given"],
        **optional,
        "link_bandwidth": float(link["rate"]),
        "credit_limit": link["credits"],
        "base_latency": float(link["base"]),
        "drain_time": float(link["drain"]),
        "switch_hops": link["hops"],
        "switch_fixed": float(link["fixed"]),
        "propagation": float(link["cable"]),
        "credit_span": link["span"],
    }


def brute_force(link):
    """Time until the last frame has come over the link, and over the whole path; None if it never does."""
    frames, hops, rate = link["frames"], link["hops"], link["rate"]
    path = link["base"] + link["cable"] * (hops + 1) + hops * (link["fixed"] + min(64, frames[0].size) / rate)
    span = path if link["span"] == "path" else link["base"]
    started = starts(
        frames,
        rate=rate,
        credit_size=link["given"]["credit_size"],
        credits=link["credits"],
        channels=link["given"]["virtual_channels"],
        latency=span,
        drain=link["drain"],
        back=span if link["back"] is None else link["back"],
    )
    if started is None:
        return None
    sent = started[-1] + frames[-1].pitch / rate
    arrived = delivered(frames, [rate] * (hops + 1), "cut_through", started=started)
    return sent + link["base"], arrived + link["base"] + link["cable"] * (hops + 1) + hops * link["fixed"]


@pytest.mark.parametrize("drain", DRAINS)
@pytest.mark.parametrize("channels", [1, 2, 3, 8])
@pytest.mark.parametrize("whole", [0, 1, 2, 3, 5], ids=lambda whole: f"{whole}_frames_of_credits")
def test_the_window_model_is_the_recurrence_over_all_frames(drain, channels, whole):
    """2400 links, compared exactly: every time is a dyadic rational."""
    draw = random.Random(f"{SEED} {drain} {channels} {whole}")
    feasible = 0
    for _ in range(30):
        link = random_link(draw, channels, drain, whole)
        given = given_of(link)
        got = points(("link_latency", "transfer_latency"), **given).values()
        expected = brute_force(link)
        assert {result.status for result in got} == {"infeasible" if expected is None else "ok"}, given
        if expected is not None:
            feasible += 1
            assert [result.value for result in got] == [float(time) for time in expected], given
    assert feasible >= (1 if whole == 0 else 30)


@pytest.mark.parametrize("drain", DRAINS)
def test_the_window_model_is_the_recurrence_at_any_rate(drain):
    draw = random.Random(f"{SEED} any rate {drain}")
    for _ in range(100):
        link = random_link(draw, draw.choice((1, 2, 3, 8)), drain, draw.choice((1, 2, 3, 5, 8)))
        link["rate"] = Fraction(draw.choice((25.0, 46.57, 50.0, 100.3, 448.0)))
        link["base"], link["drain"] = link["base"] / 3, link["drain"] / 7
        given = given_of(link)
        expected = brute_force({**link, **{name: Fraction(float(link[name])) for name in ("base", "drain")}})
        got = points(("link_latency", "transfer_latency"), **given).values()
        assert [result.value for result in got] == [close(time) for time in expected], given


@pytest.mark.parametrize("framing", ["none", "full_frames"])
def test_in_proportion_the_window_is_the_recurrence_over_shares_of_a_frame(framing):
    """Odd shares of a credit, so that no rounding of a share can count."""
    draw = random.Random(f"{SEED} {framing}")
    size = {"none": 1344, "full_frames": 1402}[framing]
    pitch = {"none": 1344, "full_frames": 1422}[framing]
    for _ in range(200):
        full, rest = draw.randrange(20), 2 * draw.randrange(672) + 1
        credit_limit, base = draw.randrange(6, 40), draw.randrange(1000)
        started, returned = [], []
        needs = [-(-size // 256)] * full + [math.ceil(Fraction(rest * size, 1344 * 256))]
        free = Fraction(0)
        for i, need in enumerate(needs):
            held, start = need, free
            for j in range(i - 1, -1, -1):
                held += needs[j]
                if held > credit_limit:
                    start = max(start, returned[j])
                    break
            free = start + Fraction(pitch, 50)
            started.append(start)
            returned.append(free + 2 * base)
        expected = started[-1] + Fraction(pitch * rest, 1344 * 50) + base
        got = point(
            "link_latency",
            framing=framing,
            message_size=1344 * full + rest,
            credit_limit=credit_limit,
            base_latency=base,
        )
        assert got.value == close(expected)


@pytest.mark.parametrize("drain", DRAINS)
def test_more_credits_or_channels_never_slow_a_message(drain):
    draw = random.Random(f"{SEED} more {drain}")
    for _ in range(20):
        given = given_of(random_link(draw, 1, drain, 1))
        for name in ("credit_limit", "virtual_channels"):
            first = given[name]
            times = [point("link_latency", **{**given, name: first + extra}).value for extra in range(8)]
            assert times == sorted(times, reverse=True), (name, given)
