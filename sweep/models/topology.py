"""Where chips stand, and which switches lie between two of them.

A system has pods, racks in them, boards in these, and chips on boards, numbered from 0 in this order. Two chips meet at
the lowest place that has both: their *tier* is c2c on a board, b2b in a rack, r2r in a pod, else p2p. Each tier has a
link of its own, and a *shape* that says what its members, all chips of the place, have between them:

| shape | between two members |
|---|---|
| direct | a link |
| switches | the switches that are listed, one after the other |
| ring | the chips between, the shorter way round |
| mesh, torus | the chips between, along one dimension after the other (Manhattan distance); a torus closes each |
| fat_tree | a leaf, if they share it; else leaf, spine, leaf; with pods of leaves leaf, spine, core, spine, leaf |

Chips that others lie behind pass frames on as a switch would. No tier, no route. Sources: design note, section
"InterconnectTopology"; Leiserson, Fat-Trees, 1985; Dally and Towles, Principles and Practices of Interconnection
Networks, 2004, 5.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

TIERS = ("c2c", "b2b", "r2r", "p2p")
"""Names of tiers, the narrowest first."""

ROOM = 2**24
"""More than the switches of any route."""


@dataclass(frozen=True)
class Switch:
    """A switch on a route, or a chip that passes frames on: its ports' rate in GB/s, its fixed latency in ns, whether
    it sends a frame on once its first bytes are in, and how busy the port is."""

    name: str
    bandwidth: float
    fixed: float
    cut_through: bool
    utilization: float
    port_count: float


@dataclass(frozen=True, eq=False)
class Tier:
    """What connects the members of a place: `values` of parameters of its links, and its shape.

    Two tiers are the same only if they are one. `sides` are those of a mesh or torus, `leaf` and `pod` the members of a
    leaf, and of a pod of leaves (inf: there is none). `switches` are all that are listed; of a fat tree leaf, spine and
    core.
    """

    name: str
    shape: str
    values: Mapping[str, Any]
    switches: tuple[Switch, ...]
    sides: tuple[int, ...] = ()
    leaf: float = math.inf
    pod: float = math.inf

    def hops(self, one: int, other: int, members: int) -> int:
        """How many switches lie between two members, by their numbers."""
        if self.shape == "direct":
            return 0
        if self.shape == "switches":
            return len(self.switches)
        if self.shape == "fat_tree":
            return 1 if one // self.leaf == other // self.leaf else 3 if one // self.pod == other // self.pod else 5
        return self.distance(one, other, members) - 1

    def all_hops(self) -> tuple[int, ...]:
        """Numbers of switches among which all kinds of ways are: none, one, and the most."""
        if self.shape == "fat_tree":
            return 1, 3, 5
        return (len(self.switches),) if self.shape == "switches" else (0,) if self.shape == "direct" else (0, 1, 2)

    def chain(self, hops: int) -> tuple[Switch, ...]:
        """The switches of a way with so many."""
        if self.shape == "fat_tree":
            leaf, spine, core = (*self.switches, *self.switches[-1:] * (3 - len(self.switches)))
            return {1: (leaf,), 3: (leaf, spine, leaf), 5: (leaf, spine, core, spine, leaf)}[hops]
        return self.switches if self.shape == "switches" else self.switches[:1] * hops

    def distance(self, one: int, other: int, members: int) -> int:
        """Links between two members of a ring, mesh or torus."""
        total = 0
        for side in self.sides if self.shape != "ring" else (members,):
            along = abs(one % side - other % side)
            total += min(along, side - along) if self.shape in ("ring", "torus") else along
            one //= side
            other //= side
        return total


@dataclass(frozen=True)
class Route:
    """A way from a chip to another: its tier, and how many switches it has."""

    tier: Tier
    hops: int

    @property
    def switches(self) -> tuple[Switch, ...]:
        """The switches, one after the other."""
        return self.tier.chain(self.hops)

    @property
    def are_alike(self) -> bool:
        """Whether all switches are the same, so that one stands for all."""
        return all(switch == self.switches[0] for switch in self.switches)


@dataclass(frozen=True, eq=False)
class Topology:
    """A system: how many there are of each, in all, and its tiers, None where there is none.

    `notes` and `title` are for people.
    """

    pods: int
    racks: int
    boards: int
    chips: int
    tiers: Mapping[str, Tier | None]
    notes: tuple[str, ...] = ()
    title: str = ""

    @cached_property
    def members(self) -> dict[str, int]:
        """Chips of a place in each tier."""
        return {
            "c2c": self.chips // self.boards,
            "b2b": self.chips // self.racks,
            "r2r": self.chips // self.pods,
            "p2p": self.chips,
        }

    def tier_of(self, one: int, other: int) -> str:
        """The name of the tier in which two chips meet."""
        return next(name for name in TIERS if one // self.members[name] == other // self.members[name])

    def route(self, one: int, other: int) -> Route | None:
        """The way between two chips. None if one does not exist, both are the same, or nothing connects them."""
        if one == other or max(one, other) >= self.chips:
            return None
        name = self.tier_of(one, other)
        tier = self.tiers[name]
        members = self.members[name]
        return None if tier is None else Route(tier, tier.hops(one % members, other % members, members))

    def number_of(self, route: Route | None) -> float:
        """A number for all ways that are like this one, which `numbered` gives back; NaN for none."""
        return math.nan if route is None else float(TIERS.index(route.tier.name) * ROOM + route.hops)

    def numbered(self, number: float) -> Route | None:
        """The way that has a number."""
        if math.isnan(number):
            return None
        tier = self.tiers[TIERS[int(number) // ROOM]]
        assert tier is not None
        return Route(tier, int(number) % ROOM)
