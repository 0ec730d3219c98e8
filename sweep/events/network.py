"""Collectives over a network, frame by frame: the messages of `programs` over the wires of `fabrics`.

What a chip sends first takes a wire of its own, or its only port; then ports of switches, until it is there.

- A chip's wire sends one message after the other, all frames of it: of those that may start, the one of the lowest
  number. A message may start when the messages that it waits for have arrived, the last byte and gap of each, and
  `base_latency` later.
- A switch sends a frame on once it has the bytes that `forwarding` needs, and so many that it does not run out of them,
  and after `switch_fixed`; frames for one port in the order in which they came. Its buffer is endless.
- Where frames pass a chip, because a ring has no nearer way or a link is dead, the chip is as a switch to
  them, and its wire takes turns between them and the chip's own.
- Credits (`flow_control` cbfc): each virtual channel has `credit_limit` of them, which are there again once frames are
  drained, and a way back later. With `credit_span` path or note each pair of chips has its own, from end to end; with
  link each wire has, for the buffer at its end, and a switch gives them back when the frame has left. Frame i of a
  message takes channel i mod V. Without credits nothing holds frames back.

| `network_shape` | links of a chip | switches on a way |
|---|---|---|
| full_mesh | one to each other chip | `switch_hops`, alone on it |
| ring | one to each of two neighbours | `switch_hops` in each link, and the chips between |
| switched | one | `switch_hops`, in which ways only meet at the last port |
| fat_tree | one, to a leaf of `leaf_chips` chips, which has `spine_count` links | 1 within a leaf, else 3 |

Where all chips do the same at the same time, and none is in another's way, one stands for all (`symmetric_chips` one):
ring, pairwise, direct, and halving_doubling of a power of two, on full_mesh and switched; what only goes from neighbour
to neighbour also on a ring. `tree_schedule` says what trees do: binomial all bytes, one message at a time;
binomial_own_links the same at once; pipelined and single_binary pieces in one tree, double_binary and note in two.

Compare with `collective_latency`, which asks for links as its docstring says: no frame here waits for other traffic
(`egress_utilization`), and credits are those of hardware, whatever `credit_scope`. Their way back takes
`credit_return_latency`, without it what the formula takes for the way out, the same for all pairs of chips. Times in
ns outside, in whole femtoseconds inside. Of events at the same time arrivals come first, then wires, each by number.
Cost: an event for each frame, and two for each switch that it passes. Sources: `collective`, `tree`, `uneven`,
`fabrics`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sweep.events.fabrics import FAT_TREE, FULL_MESH, NO_WAY, RING, SWITCHED, has_no_such_network, lay
from sweep.events.messages import COLUMNS, follow_messages, frames_of, last_frame, put_kind
from sweep.events.programs import most_messages, write_program
from sweep.events.simulation import DEADLOCKED, DONE, FEMTOSECONDS, GIVEN_UP, LONGEST, SHORTEST
from sweep.models.collective import alone
from sweep.models.tree import is_power_of_two
from sweep.registry import Output, Predicate, kernel, parameter, quantity

symmetric_chips = parameter(
    choices=("one", "all"),
    default="one",
    doc="Where all chips of a simulated collective do the same: whether one stands for all, or each is simulated",
    source="",
)

MOST_MESSAGES = 1 << 21
"""Messages that a simulation may have."""

MOST_PLACES = 1 << 24
"""Wires that could be, and places of ways over them, that a simulation may have."""


def one_stands_for_all(
    symmetric_chips: str,
    collective: str,
    algorithm: str,
    ring_exchange: str,
    chip_count: float,
    network_shape: str,
    dead_link: str,
) -> bool:
    """All chips do the same at the same time, and none is in another's way: one is simulated, if it may."""
    to_neighbours = algorithm == "ring" and (collective != "all_to_all" or ring_exchange == "forwarded")
    even = algorithm != "tree" and (algorithm != "halving_doubling" or is_power_of_two(chip_count))
    apart = network_shape in ("full_mesh", "switched") or (network_shape == "ring" and to_neighbours)
    return symmetric_chips == "one" and even and apart and dead_link == "none"


def steps_of_network(
    chip_count: float,
    message_size: float,
    max_payload: float,
    steps: float,
    switch_hops: float,
    symmetric_chips: str,
    collective: str,
    algorithm: str,
    ring_exchange: str,
    network_shape: str,
    dead_link: str,
) -> float:
    """Each chip sends all bytes about twice; a frame is an event and two for each switch, one event ten steps."""
    chips = chip_count
    if one_stands_for_all(symmetric_chips, collective, algorithm, ring_exchange, chip_count, network_shape, dead_link):
        chips = 1.0
    return (2 * message_size / max_payload + steps) * chips * (1 + 2 * switch_hops) * 10


