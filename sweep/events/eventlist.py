"""Which of many resources is due next: a winner tree (tournament) over their times.

`times` has a place for each resource, their number a power of two, NEVER where nothing is due. `winners` has twice as
many: at 1 the resource that is due first, of several that are due at once the one of the lowest number.

Source: Knuth, The Art of Computer Programming 3, 5.4.1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sweep.events.simulation import NEVER

Times = NDArray[np.int64]


def new_times(resources: int) -> Times:
    """Times of at least so many resources, of which none is due."""
    size = 2
    while size < resources:
        size *= 2
    return np.full(size, NEVER, np.int64)


def new_winners(times: Times) -> Times:
    """The tree over times of which none is due."""
    winners = np.zeros(2 * times.size, np.int64)
    for node in range(2 * times.size - 1, 0, -1):
        winners[node] = node - times.size if node >= times.size else winners[2 * node]
    return winners


def set_time(times: Times, winners: Times, resource: int, time: int) -> None:
    """Say when a resource is due."""
    if times[resource] == time:
        return
    times[resource] = time
    node = (resource + times.size) >> 1
    while node > 0:
        left = winners[2 * node]
        right = winners[2 * node + 1]
        winner = left if times[left] <= times[right] else right
        if winner == winners[node] and winner != resource:
            break  # nothing changes further up
        winners[node] = winner
        node >>= 1
