from __future__ import annotations

import math

import pytest

import sweep
from tests.models import point, points

MIB = 2**20
FRAMES = 781  # of 1344 bytes in 1 MiB, the last with 256
TM = (MIB + FRAMES * (58 + 20)) / 50  # ns at 50 B/ns, standard format with gap
PLAIN = {"collective": "all_reduce", "algorithm": "tree", "message_size": MIB, "flow_control": "pfc"}
BETA = (1402 + 20) / 1344 / 50


def latency(**given):
    return sweep.quantities.collective_latency(**PLAIN, **given)


@pytest.mark.parametrize(
    ("schedule", "chips", "alphas", "wires"),
    [
        ("binomial", 2, 2, 2),
        ("binomial", 3, 4, 4),
        ("binomial", 8, 6, 6),
        ("binomial", 9, 8, 8),
        ("binomial", 1000, 20, 20),
        ("single_binary", 2, 2, 2),
        ("single_binary", 3, 2, 2),
        ("single_binary", 4, 4, 3),
        ("single_binary", 1000, 18, 3),
        ("double_binary", 2, 2, 2),
        ("double_binary", 7, 4, 2),
        ("double_binary", 8, 6, 2),
        ("double_binary", 1000, 18, 2),
        ("binomial_own_links", 2, 2, 2),
        ("binomial_own_links", 3, 2, 2),
        ("binomial_own_links", 1000, 18, 18),
    ],
)
def test_a_tree_pays_its_latencies_and_its_wire_times(schedule, chips, alphas, wires):
    assert latency(tree_schedule=schedule, chip_count=chips) == pytest.approx(alphas * 150 + wires * TM, rel=1e-14)


@pytest.mark.parametrize(("chips", "levels"), [(2, 1), (3, 2), (4, 2), (5, 3), (64, 6), (65, 7)])
def test_the_note_pays_the_latency_of_all_levels_and_the_bytes_of_two(chips, levels):
    found = latency(tree_schedule="note", chip_count=chips, framing="full_frames")
    assert found == pytest.approx(2 * levels * 150 + 2 * MIB * BETA, rel=1e-14)


def test_the_note_counts_rounds_of_credits_over_twice_the_bytes():
    given = {"tree_schedule": "note", "chip_count": 8, "credit_model": "rounds", "credit_scope": "total"}
    window = 512 * 256
    assert sweep.quantities.credit_time(**PLAIN, **given) == (math.ceil(2 * MIB / window) - 1) * 2 * 150


@pytest.mark.parametrize("schedule", ["note", "binomial", "single_binary", "double_binary"])
def test_one_chip_takes_no_time(schedule):
    assert latency(tree_schedule=schedule, chip_count=1) == 0


def test_levels_are_exact_for_every_chip_count_up_to_the_limit():
    from sweep.models.tree import ceil_log2, floor_log2

    for exponent in range(25):
        for count in (2**exponent - 1, 2**exponent, 2**exponent + 1):
            if count >= 1:
                assert floor_log2(count) == count.bit_length() - 1
                assert ceil_log2(count) == (count - 1).bit_length()


def test_the_parts_of_a_tree_sum_to_its_time():
    given = {**PLAIN, "chip_count": 12, "switch_hops": 2, "credit_limit": 16, "flow_control": "cbfc"}
    names = ("wire_time", "header_time", "credit_time", "switch_time", "queueing_time", "pipeline_time")
    parts = [getattr(sweep.quantities, name)(**given) for name in names]
    assert sum(parts) == pytest.approx(sweep.quantities.collective_latency(**given), rel=1e-12)
    assert parts[2] > 0


# Trees followed message by message.


def messages_along_binomial_tree(chips):
    """Depth of the tree in which a chip's parent is its number without the lowest bit."""
    return max(bin(chip).count("1") for chip in range(chips))


def rounds_of_one_port(chips):
    """Rounds until all chips have a message that each one passes on to one other per round."""
    informed, rounds = 1, 0
    while informed < chips:
        informed, rounds = min(2 * informed, chips), rounds + 1
    return rounds


@pytest.mark.parametrize("chips", [1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 1000])
def test_a_binomial_tree_takes_the_rounds_or_the_depth_that_passing_on_takes(chips):
    for collective, times in (("all_reduce", 2), ("broadcast", 1)):
        given = {"collective": collective, "algorithm": "tree", "chip_count": chips}
        one_port = sweep.quantities.steps(tree_schedule="binomial", **given)
        own_links = sweep.quantities.steps(tree_schedule="binomial_own_links", **given)
        assert one_port == times * rounds_of_one_port(chips)
        assert own_links == times * messages_along_binomial_tree(chips)


