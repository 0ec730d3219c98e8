"""Collectives as steps of messages: their time, what it is made of, and the bandwidths it amounts to."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import pytest

import sweep
from tests.models import BARE, close, cut, point, points, preset, starts

SEED = 20_240_612
PARTS = ("wire_time", "header_time", "credit_time", "switch_time", "queueing_time", "pipeline_time")
LABELS = ("wire", "headers", "credits", "switch", "queueing", "latency")
PAIRS = (("all_reduce", "ring"), ("reduce_scatter", "ring"), ("all_gather", "ring"), ("all_to_all", "pairwise"))

SCENARIO_A = {
    "collective": "all_reduce",
    "algorithm": "ring",
    "message_size": 128 * 1024,
    "chip_count": 8,
    "link_bandwidth": 400,
    "packet_format": "afh_lite",
    "base_latency": 150,
    "switch_hops": 0,
    "credit_limit": 512,
    "credit_size": 256,
}
SCENARIO_B = {
    "collective": "all_reduce",
    "algorithm": "ring",
    "message_size": 1024 * 1024,
    "chip_count": 32,
    "link_bandwidth": 200,
    "packet_format": "standard",
    "vlan": "on",
    "base_latency": 200,
    "switch_hops": 1,
    "switch_fixed": 500,
    "propagation": 0,
    "credit_limit": 256,
    "credit_size": 256,
}
SCENARIO_C = {
    **SCENARIO_B,
    "collective": "all_to_all",
    "algorithm": "pairwise",
    "message_size": 2 * 1024 * 1024,
    "chip_count": 64,
    "switch_hops": 2,
    "propagation": 5,
}


# Published numbers.


@pytest.mark.parametrize(
    ("scenario", "given", "step", "total"),
    [
        (SCENARIO_A, {}, "2698.2131", "2998.2131"),
        (SCENARIO_B, {}, "54355.3422", "96355.3422"),
        (SCENARIO_C, {}, "87362.0412", "162382.0412"),
        (SCENARIO_C, {"propagation": 0}, "86732.0412", "161132.0412"),
    ],
    ids=["A", "B", "C", "C_without_propagation"],
)
def test_the_scenarios_of_the_design_note_come_out(scenario, given, step, total):
    profile = {**preset("design_note"), **scenario, **given}
    assert f"{sweep.quantities.collective_latency(**profile):.4f}" == step
    assert f"{sweep.quantities.collective_latency(**{**profile, 'credit_scope': 'total'}):.4f}" == total


@pytest.mark.parametrize(
    ("scenario", "rate", "latency"),
    [(SCENARIO_A, 50, "6885.7045"), (SCENARIO_B, 25, "131042.7374"), (SCENARIO_C, 25, "165286.3299")],
    ids="ABC",
)
def test_the_scenarios_of_the_design_note_read_as_gigabits(scenario, rate, latency):
    profile = {**preset("design_note"), **scenario, "link_bandwidth": rate}
    assert f"{sweep.quantities.collective_latency(**profile):.4f}" == latency


@pytest.mark.parametrize(
    ("scenario", "given", "latency"),
    [
        (SCENARIO_A, {}, "2680.72"),
        (SCENARIO_B, {"flow_control": "pfc"}, "54058.42"),
        (SCENARIO_B, {}, "54058.42"),
        (SCENARIO_C, {"cdma_issue": "streaming"}, "12025.81"),
    ],
    ids=["A", "B_with_pause_frames", "B_with_a_chunk_in_one_window", "C_streaming"],
)
def test_the_scenarios_counted_exactly(scenario, given, latency):
    assert f"{sweep.quantities.collective_latency(**scenario, **BARE, **given):.2f}" == latency


def test_streaming_is_7_times_faster_than_blocking_in_scenario_c():
    given = {**SCENARIO_C, **BARE}
    blocking = sweep.quantities.collective_latency(cdma_issue="blocking", **given)
    streaming = sweep.quantities.collective_latency(cdma_issue="streaming", **given)
    assert f"{blocking / streaming:.1f}" == "7.3"


@pytest.mark.parametrize(
    ("chip_count", "latency"),
    [(2, "21971.52"), (3, "29962.03"), (4, "34457.28"), (8, "43700.16"), (64, "104287.68")],
)
def test_published_ring_times_without_framing(chip_count, latency):
    got = sweep.quantities.collective_latency(
        framing="none",
        chunking="fractional",
        message_size=1048576,
        chip_count=chip_count,
        link_bandwidth=50,
        base_latency=500,
    )
    assert f"{got:.2f}" == latency


def test_the_exact_profile_is_the_default():
    for name, value in preset("exact").items():
        assert getattr(sweep.parameters, name).default == value


# Steps and chunks.


def ring_steps(chips, wanted):
    """Steps until `wanted` chunks of every chip hold what all chips gave, each chip passing on one chunk per step."""
    holds = [[{chip} for _ in range(chips)] for chip in range(chips)]
    step = 0
    while any(sum(len(chunk) == chips for chunk in chunks) < wanted for chunks in holds):
        sent = [(chip, (chip - step) % chips) for chip in range(chips)]
        messages = [set(holds[chip][chunk]) for chip, chunk in sent]
        for (chip, chunk), message in zip(sent, messages, strict=True):
            holds[(chip + 1) % chips][chunk] |= message
        step += 1
    return step


def gather_steps(chips):
    """Steps until every chip holds the chunks of all, each chip passing on one chunk per step."""
    holds = [{chip} for chip in range(chips)]
    step = 0
    while any(len(chunks) < chips for chunks in holds):
        sent = [{(chip - step) % chips} & holds[chip] for chip in range(chips)]
        for chip, chunks in enumerate(sent):
            holds[(chip + 1) % chips] |= chunks
        step += 1
    return step


def exchange_steps(chips):
    """Steps until every chip has heard of all others, each sending to one per step."""
    heard = [{chip} for chip in range(chips)]
    step = 0
    while any(len(peers) < chips for peers in heard):
        step += 1
        for chip in range(chips):
            heard[(chip + step) % chips].add(chip)
    return step


@pytest.mark.parametrize("chips", [1, 2, 3, 5, 8, 24])
def test_steps_are_those_that_the_algorithm_takes_to_move_the_data(chips):
    expected = {
        ("all_reduce", "ring"): ring_steps(chips, chips),
        ("reduce_scatter", "ring"): ring_steps(chips, 1),
        ("all_gather", "ring"): gather_steps(chips),
        ("all_to_all", "pairwise"): exchange_steps(chips),
    }
    for (collective, algorithm), steps in expected.items():
        assert sweep.quantities.steps(collective=collective, algorithm=algorithm, chip_count=chips) == steps


@pytest.mark.parametrize("chips", [1, 2, 3, 7, 8, 1000, 2**24])
def test_a_chunk_is_the_largest_share_when_whole_bytes_are_dealt_out(chips):
    for size in (0, 1, 3, 7, 8, 9, 1_048_576, 2**50, 2**50 - 1, 2**50 // chips * chips):
        each, left = divmod(size, chips)
        given = {"message_size": size, "chip_count": chips}
        assert point("chunk_size", chunking="whole_bytes", **given).value == each + (left > 0)
        assert point("chunk_size", chunking="fractional", **given).value == size / chips


@pytest.mark.parametrize("collective", ["all_reduce", "reduce_scatter", "all_gather", "all_to_all"])
@pytest.mark.parametrize(
    ("size", "chips", "chunk_on_the_wire"),
    [
        (0, 8, 0),
        (1, 8, 84),
        (3, 8, 84),
        (48, 8, 84),
        (49, 8, 85),
        (3, 1000, 84),
        (8 * 1344, 8, 1422),
        (8 * 1344 + 1, 8, 1422 + 84),
        (1_048_576, 2, 524_288 + 391 * 78),
        (1_048_576, 3, 349_526 + 261 * 78),
        (1_048_576, 1000, 1049 + 78),
    ],
)
def test_a_collective_is_its_steps_of_one_chunk_each(collective, size, chips, chunk_on_the_wire):
    algorithm = "pairwise" if collective == "all_to_all" else "ring"
    steps = (chips - 1) * (2 if collective == "all_reduce" else 1)
    got = point("collective_latency", collective=collective, algorithm=algorithm, message_size=size, chip_count=chips)
    assert got.status == "ok"
    assert got.value == close(steps * (150 + Fraction(chunk_on_the_wire, 50)))


@pytest.mark.parametrize("hops", [1, 3])
def test_every_step_crosses_the_switches_with_the_first_frame_of_its_chunk(hops):
    for size, first, wire in ((0, 0, 0), (8, 64, 84), (8 * 1000, 1058, 1078), (8 * 2000, 1402, 2156)):
        for forwarding, forwarded in (("cut_through", min(first, 64)), ("store_and_forward", first)):
            got = sweep.quantities.collective_latency(message_size=size, switch_hops=hops, forwarding=forwarding)
            hop = 500 + Fraction(forwarded, 50)
            assert got == close(14 * (150 + 5 * (hops + 1) + hops * hop + Fraction(wire, 50)))


def test_streaming_pays_alpha_once_and_only_where_chunks_go_to_different_peers():
    given = {"message_size": 8 * 1344, "chip_count": 8, "cdma_issue": "streaming"}
    streamed = sweep.quantities.collective_latency(collective="all_to_all", algorithm="pairwise", **given)
    assert streamed == close(150 + 7 * 1422 / 50)
    for collective, steps in (("all_reduce", 14), ("all_gather", 7), ("reduce_scatter", 7)):
        got = sweep.quantities.collective_latency(collective=collective, **given)
        assert got == close(steps * (150 + 1422 / 50))


# Groups of one, and pairs that do not exist.


@pytest.mark.parametrize("algorithm", ["ring", "pairwise"])
@pytest.mark.parametrize("collective", ["all_reduce", "reduce_scatter", "all_gather", "all_to_all"])
@pytest.mark.parametrize(
    "given",
    [
        {},
        {"message_size": 0},
        {"switch_hops": 2, "egress_utilization": 1.2},
        {"packet_format": "afh_lite", "vlan": "on"},
        {"credit_limit": 1},
        {"credit_model": "rounds", "credit_limit": 1},
        {"cdma_issue": "streaming"},
    ],
    ids=["defaults", "empty", "overloaded", "lite_with_vlan", "one_credit", "rounds", "streaming"],
)
def test_one_chip_takes_no_time_whatever_else_is_wrong(collective, algorithm, given):
    got = points(
        ("collective_latency", *PARTS, "limiter"), collective=collective, algorithm=algorithm, chip_count=1, **given
    )
    assert {name: (result.value, result.status) for name, result in got.items()} == {
        **dict.fromkeys(("collective_latency", *PARTS), (0, "ok")),
        "limiter": ("none", "ok"),
    }
    bandwidths = points(("algorithm_bandwidth", "bus_bandwidth"), collective=collective, chip_count=1)
    assert [result.status for result in bandwidths.values()] == ["undefined", "undefined"]
    assert all(math.isnan(result.value) for result in bandwidths.values())


def test_a_collective_that_takes_no_time_has_no_bandwidth_and_no_limiter():
    given = {"message_size": 0, "base_latency": 0}
    assert point("collective_latency", **given).value == 0
    assert point("limiter", **given).value == "none"
    assert point("bus_bandwidth", **given).status == "undefined"


@pytest.mark.parametrize("collective", ["all_reduce", "all_gather"])
def test_pairs_of_collective_and_algorithm_that_do_not_exist_are_infeasible(collective):
    for output in ("collective_latency", "bus_bandwidth", "wire_time"):
        got = point(output, collective=collective, algorithm="pairwise")
        assert got.status == "infeasible"
        assert math.isnan(got.value)


# Loaded switches.


@pytest.mark.parametrize("rho", [1, 1.2])
@pytest.mark.parametrize(("collective", "algorithm"), PAIRS)
def test_an_overloaded_port_makes_a_collective_unstable(collective, algorithm, rho):
    given = {"collective": collective, "algorithm": algorithm, "egress_utilization": rho}
    for chips, hops, status in ((1, 2, "ok"), (8, 0, "ok"), (2, 1, "unstable"), (8, 2, "unstable")):
        got = points(("collective_latency", "queueing_time", "limiter"), chip_count=chips, switch_hops=hops, **given)
        assert {result.status for result in got.values()} == {status}
        assert (got["collective_latency"].value == math.inf) == (status == "unstable")
        assert got["queueing_time"].value == (math.inf if status == "unstable" else 0)


@pytest.mark.parametrize("rho", [0.5, 0.99, 1, 1.2])
def test_the_note_holds_utilization_at_99_percent_and_charges_no_queue_in_collectives(rho):
    held = min(Fraction(rho), Fraction(0.99))
    wait = Fraction(1402, 50) * held / (2 * (1 - held))
    for hop_delay, queue in (("full", 14 * wait), ("fixed", 0), ("note", 0)):
        got = point(
            "queueing_time", switch_hops=1, egress_utilization=rho, queueing_model="md1_note", hop_delay=hop_delay
        )
        assert (got.value, got.status) == (close(queue), "ok")


# Credits.


def stepwise(*, collective, algorithm, chips, size, rate, alpha, credits, channels, drain, back, span):
    """All steps of a collective, each with the window of credits full again at its start."""
    steps = (chips - 1) * (2 if collective == "all_reduce" else 1)
    frames = cut(-(-size // chips), 1344, 58, 64, 20)
    one_way = alpha if span == "path" else Fraction(150)
    started = starts(
        frames,
        rate=rate,
        credit_size=256,
        credits=credits,
        channels=channels,
        latency=one_way,
        drain=drain,
        back=one_way if back is None else back,
    )
    if started is None:
        return None
    clock = Fraction(0)
    for _ in range(steps):
        clock += (started[-1] + frames[-1].pitch / rate if frames else 0) + alpha
    return clock


@pytest.mark.parametrize(("collective", "algorithm"), PAIRS)
@pytest.mark.parametrize("span", ["link", "path"])
def test_within_each_step_credits_are_the_recurrence_over_its_frames(collective, algorithm, span):
    draw = random.Random(f"{SEED} {collective} {span}")
    for _ in range(60):
        chips, hops = draw.choice((2, 3, 5, 8, 24)), draw.randrange(3)
        size = draw.choice((draw.randrange(30 * 1344 * chips), 1344 * chips * draw.randrange(30)))
        case = {
            "chips": chips,
            "size": size,
            "rate": Fraction(draw.choice((32, 64))),
            "credits": draw.randrange(4, 40),
            "channels": draw.choice((1, 1, 2, 3)),
            "drain": Fraction(draw.choice((0, 8, 32, 100))),
            "back": draw.choice((None, Fraction(draw.randrange(1000)))),
        }
        first = cut(size, 1344, 58, 64, 20)[0].size if size else 0
        alpha = 150 + 5 * (hops + 1) * (hops > 0) + hops * (300 + min(64, first) / case["rate"])
        expected = stepwise(collective=collective, algorithm=algorithm, alpha=alpha, span=span, **case)
        optional = {} if case["back"] is None else {"credit_return_latency": float(case["back"])}
        got = point(
            "collective_latency",
            collective=collective,
            algorithm=algorithm,
            credit_span=span,
            chip_count=chips,
            message_size=size,
            switch_hops=hops,
            switch_fixed=300,
            link_bandwidth=float(case["rate"]),
            credit_limit=case["credits"],
            virtual_channels=case["channels"],
            drain_time=float(case["drain"]),
            **optional,
        )
        if expected is None:
            assert got.status == "infeasible"
            assert math.isnan(got.value)
        else:
            assert (got.value, got.status) == (float(expected), "ok"), case


def collective_of_the_note(collective, chips, size, *, rate, base, switches, overhead, credits):
    """calc_cdma_collective_latency of the design note."""
    alpha = base + sum(switches)
    beta = 1 / (rate * 1344 / (1344 + overhead) * (1 - 0.03))
    steps = (chips - 1) * (2 if collective == "all_reduce" else 1)
    latency = steps * alpha + steps * size / chips * beta
    inflight, sent = credits * 256, Fraction(steps * size, chips)
    if sent > inflight:
        latency += (math.ceil(sent / inflight) - 1) * 2 * alpha
    return latency


@pytest.mark.parametrize(("collective", "algorithm"), [pair for pair in PAIRS if pair[0] != "reduce_scatter"])
def test_the_design_note_profile_is_the_notes_collective_formula(collective, algorithm):
    draw = random.Random(f"{SEED} {collective} note")
    for _ in range(100):
        chips, size, hops = draw.randrange(2, 100), draw.randrange(10**7), draw.randrange(3)
        fabric = {
            "rate": draw.choice((50, 200, 400)),
            "base": draw.choice((150, 200)),
            "credits": draw.randrange(1, 600),
        }
        got = sweep.quantities.collective_latency(
            **{**preset("design_note"), "credit_scope": "total", "propagation": 0},
            collective=collective,
            algorithm=algorithm,
            chip_count=chips,
            message_size=size,
            switch_hops=hops,
            link_bandwidth=fabric["rate"],
            base_latency=fabric["base"],
            credit_limit=fabric["credits"],
        )
        assert got == close(
            collective_of_the_note(collective, chips, size, switches=[500] * hops, overhead=58, **fabric)
        )


@pytest.mark.parametrize(
    ("size", "step", "total"),
    [
        (0, 0, 0),
        (37_449, 0, 0),
        (37_450, 0, 1),
        (524_288, 0, 13),
        (524_289, 14, 14),
        (1_048_576, 14, 27),
        (1_048_577, 28, 28),
    ],
)
def test_rounds_of_credits_are_counted_in_each_step_or_over_all_bytes(size, step, total):
    """8 chips, 64 KiB of credits: 14 chunks of size/8 fill them one by one at 512 KiB, together at 37449.1 B."""
    given = {"credit_model": "rounds", "chunking": "fractional", "message_size": size, "credit_limit": 256}
    for scope, rounds in (("step", step), ("total", total)):
        assert sweep.quantities.credit_time(credit_scope=scope, **given) == rounds * 2 * 150


@pytest.mark.parametrize(("collective", "algorithm"), PAIRS)
def test_pause_frames_never_hold_a_chunk_for_credits(collective, algorithm):
    got = point("credit_time", collective=collective, algorithm=algorithm, flow_control="pfc", credit_limit=1)
    assert (got.value, got.status) == (0, "ok")


@pytest.mark.parametrize(
    ("size", "credit_limit", "status"),
    [(8 * 1222, 5, "ok"), (8 * 1222 + 1, 5, "infeasible"), (8 * 1344 + 1, 5, "infeasible"), (8 * 1345, 6, "ok")],
)
def test_a_chunk_with_a_frame_beyond_all_credits_never_arrives(size, credit_limit, status):
    given = {"message_size": size, "credit_limit": credit_limit}
    assert point("collective_latency", **given).status == status
    assert point("limiter", **given).status == status


@pytest.mark.parametrize(("chunk", "credit_size", "needed"), [(736, 32, 23), (1344 + 64, 32, 42), (864, 32, 27)])
def test_without_framing_a_chunk_takes_the_credits_of_its_payload(chunk, credit_size, needed):
    given = {"framing": "none", "message_size": 8 * chunk, "credit_size": credit_size}
    last = (chunk - 1) % 1344 + 1
    assert sweep.quantities.chunk_last_credits(**given) == last // credit_size
    assert point("collective_latency", credit_limit=needed, **given).status == "ok"
    assert point("collective_latency", credit_limit=needed - 1, **given).status == "infeasible"


# What every point obeys.


def random_point(draw):
    """Any collective on any fabric."""
    collective, algorithm = draw.choice(PAIRS)
    chips = draw.choice((2, 3, 5, 8, 24, 64, 1000))
    packet_format = draw.choice(("standard", "afh_gen1", "afh_gen2_16b", "afh_lite"))
    optional = {"credit_return_latency": draw.uniform(0, 2000)} if draw.random() < 0.5 else {}
    given = {
        "collective": collective,
        "algorithm": algorithm,
        "packet_format": packet_format,
        "vlan": "off" if packet_format == "afh_lite" else draw.choice(("off", "on")),
        "icrc": draw.choice(("off", "on")),
        "chip_count": chips,
        "message_size": draw.choice((0, 1, chips, 1344 * chips, draw.randrange(10**5), draw.randrange(10**9))),
        "max_payload": draw.choice((64, 256, 1344, 4096)),
        "link_bandwidth": draw.choice((11.2, 25.0, 46.57, 50.0, 448.0)),
        "bandwidth_reference": draw.choice(("mac", "line")),
        "base_latency": draw.choice((0, 150, 200)),
        "switch_hops": draw.randrange(4),
        "switch_fixed": draw.choice((0, 300, 500)),
        "egress_utilization": draw.choice((0, 0.005, 0.5, 0.95)),
        "forwarding": draw.choice(("cut_through", "store_and_forward")),
        "flow_control": draw.choice(("cbfc", "cbfc", "pfc")),
        "credit_limit": draw.choice((17, 40, 129, 512)),
        "credit_size": draw.choice((256, 1024, 2048)),
        "virtual_channels": draw.choice((1, 2, 8)),
        "drain_time": draw.choice((0, 10, 50)),
        "framing": draw.choice(("none", "full_frames", "exact", "note")),
        "chunking": draw.choice(("fractional", "whole_bytes")),
        "fec_overhead": draw.choice((0, 0.03)),
        "credit_model": draw.choice(("rounds", "window")),
        "credit_span": draw.choice(("link", "path", "note")),
        "propagation_count": draw.choice(("none", "hops", "segments")),
        "hop_delay": draw.choice(("fixed", "full", "note")),
        "queueing_model": draw.choice(("md1_note", "md1")),
        "cdma_issue": draw.choice(("blocking", "streaming")),
        **optional,
    }
    scopes = ("step", "total") if given["credit_model"] == "rounds" else ("step",)
    return {**given, "credit_scope": draw.choice(scopes)}


def test_six_parts_sum_to_the_time_of_the_collective_and_the_largest_is_its_limiter():
    draw = random.Random(f"{SEED} parts")
    seen = set()
    for _ in range(300):
        given = random_point(draw)
        got = points(("collective_latency", "limiter", *PARTS), **given)
        assert {result.status for result in got.values()} == {"ok"}, given
        parts = [got[part].value for part in PARTS]
        assert min(parts) >= 0, given
        assert got["collective_latency"].value == close(math.fsum(parts)), given
        largest = LABELS[parts.index(max(parts))] if max(parts) > 0 else "none"
        assert got["limiter"].value == largest, given
        seen.add(largest)
    assert seen == {*LABELS, "none"}


@pytest.mark.parametrize(
    ("given", "label"),
    [
        ({"message_size": 2**30}, "wire"),
        ({"message_size": 2**30, "max_payload": 16, "link_bandwidth": 1}, "headers"),
        ({"message_size": 2**20, "credit_limit": 6}, "credits"),
        ({"message_size": 1344, "switch_hops": 1}, "switch"),
        ({"message_size": 1344, "switch_hops": 1, "egress_utilization": 0.999}, "queueing"),
        ({"message_size": 1344}, "latency"),
        ({"message_size": 0}, "latency"),
        ({"message_size": 2**30, "chip_count": 1}, "none"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_limiter_names_what_a_designer_would(given, label):
    assert sweep.quantities.limiter(**given) == label


def test_no_collective_beats_its_alphas_and_its_bytes():
    draw = random.Random(f"{SEED} bound")
    for _ in range(300):
        given = {**random_point(draw), "cdma_issue": "blocking", "switch_fixed": 500, "credit_scope": "step"}
        chips, hops = given["chip_count"], given["switch_hops"]
        cables = {"none": 0, "hops": hops, "segments": hops + 1}[given["propagation_count"]] * (hops > 0)
        alpha = given["base_latency"] + 5 * cables + 500 * hops
        moved = Fraction((chips - 1) * given["message_size"], chips) / Fraction(given["link_bandwidth"])
        bound = float(((chips - 1) * alpha + moved) * (2 if given["collective"] == "all_reduce" else 1))
        got = point("collective_latency", **given)
        assert got.value >= bound * (1 - 1e-12), given


@pytest.mark.parametrize(
    ("collective", "algorithm", "factor"),
    [
        ("all_reduce", "ring", lambda chips: Fraction(2 * (chips - 1), chips)),
        ("reduce_scatter", "ring", lambda chips: Fraction(chips - 1, chips)),
        ("all_gather", "ring", lambda chips: Fraction(chips - 1, chips)),
        ("all_to_all", "pairwise", lambda chips: Fraction(chips - 1, chips)),
        ("broadcast", "tree", lambda chips: Fraction(1)),
        ("all_reduce", "halving_doubling", lambda chips: Fraction(2 * (chips - 1), chips)),
        ("all_gather", "direct", lambda chips: Fraction(chips - 1, chips)),
    ],
    ids=["all_reduce", "reduce_scatter", "all_gather", "all_to_all", "broadcast", "halving", "direct"],
)
def test_bandwidths_are_those_of_the_public_collective_benchmarks(collective, algorithm, factor):
    for chips, size in itertools.product((2, 3, 8, 1000), (1, 10**6, 2**30)):
        given = {"collective": collective, "algorithm": algorithm, "chip_count": chips, "message_size": size}
        got = points(("collective_latency", "algorithm_bandwidth", "bus_bandwidth"), **given)
        bandwidth = Fraction(size) / Fraction(got["collective_latency"].value)
        assert got["algorithm_bandwidth"].value == close(bandwidth)
        assert got["bus_bandwidth"].value == close(bandwidth * factor(chips))


def test_an_empty_collective_that_takes_time_has_no_bandwidth_left():
    got = points(("algorithm_bandwidth", "bus_bandwidth"), message_size=0)
    assert {(result.value, result.status) for result in got.values()} == {(0, "ok")}


def test_bus_bandwidth_never_exceeds_the_link():
    draw = random.Random(f"{SEED} bus")
    for _ in range(300):
        given = random_point(draw)
        got = points(("collective_latency", "bus_bandwidth"), **given)
        if got["collective_latency"].value == 0:
            assert got["bus_bandwidth"].status == "undefined"
            continue
        assert got["bus_bandwidth"].status == "ok"
        assert got["bus_bandwidth"].value <= given["link_bandwidth"] * (1 + 1e-12), given


@pytest.mark.parametrize(("collective", "algorithm"), PAIRS)
def test_without_headers_and_latency_the_bus_runs_at_the_rate_of_the_link(collective, algorithm):
    for chips in (2, 3, 8, 1000):
        got = sweep.quantities.bus_bandwidth(
            collective=collective,
            algorithm=algorithm,
            chip_count=chips,
            message_size=2**30,
            base_latency=0,
            framing="none",
            chunking="fractional",
            flow_control="pfc",
        )
        assert got == close(50)


def sizes_around_boundaries(chips, windows):
    """Message sizes in steps of a byte and of a chunk's byte, around whole frames and whole windows of frames."""
    near = (-chips - 1, -chips, -chips + 1, -1, 0, 1, chips - 1, chips, chips + 1, 2 * chips, 6 * chips, 7 * chips)
    frames = {*range(1, 12), *(windows * k + extra for k in range(1, 5) for extra in (-1, 0, 1, 2))}
    sizes = {1344 * chips * count + offset for count in frames for offset in near}
    return sorted({*range(3 * chips), *(size for size in sizes if size >= 0)})


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"credit_limit": 6},
        {"credit_limit": 31, "credit_size": 256},
        {"credit_limit": 13, "virtual_channels": 2},
        {"credit_limit": 25, "drain_time": 10},
        {"credit_limit": 25, "drain_time": 60},
        {"credit_limit": 50, "credit_size": 32, "packet_format": "afh_lite", **BARE},
        {"credit_limit": 25, "switch_hops": 2, "forwarding": "store_and_forward", "egress_utilization": 0.7},
        {"credit_limit": 25, "framing": "full_frames"},
        {"credit_limit": 25, "framing": "none", "chunking": "fractional"},
        {"credit_limit": 25, "collective": "all_to_all", "algorithm": "pairwise", "cdma_issue": "streaming"},
        {"credit_limit": 25, "credit_scope": "carried"},
        {"credit_limit": 25, "algorithm": "halving_doubling"},
        {"credit_limit": 25, "collective": "all_to_all"},
        {"credit_limit": 25, "algorithm": "tree", "tree_schedule": "pipelined"},
        {"switch_hops": 2, "port_bandwidth": 200, "flow_control": "pfc"},
        {"switch_hops": 2, "port_bandwidth": 200, "flow_control": "pfc", "forwarding": "store_and_forward"},
        {**preset("design_note"), "credit_limit": 25},
        {**preset("design_note"), "credit_limit": 25, "credit_scope": "total"},
    ],
    ids=[
        "exact",
        "one_frame_of_credits",
        "five_frames_and_a_credit",
        "two_channels",
        "drain_below_frame_time",
        "drain_above_frame_time",
        "small_credits",
        "loaded_switches",
        "full_frames",
        "no_framing",
        "streaming",
        "carried",
        "halving_doubling",
        "forwarded",
        "pipelined",
        "faster_ports",
        "faster_ports_store_and_forward",
        "design_note",
        "design_note_total",
    ],
)
def test_time_does_not_fall_as_the_message_grows(given):
    sizes = sizes_around_boundaries(8, windows=4)
    times = [point("collective_latency", message_size=size, **given) for size in sizes]
    assert {result.status for result in times} == {"ok"}
    falls = [(sizes[i], sizes[i + 1]) for i, (a, b) in enumerate(itertools.pairwise(times)) if not a.value <= b.value]
    assert falls == []


def test_a_port_slower_than_the_link_counts_as_switch_time_not_as_headers():
    given = {"port_bandwidth": 5, "switch_hops": 1, "message_size": 2**26, "flow_control": "pfc"}
    assert sweep.quantities.limiter(**given) == "switch"
    chunk = 2**23
    frames = 6242
    wire = chunk + frames * (58 + 20)
    assert sweep.quantities.header_time(**given) == pytest.approx(14 * (wire - chunk) / 50, rel=1e-12)


def test_one_number_is_refused_for_a_wrong_name_or_value():
    from sweep.errors import InputError

    for given, message in (
        ({"chip_cout": 4}, "did you mean 'chip_count'"),
        ({"algorithm": "rng"}, "did you mean 'ring'"),
        ({"message_size": -5}, ">= 0"),
        ({"message_size": "1 MiB"}, "takes a number"),
    ):
        with pytest.raises(InputError, match=message):
            sweep.quantities.collective_latency(**given)
