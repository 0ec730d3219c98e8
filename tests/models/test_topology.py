"""Topologies: hops against a search over the links, routes, files, and the scenarios of the design note from files."""

from __future__ import annotations

import math
from collections import deque
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sweep
from sweep.errors import InputError
from sweep.models.route import group_route
from sweep.models.topology import TIERS, Topology
from sweep.models.topology_file import read_chip, read_topology
from tests.conftest import ROOT
from tests.models import close, point, points, preset

GRIDS = ROOT / "grids"
SG2262 = read_chip((GRIDS / "chips" / "sg2262.yaml").read_text(), "sg2262.yaml")


def topology_of(chips: str, **tiers: str) -> Topology:
    blocks = "".join(f"  {name}: {text}\n" for name, text in tiers.items())
    return read_topology(f"chips: {chips}\ninterconnect:\n{blocks}", "system.yaml")


def hops(topology: Topology, one: int, other: int) -> int:
    route = topology.route(one, other)
    assert route is not None
    return len(route.switches)


def distances(links: set[tuple[int, int]], count: int, start: int) -> list[int]:
    """Links to each node, by a search that goes out from one."""
    found = {start: 0}
    queue = deque([start])
    while queue:
        here = queue.popleft()
        for one, other in links:
            there = other if one == here else one if other == here else None
            if there is not None and there not in found:
                found[there] = found[here] + 1
                queue.append(there)
    return [found[node] for node in range(count)]


@settings(deadline=None, database=None, max_examples=40)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=3), st.sampled_from(("ring", "mesh", "torus")))
def test_hops_are_those_of_a_search_over_the_links(sides, shape):
    count = math.prod(sides)
    if shape == "ring":
        sides = [count]
    places = list(product(*(range(side) for side in reversed(sides))))  # the first side changes fastest
    number = {place: index for index, place in enumerate(places)}
    links = set()
    for place in places:
        for axis, side in enumerate(reversed(sides)):
            after = list(place)
            after[axis] += 1
            if after[axis] == side and shape != "mesh":
                after[axis] = 0
            if tuple(after) in number:
                links.add((number[place], number[tuple(after)]))
    topology = topology_of(f"P1-R1-B1-C{count}", c2c=f"{{{shape}: {'true' if shape == 'ring' else sides}}}")
    for start in range(count):
        far = distances(links, count, start)
        for other in range(count):
            if other != start:
                assert hops(topology, start, other) == far[other] - 1


def test_a_fat_tree_has_one_three_or_five_switches():
    two = topology_of("P1-R1-B1-C16", c2c="{fat_tree: {leaf: 4}, switches: [{name: leaf}, {name: spine}]}")
    assert [hops(two, 0, other) for other in (1, 3, 4, 15)] == [1, 1, 3, 3]
    assert [x.name for x in two.route(0, 9).switches] == ["leaf", "spine", "leaf"]
    three = topology_of(
        "P1-R1-B1-C16", c2c="{fat_tree: {leaf: 2, pod: 8}, switches: [{name: leaf}, {name: spine}, {name: core}]}"
    )
    assert [hops(three, 0, other) for other in (1, 2, 7, 8, 15)] == [1, 3, 3, 5, 5]
    assert [x.name for x in three.route(15, 0).switches] == ["leaf", "spine", "core", "spine", "leaf"]


def test_two_chips_meet_in_the_narrowest_place_that_has_both():
    system = topology_of("P2-R4-B8-C32", c2c="{}", b2b="{}", r2r="{}", p2p="{}")
    assert [system.tier_of(0, other) for other in (3, 4, 7, 8, 15, 16, 31)] == [
        *("c2c", "b2b", "b2b", "r2r", "r2r", "p2p", "p2p")
    ]
    assert system.route(5, 5) is None
    assert system.route(0, 32) is None
    assert topology_of("P1-R1-B2-C4", c2c="{}").route(0, 2) is None


PAIRED = {"route_of": "pair", "chip": SG2262}


