"""What all simulators share: their clock, their seed and budget, and how they end.

Time counts in whole femtoseconds, so that the order of events never hangs on rounding: a time in ns becomes the nearest
femtosecond, and sums and comparisons are exact from there on.
"""

from __future__ import annotations

import numpy as np

from sweep.models.path import entry
from sweep.registry import parameter

seed = parameter(
    default=1,
    integer=True,
    minimum=0,
    maximum=2**52,
    doc="Seed of the random numbers of simulations; points with equal seeds meet equal random numbers",
)
event_budget = parameter(
    default=1e8,
    integer=True,
    minimum=1,
    maximum=2**52,
    doc="Events after which a simulation is given up (status budget)",
)

FEMTOSECONDS = 1e6
"""Femtoseconds of a nanosecond."""

NEVER = 1 << 62
"""The time of an event that is not due, in femtoseconds; later than all others."""

LATEST = 1 << 61
"""A simulation that gets beyond this time is given up: 38 minutes, in femtoseconds."""

LONGEST = 1e12
"""A simulation with a single time beyond this is given up before it begins: 17 minutes, in ns."""

SHORTEST = 1e-2
"""A simulation with frames that take less than this, in ns, is given up before it begins: rounding would count."""

MOST_UNDER_WAY = 1 << 22
"""A simulation is given up before it begins if more frames than this may be on their way at once."""

MOST_KEPT = 1 << 26
"""Frames and notes for which memory is set aside at the most; more are given up before they begin."""

DONE = 0
DEADLOCKED = 1
GIVEN_UP = 2
"""How a simulation can end: all is done; nothing can happen any more; it ran out of events or of time."""

BROKEN_FRAMES = 0
DATA_ARRIVALS = 1
SMALL_ARRIVALS = 2
CELL_ARRIVALS = 3
CONTENTION = 4
ROUTES = 5
TRAFFIC = 6
MARKS = 7
"""Streams of random numbers: which frames break on a link; when data and small frames come to a port, and of what kind
data are; what comes to a crossbar, and which of several inputs gets an output; by which spine a message goes; what
hosts send through a switch, and which frames it marks."""


def femtoseconds(time: float) -> int:
    """A time in ns as whole femtoseconds; at most LONGEST."""
    return int(np.rint(min(time, LONGEST) * FEMTOSECONDS))


def forwarding(size: float, rate: float, following: float, awaited: float) -> int:
    """Time from a frame's start on a wire until it can be sent on at the other end, which must not run out of it; in
    femtoseconds, without flight and switch_fixed."""
    return femtoseconds(entry(rate, following, awaited, size))


def ring_mask(places: int) -> int:
    """One less than a power of two that has room for so many places: number & mask is a number's place in a ring."""
    mask = 1
    while mask < places:
        mask = 2 * mask + 1
    return mask
