"""Queues of any length in arrays of one size: lists of places that are linked by `after`.

`lists` has for each list its first place and its last; -1 for the first where it is empty. `store` has the first of the
places that were given back, -1 where there is none, the first of those that were never taken, and how many are taken.

Arrays are not used in one branch only: numba would count references to them at each call, which takes longer than the
rest.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.int64]


def new_lists(count: int) -> Places:
    """So many empty lists."""
    return np.full((count, 2), -1, np.int64)


def new_store() -> Places:
    """A store of which no place was taken yet."""
    store = np.zeros(3, np.int64)
    store[0] = -1
    return store


def take(store: Places, after: Places) -> int:
    """A place that is in no list."""
    place = store[0]
    fresh = place < 0
    place = store[1] if fresh else place
    following = after[place]
    store[0] = -1 if fresh else following
    store[1] += fresh
    store[2] += 1
    return int(place)


def give_back(store: Places, after: Places, place: int) -> None:
    """Let a place be taken again."""
    after[place] = store[0]
    store[0] = place
    store[2] -= 1


def append(lists: Places, after: Places, line: int, place: int) -> None:
    """Put a place at the end of a list."""
    first = lists[line, 0]
    last = lists[line, 1]
    after[place if first < 0 else last] = place
    after[place] = -1
    lists[line, 0] = place if first < 0 else first
    lists[line, 1] = place


def pop(lists: Places, after: Places, line: int) -> int:
    """Take the first place from a list."""
    place = lists[line, 0]
    lists[line, 0] = after[place]
    return int(place)