def test_the_pair_matrix_is_symmetric_and_a_chip_on_another_board_pays_the_slow_tier():
    found = sweep.run(
        {
            "outputs": ["transfer_latency"],
            "axes": {"src_chip": {"range": [0, 31]}, "dst_chip": {"range": [0, 31]}},
            "fixed": {
                "topology": str(GRIDS / "topologies" / "P1-R1-B4-C32.yaml"),
                "chip": str(GRIDS / "chips" / "sg2262.yaml"),
                "route_of": "pair",
            },
        }
    )["transfer_latency"].values
    near = point("transfer_latency", link_bandwidth=448, packet_format="afh_lite", fec_overhead=0.03, switch_hops=0)
    far = point(
        "transfer_latency",
        **{"link_bandwidth": 200, "packet_format": "standard", "vlan": "on", "icrc": "off", "fec_overhead": 0.03},
        **{"switch_hops": 1, "base_latency": 200, "credit_limit": 512, "credit_size": 256},
    )
    for one, other in product(range(32), repeat=2):
        expected = near.value if one // 8 == other // 8 else far.value
        assert math.isnan(found[one, other]) if one == other else found[one, other] == expected
    assert (found[0, 1], found[0, 9]) == (found[1, 0], found[9, 0])


NOTE = preset("design_note")


OVER_SWITCHES = (
    "paxi_override: {pkt_format: standard, vlan_enabled: true, icrc_enabled: true, credit_limit_per_vc: 256, "
    "axi_to_axi_base_latency_ns: 200}"
)
ONE_SWITCH = "switch: {port_count: 32, fixed_latency_ns: 500}"
TWO_SWITCHES = "switches: [{name: ToR, fixed_latency_ns: 500, port_count: 64}, {name: spine, fixed_latency_ns: 500}]"
TREE = (
    "fat_tree: {leaf: 8}, "
    "switches: [{name: ToR, fixed_latency_ns: 500, port_count: 16}, {name: spine, fixed_latency_ns: 500}]"
)
EXCHANGE = {"message_size": 2 << 20, "collective": "all_to_all", "algorithm": "pairwise"}


@pytest.mark.parametrize(
    ("chips", "tier", "given", "total"),
    [
        ("P1-R1-B1-C8", "c2c: {bandwidth_gbps: 400, latency_us: 0.15}", {"message_size": 1 << 17}, 2698.2131),
        (
            "P1-R1-B32-C32",
            f"b2b: {{bandwidth_gbps: 200, propagation: 0, {ONE_SWITCH}, {OVER_SWITCHES}}}",
            {"message_size": 1 << 20},
            54355.3422,
        ),
        ("P1-R1-B64-C64", f"b2b: {{bandwidth_gbps: 200, {TWO_SWITCHES}, {OVER_SWITCHES}}}", EXCHANGE, 87362.0412),
        # With its real three switches: 505 ns more in each of 63 steps.
        ("P1-R1-B64-C64", f"b2b: {{bandwidth_gbps: 200, {TREE}, {OVER_SWITCHES}}}", EXCHANGE, 87362.0412 + 63 * 505),
    ],
)
def test_the_scenarios_of_the_design_note_come_out_of_files_alone(chips, tier, given, total):
    system = read_topology(f"chips: {chips}\nhardware_params:\n  interconnect:\n    {tier}\n", "system.yaml")
    count = int(chips.rpartition("C")[2])
    of_note = {**NOTE, **given}
    del of_note["fec_overhead"]  # the chip says it
    latency = point("collective_latency", topology=system, chip=SG2262, chip_count=count, **of_note)
    assert latency.value == pytest.approx(total, abs=1e-3)


BOARDS = "c2c: {link_bandwidth: 100}\n  b2b: {link_bandwidth: 25, switch: {port_count: 32}}"


def test_a_group_pays_for_the_widest_tier_that_it_spans():
    of_eight = read_topology(f"chips: P1-R1-B4-C32\ninterconnect:\n  {BOARDS}\n", "x")
    of_two = read_topology(f"chips: P1-R1-B16-C32\ninterconnect:\n  {BOARDS}\n", "x")

    def bandwidth(system: Topology, **group: float) -> float:
        return point("wire_rate", topology=system, **group).value

    assert bandwidth(of_eight, chip_count=8) == 100
    assert bandwidth(of_eight, chip_count=16) == 25
    assert bandwidth(of_eight, chip_count=8, group_start=4) == 25
    assert bandwidth(of_eight, chip_count=4, group_stride=8) == 25
    assert (bandwidth(of_eight, chip_count=8), bandwidth(of_two, chip_count=8)) == (100, 25)  # 2 x 8 and 8 x 2
    assert (bandwidth(of_eight, chip_count=2), bandwidth(of_two, chip_count=2)) == (100, 100)


