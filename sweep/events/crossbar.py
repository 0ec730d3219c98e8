"""A switch slot by slot: queues at outputs, or at inputs in front of a crossbar (see `models.crossbar`).

In each slot a cell comes to each input with probability `egress_utilization`; then cells leave:

- output_queued: of each output the first;
- input_fifo: of each output one of the first cells of the inputs that want it, by chance;
- voq: iSLIP. Outputs that are free grant to the first input, from their pointer on, that has something for them and is
  free; inputs accept the first grant from their own pointer on; up to `islip_iterations` times. Pointers move to one
  beyond the match, and only for matches of the first round.

Traffic (`crossbar_traffic`): uniform, each cell to any output; permutation, each input to an output of its own; bursts,
cells of one destination back to back, `burst_frames` on the mean, with pauses of the length that makes the load.

Waits are those of cells that leave once a sixteenth of the `sample_slots` has gone by. There is room for 4096 cells of
each input; where that is full, what comes is lost, and waits are `unstable`, as they are where inputs are never idle.
Waits grow where first cells hold up too much: then parts of the sample are not alike (status budget). Times in ns
outside, in slots inside; a slot is the time of a full frame. Cost: 0.1 us for each port in each slot, more with voq.
Source: McKeown, The iSLIP scheduling algorithm for input-queued switches, IEEE/ACM Trans. Networking 7, 1999.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sweep.events.chance import WORDS, words
from sweep.events.sample import PARTS, interval, mean
from sweep.events.simulation import CELL_ARRIVALS, CONTENTION
from sweep.registry import Output, Predicate, kernel, parameter, quantity

sample_slots = parameter(
    default=200_000,
    integer=True,
    minimum=1000,
    maximum=1e12,
    doc="Slots that a simulation of a crossbar counts, down to a multiple of 128",
)
islip_iterations = parameter(
    default=1,
    integer=True,
    minimum=1,
    maximum=64,
    doc="Rounds of granting and accepting in a slot, with switch_architecture voq",
    source="McKeown 1999",
)

OUTPUT_QUEUED = 0
VOQ = 1
INPUT_FIFO = 2

UNIFORM = 0
PERMUTATION = 1
BURSTS = 2

ROOM = 4096
"""Cells of each input for which there is room."""


def steps_of_slots(sample_slots: float, port_count: float, switch_architecture: str, islip_iterations: float) -> float:
    """Drawing what comes takes as long as six steps for each port in each slot, and matching it by iSLIP more."""
    matching = 0.13 * port_count * islip_iterations if switch_architecture == "voq" else 0.0
    return 17 / 16 * sample_slots * port_count * (6 + matching)


def too_many_slots(sample_slots: float, port_count: float, event_budget: float) -> bool:
    """The slots of all ports together are more than event_budget."""
    return 17 / 16 * sample_slots * port_count > event_budget


@kernel(
    outputs={
        "crossbar_wait": Output("1"),
        "crossbar_wait_interval": Output("1"),
        "crossbar_settled": Output("1"),
        "crossbar_carried": Output("1"),
        "crossbar_carried_interval": Output("1"),
        "crossbar_lost": Output("1"),
    },
    dims={},
    fails={"budget": too_many_slots},
    steps=steps_of_slots,
    internal=True,
)
def crossbar_simulation(
    port_count: float,
    egress_utilization: float,
    switch_architecture: str,
    islip_iterations: float,
    crossbar_traffic: str,
    burst_frames: float,
    sample_slots: float,
    seed: float,
) -> tuple[float, float, float, float, float, float]:
    """A switch followed slot by slot: mean wait and half of its interval in slots, whether the sample is long enough,
    cells that leave an output in a slot and half of their interval, and cells for which there was no room."""
    architecture = OUTPUT_QUEUED
    if switch_architecture == "voq":
        architecture = VOQ
    elif switch_architecture == "input_fifo":
        architecture = INPUT_FIFO
    traffic = UNIFORM
    if crossbar_traffic == "permutation":
        traffic = PERMUTATION
    elif crossbar_traffic == "bursts":
        traffic = BURSTS
    waits = np.zeros(PARTS)
    carried = np.zeros(PARTS)
    lost = follow_crossbar(
        int(port_count),
        min(egress_utilization, 1.0),  # an input takes no more than a cell in each slot
        architecture,
        int(islip_iterations),
        traffic,
        burst_frames,
        int(sample_slots) // PARTS,
        int(seed),
        waits,
        carried,
    )
    width, settled = interval(waits)
    carried_width, _ = interval(carried)
    return mean(waits), width, 1.0 if settled else 0.0, mean(carried), carried_width, float(lost)


def follow_crossbar(
    ports: int,
    load: float,
    architecture: int,
    iterations: int,
    traffic: int,
    burst: float,
    part: int,
    seed: int,
    waits: NDArray[np.float64],
    carried: NDArray[np.float64],
) -> int:
    """The simulation; counts the waits of the cells that leave in each of so many parts of `part` slots, their mean
    (NaN where none leaves), and how many leave an output in a slot. Returns cells for which there was no room at any
    time."""
    queues = ports * ports if architecture == VOQ else ports
    first = np.full(queues, -1, np.int64)  # lists of places; first and last apart take a fifth less time than `lists`
    last = np.full(queues, -1, np.int64)
    after = np.arange(1, ports * ROOM + 1)
    after[ROOM - 1 :: ROOM] = -1
    came = np.zeros(ports * ROOM, np.int64)
    goal = np.zeros(ports * ROOM, np.int64)
    free = np.arange(0, ports * ROOM, ROOM)  # the first place without a cell for those of each input
    target = np.full(ports, -1, np.int64)  # where the burst of an input goes; -1 in a pause
    begin = load / (load + burst * (1.0 - load)) if load > 0 else 0.0  # chance that a pause is over
    grants = np.zeros(ports, np.int64)  # pointers of iSLIP
    accepts = np.zeros(ports, np.int64)
    chosen = np.full(ports, -1, np.int64)  # the queue from which each output sends; -1: none
    skipped = waits.size * part // 16
    lost = 0
    total = 0
    count = 0
    for slot in range(skipped + waits.size * part):
        for i in range(ports):
            a, b, c, _ = words(seed, CELL_ARRIVALS, slot * ports + i)
            output = -1
            if traffic == BURSTS:
                if target[i] < 0 and a < begin * WORDS:
                    target[i] = int(b) * ports >> 32
                output = target[i]
                if c < WORDS / burst:
                    target[i] = -1
            elif a < load * WORDS:
                output = i if traffic == PERMUTATION else int(b) * ports >> 32
            if output < 0:
                continue
            place = free[i]
            if place < 0:
                lost += 1
                continue
            free[i] = after[place]
            came[place] = slot
            goal[place] = output
            after[place] = -1
            queue = output
            if architecture == VOQ:
                queue = i * ports + output
            elif architecture == INPUT_FIFO:
                queue = i
            if first[queue] < 0:
                first[queue] = place
            else:
                after[last[queue]] = place
            last[queue] = place
        if architecture == VOQ:
            choose_by_islip(first, iterations, grants, accepts, chosen)
        elif architecture == INPUT_FIFO:
            choose_by_chance(first, goal, seed, slot, chosen)
        else:
            for output in range(ports):
                chosen[output] = output if first[output] >= 0 else -1
        for output in range(ports):
            queue = chosen[output]
            if queue >= 0:
                place = first[queue]
                first[queue] = after[place]
                after[place] = free[place // ROOM]
                free[place // ROOM] = place
                total += slot - came[place]
                count += 1
        counted = slot + 1 - skipped
        if counted <= 0:
            total = 0
            count = 0
        elif counted % part == 0:
            waits[counted // part - 1] = total / count if count > 0 else np.nan
            carried[counted // part - 1] = count / (part * ports)
            total = 0
            count = 0
    return lost


def choose_by_chance(
    first: NDArray[np.int64], goal: NDArray[np.int64], seed: int, slot: int, chosen: NDArray[np.int64]
) -> None:
    """For each output one of the inputs whose first cell wants it, each with the same chance; -1 where none does."""
    ports = chosen.size
    wanting = np.zeros(ports, np.int64)
    chosen[:] = -1
    for i in range(ports):
        if first[i] >= 0:
            output = goal[first[i]]
            wanting[output] += 1
            a, _, _, _ = words(seed, CONTENTION, slot * ports + i)
            if wanting[output] * np.float64(a) < WORDS:  # the last of n with chance 1/n
                chosen[output] = i


def choose_by_islip(
    first: NDArray[np.int64],
    iterations: int,
    grants: NDArray[np.int64],
    accepts: NDArray[np.int64],
    chosen: NDArray[np.int64],
) -> None:
    """For each output the queue of the input with which iSLIP matches it, -1 where there is none; moves pointers."""
    ports = chosen.size
    taken = np.zeros(ports, np.bool_)  # inputs that are matched
    granted = np.full(ports, -1, np.int64)  # the input to which each output grants
    chosen[:] = -1
    for iteration in range(iterations):
        offers = 0
        for output in range(ports):
            granted[output] = -1
            if chosen[output] < 0:
                i = grants[output]
                for _ in range(ports):
                    if not taken[i] and first[i * ports + output] >= 0:
                        granted[output] = i
                        offers += 1
                        break
                    i = i + 1 if i + 1 < ports else 0
        if offers == 0:
            break
        for i in range(ports):
            output = accepts[i]
            for _ in range(ports):
                if granted[output] == i:
                    chosen[output] = i * ports + output
                    taken[i] = True
                    if iteration == 0:
                        grants[output] = i + 1 if i + 1 < ports else 0
                        accepts[i] = output + 1 if output + 1 < ports else 0
                    break
                output = output + 1 if output + 1 < ports else 0


# What a grid may ask for.


def overloaded(egress_utilization: float, crossbar_lost: float) -> bool:
    """Inputs are never idle, or there was no room for what came."""
    return egress_utilization >= 1 or crossbar_lost > 0


def nothing_leaves(crossbar_wait: float) -> bool:
    """In some part of the sample no cell leaves."""
    return not crossbar_wait >= 0


def unsettled(crossbar_settled: float) -> bool:
    """The sample_slots are too few for the memory of the queues."""
    return crossbar_settled <= 0


ENDINGS: dict[str, Predicate] = {
    "unstable": overloaded,
    "undefined": nothing_leaves,
    "budget": unsettled,
}


@quantity(unit="ns", fails=ENDINGS)
def simulated_crossbar_queueing(crossbar_wait: float, frame_service: float) -> float:
    """Mean wait of a cell in a simulated switch with slots; compare with crossbar_queueing."""
    return crossbar_wait * frame_service


@quantity(unit="ns", fails=ENDINGS)
def simulated_crossbar_queueing_interval(crossbar_wait_interval: float, frame_service: float) -> float:
    """Half of the width of the 99.9 % confidence interval of simulated_crossbar_queueing."""
    return crossbar_wait_interval * frame_service


@quantity(unit="1")
def simulated_crossbar_throughput(crossbar_carried: float) -> float:
    """Share of the slots in which an output sends a cell, in a simulated switch; compare with crossbar_throughput."""
    return crossbar_carried


@quantity(unit="1")
def simulated_crossbar_throughput_interval(crossbar_carried_interval: float) -> float:
    """Half of the width of the 99.9 % confidence interval of simulated_crossbar_throughput."""
    return crossbar_carried_interval
