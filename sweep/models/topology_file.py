"""Reads topologies and chips from YAML, in the words of the design note and in those of parameters.

    chips: P1-R1-B4-C32                # pods, racks, boards and chips, each in all; or {pods: 1, racks: 1, ...}
    hardware_params:
      interconnect:                    # may also stand at the top
        c2c: {bandwidth_gbps: 448, latency_us: 0.2, paxi_override: {pkt_format: afh_lite}}
        b2b: {bandwidth_gbps: 200, latency_us: 2.0, switch: {fixed_latency_ns: 500, port_count: 16}}

A tier takes `bandwidth_gbps` or `link_bandwidth`, the rate between two members, one way; or `aggregate_bandwidth`, that
of all `links` of a chip, one way, of which two members have `links_per_pair` (1). Further `latency_us` or
`base_latency`, `propagation`, `paxi_override`, and what is between its members: nothing; `switch`; `switch_hops` with
`switch_config`; a list `switches`; or `ring: true`, `mesh: [4, 2]`, `torus: [4, 2]` with a `switch` for what chips do
that pass frames on; or, with `switches` for leaf, spine and core, `fat_tree: {leaf: 8, pod: 32}`, members of a leaf and
if wanted of a pod. A chip's file has a block `paxi`.

Keys of the note have no units: `bandwidth_gbps` are GB/s there, as its formulas have it, and the reader says so. Those
with the names of parameters are read as in a grid. The latency of a tier is that of its override, else its own.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from sweep.errors import nearest
from sweep.located import Located, Number
from sweep.models import crossbar, link, packet, queueing, switch, transfer
from sweep.models.topology import TIERS, Switch, Tier, Topology
from sweep.reading import Reader
from sweep.registry import Parameter
from sweep.units import exact

COUNTS = re.compile(r"P(\d+)-R(\d+)-B(\d+)-C(\d+)")
PLACES = ("pods", "racks", "boards", "chips")
MOST_CHIPS = 2**20

Words = Mapping[str, tuple[str, Parameter, float]]
"""For each key the name of a parameter, the parameter, and what it is multiplied by; 0: it may have a unit."""


def own_names(module: Any, names: str) -> Words:
    """Keys that are the names of parameters."""
    return {name: (name, getattr(module, name), 0.0) for name in names.split()}


PAXI: Words = {
    "pkt_format": ("packet_format", packet.packet_format, 1),
    "vlan_enabled": ("vlan", packet.vlan, 1),
    "icrc_enabled": ("icrc", packet.icrc, 1),
    "fec_overhead_ratio": ("fec_overhead", link.fec_overhead, 1),
    "flow_control_mode": ("flow_control", link.flow_control, 1),
    "credit_limit_per_vc": ("credit_limit", link.credit_limit, 1),
    "credit_size_bytes": ("credit_size", link.credit_size, 1),
    "axi_to_axi_base_latency_ns": ("base_latency", link.base_latency, 1),
    **own_names(packet, "packet_format vlan icrc"),
    **own_names(link, "fec_overhead flow_control credit_limit credit_size base_latency"),
}
LINK: Words = {
    "bandwidth_gbps": ("link_bandwidth", link.link_bandwidth, 1),
    "latency_us": ("base_latency", link.base_latency, 1000),
    "aggregate_bandwidth": ("link_bandwidth", link.link_bandwidth, 0),
    **own_names(link, "link_bandwidth base_latency"),
    **own_names(transfer, "propagation"),
}
SWITCH: Words = {
    "port_bandwidth_gbps": ("port_bandwidth", switch.port_bandwidth, 1),
    "fixed_latency_ns": ("switch_fixed", switch.switch_fixed, 1),
    "forwarding_mode": ("forwarding", switch.forwarding, 1),
    **own_names(switch, "port_bandwidth switch_fixed forwarding"),
    **own_names(crossbar, "port_count"),
    **own_names(queueing, "egress_utilization"),
}
UNUSED = ("vc_count", "buffer_size_mb", "num_priorities", "pfc_enabled", "pfc_threshold_ratio")
"""Keys of the note that no route needs."""
LINKS = ("links", "links_per_pair")
BETWEEN = ("switch", "switch_hops", "switch_config", "switches", "ring", "mesh", "torus", "fat_tree")
"""Keys that say what is between the members of a tier."""

WORDS_OF_FORMATS = tuple(packet.packet_formats.default)


def read_chip(text: str, name: str) -> Mapping[str, Any]:
    """Values of parameters from the block `paxi` of a chip's file. Raises InputError."""
    reader = _Reader(name)
    root = reader.root(text, ("title", "paxi"), "a chip")
    if "paxi" not in root:
        reader.fault(name, "a chip has a block paxi")
    values = reader.block(root.get("paxi"), "paxi", PAXI)
    reader.finish()
    return values