@kernel(
    outputs={
        "network_finish": Output("ns"),
        "network_chip_finish": Output("ns", dims=("chip_share",)),
        "network_slowest_chip": Output("1"),
        "network_mean_load": Output("1"),
        "network_peak_load": Output("1"),
        "network_frames": Output("1"),
        "network_events": Output("1"),
        "network_stuck_sender": Output("1"),
        "network_stuck_receiver": Output("1"),
        "network_lacking_credits": Output("1"),
        "network_ending": Output("1"),
    },
    dims={"chip_share": (0.0, 0.25, 0.5, 0.75, 1.0)},
    fails={"infeasible": has_no_such_network},
    steps=steps_of_network,
    internal=True,
)
def network_simulation(
    collective: str,
    algorithm: str,
    ring_exchange: str,
    cdma_issue: str,
    tree_schedule: str,
    tree_pieces: float,
    steps: float,
    chunking: str,
    chip_count: float,
    message_size: float,
    network_shape: str,
    switch_hops: float,
    leaf_chips: float,
    spine_count: float,
    routing: str,
    dead_link: str,
    symmetric_chips: str,
    seed: float,
    max_payload: float,
    frame_overhead: float,
    frame_minimum: float,
    frame_gap: float,
    wire_rate: float,
    port_rate: float,
    awaited_bytes: float,
    switch_fixed: float,
    propagation: float,
    base_latency: float,
    drain_time: float,
    network_credit_return: float,
    usable_credits: float,
    virtual_channels: float,
    credit_size: float,
    credit_span: str,
    event_budget: float,
    chip_share: NDArray[np.float64],
) -> tuple[float, NDArray[np.float64], float, float, float, float, float, float, float, float, float]:
    """A collective followed frame by frame: when it ends, and when each share of its chips does, which chip last, how
    busy its wires are, frames, events, which message waits for credits for ever, and its ending."""
    finishes = np.zeros(chip_share.size)
    n = int(chip_count)
    if n <= 1:
        return 0.0, finishes, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, float(DONE)
    given_up_at_once = 0.0, finishes, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, float(GIVEN_UP)
    kind = FULL_MESH
    if network_shape == "switched":
        kind = SWITCHED
    elif network_shape == "ring":
        kind = RING
    elif network_shape == "fat_tree":
        kind = FAT_TREE
    dead = dead_link == "first"
    one = one_stands_for_all(
        symmetric_chips, collective, algorithm, ring_exchange, chip_count, network_shape, dead_link
    )
    chips = 1 if one else n
    most = most_messages(algorithm, tree_schedule, tree_pieces, steps, chip_count, message_size, chips)
    pairs_there_could_be = float(chips) * n
    names = 2.0 * n + pairs_there_could_be * (switch_hops + 1)
    if kind == FAT_TREE:
        names = 2.0 * n + 2 * (n / leaf_chips + 1) * spine_count
    elif kind == RING:
        names = 2.0 * n * (switch_hops + 1)
    slowest = max((max_payload + frame_overhead), frame_minimum) + frame_gap
    slowest = max(slowest / min(wire_rate, port_rate), max(switch_fixed, max(propagation, base_latency)))
    if usable_credits < np.inf:
        slowest = max(slowest, max(drain_time, network_credit_return))
    if most > MOST_MESSAGES or max(names, pairs_there_could_be) > MOST_PLACES or slowest > LONGEST:
        return given_up_at_once
    messages = np.zeros((int(most), 2), np.int64)
    sizes = np.zeros(int(most))
    edges = np.zeros((3 * int(most) + 64, 2), np.int64)
    made = np.zeros(2, np.int64)
    write_program(
        messages,
        sizes,
        edges,
        made,
        collective,
        algorithm,
        ring_exchange,
        cdma_issue,
        tree_schedule,
        tree_pieces,
        steps,
        chunking,
        chip_count,
        message_size,
        chips,
    )
    messages = messages[: made[0]]
    sizes = sizes[: made[0]]
    # The ways of all pairs of chips that have messages.
    number_of = np.full((chips, n), -1)
    pair_of = np.zeros(made[0], np.int64)
    pairs = np.zeros((made[0], 2), np.int64)
    count = 0
    frames = 0.0
    least = np.inf
    for message in range(made[0]):
        sender = messages[message, 0]
        receiver = messages[message, 1]
        if sender == receiver:
            continue
        frames += frames_of(sizes[message], max_payload)
        last = last_frame(sizes[message], max_payload, frame_overhead, frame_minimum)
        if last > 0.0:
            least = min(least, last)
        if number_of[sender, receiver] < 0:
            number_of[sender, receiver] = count
            pairs[count, 0] = sender
            pairs[count, 1] = receiver
            count += 1
        pair_of[message] = number_of[sender, receiver]
    longest = 2 * (switch_hops + 1)
    if kind == RING:
        longest = chips * (switch_hops + 1)
    elif kind == FAT_TREE:
        longest = 4.0
    if longest * count > MOST_PLACES or frames > event_budget or least / max(wire_rate, port_rate) < SHORTEST:
        return given_up_at_once
    ways = np.zeros(count + 1, np.int64)
    wires = np.zeros(int(longest * count), np.int64)
    known = np.full(int(names), -1)
    kinds = np.zeros(int(longest * count), np.int64)
    many = lay(
        kind,
        n,
        int(switch_hops),
        int(leaf_chips),
        int(spine_count),
        routing == "hashed",
        int(seed),
        dead,
        one,
        pairs[:count],
        ways,
        wires,
        known,
        kinds,
    )
    if many == NO_WAY:
        return 0.0, finishes, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, float(NO_WAY)
    table = np.zeros((2, COLUMNS))
    for port in range(2):
        rate = port_rate if port == 1 else wire_rate
        put_kind(
            table,
            port,
            rate,
            frame_overhead,
            awaited_bytes,
            switch_fixed,
            propagation,
            base_latency,
            drain_time,
            network_credit_return,
            usable_credits,
            credit_size,
        )
    began = np.zeros(made[0], np.int64)
    done = np.zeros(made[0], np.int64)
    busy = np.zeros(many, np.int64)
    figures = np.zeros(4, np.int64)
    ending = follow_messages(
        messages,
        sizes,
        edges[: made[1]],
        pair_of,
        ways,
        wires,
        kinds[:many],
        table,
        np.zeros((0, 3), np.int64),
        0,
        max_payload,
        frame_minimum,
        frame_gap,
        int(virtual_channels),
        credit_span == "link",
        int(event_budget),
        began,
        done,
        busy,
        figures,
        np.zeros((0, 5), np.int64),
    )
    ends = np.zeros(chips, np.int64)
    for message in range(made[0]):
        for side in range(2):
            chip = 0 if one else messages[message, side]
            ends[chip] = max(ends[chip], done[message])
    slowest_chip = 0
    for chip in range(chips):
        if ends[chip] > ends[slowest_chip]:
            slowest_chip = chip
    finish = max(ends[slowest_chip], 1)
    put_in_order_of_time(ends)
    for k in range(chip_share.size):
        finishes[k] = ends[max(int(np.ceil(chip_share[k] * chips)) - 1, 0)] / FEMTOSECONDS
    total = 0.0
    peak = 0
    for wire in range(many):
        total += busy[wire]
        peak = max(peak, busy[wire])
    stuck = max(figures[2], 0)
    return (
        ends[chips - 1] / FEMTOSECONDS,
        finishes,
        float(slowest_chip),
        total / many / finish,
        peak / finish,
        float(figures[1] * (n if one else 1)),
        float(figures[0]),
        float(messages[stuck, 0]),
        float(messages[stuck, 1]),
        float(figures[3]),
        float(ending),
    )


