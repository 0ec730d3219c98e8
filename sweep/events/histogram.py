"""Waits counted in bins that grow with them, 64 to each doubling, so that quantiles take little memory.

A bin is at most 1/64 of its values wide; inside it values count as evenly spread.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

BINS = 64 * 64
"""Bins for every time of the clock; the first is for 0."""


def bin_of(value: int) -> int:
    """The bin of a time from 0."""
    mantissa, exponent = math.frexp(value)
    return exponent * 64 + int((mantissa - 0.5) * 128) + 1 if value > 0 else 0


def quantile_of(counts: NDArray[np.int64], share: float) -> float:
    """The time that a share of all that were counted stays within; NaN if nothing was."""
    total = 0
    for place in range(counts.size):
        total += counts[place]
    if total == 0:
        return np.nan
    wanted = share * total
    below = counts[0]
    if wanted <= below:
        return 0.0
    place = 0
    while below < wanted:
        place += 1
        below += counts[place]
    width = math.ldexp(1.0, (place - 1) // 64 - 7)
    start = math.ldexp(1.0, (place - 1) // 64 - 1) + (place - 1) % 64 * width
    return float(start + width * (1.0 - (below - wanted) / counts[place]))
