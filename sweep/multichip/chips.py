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

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sweep.events.fabrics import NO_WAY
from sweep.events.simulation import DEADLOCKED, DONE, FEMTOSECONDS, GIVEN_UP
from sweep.file import rows_of
from sweep.multichip.engines import CDMA, ENGINES
from sweep.multichip.follow import add_up_times, follow_program
from sweep.multichip.graph import OF_ENGINE, OP, SIZE
from sweep.multichip.hardware import few_steps
from sweep.multichip.program import OPS, RECV
from sweep.registry import Output, Predicate, kernel, quantity


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