def put_in_order_of_time(ends: NDArray[np.int64]) -> None:
    """Sort times, the earliest first."""
    for chip in range(1, ends.size):
        moved = ends[chip]
        place = chip
        while place > 0 and ends[place - 1] > moved:
            ends[place] = ends[place - 1]
            place -= 1
        ends[place] = moved


@quantity(unit="ns", internal=True)
def network_credit_return(credit_return_latency: float) -> float:
    """Latency of a credit on its way back in a simulated network."""
    return credit_return_latency


@quantity("network_credit_return", when={"flow_control": "pfc"})
def no_network_credits() -> float:
    """Latency of a credit on its way back in a simulated network: there are none."""
    return 0.0


@quantity(
    "network_credit_return",
    when={"credit_return_latency": None, "credit_span": ("path", "note"), "flow_control": "cbfc"},
)
def network_credit_return_over_path(step_span_latency: float) -> float:
    """Latency of a credit on its way back in a simulated network: what the formula takes for the way out."""
    return step_span_latency


@quantity("network_credit_return", when={"credit_return_latency": None, "credit_span": "link", "flow_control": "cbfc"})
def network_credit_return_over_link(base_latency: float, propagation: float) -> float:
    """Latency of a credit on its way back in a simulated network: over one wire."""
    return base_latency + propagation


