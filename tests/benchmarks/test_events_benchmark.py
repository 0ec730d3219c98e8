from __future__ import annotations

import pytest

from tests.benchmarks import events


@pytest.mark.plain  # six simulators compile for long, and are as right in plain Python
def test_events_benchmark_simulates_the_same_both_ways_and_prints_each_ratio():
    lines = events.measure(frames=1280, rounds=1, many=2, chips=8)
    assert [line.count("(bar ") for line in lines] == [0, 1, 1] * 7