def pipelined(chips, pieces, alpha, wire, up):
    """End of an all_reduce (`up`) or broadcast in pieces over a binary tree, each chip with a link to each neighbour.

    Chip c has the parent (c - 1) // 2. A piece goes on when it is there, from both children on the way up, and when
    the link has sent the one before it.
    """
    there = [[0.0] * pieces for _ in range(chips)]
    if up:
        for chip in range(chips - 1, 0, -1):
            free = 0.0
            for piece in range(pieces):
                free = max(free, there[chip][piece]) + wire
                parent = there[(chip - 1) // 2]
                parent[piece] = max(parent[piece], free + alpha)
    for chip in range(1, chips):
        free = 0.0
        for piece in range(pieces):
            free = max(free, there[(chip - 1) // 2][piece]) + wire
            there[chip][piece] = free + alpha
    return max(map(max, there))


@pytest.mark.parametrize("chips", [1, 2, 3, 4, 5, 7, 8, 13, 16, 100])
@pytest.mark.parametrize("pieces", [1, 2, 3, 16])
def test_a_pipelined_tree_takes_as_long_as_its_pieces_take_one_by_one(chips, pieces):
    piece = 5000
    wire = (piece + 4 * 78) / 50
    for collective, up in (("all_reduce", True), ("broadcast", False)):
        got = sweep.quantities.collective_latency(
            collective=collective,
            algorithm="tree",
            tree_schedule="pipelined",
            tree_pieces=pieces,
            message_size=piece * pieces,
            chip_count=chips,
            flow_control="pfc",
        )
        assert got == pytest.approx(pipelined(chips, pieces, 150, wire, up), rel=1e-12)


def test_no_piece_of_a_small_message_is_empty():
    given = {"algorithm": "tree", "tree_schedule": "pipelined", "chip_count": 8, "tree_pieces": 16}
    for size, pieces in ((0, 1), (1, 1), (3, 3), (16, 16), (17, 16)):
        assert sweep.quantities.pieces(message_size=size, **given) == pieces
    assert latency_of(message_size=3, **given) == pytest.approx(6 * 150 + (6 + 3 - 1) * 84 / 50, rel=1e-14)


def latency_of(**given):
    return sweep.quantities.collective_latency(**given)


def busiest_port(chips, shares, up):
    """Most messages that a chip sends over binary trees that each move a share of all bytes; `shares` maps the number
    of the chip at the root to that share."""
    sent = [0.0] * chips
    for shift, share in shares.items():
        for place in range(1, chips):
            child, parent = (place + shift) % chips, ((place - 1) // 2 + shift) % chips
            sent[parent] += share
            sent[child] += share if up else 0
    return max(sent)


@pytest.mark.parametrize("chips", [5, 7, 8, 100])
def test_a_single_binary_tree_pays_for_what_its_busiest_chip_sends(chips):
    for collective, up in (("all_reduce", True), ("broadcast", False)):
        given = {"collective": collective, "algorithm": "tree", "tree_schedule": "single_binary", "chip_count": chips}
        assert sweep.quantities.wire_steps(**given) == busiest_port(chips, {0: 1.0}, up)


@pytest.mark.parametrize("chips", [8, 16, 64])
def test_two_binary_trees_halve_what_a_chip_sends_if_it_passes_on_in_one_of_them_only(chips):
    """Shifted by half of the chips: inner chips of one are leaves of the other, but for the root."""
    for collective, up, wires in (("all_reduce", True, 2), ("broadcast", False, 1)):
        given = {"collective": collective, "algorithm": "tree", "tree_schedule": "double_binary", "chip_count": chips}
        assert sweep.quantities.wire_steps(**given) == wires
        assert busiest_port(chips, {0: 0.5, chips // 2: 0.5}, up) <= wires + 0.5


FAST_PORTS = {"switch_hops": 1, "link_bandwidth": 25, "port_bandwidth": 100, "chip_count": 64}


@pytest.mark.parametrize("forwarding", ["cut_through", "store_and_forward"])
@pytest.mark.parametrize("schedule", ["binomial", "binomial_own_links", "pipelined", "single_binary", "double_binary"])
@pytest.mark.parametrize("collective", ["all_reduce", "broadcast"])
def test_with_faster_ports_parts_still_sum_up_and_time_does_not_fall(collective, schedule, forwarding):
    names = ("wire_time", "header_time", "credit_time", "switch_time", "queueing_time", "pipeline_time")
    before = 0.0
    for size in (0, 1, 6, 64, 65, 1286, 1287, 1344, 1345, 1400, 2688, 2689, 50_000):
        given = {"collective": collective, "algorithm": "tree", "tree_schedule": schedule, "message_size": size}
        got = points(("collective_latency", *names), forwarding=forwarding, **given, **FAST_PORTS)
        time = got["collective_latency"].value
        assert sum(got[name].value for name in names) == pytest.approx(time, rel=1e-12), size
        assert min(got[name].value for name in names) >= 0
        assert time >= before, size
        before = time


def test_the_note_has_no_broadcast():
    assert point("collective_latency", collective="broadcast", algorithm="tree", tree_schedule="note").status == (
        "infeasible"
    )


@pytest.mark.parametrize("schedule", ["binomial", "binomial_own_links", "pipelined", "single_binary", "double_binary"])
def test_the_parts_of_a_broadcast_sum_to_its_time(schedule):
    given = {"collective": "broadcast", "algorithm": "tree", "tree_schedule": schedule, "chip_count": 12}
    given |= {"switch_hops": 2, "credit_limit": 16, "egress_utilization": 0.5}
    names = ("wire_time", "header_time", "credit_time", "switch_time", "queueing_time", "pipeline_time")
    parts = [getattr(sweep.quantities, name)(**given) for name in names]
    assert sum(parts) == pytest.approx(sweep.quantities.collective_latency(**given), rel=1e-12)
    assert min(parts) > 0
