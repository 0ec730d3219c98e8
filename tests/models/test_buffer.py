"""Shared buffer: what congested queues take, and what a pause needs."""

from __future__ import annotations

from fractions import Fraction

import pytest

import sweep
from tests.models import close


def fill(alpha, queues, size):
    """Queues that grow byte by byte in turn while they are below alpha times what is free."""
    taken = [0] * queues
    grew = True
    while grew:
        grew = False
        for queue in range(queues):
            if taken[queue] < alpha * (size - sum(taken)) and sum(taken) < size:
                taken[queue] += 1
                grew = True
    return sum(taken)


@pytest.mark.parametrize("alpha", [Fraction(1, 8), Fraction(1, 2), 1, 2, 8])
@pytest.mark.parametrize("queues", [1, 2, 5])
def test_queues_that_fill_a_buffer_byte_by_byte_stop_at_the_peak(alpha, queues):
    size = 4000
    got = sweep.quantities.buffer_peak(buffer_size=size, buffer_alpha=float(alpha), congested_queues=queues)
    assert abs(got - fill(alpha, queues, size)) <= queues + 1


def test_edges_of_the_peak():
    assert sweep.quantities.buffer_peak(buffer_size=0) == 0
    assert sweep.quantities.buffer_peak(congested_queues=0) == 0
    assert sweep.quantities.buffer_peak(buffer_alpha=0) == 0
    assert sweep.quantities.buffer_peak(buffer_size=2**25) == 2**24


@pytest.mark.parametrize(("delay", "rate"), [(0, 50), (300, 50), (1000, 200)])
def test_headroom_takes_what_comes_during_the_delay_and_one_more_frame(delay, rate):
    got = sweep.quantities.pfc_headroom(pause_delay=delay, link_bandwidth=rate)
    assert got == close(rate * delay + 1402)


def test_by_default_a_pause_takes_a_frame_in_the_way_itself_and_pipelines_and_cable_both_ways():
    got = sweep.quantities.pfc_headroom(switch_hops=1, link_bandwidth=50)
    assert got == close(1422 + 84 + 50 * 2 * (150 + 5) + 1402)
