"""Halving and doubling, and all-to-all along a ring: each step a message of its own size."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

import sweep
from tests.models import close, cut, delivered, point, points, starts

SEED = 20_261_206
PARTS = ("wire_time", "header_time", "credit_time", "switch_time", "queueing_time", "pipeline_time")
HALVING = {"collective": "all_reduce", "algorithm": "halving_doubling"}
FORWARDED = {"collective": "all_to_all", "algorithm": "ring"}


def halving_sizes(chips, size):
    """Largest message of each step: the bytes that a chip still adds up are halved as long as two chips share them."""
    chips_in_pairs = 1 << (chips.bit_length() - 1)
    sizes, share = [], size
    while chips_in_pairs > 1:
        share = -(-share // 2)
        chips_in_pairs //= 2
        sizes += [share, share]  # adding up, and later handing out
    return sizes + ([size, size] if chips & (chips - 1) else [])


def forwarded_sizes(chips, size):
    """Bytes that a chip sends in each step if every chunk moves one chip at a time until it is where it should be."""
    chunk = -(-size // chips)
    going = {chip: [(chip + distance) % chips for distance in range(1, chips)] for chip in range(chips)}
    sizes = []
    while any(going.values()):
        sizes.append(chunk * max(map(len, going.values())))
        moved = {(chip + 1) % chips: targets for chip, targets in going.items()}
        going = {chip: [target for target in targets if target != chip] for chip, targets in moved.items()}
    return sizes


@pytest.mark.parametrize("chips", [1, 2, 3, 4, 5, 7, 8, 12, 64])
@pytest.mark.parametrize("size", [0, 1, 3, 8, 1343, 1344, 1345, 2**20])
def test_messages_are_those_that_the_algorithm_sends(chips, size):
    for choices, sizes in ((HALVING, halving_sizes(chips, size)), (FORWARDED, forwarded_sizes(chips, size))):
        got = points(("steps", "sent_bytes", "chunk_size"), chip_count=chips, message_size=size, **choices)
        assert got["steps"].value == len(sizes)
        assert got["sent_bytes"].value == sum(sizes)
        assert not sizes or got["chunk_size"].value == max(sizes)


def test_published_time_of_halving_and_doubling_without_headers():
    got = sweep.quantities.collective_latency(
        framing="none", chunking="fractional", message_size=2**20, chip_count=8, base_latency=500, **HALVING
    )
    assert f"{got:.2f}" == "39700.16"


@pytest.mark.parametrize("choices", [HALVING, FORWARDED], ids=["halving", "forwarded"])
@pytest.mark.parametrize("forwarding", ["cut_through", "store_and_forward"])
def test_each_step_is_a_message_over_the_path(choices, forwarding):
    draw = random.Random(SEED)
    for _ in range(300):
        chips, hops = draw.choice((2, 3, 4, 6, 8, 13)), draw.randrange(4)
        size = draw.choice((0, 1, 3, 1344 * chips, draw.randrange(100_000)))
        link, port = draw.choice((16, 25, 50)), draw.choice((16, 25, 50))
        sizes = halving_sizes(chips, size) if choices is HALVING else forwarded_sizes(chips, size)
        rates = [link] + [port] * hops
        cables = 5 * (hops + 1) if hops else 0
        expected = sum(
            150 + cables + 500 * hops + delivered(cut(each, 1344, 58, 64, 20), rates, forwarding) for each in sizes
        )
        given = {"link_bandwidth": link, "port_bandwidth": port, "switch_hops": hops, "forwarding": forwarding}
        got = points(
            ("collective_latency", *PARTS),
            chip_count=chips,
            message_size=size,
            flow_control="pfc",
            **given,
            **choices,
        )
        assert got["collective_latency"].value == pytest.approx(float(expected), rel=1e-12), (given, chips, size)
        assert sum(got[part].value for part in PARTS) == pytest.approx(float(expected), rel=1e-12)
        assert min(got[part].value for part in PARTS) >= 0


@pytest.mark.parametrize("choices", [HALVING, FORWARDED], ids=["halving", "forwarded"])
@pytest.mark.parametrize("credit_limit", [6, 7, 13, 40, 512])
@pytest.mark.parametrize(("credit_span", "returns"), [("path", None), ("link", None), ("path", 40)])
def test_each_step_waits_for_credits_as_a_message_does(choices, credit_limit, credit_span, returns):
    for chips in (2, 5, 8):
        for size in (1, 5000, 100_000):
            sizes = halving_sizes(chips, size) if choices is HALVING else forwarded_sizes(chips, size)
            expected = Fraction(0)
            for each in sizes:
                frames = cut(each, 1344, 58, 64, 20)
                alpha = 150 + 10 + 500 + Fraction(min(64, frames[0].size), 50)
                span = alpha if credit_span == "path" else Fraction(150)
                started = starts(
                    frames,
                    rate=50,
                    credit_size=256,
                    credits=credit_limit,
                    channels=1,
                    latency=span,
                    drain=Fraction(0),
                    back=span if returns is None else Fraction(returns),
                )
                expected += started[-1] - Fraction(sum(frame.pitch for frame in frames[:-1]), 50)
            optional = {} if returns is None else {"credit_return_latency": returns}
            given = {"chip_count": chips, "message_size": size, "switch_hops": 1, "credit_limit": credit_limit}
            got = point("credit_time", credit_span=credit_span, **given, **choices, **optional)
            assert got.status == "ok"
            assert got.value == pytest.approx(float(expected), rel=1e-12, abs=1e-9), (chips, size)


@pytest.mark.parametrize("choices", [HALVING, FORWARDED], ids=["halving", "forwarded"])
def test_rounds_of_credits_hold_back_each_message(choices):
    given = {"chip_count": 8, "message_size": 2**20, "credit_limit": 64, "credit_model": "rounds", **choices}
    sizes = halving_sizes(8, 2**20) if choices is HALVING else forwarded_sizes(8, 2**20)
    rounds = sum(-(-each // (64 * 256)) - 1 for each in sizes)
    assert sweep.quantities.credit_time(**given) == rounds * 2 * 150


@pytest.mark.parametrize(
    ("credit_limit", "size", "status"), [(5, 2**20, "infeasible"), (5, 16, "ok"), (6, 2**20, "ok")]
)
def test_a_step_whose_frames_need_more_credits_than_exist_never_ends(credit_limit, size, status):
    for choices in (HALVING, FORWARDED):
        got = point("collective_latency", credit_limit=credit_limit, message_size=size, **choices)
        assert got.status == status
        assert point("collective_latency", credit_limit=credit_limit, flow_control="pfc", **choices).status == "ok"


def test_a_ring_of_more_chips_than_can_be_summed_up_is_over_budget():
    assert point("collective_latency", chip_count=2**24, **FORWARDED).status == "budget"
    assert point("collective_latency", chip_count=2**24, **HALVING).status == "ok"


def test_the_note_takes_an_all_to_all_on_a_ring_for_one_among_pairs():
    given = {"collective": "all_to_all", "chip_count": 8, "ring_exchange": "pairwise"}
    ring, pairs = (sweep.quantities.collective_latency(algorithm=name, **given) for name in ("ring", "pairwise"))
    assert ring == pairs
    assert sweep.quantities.collective_latency(collective="all_to_all", chip_count=8) > 2 * ring


def test_chunks_of_any_size_that_fill_whole_frames_take_no_more():
    """27 of 30 chunks of 4480 bytes are 4032 bytes, three frames; rounding must not make it four."""
    given = {"chunking": "fractional", "chip_count": 30, **FORWARDED}
    for size in range(4480, 4480 * 40, 4480):
        wire = sum(
            frames * 1344 + rest + (frames + (rest > 0)) * 78
            for frames, rest in (divmod(Fraction(k * size, 30), 1344) for k in range(1, 30))
        )
        padding = sum(max(6 - rest, 0) for k in range(1, 30) for rest in [Fraction(k * size, 30) % 1344] if rest > 0)
        expected = Fraction(wire + padding, 50) + 29 * 150
        got = sweep.quantities.collective_latency(message_size=size, flow_control="pfc", **given)
        assert got == pytest.approx(float(expected), rel=1e-12), size


def test_on_a_ring_of_two_or_three_chips_nothing_or_little_is_passed_on():
    for chips, times in ((2, 1), (3, 1.5)):
        given = {"collective": "all_to_all", "chip_count": chips, "message_size": 6 * 1344}
        forwarded = sweep.quantities.sent_bytes(**given)
        among_pairs = sweep.quantities.sent_bytes(ring_exchange="pairwise", **given)
        assert forwarded == close(times * among_pairs)
