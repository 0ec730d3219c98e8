"""A program on chips and the network between them: makespan, busy and exposed time of engines, load of links.

A chip's cores have five engines each (see `engines`), which do the commands of their queues in order (see `program`).
SENDs, RECVs and collectives become messages (see `graph`), which go frame by frame over the network that `network`
describes, all cores of a chip over the links of that chip. Before it is sent, and once it is there, a message passes
the chip's own network, as in `cdma` (`noc` mesh), or takes no time for that (none).

An engine is *busy* from when a command begins until it ends, a RECV from when it is posted; cores of a chip count as
one. A chip's engine is *exposed* while it is busy and no other engine of the chip is: what the exposed time of CDMA
says could be won by computing meanwhile. Both are means over chips. Times in ns, and inside in whole femtoseconds.
Cost: an event for each frame, two for each switch that it passes, one for each command that takes a time. Source:
design note, sections "CDMA" and "MultiChipSim".
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sweep.events.fabrics import NO_WAY, has_no_such_network
from sweep.events.messages import (
    AWAITED,
    BACK,
    BASE,
    COLUMNS,
    CREDIT_SIZE,
    CREDITS,
    DRAIN,
    FIXED,
    FLIGHT,
    OVERHEAD,
    RATE,
)
from sweep.events.simulation import DEADLOCKED, DONE, FEMTOSECONDS, GIVEN_UP
from sweep.file import rows_of
from sweep.models.path import AWAITED as SWITCH_AWAITED
from sweep.models.path import FIXED as SWITCH_FIXED
from sweep.models.path import RATE as SWITCH_RATE
from sweep.multichip.engines import CDMA, ENGINES
from sweep.multichip.follow import add_up_times, follow_program
from sweep.multichip.graph import (
    OF_ENGINE,
    OP,
    SIZE,
)
from sweep.multichip.program import OPS, RECV
from sweep.multichip.ways import ROWS
from sweep.registry import (
    GIVEN,
    Output,
    Predicate,
    kernel,
    parameter,
    quantity,
)

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
        table[row, RATE] = port_rate if row > 0 else wire_rate
        table[row, OVERHEAD] = frame_overhead
        table[row, AWAITED] = awaited_bytes
        table[row, FIXED] = switch_fixed
        if path_switches == "different" and 0 < row <= switches:
            table[row, RATE] = route_switches[row - 1, SWITCH_RATE] * port_rate / port_bandwidth
            table[row, AWAITED] = route_switches[row - 1, SWITCH_AWAITED]
            table[row, FIXED] = route_switches[row - 1, SWITCH_FIXED]
        table[row, FLIGHT] = propagation
        table[row, BASE] = base_latency
        table[row, DRAIN] = drain_time
        table[row, BACK] = program_credit_return
        table[row, CREDITS] = usable_credits
        table[row, CREDIT_SIZE] = credit_size
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


def has_no_program(program_fault: float) -> bool:
    """There is no program, one for more chips, or one with a collective that has no messages by this algorithm."""
    return program_fault > 0


def steps_of_program(program_bytes: float, program_length: float, max_payload: float, switch_hops: float) -> float:
    """A frame is an event and two for each switch, a command two, one event ten steps."""
    return (program_bytes / max_payload * (1 + 2 * switch_hops) + 2 * program_length) * 10


@kernel(
    outputs={
        "program_finish": Output("ns"),
        "program_busy": Output("ns", dims=("engine",)),
        "program_exposed": Output("ns", dims=("engine",)),
        "program_exposed_sending": Output("ns"),
        "program_mean_load": Output("1"),
        "program_peak_load": Output("1"),
        "program_frames": Output("1"),
        "program_events": Output("1"),
        "program_ending": Output("1"),
    },
    dims={"engine": ENGINES},
    fails={"infeasible": has_no_program},
    steps=steps_of_program,
    internal=True,
)
def program_simulation(
    program_nodes: NDArray[np.float64],
    program_edges: NDArray[np.float64],
    program_commands: NDArray[np.float64],
    program_bytes: float,
    program_length: float,
    program_ways: NDArray[np.float64],
    chip_count: float,
    network_shape: str,
    switch_hops: float,
    leaf_chips: float,
    spine_count: float,
    routing: str,
    dead_link: str,
    seed: float,
    wire_table: NDArray[np.float64],
    engine_speeds: NDArray[np.float64],
    chip_network: NDArray[np.float64],
    max_payload: float,
    frame_minimum: float,
    frame_gap: float,
    virtual_channels: float,
    credit_span: str,
    event_budget: float,
    engine: NDArray[np.float64],
) -> tuple[float, NDArray[np.float64], NDArray[np.float64], float, float, float, float, float, float]:
    """A program followed to its end: when that is, how long engines are busy and exposed, loads, frames, events."""
    busy = np.zeros(engine.size)
    exposed = np.zeros(engine.size)
    loads = np.zeros(2)
    figures = np.zeros(4, np.int64)
    count = rows_of(program_nodes)
    began = np.full(count, -1)
    done = np.full(count, -1)
    ending = follow_program(
        program_nodes,
        program_edges,
        program_ways,
        chip_count,
        network_shape,
        switch_hops,
        leaf_chips,
        spine_count,
        routing,
        dead_link,
        seed,
        wire_table,
        engine_speeds,
        chip_network,
        max_payload,
        frame_minimum,
        frame_gap,
        virtual_channels,
        credit_span == "link",
        event_budget,
        began,
        done,
        figures,
        loads,
    )
    finish = 0
    if ending == DONE:
        for node in range(count):
            finish = max(finish, done[node])
        add_up_times(program_commands, int(chip_count), began, done, busy, exposed)
    return (
        finish / FEMTOSECONDS,
        busy,
        exposed,
        exposed[CDMA],
        loads[0],
        loads[1],
        float(figures[1]),
        float(figures[0]),
        float(ending),
    )


# What a grid may ask for.


def waits_for_ever(program_ending: float) -> bool:
    """Commands wait for each other, or frames for credits that nobody owes; sweep trace names them."""
    return program_ending == DEADLOCKED


def given_up(program_ending: float) -> bool:
    """The program takes more than event_budget events, or its times or wires are beyond what can be followed."""
    return program_ending == GIVEN_UP


def leads_nowhere(program_ending: float) -> bool:
    """The dead link leaves two chips without a way."""
    return program_ending == NO_WAY


ENDINGS: dict[str, Predicate] = {"infeasible": leads_nowhere, "deadlock": waits_for_ever, "budget": given_up}
OVER_ENGINES: dict[str, Any] = {"dims": {"engine": ENGINES}, "fails": ENDINGS, "steps": few_steps}


@quantity(unit="ns", fails=ENDINGS)
def makespan(program_finish: float) -> float:
    """Time of a program, from its start until all commands of all chips are done."""
    return program_finish


@kernel(outputs={"engine_busy": Output("ns", dims=("engine",))}, **OVER_ENGINES)
def busy_engines(program_busy: NDArray[np.float64], engine: NDArray[np.float64]) -> NDArray[np.float64]:
    """Time for which each engine has commands under way, on average over chips; cores of a chip count as one."""
    return program_busy


@kernel(outputs={"engine_exposed": Output("ns", dims=("engine",))}, **OVER_ENGINES)
def exposed_engines(program_exposed: NDArray[np.float64], engine: NDArray[np.float64]) -> NDArray[np.float64]:
    """Time for which each engine is busy and no other of its chip is, on average over chips."""
    return program_exposed


@quantity(unit="ns", fails=ENDINGS)
def exposed_communication(program_exposed_sending: float) -> float:
    """Time for which a chip only communicates: CDMA is busy, and nothing else is; on average over chips."""
    return program_exposed_sending


def takes_no_time(program_finish: float) -> bool:
    """The program takes no time."""
    return program_finish <= 0


@quantity(unit="1", fails={**ENDINGS, "undefined": takes_no_time})
def exposed_share(program_exposed_sending: float, program_finish: float) -> float:
    """Share of a program's time for which a chip only communicates, on average over chips."""
    return program_exposed_sending / program_finish