# What a grid may ask for.


def stops_for_good(network_ending: float) -> bool:
    """The simulation comes to where frames wait for credits that nobody owes."""
    return network_ending == DEADLOCKED


def goes_on(network_ending: float) -> bool:
    """The simulation does not come to where frames wait for credits that nobody owes."""
    return network_ending != DEADLOCKED


def given_up(network_ending: float) -> bool:
    """The simulation takes more than event_budget events, or its times or messages are beyond what can be followed."""
    return network_ending == GIVEN_UP


def leads_nowhere(network_ending: float) -> bool:
    """The dead link leaves two chips without a way."""
    return network_ending == NO_WAY


WHO_WAITS: dict[str, Predicate] = {"infeasible": leads_nowhere, "budget": given_up, "undefined": goes_on}
ENDINGS: dict[str, Predicate] = {"infeasible": leads_nowhere, "deadlock": stops_for_good, "budget": given_up}


@quantity(unit="ns", fails=ENDINGS, moot=alone)
def simulated_collective_latency(chip_count: float, network_finish: float) -> float:
    """Time of a simulated collective, from start to end on all chips; compare with collective_latency."""
    return 0.0 if chip_count <= 1 else network_finish


def no_time(network_finish: float) -> bool:
    """The collective takes no time, so it has no bandwidth."""
    return network_finish <= 0


@quantity(unit="GB/s", fails={**ENDINGS, "undefined": no_time}, unstable=0.0)
def simulated_bus_bandwidth(message_size: float, network_finish: float, bus_factor: float) -> float:
    """Bandwidth of each chip's port that a simulated collective's time amounts to; compare with bus_bandwidth."""
    return message_size / network_finish * bus_factor


@kernel(
    outputs={"simulated_chip_finish": Output("ns", dims=("chip_share",))},
    dims={"chip_share": (0.0, 0.25, 0.5, 0.75, 1.0)},
    fails=ENDINGS,
)
def finish_of_chips(network_chip_finish: NDArray[np.float64], chip_share: NDArray[np.float64]) -> NDArray[np.float64]:
    """Time until a share `chip_share` of the chips of a simulated collective has sent and received all."""
    return network_chip_finish


@quantity(unit="1", fails=ENDINGS)
def slowest_chip(network_slowest_chip: float) -> float:
    """Number of the chip of a simulated collective that ends last, the first of several that do."""
    return network_slowest_chip


@quantity(unit="1", fails=ENDINGS)
def mean_wire_load(network_mean_load: float) -> float:
    """Share of a simulated collective's time for which frames pass a wire, on average over the wires that carry any."""
    return network_mean_load


@quantity(unit="1", fails=ENDINGS)
def peak_wire_load(network_peak_load: float) -> float:
    """Share of a simulated collective's time for which frames pass the wire that carries most."""
    return network_peak_load


@quantity(unit="1", fails=ENDINGS)
def simulated_collective_frames(network_frames: float) -> float:
    """Frames that the chips of a simulated collective send."""
    return network_frames


@quantity(unit="1", fails={"infeasible": leads_nowhere, "budget": given_up})
def simulated_collective_events(network_events: float) -> float:
    """Events of a simulated collective, until all messages have arrived or nothing can happen any more."""
    return network_events


@quantity(unit="1", fails=WHO_WAITS)
def deadlocked_sender(network_stuck_sender: float) -> float:
    """Chip of a simulated collective whose message waits for credits that nobody owes; undefined where none does."""
    return network_stuck_sender


@quantity(unit="1", fails=WHO_WAITS)
def deadlocked_receiver(network_stuck_receiver: float) -> float:
    """Chip to which the message goes that waits for ever; undefined where none does."""
    return network_stuck_receiver


@quantity(unit="1", fails=WHO_WAITS)
def lacking_credits(network_lacking_credits: float) -> float:
    """Credits that a frame of the message lacks that waits for ever; undefined where none does."""
    return network_lacking_credits
