"""How sure a mean is: confidence intervals from parts of a sample, one after the other (batch means).

Parts that follow each other are alike where a queue remembers longer than a part; then the interval of fewer, longer
parts is wider. The widest counts, and where it is much wider, the sample is too short to tell.

Source: Law, Simulation Modeling and Analysis, 9.5.3.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

PARTS = 128
"""Parts of the sample."""
GROUPS = 16
"""Parts of the sample of which the spread of a quantile is taken."""

FEWEST = 32
"""Parts that are left once neighbours are put together."""
UNSETTLED = 1.6
"""Parts are not independent if the interval of the fewest is this much wider than that of all."""


def student(degrees: int) -> float:
    """What 99.9 % of Student's t lie within, with 127, 63, 31 or 15 degrees of freedom."""
    if degrees == 127:
        return 3.370
    if degrees == 63:
        return 3.449
    if degrees == 31:
        return 3.633
    return 4.073


def mean(parts: NDArray[np.float64]) -> float:
    """The mean of all parts."""
    total = 0.0
    for n in range(parts.size):
        total += parts[n]
    return total / parts.size


def half_width(parts: NDArray[np.float64]) -> float:
    """Half of the width of the 99.9 % confidence interval around the mean of 128, 64, 32 or 16 independent parts."""
    middle = mean(parts)
    squares = 0.0
    for n in range(parts.size):
        squares += (parts[n] - middle) * (parts[n] - middle)
    return student(parts.size - 1) * math.sqrt(squares / (parts.size - 1) / parts.size)


def interval(parts: NDArray[np.float64]) -> tuple[float, bool]:
    """Half of the width of the 99.9 % confidence interval around the mean of 128 parts one after the other, or of 64 or
    32 if that is wider, and whether the sample is long enough to tell."""
    finest = half_width(parts)
    widest = finest
    while parts.size > FEWEST:
        pairs = np.zeros(parts.size // 2)
        for n in range(pairs.size):
            pairs[n] = (parts[2 * n] + parts[2 * n + 1]) / 2
        parts = pairs
        widest = max(widest, half_width(parts))
    return widest, half_width(parts) <= UNSETTLED * finest