@quantity(unit="1", fails=ENDINGS)
def mean_link_utilization(program_mean_load: float) -> float:
    """Share of a program's time for which frames pass a wire, on average over the wires that carry any."""
    return program_mean_load


@quantity(unit="1", fails=ENDINGS)
def peak_link_utilization(program_peak_load: float) -> float:
    """Share of a program's time for which frames pass the wire that carries most."""
    return program_peak_load


@quantity(unit="1", fails=ENDINGS)
def simulated_program_frames(program_frames: float) -> float:
    """Frames that the chips of a program send."""
    return program_frames


@quantity(unit="1", fails={"infeasible": leads_nowhere, "budget": given_up})
def simulated_program_events(program_events: float) -> float:
    """Events of a program, until all commands are done or nothing can happen any more."""
    return program_events


@kernel(
    outputs={
        "command_count": Output("1", dims=("engine",)),
        "commands_by_op": Output("1", dims=("op_type",)),
        "total_bytes": Output("B"),
    },
    dims={"engine": ENGINES, "op_type": OPS},
    steps=few_steps,
    fails={"infeasible": has_no_program},
)
def counters(
    program_commands: NDArray[np.float64], engine: NDArray[np.float64], op_type: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Commands of a program by engine, those of CDMA by what they do, and bytes of SENDs and collectives, all chips."""
    by_engine = np.zeros(engine.size)
    by_op = np.zeros(op_type.size)
    total = 0.0
    for row in range(rows_of(program_commands)):
        by_engine[int(program_commands[row, OF_ENGINE])] += 1
        op = int(program_commands[row, OP])
        if op >= 0:
            by_op[op] += 1
            total += program_commands[row, SIZE] if op != RECV else 0.0
    return by_engine, by_op, total
