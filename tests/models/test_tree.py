from __future__ import annotations

import math

import pytest

import sweep

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
