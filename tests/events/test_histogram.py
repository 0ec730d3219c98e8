"""Histograms of waits: bins that cover the clock, and quantiles against sorted samples."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from sweep.events.histogram import BINS, bin_of, quantile_of
from sweep.events.simulation import NEVER


def counted(values):
    counts = np.zeros(BINS, np.int64)
    for value in values:
        counts[bin_of(value)] += 1
    return counts


def test_bins_follow_each_other_and_cover_the_clock():
    values = sorted({0, *(2**n + k for n in range(62) for k in (-1, 0, 1) if 2**n + k > 0), NEVER})
    bins = [bin_of(value) for value in values]
    assert bins == sorted(bins)
    assert bins[0] == 0
    assert bins[-1] < BINS


@pytest.mark.parametrize("value", [1, 2, 63, 64, 65, 100, 12345, 10**9 + 7, 2**40, 2**53, 2**61 + 12345])
def test_a_bin_is_at_most_a_64th_of_its_values_wide(value):
    counts = counted([value])
    least, most = quantile_of(counts, 2.0**-40), quantile_of(counts, 1.0)
    assert least - (most - least) * 2.0**-39 <= value <= most
    assert most - least <= value / 64


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_quantiles_are_those_of_the_sorted_sample_within_a_bin(seed):
    draw = random.Random(seed)
    values = sorted(draw.choice((0, int(draw.expovariate(1e-8)))) for _ in range(5000))
    counts = counted(values)
    for share in (0.01, 0.4, 0.6, 0.9, 0.99, 0.999, 1.0):
        exact = values[math.ceil(share * len(values)) - 1]
        assert abs(quantile_of(counts, share) - exact) <= exact / 64


def test_nothing_counted_has_no_quantile():
    assert math.isnan(quantile_of(np.zeros(BINS, np.int64), 0.5))