def test_a_group_with_no_route_or_more_members_than_ports_is_infeasible_and_one_chip_takes_no_time():
    system = topology_of("P1-R1-B4-C32", c2c="{}", b2b="{switch: {port_count: 16}}")
    latency = "collective_latency"
    assert point(latency, topology=system, chip_count=16).status == "ok"
    assert point(latency, topology=system, chip_count=17).status == "infeasible"
    assert point(latency, topology=system, chip_count=33).status == "infeasible"
    assert point(latency, topology=system, chip_count=8, group_start=28).status == "infeasible"
    assert point(latency, topology=topology_of("P1-R1-B4-C32", c2c="{}"), chip_count=9).status == "infeasible"
    assert point(latency, topology=system, chip_count=1).value == 0
    tree = topology_of("P1-R1-B1-C64", c2c="{fat_tree: {leaf: 16}, switches: [{port_count: 8}, {}]}")
    assert point(latency, topology=tree, chip_count=8).status == "ok"
    assert point(latency, topology=tree, chip_count=16).status == "infeasible"
    assert point(latency, topology=tree, chip_count=4, group_stride=16).status == "ok"


def test_a_ring_pays_for_its_neighbours_and_others_for_the_farthest_two():
    system = topology_of("P1-R1-B1-C8", c2c="{ring: true}")
    ring = points(("steps", "frame_switching"), topology=system, algorithm="ring")
    direct = points(("steps", "frame_switching"), topology=system, algorithm="direct")
    assert ring["frame_switching"].value == 0
    assert direct["frame_switching"].value > 3 * 500


@settings(deadline=None, database=None, max_examples=40)
@given(st.integers(2, 12), st.integers(0, 20), st.integers(1, 5), st.sampled_from(("ring", "mesh", "tree", "board")))
def test_the_route_of_a_group_is_the_longest_in_its_widest_tier(count, start, stride, shape):
    tiers = {
        "ring": {"c2c": "{ring: true}", "b2b": "{switch: {port_count: 64}}"},
        "mesh": {"c2c": "{mesh: [4, 2]}", "b2b": "{torus: [8, 4]}"},
        "tree": {"c2c": "{}", "b2b": "{fat_tree: {leaf: 4, pod: 16}, switches: [{port_count: 64}, {}, {}]}"},
        "board": {"c2c": "{ring: true}"},
    }[shape]
    system = topology_of("P1-R1-B4-C32", **tiers)
    members = [start + stride * k for k in range(count)]
    found = group_route(system, start, stride, count, False)
    routes = [system.route(one, other) for one in members for other in members if one != other]
    if None in routes:
        assert found is None
        return
    widest = max(TIERS.index(route.tier.name) for route in routes)
    most = max(len(route.switches) for route in routes if TIERS.index(route.tier.name) == widest)
    assert (found.tier.name, len(found.switches)) == (TIERS[widest], most)


def test_what_a_grid_says_comes_before_the_topology_that_before_the_chip_and_that_before_defaults():
    system = topology_of("P1-R1-B1-C8", c2c="{link_bandwidth: 400 Gb/s, paxi_override: {credit_size: 128 B}}")
    of_files = points(("wire_rate", "frame_overhead"), topology=system, chip=SG2262)
    assert (of_files["wire_rate"].value, of_files["frame_overhead"].value) == (close(50 * 0.97), 16)
    assert point("wire_rate", topology=system, chip=SG2262, link_bandwidth=10).value == close(9.7)
    assert point("frame_overhead", topology=system, chip=SG2262, packet_format="standard").value == 54  # no ICRC
    assert point("frame_overhead", chip=SG2262).value == 16
    assert point("frame_overhead").value == 58


