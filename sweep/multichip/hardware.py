"""What the hardware gives to programs, as tables: speeds of engines, a chip's own network, and wires between chips."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sweep.events.fabrics import has_no_such_network
from sweep.events.messages import COLUMNS, put_kind
from sweep.file import rows_of
from sweep.models.path import AWAITED, FIXED, RATE
from sweep.multichip.engines import ENGINES
from sweep.multichip.ways import ROWS
from sweep.registry import GIVEN, Output, kernel, parameter, quantity

noc = parameter(
    choices=("mesh", "none"),
    default="mesh",
    doc="Whether data of a program take time through the chip's own network, to and from its CDMA engine",
    source="design note, SEND and RECV",
)


def few_steps() -> float:
    """Tables of fixed sizes are filled."""
    return 300.0


@quantity(unit="GB/s", when={"noc": "mesh"}, internal=True)
def noc_rate(noc_bandwidth: float) -> float:
    """Rate of a chip's network."""
    return noc_bandwidth


@quantity("noc_rate", when={"noc": "none"})
def no_noc_rate() -> float:
    """Rate of a chip's network: it takes no time."""
    return math.inf


@quantity(unit="ns", when={"noc": "mesh"}, internal=True)
def noc_hop_time(noc_hop_latency: float) -> float:
    """Latency of a hop of a chip's network."""
    return noc_hop_latency


@quantity("noc_hop_time", when={"noc": "none"})
def no_noc_hop_time() -> float:
    """Latency of a hop of a chip's network: it takes no time."""
    return 0.0


@quantity(unit="ns", internal=True)
def program_credit_return(network_credit_return: float) -> float:
    """Latency of a credit of a program's network on its way back, the same between all chips."""
    return network_credit_return


@quantity(
    "program_credit_return",
    when={
        "topology": GIVEN,
        "credit_return_latency": None,
        "credit_span": ("path", "note"),
        "flow_control": "cbfc",
    },
)
def credit_return_over_ways() -> float:
    """Latency of a credit of a program's network on its way back: NaN, that of the way out of each two chips."""
    return math.nan


@kernel(
    outputs={"chip_network": Output("1", dims=("chip_network_column",))},
    dims={"chip_network_column": (0.0, 1.0, 2.0, 3.0)},
    steps=few_steps,
    internal=True,
)
def network_of_chip(
    noc_rate: float,
    noc_hop_time: float,
    mesh_width: float,
    cdma_core: float,
    chip_network_column: NDArray[np.float64],
) -> NDArray[np.float64]:
    """A chip's own network, as `follow_program` takes it."""
    network = np.zeros(chip_network_column.size)
    network[0] = noc_rate
    network[1] = noc_hop_time
    network[2] = mesh_width
    network[3] = cdma_core
    return network


@kernel(
    outputs={"engine_speeds": Output("1", dims=("engine", "speed_column"))},
    dims={"engine": ENGINES, "speed_column": (0.0, 1.0)},
    steps=few_steps,
    internal=True,
)
def speeds_of_engines(
    tiu_clock: float,
    tiu_throughput: float,
    dma_clock: float,
    dma_bandwidth: float,
    sdma_clock: float,
    sdma_bandwidth: float,
    hau_clock: float,
    hau_throughput: float,
    engine: NDArray[np.float64],
    speed_column: NDArray[np.float64],
) -> NDArray[np.float64]:
    """For each engine the cycles of a ns, and the operations or bytes of a ns; CDMA has neither."""
    speeds = np.ones((engine.size, speed_column.size))
    speeds[0, 0] = tiu_clock
    speeds[0, 1] = tiu_throughput * 1000  # 1e12 a second are 1000 a ns
    speeds[1, 0] = dma_clock
    speeds[1, 1] = dma_bandwidth
    speeds[2, 0] = sdma_clock
    speeds[2, 1] = sdma_bandwidth
    speeds[3, 0] = hau_clock
    speeds[3, 1] = hau_throughput
    return speeds


@kernel(
    outputs={"wire_rows": Output("1", dims=("wire_row", "wire_column"))},
    dims={"wire_row": tuple(map(float, range(ROWS))), "wire_column": tuple(map(float, range(COLUMNS)))},
    steps=few_steps,
    internal=True,
)
def kinds_of_wires(
    path_switches: str,
    route_switches: NDArray[np.float64],
    wire_rate: float,
    port_rate: float,
    port_bandwidth: float,
    frame_overhead: float,
    awaited_bytes: float,
    switch_fixed: float,
    propagation: float,
    base_latency: float,
    drain_time: float,
    program_credit_return: float,
    usable_credits: float,
    credit_size: float,
    wire_row: NDArray[np.float64],
    wire_column: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Wires of chips and ports of switches, in the order of a way, as `messages` takes them."""
    table = np.zeros((wire_row.size, wire_column.size))
    switches = rows_of(route_switches)
    for row in range(wire_row.size):
        rate = port_rate if row > 0 else wire_rate
        awaited = awaited_bytes
        fixed = switch_fixed
        if path_switches == "different" and 0 < row <= switches:
            rate = route_switches[row - 1, RATE] * port_rate / port_bandwidth
            awaited = route_switches[row - 1, AWAITED]
            fixed = route_switches[row - 1, FIXED]
        put_kind(
            table,
            row,
            rate,
            frame_overhead,
            awaited,
            fixed,
            propagation,
            base_latency,
            drain_time,
            program_credit_return,
            usable_credits,
            credit_size,
        )
    return table


def has_no_network(
    is_on_topology: float,
    program_is_lost: float,
    chip_count: float,
    network_shape: str,
    switch_hops: float,
    port_count: float,
    leaf_chips: float,
    spine_count: float,
) -> bool:
    """Chips have no route to each other in the topology, or no network has such switches and so many ports.

    Routes of a topology over more than five switches are not followed. Without a topology see `network`.
    """
    if is_on_topology > 0:
        return program_is_lost > 0
    return has_no_such_network(chip_count, network_shape, switch_hops, port_count, leaf_chips, spine_count)


@kernel(
    outputs={"wire_table": Output("1", dims=("wire_kind", "wire_column"))},
    dims={"wire_kind": tuple(map(float, range(4 * ROWS))), "wire_column": tuple(map(float, range(COLUMNS)))},
    fails={"infeasible": has_no_network},
    steps=few_steps,
    internal=True,
)
def wires_of_tiers(
    c2c__wire_rows: NDArray[np.float64],
    b2b__wire_rows: NDArray[np.float64],
    r2r__wire_rows: NDArray[np.float64],
    p2p__wire_rows: NDArray[np.float64],
    wire_kind: NDArray[np.float64],
    wire_column: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Kinds of wires of all tiers; without a topology all tiers are the same."""
    table = np.zeros((wire_kind.size, wire_column.size))
    for row in range(ROWS):
        for column in range(wire_column.size):
            table[row, column] = c2c__wire_rows[row, column]
            table[ROWS + row, column] = b2b__wire_rows[row, column]
            table[2 * ROWS + row, column] = r2r__wire_rows[row, column]
            table[3 * ROWS + row, column] = p2p__wire_rows[row, column]
    return table
