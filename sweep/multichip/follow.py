"""Follows a program on chips and the network between them, and adds up when engines are busy; see `chips`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sweep.events.fabrics import FAT_TREE, FULL_MESH, NO_WAY, RING, SWITCHED, lay
from sweep.events.messages import (
    follow_messages,
    frames_of,
)
from sweep.events.simulation import FEMTOSECONDS, GIVEN_UP, femtoseconds
from sweep.file import rows_of
from sweep.models.cdma import mesh_hops
from sweep.multichip.graph import (
    AMOUNT,
    BEGIN,
    BYTES,
    CHIP,
    END,
    ENGINE,
    FROM,
    LEAVING,
    LINE,
    MEASURE,
    MEASURES,
    OF_ENGINE,
    TO,
)

Table = NDArray[np.float64]
Numbers = NDArray[np.int64]

MOST_WIRES = 1 << 24
"""Wires that there could be between the chips of a program."""

TIME, CYCLES, OPERATIONS, MOVED, READING, WRITING = range(len(MEASURES))


def follow_program(
    nodes: Table,
    edges: Table,
    laid: Table,
    chip_count: float,
    network_shape: str,
    switch_hops: float,
    leaf_chips: float,
    spine_count: float,
    routing: str,
    dead_link: str,
    seed: float,
    table: Table,
    speeds: Table,
    chip_network: Table,
    max_payload: float,
    frame_minimum: float,
    frame_gap: float,
    virtual_channels: float,
    by_hop: bool,
    event_budget: float,
    began: Numbers,
    done: Numbers,
    figures: Numbers,
    loads: Table,
) -> int:
    """Follow a program of which `nodes` and `edges` are the graph; returns how it ends.

    `laid` has the ways of messages through a topology, see `ways`; without rows the network is that of `fabrics`.

    `table` has the kinds of wires, `speeds` clock and throughput of engines, and `chip_network` rate, latency of a hop,
    width and core of CDMA of a chip's network. `began` and `done` become the times of nodes, `loads` the mean and the
    highest share of its time for which a wire is busy, `figures` those of `follow_messages`.
    """
    if chip_count * chip_count * (switch_hops + 1) > MOST_WIRES:
        return GIVEN_UP
    n = int(chip_count)
    count = began.size
    messages = np.zeros((count, 2), np.int64)
    sizes = np.zeros(count)
    tasks = np.zeros((count, 3), np.int64)
    pair_of = np.zeros(count, np.int64)
    number_of = np.full(n * n, -1)
    pairs = np.zeros((n * n, 2), np.int64)
    known_pairs = 0
    lines = 0
    frames = 0.0
    for node in range(count):
        sender = int(nodes[node, FROM])
        receiver = int(nodes[node, TO])
        messages[node, 0] = sender
        messages[node, 1] = receiver
        sizes[node] = nodes[node, BYTES]
        tasks[node, 0] = int(nodes[node, LINE])
        tasks[node, 1] = time_of(nodes, node, speeds, chip_network)
        tasks[node, 2] = int(nodes[node, LEAVING])
        lines = max(lines, tasks[node, 0] + 1)
        if sender == receiver:
            continue
        frames += frames_of(sizes[node], max_payload)
        pair = sender * n + receiver
        if number_of[pair] < 0:
            number_of[pair] = known_pairs
            pairs[known_pairs, 0] = sender
            pairs[known_pairs, 1] = receiver
            known_pairs += 1
        pair_of[node] = number_of[pair]
    if frames > event_budget:
        return GIVEN_UP
    of_topology = rows_of(laid)
    room = of_topology
    fabric = FULL_MESH
    longest = int(switch_hops) + 1
    names = n * n * longest
    if network_shape == "switched":
        fabric = SWITCHED
        names = 2 * n + known_pairs * longest
    elif network_shape == "ring":
        fabric = RING
        names = 2 * n * longest
        longest *= n
    elif network_shape == "fat_tree":
        fabric = FAT_TREE
        leaves = int(np.ceil(chip_count / leaf_chips))
        names = 2 * n + 2 * leaves * int(spine_count)
        longest = 4
    if of_topology == 0:
        room = 2 * longest * known_pairs  # the longest ways go around a dead link
    ways = np.zeros(known_pairs + 1, np.int64)
    wires = np.zeros(room, np.int64)
    kinds = np.zeros(room, np.int64)
    known = np.full(names, -1)
    if of_topology > 0:
        many = take_ways(laid, of_topology, n, number_of, ways, wires, kinds)
    else:
        many = lay(
            fabric,
            n,
            int(switch_hops),
            int(leaf_chips),
            int(spine_count),
            routing == "hashed",
            int(seed),
            dead_link == "first",
            False,
            pairs[:known_pairs],
            ways,
            wires,
            known,
            kinds,
        )
    if many == NO_WAY:
        return NO_WAY
    busy = np.zeros(many, np.int64)
    awaited = np.zeros((rows_of(edges), 2), np.int64)
    for edge in range(awaited.shape[0]):
        awaited[edge, 0] = int(edges[edge, 0])
        awaited[edge, 1] = int(edges[edge, 1])
    ending = follow_messages(
        messages,
        sizes,
        awaited,
        pair_of,
        ways,
        wires,
        kinds[:many],
        table,
        tasks,
        lines,
        max_payload,
        frame_minimum,
        frame_gap,
        int(virtual_channels),
        by_hop,
        int(event_budget),
        began,
        done,
        busy,
        figures,
        np.zeros((0, 5), np.int64),
    )
    end = 1
    for node in range(count):
        end = max(end, done[node])
    for wire in range(many):
        loads[0] += busy[wire] / end / many
        loads[1] = max(loads[1], busy[wire] / end)
    return ending


def take_ways(laid: Table, rows: int, n: int, number_of: Numbers, ways: Numbers, wires: Numbers, kinds: Numbers) -> int:
    """Ways as a topology has them: a row for each wire of each pair, with its number and kind. Returns how many wires
    there are."""
    many = 0
    for row in range(rows):  # lengths first
        ways[number_of[int(laid[row, 0]) * n + int(laid[row, 1])] + 1] += 1
        many = max(many, int(laid[row, 2]) + 1)
    for pair in range(ways.size - 1):
        ways[pair + 1] += ways[pair]
    place = 0
    for row in range(rows):
        one = int(laid[row, 0])
        other = int(laid[row, 1])
        if row > 0 and one == int(laid[row - 1, 0]) and other == int(laid[row - 1, 1]):
            place += 1
        else:
            place = ways[number_of[one * n + other]]
        wires[place] = int(laid[row, 2])
        kinds[int(laid[row, 2])] = int(laid[row, 3])
    return many


def time_of(nodes: Table, node: int, speeds: Table, chip_network: Table) -> int:
    """How long a task takes, or how long after its arrival a message is there; in femtoseconds."""
    measure = int(nodes[node, MEASURE])
    amount = nodes[node, AMOUNT]
    engine = int(nodes[node, ENGINE])
    if measure == TIME:
        return femtoseconds(amount)
    if measure == CYCLES:
        return femtoseconds(amount / speeds[engine, 0])
    if measure in (OPERATIONS, MOVED):
        return femtoseconds(amount / speeds[engine, 1])
    if amount < 0.0:  # news
        return 0
    hops = mesh_hops(amount, chip_network[3], chip_network[2])
    return femtoseconds(hops * chip_network[1] + nodes[node, BYTES] / chip_network[0])


def add_up_times(
    commands: Table, chips: int, began: Numbers, done: Numbers, engine_busy: Table, engine_exposed: Table
) -> None:
    """Add to each engine how long it is busy, and how long alone, on average over chips; in ns.

    Queues of a chip are followed side by side, from each time at which one of them begins or ends to be busy to the
    next.
    """
    rows = rows_of(commands)
    first = 0
    while first < rows:
        chip = commands[first, CHIP]
        after = first
        queues = 0
        while after < rows and commands[after, CHIP] == chip:
            if after == first or starts_a_queue(commands, after):
                queues += 1
            after += 1
        places = np.zeros((queues, 4), np.int64)  # next command, end of the queue, begin and end of being busy
        engines = np.zeros(queues, np.int64)
        queue = -1
        for row in range(first, after):
            if row == first or starts_a_queue(commands, row):
                queue += 1
                places[queue, 0] = row
                engines[queue] = int(commands[row, OF_ENGINE])
            places[queue, 1] = row + 1
        now = -1
        is_busy = np.zeros(engine_busy.size, np.int64)
        while True:
            following = -1
            for engine in range(is_busy.size):
                is_busy[engine] = 0
            for queue in range(queues):
                if places[queue, 3] <= now:
                    come_to_next(commands, began, done, places, queue)
                begin = places[queue, 2]
                end = places[queue, 3]
                if end < 0:
                    continue
                if begin <= now:
                    is_busy[engines[queue]] = 1
                due = end if begin <= now else begin
                following = due if following < 0 else min(following, due)
            if following < 0:
                break
            together = 0
            for engine in range(is_busy.size):
                together += is_busy[engine]
            for engine in range(is_busy.size):
                if is_busy[engine] == 1:
                    engine_busy[engine] += (following - now) / FEMTOSECONDS / chips
                    if together == 1:
                        engine_exposed[engine] += (following - now) / FEMTOSECONDS / chips
            now = following
        first = after


def starts_a_queue(commands: Table, row: int) -> bool:
    """Whether a command is in another queue than the one before it."""
    same = True
    for column in range(OF_ENGINE + 1):
        same = same and commands[row, column] == commands[row - 1, column]
    return not same


def come_to_next(commands: Table, began: Numbers, done: Numbers, places: Numbers, queue: int) -> None:
    """Come to when a queue is busy next, without a pause; -1 where it is not any more."""
    places[queue, 2] = -1
    places[queue, 3] = -1
    while places[queue, 0] < places[queue, 1]:
        row = places[queue, 0]
        begin = began[int(commands[row, BEGIN])]
        end = done[int(commands[row, END])]
        if places[queue, 3] >= 0 and begin > places[queue, 3]:
            return
        places[queue, 0] += 1
        if end > begin:
            if places[queue, 3] < 0:
                places[queue, 2] = begin
            places[queue, 3] = max(places[queue, 3], end)
