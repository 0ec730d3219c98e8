"""All-reduces over boards in phases, against each phase on its own."""

from __future__ import annotations

import pytest

import sweep
from sweep.models.topology_file import read_topology
from tests.conftest import ROOT
from tests.models import close, point, points

SYSTEM = """
chips: {}
interconnect:
  c2c: {{link_bandwidth: 100, base_latency: 150, paxi_override: {{packet_format: afh_lite}}}}
  b2b: {{link_bandwidth: 25, base_latency: 200, propagation: 5, switch: {{port_count: 32, switch_fixed: 300}},
        paxi_override: {{credit_size: 128}}}}
"""
BOARD = {"link_bandwidth": 100, "base_latency": 150, "packet_format": "afh_lite", "switch_hops": 0}
RACK = {"link_bandwidth": 25, "base_latency": 200, "propagation": 5, "switch_hops": 1, "switch_fixed": 300}
RACK |= {"credit_size": 128}


def system(chips: str):
    return read_topology(SYSTEM.format(chips), "x")


def by_hand(size: int, on_board: int, boards: int, **given) -> float:
    latency = "collective_latency"
    scatter = point(latency, collective="reduce_scatter", chip_count=on_board, message_size=size, **BOARD, **given)
    gather = point(latency, collective="all_gather", chip_count=on_board, message_size=size, **BOARD, **given)
    share = -(-size // on_board)
    between = point(latency, collective="all_reduce", chip_count=boards, message_size=share, **RACK, **given)
    return scatter.value + between.value + gather.value


@pytest.mark.parametrize("size", [0, 1, 1000, 1 << 20, (1 << 24) + 3])
@pytest.mark.parametrize(
    ("chips", "count", "on_board", "boards"), [("P1-R1-B4-C32", 16, 8, 2), ("P1-R1-B16-C32", 16, 2, 8)]
)
def test_phases_of_two_boards_of_eight_and_eight_boards_of_two_sum_up(size, chips, count, on_board, boards):
    for given in ({}, {"credit_limit": 12}, {"queueing_model": "md1", "egress_utilization": 0.5}):
        found = point("hierarchical_latency", topology=system(chips), chip_count=count, message_size=size, **given)
        assert found.value == close(by_hand(size, on_board, boards, **given))


def test_a_group_with_two_chips_on_each_board_by_its_stride():
    found = point("hierarchical_latency", topology=system("P1-R1-B4-C32"), chip_count=8, group_stride=4)
    assert found.value == close(by_hand(1 << 20, 2, 4))


def test_on_one_board_it_is_the_flat_ring_and_one_chip_takes_no_time():
    found = points(("hierarchical_latency", "collective_latency"), topology=system("P1-R1-B4-C32"), chip_count=8)
    assert found["hierarchical_latency"].value == close(found["collective_latency"].value)
    assert point("hierarchical_latency", topology=system("P1-R1-B4-C32"), chip_count=1).value == 0


def test_what_has_no_phases_is_infeasible():
    latency = "hierarchical_latency"
    uneven = {"topology": system("P1-R1-B4-C32"), "chip_count": 12}
    assert point(latency, **uneven).status == "infeasible"
    assert point(latency, topology=system("P1-R1-B4-C32"), chip_count=8, group_start=4).status == "ok"
    assert point(latency, topology=system("P1-R1-B4-C32"), chip_count=8, group_start=6).status == "infeasible"
    assert point(latency).status == "infeasible"
    many = {"topology": system("P1-R1-B4-C32"), "chip_count": 16}
    assert point("group_latency", collective="all_gather", hierarchy="boards", **many).status == "infeasible"
    assert point(latency, algorithm="tree", **many).status == "infeasible"  # trees do not scatter


def test_in_a_grid_both_ways_are_an_axis_and_the_hierarchy_wins_across_boards():
    loaded = sweep.load_grid(ROOT / "grids" / "group_placement.yaml")
    found = sweep.run(loaded)["group_latency"].isel(topology=0)
    assert (
        found.sel(chip_count=16, group_stride=1, hierarchy="boards")
        < found.sel(chip_count=16, group_stride=1, hierarchy="flat")
    ).all()
    inside = found.sel(chip_count=8, group_stride=1)
    assert inside.sel(hierarchy="boards").values == pytest.approx(inside.sel(hierarchy="flat").values, rel=1e-12)
