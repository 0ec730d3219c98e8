"""The wires between chips, and the way of a message over them.

| `network_shape` | wires of a way from a to b |
|---|---|
| full_mesh | a wire from a to b alone, with `hops` switches in it |
| switched | the wire of a; ports of `hops` - 1 switches, alone for each pair; the port of the last switch to b |
| ring | from chip to chip, the shorter way round, each wire with `hops` switches in it |
| fat_tree | the wire of a; within a leaf its port to b; else a port of the leaf, one of a spine, one of b's leaf |

A wire with switches in it is a wire and the ports that follow it. All wires go one way.

Wires are numbered from 0 in the order in which ways need them, so that none is there that carries nothing. With a dead
link ways go around it: over chip 2 in a full mesh, the other way round a ring, over another spine.

Sources: fat tree, Leiserson, Fat-trees, universal networks for hardware-efficient supercomputing, 1985; d mod k,
Zahavi, Fat-tree routing and node ordering providing contention free traffic for MPI global collectives, 2012.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sweep.events.chance import words
from sweep.events.simulation import ROUTES
from sweep.registry import parameter

network_shape = parameter(
    choices=("full_mesh", "ring", "switched", "fat_tree"),
    default="full_mesh",
    doc="How the chips of a simulated collective are linked",
    source="design note, InterconnectTopology",
)
leaf_chips = parameter(
    default=8, integer=True, minimum=1, doc="Chips of each leaf switch of a simulated fat tree", source=""
)


def _as_many_as_chips(leaf_chips: float) -> float:
    """As many links up as down: a leaf is no bottleneck."""
    return leaf_chips


spine_count = parameter(
    default=_as_many_as_chips,
    integer=True,
    minimum=1,
    doc="Spine switches of a simulated fat tree, each with a link to every leaf",
    source="",
)
routing = parameter(
    choices=("d_mod_k", "hashed"),
    default="d_mod_k",
    doc="Spine that a message of a simulated fat tree takes: the receiver's number modulo spines, or by chance, the "
    "same for all messages of two chips",
    source="Zahavi 2012; hashed: equal-cost multipath, RFC 2992",
)
dead_link = parameter(
    choices=("none", "first"),
    default="none",
    doc="Whether a link of a simulated network is dead: of chips 0 and 1, or of the first leaf and the first spine",
    source="",
)
Numbers = NDArray[np.int64]

FULL_MESH = 0
SWITCHED = 1
RING = 2
FAT_TREE = 3
"""Kinds of fabric."""

NO_WAY = -1
"""Length of a way that does not exist."""


def has_no_such_network(
    chip_count: float, network_shape: str, switch_hops: float, port_count: float, leaf_chips: float, spine_count: float
) -> bool:
    """The network has other switches than switch_hops says, or one of them has too few ports for the chips."""
    if chip_count <= 1:
        return False
    if network_shape == "switched":
        return switch_hops == 0 or (switch_hops == 1 and chip_count > port_count)
    if network_shape == "fat_tree":
        leaves = np.ceil(chip_count / leaf_chips)
        return switch_hops != 3 or leaf_chips + spine_count > port_count or leaves > port_count
    return False


def lay(
    fabric: int,
    n: int,
    hops: int,
    leaf: int,
    spines: int,
    hashed: bool,
    seed: int,
    dead: bool,
    alone: bool,
    pairs: Numbers,
    ways: Numbers,
    wires: Numbers,
    known: Numbers,
    kinds: Numbers,
) -> int:
    """Lay the ways of pairs of chips, and return how many wires they need, or NO_WAY if one cannot be.

    A row of `pairs` is two chips. `ways` becomes the places in `wires` where ways begin, and at its end where the last
    one ends. `known` has a place for each wire that could be, -1 at first. `kinds` becomes 0 for the wire of a chip, 1
    for the port of a switch. With `dead` a link carries nothing: that between chips 0 and 1, or between the first leaf
    and the first spine. `alone`: one chip stands for all, and receives by one port what others send it.
    """
    count = 0
    end = 0
    for pair in range(pairs.shape[0]):
        ways[pair] = end
        a = pairs[pair, 0]
        b = pairs[pair, 1]
        begin = end
        if fabric == FULL_MESH:
            if dead and a + b == 1:
                if n < 3:
                    return NO_WAY
                end = along(hops, a * n + 2, wires, end)
                end = along(hops, 2 * n + b, wires, end)
            else:
                end = along(hops, a * n + b, wires, end)
        elif fabric == SWITCHED:
            if dead:
                return NO_WAY
            wires[end] = a
            for hop in range(hops - 1):
                wires[end + 1 + hop] = 2 * n + pair * (hops - 1) + hop
            wires[end + hops] = n + (0 if alone else b)
            end += hops + 1
        elif fabric == RING:
            up = (b - a) % n
            upwards = 2 * up <= n
            if dead and upwards and -a % n < up:
                upwards = False
            elif dead and not upwards and (a - 1) % n < n - up:
                upwards = True
            chip = a
            while chip != b:
                end = along(hops, 2 * chip + (0 if upwards else 1), wires, end)
                chip = (chip + (1 if upwards else n - 1)) % n
        else:
            leaves = -(-n // leaf)
            above = a // leaf
            below = b // leaf
            wires[end] = a
            end += 1
            if above != below:
                broken = dead and (above == 0 or below == 0)
                if broken and spines < 2:
                    return NO_WAY
                spine = b % spines
                other = b // spines  # by which of the others it goes around a dead link
                if hashed:
                    word, second, _, _ = words(seed, ROUTES, a * n + b)
                    spine = int(word) % spines
                    other = int(second)
                if broken and spine == 0:
                    spine = 1 + other % (spines - 1)
                wires[end] = 2 * n + above * spines + spine
                wires[end + 1] = 2 * n + leaves * spines + spine * leaves + below
                end += 2
            wires[end] = n + b
            end += 1
        for place in range(begin, end):
            name = wires[place]
            if known[name] < 0:
                known[name] = count
                first = place == begin if fabric in (SWITCHED, FAT_TREE) else name % (hops + 1) == 0
                kinds[count] = 0 if first else 1
                count += 1
            wires[place] = known[name]
    ways[pairs.shape[0]] = end
    return count


def along(hops: int, link: int, wires: Numbers, end: int) -> int:
    """Add a link with so many switches in it to a way, and return where the way then ends."""
    for stage in range(hops + 1):
        wires[end + stage] = link * (hops + 1) + stage
    return end + hops + 1
