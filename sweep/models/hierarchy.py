"""An all-reduce over boards in three phases, beside the flat one.

A group of n chips that has m on each of n/m boards (see `route`) adds up D bytes by

1. a reduce-scatter of D among the m chips of each board, all boards at once;
2. an all-reduce of a chip's share, ceil(D/m) bytes, among the chips at the same position of all boards;
3. an all-gather of D among the m chips of each board.

Each phase is the `collective_latency` of its own chips, bytes and route, by the same `algorithm`; they follow each
other, so their times add up. The wide tier carries a share of the bytes only, and fewer steps; the narrow one its bytes
twice. On one board the second phase takes no time. Times in ns. Source: Jia et al., Highly Scalable Deep Learning
Training System, 2018, 4.3 (hierarchical all-reduce).
"""

from __future__ import annotations

import math
from collections import Counter

from sweep.models.collective import alone
from sweep.models.topology import Topology
from sweep.registry import parameter, prepared, quantity, scope

hierarchy = parameter(
    choices=("flat", "boards"),
    default="flat",
    doc="How a group of a topology runs a collective: all chips in one algorithm, or on boards first, then across them",
    source="Jia et al. 2018",
)

within = scope(collective="reduce_scatter", chip_count="board_chips")
across = scope(
    collective="all_reduce", chip_count="group_boards", group_stride="board_stride", message_size="within__chunk_size"
)
gathered = scope(collective="all_gather", chip_count="board_chips")


def boards_of(topology: Topology, start: float, stride: float, count: float) -> list[int]:
    """The board of each chip of a group."""
    return [int(start + stride * k) // topology.members["c2c"] for k in range(int(count))]


@prepared(unit="1", internal=True)
def board_chips(topology: Topology | None, group_start: float, group_stride: float, chip_count: float) -> float:
    """Chips that a group has on its first board."""
    if topology is None:
        return 1.0
    boards = boards_of(topology, group_start, group_stride, chip_count)
    return float(boards.count(boards[0]))


@prepared(unit="1", internal=True)
def boards_are_even(
    topology: Topology | None, group_start: float, group_stride: float, chip_count: float, board_chips: float
) -> float:
    """1 where a group has as many chips on each of its boards, else 0."""
    if topology is None:
        return 0.0
    boards = Counter(boards_of(topology, group_start, group_stride, chip_count))
    return float(set(boards.values()) == {int(board_chips)})


@prepared(unit="1", internal=True)
def group_boards(chip_count: float, board_chips: float) -> float:
    """Boards on which a group has chips."""
    return chip_count / board_chips


@prepared(unit="1", internal=True)
def board_stride(group_stride: float, board_chips: float) -> float:
    """Distance from a chip of a group to the one at the same position of the next board."""
    return group_stride * board_chips


def has_no_phases(chip_count: float, boards_are_even: float, route_bandwidth: float) -> bool:
    """The group has not as many chips on each board, or no route connects it."""
    return chip_count > 1 and (boards_are_even < 1 or math.isnan(route_bandwidth))


@quantity(unit="ns", fails={"infeasible": has_no_phases}, moot=alone)
def hierarchical_latency(
    chip_count: float,
    within__collective_latency: float,
    across__collective_latency: float,
    gathered__collective_latency: float,
) -> float:
    """Time of an all-reduce on boards first, then across them, then on boards again."""
    phases = within__collective_latency + across__collective_latency + gathered__collective_latency
    return 0.0 if chip_count <= 1 else phases


@quantity("group_latency", unit="ns", when={"hierarchy": "flat"})
def flat_latency(collective_latency: float) -> float:
    """Time of a collective of a group, by the hierarchy chosen."""
    return collective_latency


@quantity("group_latency", when={"hierarchy": "boards", "collective": "all_reduce"})
def latency_over_boards(hierarchical_latency: float) -> float:
    """Time of a collective of a group, by the hierarchy chosen."""
    return hierarchical_latency
