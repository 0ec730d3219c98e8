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
from collections.abc import Callable
from functools import lru_cache
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
from sweep.multichip import workload
from sweep.multichip.engines import CDMA, ENGINES
from sweep.multichip.follow import add_up_times, follow_program
from sweep.multichip.generators import GENERATORS
from sweep.multichip.graph import (
    NO_GRAPH,
    NO_PROGRAM,
    OF_ENGINE,
    OP,
    SIZE,
    TOO_FEW_CHIPS,
    Graph,
    Settings,
    graph_of,
)
from sweep.multichip.program import OPS, RECV, Maker, Program, Queues, chips_of
from sweep.multichip.program_file import OF_PROGRAM, read_program
from sweep.registry import (
    ARGUMENTS,
    GIVEN,
    Choices,
    Output,
    Parameter,
    Predicate,
    kernel,
    parameter,
    prepared,
    quantity,
)

program = parameter(
    reads=read_program,
    doc="Program of several chips, a YAML file with the commands of each engine, or a generator that makes them",
    source="design note, section CDMA",
)
recv_issue = parameter(
    choices=("posted", "blocking"),
    default="posted",
    doc="Whether a RECV lets its engine go on at once, or once its data are there",
    source="design note, SEND and RECV",
)
noc = parameter(
    choices=("mesh", "none"),
    default="mesh",
    doc="Whether data of a program take time through the chip's own network, to and from its CDMA engine",
    source="design note, SEND and RECV",
)

PROGRAMMED: Choices = {"program": GIVEN}
WORKLOAD = tuple(name for name, value in vars(workload).items() if isinstance(value, Parameter))
SETTINGS = tuple(Settings.__dataclass_fields__)


def value_of_program(name: str) -> Callable[[Program], Any]:
    """The function that reads a parameter from a program."""

    def value(program: Program) -> Any:
        """What the program says, or the default."""
        return program.values.get(name, OF_PROGRAM[name].default)

    return value


def label_of_program(name: str) -> Callable[[Program], set[str]]:
    """The function that says which label of a choice comes out of a program."""

    def labels(program: Program) -> set[str]:
        """The only label."""
        return {value_of_program(name)(program)}

    return labels


# Each parameter that a program may set has a giver of its own, all alike.
globals().update(
    {
        f"{name}_of_program": prepared(
            name, when=PROGRAMMED, among=label_of_program(name) if OF_PROGRAM[name].is_choice else None
        )(value_of_program(name))
        for name in OF_PROGRAM
    }
)


@lru_cache(maxsize=4)
def queues_of(program: Program, chips: int, values: tuple[Any, ...]) -> Queues:
    """The commands of a program for so many chips."""
    if not program.generator:
        return program.queues
    maker = Maker(chips)
    GENERATORS[program.generator](maker, dict(zip(WORKLOAD, values, strict=True)))
    return maker.queues


@lru_cache(maxsize=64)
def built(program: Program | None, chip_count: float, *values: Any) -> Graph:
    """The graph of a program, `values` those of its workload and then of its settings."""
    if program is None:
        return NO_GRAPH[NO_PROGRAM]
    queues = queues_of(program, int(chip_count), values[: len(WORKLOAD)])
    if chips_of(queues) > chip_count:
        return NO_GRAPH[TOO_FEW_CHIPS]
    return graph_of(queues, Settings(*values[len(WORKLOAD) :]))


BUILT = ("program", "chip_count", *WORKLOAD, *SETTINGS)
"""What `built` takes."""


def part_of_graph(name: str) -> Callable[..., Any]:
    """The function that builds a graph and gives a part of it."""

    def value(*arguments: Any) -> Any:
        """Part of the graph of the program."""
        return getattr(built(*arguments), name)

    value.__dict__[ARGUMENTS] = BUILT
    return value


nodes_of_program = prepared("program_nodes", unit="1", dims=("program_node", "node_column"), internal=True)(
    part_of_graph("nodes")
)
edges_of_program = prepared("program_edges", unit="1", dims=("program_edge", "edge_column"), internal=True)(
    part_of_graph("edges")
)
commands_of_program = prepared("program_commands", unit="1", dims=("program_command", "command_column"), internal=True)(
    part_of_graph("commands")
)
fault_of_program = prepared("program_fault", unit="1", internal=True)(part_of_graph("fault"))
bytes_of_program = prepared("program_bytes", unit="B", internal=True)(part_of_graph("bytes"))
length_of_program = prepared("program_length", unit="1", internal=True)(part_of_graph("length"))


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


@kernel(
    outputs={"chip_network": Output("1", dims=("chip_network_column",))},
    dims={"chip_network_column": (0.0, 1.0, 2.0, 3.0)},
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
    outputs={"wire_table": Output("1", dims=("wire_kind", "wire_column"))},
    dims={"wire_kind": (0.0, 1.0), "wire_column": tuple(map(float, range(COLUMNS)))},
    fails={"infeasible": has_no_such_network},
    internal=True,
)
def kinds_of_wires(
    wire_rate: float,
    port_rate: float,
    frame_overhead: float,
    awaited_bytes: float,
    switch_fixed: float,
    propagation: float,
    base_latency: float,
    drain_time: float,
    network_credit_return: float,
    usable_credits: float,
    credit_size: float,
    wire_kind: NDArray[np.float64],
    wire_column: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Wires of chips and ports of switches, as `messages` takes them."""
    table = np.zeros((wire_kind.size, wire_column.size))
    for kind in range(wire_kind.size):
        table[kind, RATE] = port_rate if kind == 1 else wire_rate
        table[kind, OVERHEAD] = frame_overhead
        table[kind, AWAITED] = awaited_bytes
        table[kind, FIXED] = switch_fixed
        table[kind, FLIGHT] = propagation
        table[kind, BASE] = base_latency
        table[kind, DRAIN] = drain_time
        table[kind, BACK] = network_credit_return
        table[kind, CREDITS] = usable_credits
        table[kind, CREDIT_SIZE] = credit_size
    return table


def has_no_program(program_fault: float) -> bool:
    """There is no program; or one for more chips than chip_count; or a collective by an algorithm that it does not
    have."""
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
    """Commands wait for each other, or frames for credits that nobody owes; `sweep trace` names them."""
    return program_ending == DEADLOCKED


def given_up(program_ending: float) -> bool:
    """The program takes more than event_budget events, or its times or wires are beyond what can be followed."""
    return program_ending == GIVEN_UP


def leads_nowhere(program_ending: float) -> bool:
    """The dead link leaves two chips without a way."""
    return program_ending == NO_WAY


ENDINGS: dict[str, Predicate] = {"infeasible": leads_nowhere, "deadlock": waits_for_ever, "budget": given_up}
OVER_ENGINES: dict[str, Any] = {"dims": {"engine": ENGINES}, "fails": ENDINGS}


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
