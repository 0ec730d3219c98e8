"""The ways of a program's messages through a topology: which wires and ports of switches, and of what kind each is.

Chips of a program are members of a topology from `group_start` on, each `group_stride` after the one before. A tier's
wires are its own:

| shape of the tier | wires of a way from a to b |
|---|---|
| direct | one from a to b |
| switches | the wire of a; ports of all switches but the last, alone for each pair; the port of the last one to b |
| ring, mesh, torus | from chip to chip, along one dimension after the other, the shorter way where there are two |
| fat_tree | the wire of a; of leaf, spine, core, spine, leaf the port to the next, to b at last |

A fat tree has as many spines as a leaf has members, and as many cores for each as a pod has leaves: no bottleneck; b
decides by which of them. Each tier has kinds of its own for a chip's wire and for the switches in the order of a way,
ROWS of them. Sources: as in `topology`, and Zahavi, Fat-tree routing, 2012 (d mod k).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import cache
from typing import Any

import numpy as np

from sweep.models.topology import TIERS, Route, Tier, Topology
from sweep.multichip.graph import FROM, TO
from sweep.multichip.prepare import BUILT, built
from sweep.registry import ARGUMENTS, prepared, scope

ROWS = 6
"""Kinds of a tier: the wire of a chip, and up to five switches."""

c2c = scope(route_of="pair", src_chip="c2c_src", dst_chip="c2c_dst")
b2b = scope(route_of="pair", src_chip="b2b_src", dst_chip="b2b_dst")
r2r = scope(route_of="pair", src_chip="r2r_src", dst_chip="r2r_dst")
p2p = scope(route_of="pair", src_chip="p2p_src", dst_chip="p2p_dst")
"""A route with all kinds of switches of each tier."""

Link = tuple[Hashable, int]
"""A wire's name, and which of its tier's kinds it is."""

NOTHING = np.zeros((0, 4))


def links_between(topology: Topology, one: int, other: int) -> list[Link] | None:
    """The wires from a chip to another; None if there is no route, or one over too many different switches."""
    route = topology.route(one, other)
    if route is None:
        return None
    members = topology.members[route.tier.name]
    place = one // members
    a, b = one % members, other % members
    if route.tier.shape in ("ring", "mesh", "torus"):
        return [((place, *step), 0) for step in steps(route.tier, a, b, members)]
    if route.tier.shape == "direct":
        return [((place, a, b), 0)]
    if route.tier.shape == "fat_tree":
        return [((place, "wire", a), 0), *((name, kind) for name, kind in up_and_down(route, place, a, b))]
    if route.hops >= ROWS:
        return None
    between: list[Link] = [((place, "port", a, b, hop), hop) for hop in range(1, route.hops)]
    return [((place, "wire", a), 0), *between, ((place, "to", b), route.hops)]


def steps(tier: Tier, one: int, other: int, members: int) -> Iterator[tuple[int, int]]:
    """Chips next to each other on the way between two of a ring, mesh or torus."""
    sides = (members,) if tier.shape == "ring" else tier.sides
    here, weight = one, 1
    for side in sides:
        at, goal = here // weight % side, other // weight % side
        up = (goal - at) % side
        closed = tier.shape in ("ring", "torus")
        forward = (2 * up <= side) if closed else goal > at
        while at != goal:
            following = (at + (1 if forward else side - 1)) % side
            there = here + (following - at) * weight
            yield here, there
            here, at = there, following
        weight *= side


def up_and_down(route: Route, place: int, a: int, b: int) -> Iterator[Link]:
    """Ports of the switches of a fat tree; kinds are those of leaf, spine and core."""
    leaf, pod = route.tier.leaf, route.tier.pod
    spine = b % int(leaf)
    if route.hops > 1:
        yield (place, "up", a // leaf, spine), 1
        pods = (0, 0) if math.isinf(pod) else (a // pod, b // pod)
        if route.hops > 3:
            core = b // leaf % max(pod // leaf, 1)
            yield (place, "spine up", pods[0], spine, core), 2
            yield (place, "core", spine, core, pods[1]), 3
        yield (place, "down", pods[1], spine, b // leaf), 2
    yield (place, "to", b), 1


def table_of_ways(topology: Topology | None, chips: Iterable[int], pairs: Iterable[tuple[int, int]]) -> Any:
    """Ways of pairs of chips of a program, a row for each wire: the pair, the wire's number, its kind.

    None if one of them does not exist.
    """
    if topology is None:
        return NOTHING
    members = list(chips)
    numbers: dict[Hashable, int] = {}
    rows = []
    for one, other in pairs:
        links = links_between(topology, members[one], members[other])
        if links is None:
            return None
        tier = TIERS.index(topology.tier_of(members[one], members[other]))
        for name, kind in links:
            number = numbers.setdefault((tier, name), len(numbers))
            rows.append((one, other, number, tier * ROWS + kind))
    return np.array(rows, float).reshape(-1, 4)


@cache
def longest_of_tier(topology: Topology, name: str) -> tuple[int, int]:
    """Two chips that meet in a tier, with as many switches between them as any; in another one if none do."""
    routes = [(other, topology.route(0, other)) for other in range(1, topology.chips)]
    there = [(route.tier.name == name, route.hops, other) for other, route in routes if route is not None]
    return (0, max(there)[2]) if there else (0, 1)


def end_of_tier(name: str, end: int) -> Callable[[Topology | None], float]:
    """The function that says at which chip the longest route of a tier begins or ends."""

    def chip(topology: Topology | None) -> float:
        """A chip of the tier."""
        return float(end if topology is None else longest_of_tier(topology, name)[end])

    return chip


# Each end of each tier, all alike.
globals().update(
    {
        f"{tier}_{word}": prepared(f"{tier}_{word}", unit="1", internal=True)(end_of_tier(tier, end))
        for tier in TIERS
        for end, word in enumerate(("src", "dst"))
    }
)


@cache
def ways_of(topology: Topology | None, start: int, stride: int, *arguments: Any) -> Any:
    """Ways of all messages of a program; None if one of them does not exist."""
    if topology is None:
        return NOTHING
    nodes = built(*arguments).nodes
    pairs = np.unique(nodes[nodes[:, FROM] != nodes[:, TO]][:, [FROM, TO]].astype(int), axis=0)
    chips = range(start, start + stride * int(arguments[BUILT.index("chip_count")]), stride)
    return table_of_ways(topology, chips, [(one, other) for one, other in pairs.tolist()])


def part_of_ways(part: Callable[[Any], Any]) -> Callable[..., Any]:
    """The function that finds ways and gives a part of them."""

    def value(topology: Topology | None, group_start: float, group_stride: float, *arguments: Any) -> Any:
        """Part of the ways of the program."""
        return part(ways_of(topology, int(group_start), int(group_stride), *arguments))

    value.__dict__[ARGUMENTS] = ("topology", "group_start", "group_stride", *BUILT)
    return value


def rows(ways: Any) -> Any:
    """Ways as they are; none if one does not exist."""
    return NOTHING if ways is None else ways


def lost(ways: Any) -> float:
    """1 if one of the ways does not exist, else 0."""
    return float(ways is None)


rows_of_ways = prepared("program_ways", unit="1", dims=("program_way", "way_column"), internal=True)(part_of_ways(rows))
lost_ways = prepared("program_is_lost", unit="1", internal=True)(part_of_ways(lost))


@prepared(unit="1", internal=True)
def is_on_topology(topology: Topology | None) -> float:
    """1 if there is a topology, else 0."""
    return float(topology is not None)