def faults(text: str, name: str = "system.yaml", read=read_topology) -> list[str]:
    with pytest.raises(InputError) as caught:
        read(text, name)
    return [str(fault) for fault in caught.value.faults]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (
            "chips: P1-R1-B4-C30\ninterconnect: {c2c: {}}",
            "system.yaml:1:8: 1 pods, 1 racks, 4 boards and 30 chips do not go",
        ),
        ("chips: 8\ninterconnect: {c2c: {}}", "chips is a name such as P1-R1-B4-C32, or a mapping of pods"),
        ("chips: P1-R1-B1-C8", "a topology has a block interconnect with some of c2c, b2b, r2r, p2p"),
        ("chips: P1-R1-B1-C8\ninterconnect: {c2b: {}}", "'c2b' is not a key of interconnect; there are c2c, b2b"),
        ("chips: P1-R1-B1-C8\ninterconnect: {c2c: {bandwith_gbps: 3}}", "did you mean 'bandwidth_gbps'"),
        (
            "chips: P1-R1-B1-C8\ninterconnect: {c2c: {bandwidth_gbps: 0}}",
            "system.yaml:2:38: bandwidth_gbps: a number > 0",
        ),
        ("chips: P1-R1-B1-C8\ninterconnect: {c2c: {bandwidth_gbps: 400 Gb/s}}", "bandwidth_gbps:"),
        (
            "chips: P1-R1-B1-C8\ninterconnect: {c2c: {latency_us: 1, base_latency: 2}}",
            "c2c says twice what base_latency",
        ),
        ("chips: P1-R1-B1-C8\ninterconnect: {c2c: {mesh: [4, 3]}}", "together they have 8 members"),
        ("chips: P1-R1-B1-C8\ninterconnect: {c2c: {ring: true, mesh: [4, 2]}}", "c2c has ring and mesh; one is enough"),
        ("chips: P1-R1-B1-C8\ninterconnect: {c2c: {fat_tree: {pod: 4}}}", "fat_tree takes leaf, the members of a leaf"),
        (
            "chips: P1-R1-B1-C8\ninterconnect: {c2c: {switch: {forwarding_mode: fast}}}",
            "forwarding_mode is one of cut_through",
        ),
        ("chips: P1-R1-B1-C8\ninterconnect: {c2c: {switches: 3}}", "switches is a list of mappings"),
        (
            "chips: P1-R1-B1-C8\ninterconnect: {c2c: {paxi_override: {pkt_format: afh}}}",
            "pkt_format is one of standard",
        ),
        ("[1, 2]", "a topology is a mapping with the keys title"),
    ],
)
def test_what_is_wrong_with_a_topology_is_told_with_its_place(text, wanted):
    assert wanted in "\n".join(faults(text))


def test_what_is_wrong_with_a_chip_is_told_with_its_place():
    assert faults("title: x\n", "chip.yaml", read_chip) == ["chip.yaml: a chip has a block paxi"]
    assert (
        "chip.yaml:1:29: credit_limit_per_vc: a whole number >= 1"
        in faults("paxi: {credit_limit_per_vc: 0}", "chip.yaml", read_chip)[0]
    )


def test_the_reader_says_what_it_takes_gbps_for_and_what_it_does_not_use():
    text = (GRIDS / "topologies" / "P1-R1-B4-C32.yaml").read_text()
    notes = read_topology(text, "P1-R1-B4-C32.yaml").notes
    assert "bandwidth_gbps is read as GB/s (1e9 bytes per second), as the design note means it" in notes
    assert notes[1] == (
        "not used by routes: buffer_size_mb, num_priorities, pfc_enabled, pfc_threshold_ratio; a grid sets what they "
        "stand for"
    )


def test_the_rate_of_all_links_of_a_chip_is_another_word_than_that_of_one():
    def rate(tier: str) -> float:
        return point("wire_rate", topology=topology_of("P1-R1-B1-C8", c2c=tier)).value

    assert rate("{bandwidth_gbps: 448}") == rate("{link_bandwidth: 448}") == 448
    assert rate("{aggregate_bandwidth: 448, links: 8}") == 56
    assert rate("{aggregate_bandwidth: 448, links: 8, links_per_pair: 2}") == 112
    start = "chips: P1-R1-B1-C8\ninterconnect: {c2c: "
    assert "go together" in faults(start + "{aggregate_bandwidth: 448}}")[0]
    assert "go together" in faults(start + "{bandwidth_gbps: 448, links: 8}}")[0]
    assert "at most links, 8" in faults(start + "{aggregate_bandwidth: 448, links: 8, links_per_pair: 9}}")[0]
    assert (
        "says twice what link_bandwidth is"
        in faults(start + "{aggregate_bandwidth: 448, links: 8, link_bandwidth: 3}}")[0]
    )


def test_counts_come_from_the_name_of_the_file_where_it_does_not_say_them():
    assert read_topology("interconnect: {c2c: {}}", "some/P1-R2-B4-C32.yaml").members["b2b"] == 16