def read_topology(text: str, name: str) -> Topology:
    """A topology. Raises InputError with every fault that was found."""
    reader = _Reader(name)
    root = reader.root(text, ("title", "chips", "interconnect", "hardware_params"), "a topology")
    counts = reader.counts(root.get("chips"))
    topology = Topology(*counts, {})
    block = root.get("interconnect")
    if "hardware_params" in root:
        inner = reader.mapping(root["hardware_params"], ("interconnect",), "hardware_params")
        block = inner.get("interconnect", block)
    if block is None:
        reader.fault(name, f"a topology has a block interconnect with some of {', '.join(TIERS)}")
    tiers = {
        tier: reader.tier(tier, item, topology.members[tier])
        for tier, item in reader.mapping(block, TIERS, "interconnect").items()
        if tier in TIERS
    }
    reader.finish()
    title = root["title"].value if "title" in root else PurePath(name).stem
    return Topology(*counts, {tier: tiers.get(tier) for tier in TIERS}, reader.all_notes(), str(title))


class _Reader(Reader):
    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.notes: dict[str, None] = {}
        self.unused: dict[str, None] = {}

    def all_notes(self) -> tuple[str, ...]:
        """What people should know of how the file was read."""
        unused = f"not used by routes: {', '.join(self.unused)}; a grid sets what they stand for"
        return (*self.notes, *([unused] if self.unused else []))

    def block(self, item: Located | None, what: str, known: Words, more: tuple[str, ...] = ()) -> dict[str, Any]:
        """Values of parameters from a block; keys in `more` are read elsewhere."""
        values: dict[str, Any] = {}
        for key, value in self.mapping(item, (*known, *more, *UNUSED), what).items():
            if key in UNUSED:
                self.unused[key] = None
            if key not in known:
                continue
            name, parameter, _ = known[key]
            if name in values:
                self.fault(value.key, f"{what} says twice what {name} is")
            if key.endswith("_gbps"):
                self.notes[f"{key} is read as GB/s (1e9 bytes per second), as the design note means it"] = None
            values[name] = self.label(value, key, parameter) if parameter.is_choice else self.number(value, key, known)
        return values

    def label(self, item: Located, key: str, parameter: Parameter) -> str:
        """The label of a choice; true and false stand for on and off."""
        labels = parameter.choices or WORDS_OF_FORMATS
        word = ("on" if item.value else "off") if isinstance(item.value, bool) else str(item.value)
        if word not in labels:
            self.fault(item.where, f"{key} is one of {', '.join(labels)}, not {word!r}{nearest(word, labels)}")
        return word

    def number(self, item: Located, key: str, known: Words) -> float:
        """The number of a parameter in its unit; NaN where it is wrong."""
        _, parameter, factor = known[key]
        unit = "1" if factor else parameter.unit
        try:
            if not isinstance(item.value, (Number, str)):
                raise ValueError("a number is wanted")
            number = float(exact(item.value.text if isinstance(item.value, Number) else item.value, unit))
            number *= factor or 1.0
            if not parameter.allows(number) or (parameter.integer and number != math.floor(number)):
                kind = "a whole number" if parameter.integer else "a number"
                raise ValueError(f"{kind} {parameter.bounds} is wanted, not {number:.17g}")
        except ValueError as error:
            self.fault(item.where, f"{key}: {error}")
            return math.nan
        return number

    def whole(self, item: Located, what: str) -> int:
        """A whole number from 1; 1 where it is none."""
        text = item.value.text if isinstance(item.value, Number) else ""
        if not text.isdigit() or not 1 <= int(text) <= MOST_CHIPS:
            self.fault(item.where, f"{what} is a whole number from 1 to {MOST_CHIPS}")
            return 1
        return int(text)

    def counts(self, item: Located | None) -> tuple[int, int, int, int]:
        """Pods, racks, boards and chips, each in all; from the name of the file where nothing says it."""
        where = item.where if item is not None else self.name
        if item is not None and isinstance(item.value, dict):
            given = self.mapping(item, PLACES, "chips")
            numbers = [self.whole(given[place], place) if place in given else 1 for place in PLACES]
        else:
            text = str(item.value) if item is not None else PurePath(self.name).stem
            match = COUNTS.fullmatch(text)
            numbers = [int(number) for number in match.groups()] if match else [1, 1, 1, 1]
            if match is None:
                self.fault(where, f"chips is a name such as P1-R1-B4-C32, or a mapping of {', '.join(PLACES)}")
        pods, racks, boards, chips = numbers
        if min(numbers) < 1 or chips > MOST_CHIPS or racks % pods or boards % racks or chips % boards:
            what = f"{pods} pods, {racks} racks, {boards} boards and {chips} chips do not go into each other evenly"
            self.fault(where, f"{what}; each number is of the whole system")
            return 1, 1, 1, 1
        return pods, racks, boards, chips

    def tier(self, name: str, item: Located, members: int) -> Tier | None:
        """One tier; None where the file says null."""
        if item.value is None:
            return None
        values = self.block(item, name, LINK, (*BETWEEN, *LINKS, "paxi_override"))
        block = item.value if isinstance(item.value, dict) else {}
        if "aggregate_bandwidth" in block and "links" in block:
            all_links, used = (self.whole(block[key], key) if key in block else 1 for key in LINKS)
            if used > all_links:
                self.fault(block["links_per_pair"].where, f"links_per_pair is at most links, {all_links}")
            values["link_bandwidth"] *= used / all_links
        elif any(key in block for key in ("aggregate_bandwidth", *LINKS)):
            self.fault(item.where, f"{name}: aggregate_bandwidth and links go together, links_per_pair with them")
        values |= self.block(block.get("paxi_override"), "paxi_override", PAXI)
        bandwidth = values.get("link_bandwidth", link.link_bandwidth.default)
        shapes = [key for key in ("ring", "mesh", "torus", "fat_tree") if key in block]
        listed = [key for key in ("switch", "switch_config", "switches") if key in block]
        if len(shapes) > 1 or len(listed) > 1:
            self.fault(item.where, f"{name} has {' and '.join(shapes if len(shapes) > 1 else listed)}; one is enough")
        switches = self.switches(block, bandwidth)
        if "switch_hops" in block:
            hops = block["switch_hops"]
            none = isinstance(hops.value, Number) and hops.value.text == "0"
            switches = (
                () if none else (switches[:1] or (self.switch(None, bandwidth),)) * self.whole(hops, "switch_hops")
            )
        shape = shapes[0] if shapes else "switches" if switches else "direct"
        if shapes and not switches:
            switches = (self.switch(None, bandwidth),)
        sides = self.sides(block[shape], shape, members) if shape in ("mesh", "torus") else ()
        leaf = pod = math.inf
        if shape == "fat_tree":
            tree = self.mapping(block[shape], ("leaf", "pod"), "fat_tree")
            leaf = float(self.whole(tree["leaf"], "leaf")) if "leaf" in tree else math.nan
            pod = float(self.whole(tree["pod"], "pod")) if "pod" in tree else math.inf
            if not leaf <= pod:
                self.fault(
                    block[shape].where, "fat_tree takes leaf, the members of a leaf, and pod, which is no smaller"
                )
        return Tier(name, shape, values, switches, sides, leaf, pod)

    def sides(self, item: Located, shape: str, members: int) -> tuple[int, ...]:
        """Sides of a mesh or torus, which has all members."""
        sides = tuple(self.whole(x, "a side") for x in item.value) if isinstance(item.value, list) else ()
        if not sides or math.prod(sides) != members:
            self.fault(item.where, f"{shape} is a list of sides such as [4, 2]; together they have {members} members")
        return sides

    def switches(self, block: Mapping[str, Located], bandwidth: float) -> tuple[Switch, ...]:
        """The switches that a tier lists."""
        listed = block.get("switches")
        if listed is not None:
            if not isinstance(listed.value, list) or not listed.value:
                self.fault(listed.where, "switches is a list of mappings, one for each switch on the way")
                return ()
            return tuple(self.switch(item, bandwidth) for item in listed.value)
        item = block.get("switch", block.get("switch_config"))
        return () if item is None else (self.switch(item, bandwidth),)

    def switch(self, item: Located | None, bandwidth: float) -> Switch:
        """One switch; its ports are as fast as the links if nothing else is said."""
        values = self.block(item, "a switch", SWITCH, ("name",))
        name = item.value.get("name") if item is not None and isinstance(item.value, dict) else None
        return Switch(
            str(name.value) if name is not None else "switch",
            values.get("port_bandwidth", bandwidth),
            values.get("switch_fixed", switch.switch_fixed.default),
            values.get("forwarding", switch.forwarding.default) == "cut_through",
            values.get("egress_utilization", queueing.egress_utilization.default),
            values.get("port_count", crossbar.port_count.default),
        )
