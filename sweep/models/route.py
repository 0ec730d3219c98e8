"""What a topology and a chip say of a route: the parameters of its links and switches.

With `topology`, a file (see `topology_file`), the parameters of a transfer are those of the route between two chips
(`route_of` pair: `src_chip`, `dst_chip`), or those of a group (`route_of` group: `chip_count` chips from `group_start`
on, each `group_stride` after the one before): the route of the widest tier that it spans, and in it the longest one
between members that send to each other, neighbours in a ring, any two else. `chip` is a file, too; what it says comes
before the defaults, and what a tier says before that. What a grid says comes before all.

Where switches of a route differ (`path_switches` different), see `path`. Times in ns, rates in B/ns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sweep.models import link, packet, queueing, switch, transfer
from sweep.models.switch import CUT_THROUGH_BYTES
from sweep.models.topology import Route, Tier, Topology
from sweep.models.topology_file import read_chip, read_topology
from sweep.registry import GIVEN, Choices, parameter, prepared, quantity

topology = parameter(
    reads=read_topology,
    doc="System of pods, racks, boards and chips, a YAML file: gives the parameters of a route between chips",
    source="design note, section InterconnectTopology",
)
chip = parameter(
    reads=read_chip,
    doc="Chip, a YAML file with a block paxi: gives packet format, checks and credits",
    source="design note, chip_presets",
)
route_of = parameter(
    choices=("group", "pair"),
    default="group",
    doc="Whose route counts in a topology: that of a group of chip_count chips, or that from src_chip to dst_chip",
)
src_chip = parameter(default=0, integer=True, minimum=0, maximum=2**20, doc="Chip that sends, counted from 0")
dst_chip = parameter(default=1, integer=True, minimum=0, maximum=2**20, doc="Chip that receives, counted from 0")
group_start = parameter(default=0, integer=True, minimum=0, maximum=2**20, doc="First chip of a group in a topology")
group_stride = parameter(
    default=1, integer=True, minimum=1, maximum=2**20, doc="Distance from a chip of a group to the next in a topology"
)
path_switches = parameter(
    choices=("alike", "different"),
    default="alike",
    doc="Whether the switches of a path are all the same; a topology says it",
)

ROUTED: Choices = {"topology": GIVEN}
PAIR: Choices = {"topology": GIVEN, "route_of": "pair"}
GROUP: Choices = {"topology": GIVEN, "route_of": "group"}
CHIP: Choices = {"topology": None, "chip": GIVEN}

OF_CHIP: dict[str, Any] = {
    "packet_format": packet.packet_format.default,
    "vlan": packet.vlan.default,
    "icrc": packet.icrc.default,
    "fec_overhead": link.fec_overhead.default,
    "flow_control": link.flow_control.default,
    "credit_limit": link.credit_limit.default,
    "credit_size": link.credit_size.default,
    "base_latency": link.base_latency.default,
}
"""What a chip may say, and what counts if it does not."""

Values = Mapping[str, Any]


@cache
def group_route(topology: Topology, start: int, stride: int, count: int, in_a_ring: bool) -> Route | None:
    """The route that stands for a group: of those between members that send to each other the longest one in the widest
    tier. None if one of them does not exist, or more members than ports share a switch."""
    members = range(start, start + count * stride, stride)
    if count < 2 or members[-1] >= topology.chips:
        return None
    tier = topology.tiers[topology.tier_of(members[0], members[-1])]
    if tier is None:
        return None
    longest = None
    for one, other in neighbours(members) if in_a_ring else farthest(members, tier):
        route = topology.route(one, other)
        if route is None:
            return None
        if route.tier is tier and (longest is None or route.hops > longest.hops):
            longest = route
    return None if longest is None or crowded(topology, longest, members) else longest


def neighbours(members: range) -> Iterator[tuple[int, int]]:
    """Members of a ring and those after them."""
    return zip(members, (*members[1:], members[0]), strict=True)


def farthest(members: range, tier: Tier) -> Iterator[tuple[int, int]]:
    """Pairs of members among which are two that are as far from each other as any, and neighbours.

    Where places lie in places no two are farther apart than the farthest from the first; along rings, meshes and tori
    they may be.
    """
    if tier.shape in ("ring", "mesh", "torus"):
        yield from combinations(members, 2)
    else:
        yield from neighbours(members)
        yield from ((members[0], other) for other in members[1:])


def crowded(topology: Topology, route: Route, members: range) -> bool:
    """Whether more members than it has ports are at the first switch of a route."""
    if not route.switches or route.tier.shape not in ("switches", "fat_tree"):
        return False
    of_place = topology.members[route.tier.name]
    leaves: dict[int, int] = {}
    for member in members:
        leaf = member // of_place if math.isinf(route.tier.leaf) else member % of_place // route.tier.leaf
        leaves[int(leaf)] = leaves.get(int(leaf), 0) + 1
    return max(leaves.values()) > route.switches[0].port_count


def values_of(route: Route | None, chip: Values | None) -> dict[str, Any]:
    """Parameters of a route; those of links and switches are NaN where there is none."""
    values = {**OF_CHIP, **(chip or {})}
    bandwidth = math.nan
    switches = route.switches if route is not None else ()
    if route is not None:
        values |= route.tier.values
        bandwidth = values.get("link_bandwidth", link.link_bandwidth.default)
    first = switches[0] if switches else None
    return {
        "propagation": transfer.propagation.default(len(switches)),
        **values,
        "link_bandwidth": bandwidth,
        "port_bandwidth": first.bandwidth if first else bandwidth,
        "switch_hops": float(len(switches)),
        "switch_fixed": math.fsum(x.fixed for x in switches) / len(switches) if first else switch.switch_fixed.default,
        "forwarding": "cut_through" if first is None or first.cut_through else "store_and_forward",
        "egress_utilization": first.utilization if first else queueing.egress_utilization.default,
        "path_switches": "alike" if route is None or route.are_alike else "different",
    }


def table_of(route: Route | None) -> NDArray[np.float64]:
    """Switches of a route, a row each: rate of the ports as given, fixed latency, bytes awaited, utilization."""
    rows = [
        (x.bandwidth, x.fixed, CUT_THROUGH_BYTES if x.cut_through else math.inf, x.utilization)
        for x in (route.switches if route is not None else ())
    ]
    return np.array(rows, float).reshape(-1, 4)


@prepared("route_number", unit="1", when=PAIR, internal=True)
def number_of_pair(topology: Topology, src_chip: float, dst_chip: float) -> float:
    """Number of the route between two chips; NaN where there is none."""
    return topology.number_of(topology.route(int(src_chip), int(dst_chip)))


@prepared("route_number", when=GROUP)
def number_of_group(
    topology: Topology, group_start: float, group_stride: float, chip_count: float, algorithm: str
) -> float:
    """Number of the route that stands for a group; NaN where there is none."""
    return topology.number_of(
        group_route(topology, int(group_start), int(group_stride), int(chip_count), algorithm == "ring")
    )


@prepared("route_number", when={"topology": None})
def number_without_topology() -> float:
    """No route: there is no topology."""
    return math.nan


def value_of_route(name: str) -> Callable[..., Any]:
    """The function that reads a parameter from a route."""

    def value(topology: Topology, chip: Values | None, route_number: float) -> Any:
        """What the topology says of the route."""
        return values_of(topology.numbered(route_number), chip)[name]

    return value


def labels_among(name: str) -> Callable[..., set[str]]:
    """The function that says which labels of a choice can come out of the routes of a topology."""

    def labels(topology: Topology, chip: Values | None) -> set[str]:
        """Labels of all routes, and that where there is none."""
        routes = [Route(tier, hops) for tier in topology.tiers.values() if tier for hops in tier.all_hops()]
        return {values_of(route, chip)[name] for route in (None, *routes)}

    return labels


def value_of_chip(name: str) -> Callable[..., Any]:
    """The function that reads a parameter from a chip."""

    def value(chip: Values) -> Any:
        """What the chip says."""
        return {**OF_CHIP, **chip}[name]

    return value


def label_of_chip(name: str) -> Callable[..., set[str]]:
    """The function that says which label of a choice comes out of a chip."""

    def labels(chip: Values) -> set[str]:
        """The only label."""
        return {value_of_chip(name)(chip)}

    return labels


OF_ROUTE = (*OF_CHIP, "propagation", "switch_hops", "switch_fixed", "forwarding", "egress_utilization", "path_switches")
"""Parameters that a route gives, besides rates."""

# Each parameter has a giver of its own, all alike.
globals().update(
    {
        f"{name}_of_route": prepared(name, when=ROUTED, among=labels_among(name))(value_of_route(name))
        for name in OF_ROUTE
    }
)
globals().update(
    {f"{name}_of_chip": prepared(name, when=CHIP, among=label_of_chip(name))(value_of_chip(name)) for name in OF_CHIP}
)

link_rate_of_route = prepared("route_bandwidth", unit="GB/s", when=ROUTED, internal=True)(
    value_of_route("link_bandwidth")
)
port_rate_of_route = prepared("route_port_bandwidth", unit="GB/s", when=ROUTED, internal=True)(
    value_of_route("port_bandwidth")
)


@prepared("route_bandwidth", when={"topology": None})
def no_route_bandwidth() -> float:
    """No rate: there is no topology."""
    return math.nan


@prepared("route_switches", unit="1", dims=("path_switch", "path_column"), when=ROUTED, internal=True)
def switches_of_route(topology: Topology, route_number: float) -> NDArray[np.float64]:
    """Switches of the route, as in `table_of`."""
    return table_of(topology.numbered(route_number))


@prepared("route_switches", when={"topology": None})
def switches_without_topology() -> NDArray[np.float64]:
    """No switches: there is no topology that says which."""
    return table_of(None)


def has_no_route(route_bandwidth: float) -> bool:
    """The topology has no route there, or more members of the group than a switch has ports."""
    return math.isnan(route_bandwidth)


@quantity("link_bandwidth", when=ROUTED, fails={"infeasible": has_no_route})
def link_bandwidth_of_route(route_bandwidth: float) -> float:
    """Rate of the links of the route."""
    return route_bandwidth


@quantity("port_bandwidth", when=ROUTED, fails={"infeasible": has_no_route})
def port_bandwidth_of_route(route_port_bandwidth: float, route_bandwidth: float) -> float:
    """Rate of the ports of the first switch of the route, or of its links if it has none."""
    return route_port_bandwidth
