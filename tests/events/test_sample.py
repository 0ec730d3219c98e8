"""Confidence intervals against Student's distribution, and against means that are known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sweep.events.sample import PARTS, half_width, interval, student


@pytest.mark.parametrize("degrees", [127, 63, 31, 15])
def test_999_of_1000_of_students_t_lie_within_the_factor(degrees):
    x = np.linspace(-student(degrees), student(degrees), 200_001)
    density = (1 + x * x / degrees) ** (-(degrees + 1) / 2)
    scale = math.exp(math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2)) / math.sqrt(degrees * math.pi)
    assert scale * np.trapezoid(density, x) == pytest.approx(0.999, abs=1e-5)


def test_the_half_width_is_that_of_the_mean_of_independent_parts():
    parts = np.array([1.0, 2.0, 4.0, 7.0])
    assert half_width(parts) == pytest.approx(student(3) * np.std(parts, ddof=1) / 2, rel=1e-15)


def test_intervals_of_independent_parts_miss_less_than_one_mean_in_a_thousand():
    draw = np.random.default_rng(7)
    found = [(abs(parts.mean() - 1), *interval(parts)) for parts in draw.exponential(size=(4000, PARTS))]
    assert sum(off > width for off, width, _ in found) <= 8
    assert sum(not settled for *_, settled in found) <= 8


@pytest.mark.parametrize("memory", [0.97, 0.99])
def test_parts_that_remember_each_other_are_told_or_have_a_wide_interval(memory):
    draw = np.random.default_rng(8)
    wrong = told = 0
    for _ in range(500):
        parts = np.zeros(PARTS)
        value = draw.normal() / math.sqrt(1 - memory**2)
        for n in range(PARTS):
            value = memory * value + draw.normal()
            parts[n] = value
        width, settled = interval(parts)
        told += not settled
        wrong += settled and abs(parts.mean()) > width
    assert told > 450
    assert wrong < 50


def test_a_trend_is_not_settled():
    assert interval(np.arange(PARTS) * 1.0)[1] is not True
    assert interval(np.zeros(PARTS)) == (0.0, True)
