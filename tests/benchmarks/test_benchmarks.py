from __future__ import annotations

import numpy as np
import pytest

from tests.benchmarks import carried, choosing, kernel, startup, writing

pytestmark = pytest.mark.heavy


def test_kernel_benchmark_runs_and_prints_each_ratio():
    lines = kernel.measure(kernel.TINY, rounds=1)
    assert [line.count("(bar ") for line in lines] == [0, 1, 1, 1, 1]


def test_carried_benchmark_computes_the_same_both_ways_and_prints_the_ratio():
    lines = carried.measure(messages=5, rounds=1)
    assert [line.count("(bar ") for line in lines] == [0, 1]


def test_startup_benchmark_runs_and_prints_each_ratio():
    lines = startup.measure(rounds=1)
    assert [line.count("(bar ") for line in lines] == [0, 1, 1, 1]


def test_writing_benchmark_runs_and_prints_each_ratio():
    lines = writing.measure(large=10, rounds=1)
    assert [line.count("(bar ") for line in lines] == [0, 1, 1]


def test_choosing_benchmark_runs_and_prints_each_ratio():
    lines = choosing.measure(bandwidths=2, rounds=1)
    assert [line.count("(bar ") for line in lines] == [0, 1, 1, 1]


def test_kernel_numpy_and_python_loop_compute_the_same_numbers():
    execution = kernel.executions(kernel.TINY)
    execution.run(threads=1)
    broadcast = kernel.numpy_broadcast(execution)
    loop = np.array(kernel.python_loop(execution, kernel.TINY.bandwidths))
    for position, name in enumerate(kernel.OUTPUTS):
        fused = execution.arrays[f"out_{name}"]
        np.testing.assert_allclose(fused, np.broadcast_to(broadcast[name], fused.shape), rtol=1e-12)
        np.testing.assert_allclose(fused[..., ::100].ravel(), loop[:, position], rtol=1e-12)
