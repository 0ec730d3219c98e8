"""A program as tasks and messages that wait for each other: what the simulation of `messages` follows.

Everything that the engines do is an edge from what must be done first to what may start then:

- a command of a queue waits for the one before, and for the first command of `dep_engine` that has `cmd_id_dep` or a
  higher number;
- a SEND waits for its engine, with `recv_credit` for the RECV's credit, a message over the way back; then it is read
  through the chip's network, sent, and written through the network of the other chip;
- a SEND lets the next command of its queue go on once it is done (`cdma_issue` blocking), or once its last frame has
  left (streaming);
- a RECV is done when its SEND is; it lets the next command go on then (`recv_issue` blocking), or at once (posted);
- a collective is the SENDs and RECVs of `programs`; SENDs of a chip follow each other as those of a queue do, but for
  trees, whose schedule says what goes at the same time; RECVs are posted when it begins; it is done on a chip when all
  of that chip's are.

A program whose edges go in a circle never ends. Source: design note, sections "CDMA" and "MultiChipSim".
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sweep.events.programs import most_messages, write_program
from sweep.multichip.engines import CDMA
from sweep.multichip.program import (
    AMOUNTS,
    OPS,
    RECV,
    SEND,
    Command,
    Queue,
    Queues,
    cdma_commands,
    collectives,
    cycle_in,
    paired,
)

FROM, TO, BYTES, MEASURE, AMOUNT, ENGINE, LINE, LEAVING = range(8)
"""Columns of nodes: chips of a message, the same of a task; bytes of a message; in what the time of a task is given
(place in MEASURES), and how much of it; engine of the command; line on which a task runs; task that is done when the
message has left, -1 if none."""

MEASURES = (*AMOUNTS, "reading", "writing")
"""In what time is given: as commands say it, or for bytes through a chip's network from or to the core `AMOUNT`."""

CHIP, CORE, OF_ENGINE, BEGIN, END, OP, SIZE = range(7)
"""Columns of commands: where it is, the nodes with which it begins and ends, its OP or -1, and its bytes."""

NO_ALGORITHM = 1
TOO_FEW_CHIPS = 2
NO_PROGRAM = 3
"""Why there is no graph: no such collective by the algorithm; the program names more chips than there are; nothing is
given."""

Table = NDArray[np.float64]


@dataclass(frozen=True)
class Settings:
    """How commands become messages: choices and numbers of parameters of the same names."""

    algorithm: str
    cdma_issue: str
    recv_issue: str
    recv_credit: str
    recv_credit_size: float
    ring_exchange: str
    tree_schedule: str
    tree_pieces: float
    chunking: str


@dataclass(frozen=True, eq=False)
class Graph:
    """Tables with the columns above, commands by chip, core, engine and place; for each node the queue and place of the
    command that it belongs to. Or why there is none."""

    nodes: Table
    edges: Table
    commands: Table
    owners: Sequence[tuple[Queue, int]] = ()
    fault: int = 0

    @property
    def bytes(self) -> float:
        """Bytes of all messages."""
        return float(np.sum(self.nodes[self.nodes[:, FROM] != self.nodes[:, TO], BYTES]))

    @property
    def length(self) -> float:
        """Number of commands."""
        return float(len(self.commands))


def algorithm_of(command: Command, settings: Settings) -> str:
    """By which algorithm a collective goes: its own, else pairwise for all_to_all, else that of the grid."""
    return command.algorithm or ("pairwise" if OPS[command.op] == "all_to_all" else settings.algorithm)


ALGORITHMS = {
    "all_reduce": ("ring", "halving_doubling", "tree", "direct"),
    "all_to_all": ("ring", "pairwise", "direct"),
    "all_gather": ("ring", "direct"),
    "reduce_scatter": ("ring", "direct"),
}
"""By which algorithms there are programs for a collective."""


class _Writer:
    def __init__(self, queues: Queues, settings: Settings, together: bool) -> None:
        self.queues = queues
        self.together = together
        self.settings = settings
        self.nodes: list[tuple[float, ...]] = []
        self.edges: list[tuple[int, int]] = []
        self.lines = {queue: number for number, queue in enumerate(sorted(queues))}
        self.begins: dict[tuple[Queue, int], int] = {}
        self.ends: dict[tuple[Queue, int], int] = {}
        self.leaves: dict[tuple[Queue, int], int] = {}  # the node after which the next command of the queue may begin
        self.readings: dict[tuple[Queue, int], int] = {}  # of SENDs
        self.owners: list[tuple[Queue, int]] = []
        self.owner: tuple[Queue, int] = ((0, 0, 0), 0)

    def task(self, queue: Queue, measure: str = "time", amount: float = 0.0, size: float = 0.0) -> int:
        chip, _, engine = queue
        self.nodes.append((chip, chip, size, MEASURES.index(measure), amount, engine, self.lines[queue], -1))
        self.owners.append(self.owner)
        return len(self.nodes) - 1

    def message(self, queue: Queue, chip: int, to: int, size: float, core: float, leaving: int = -1) -> int:
        writing = MEASURES.index("writing")
        self.nodes.append((chip, to, size, writing, core, CDMA, self.lines[queue], leaving))
        self.owners.append(self.owner)
        return len(self.nodes) - 1

    def edge(self, earlier: int, later: int) -> None:
        self.edges.append((earlier, later))

    def transfer(self, queue: Queue, to: int, to_core: int, size: float) -> tuple[int, int, int]:
        """A SEND's way: the node with which data are read, that at which they are there, and after which the engine
        goes on."""
        chip, core, _ = queue
        reading = self.task(queue, "reading", core, size)
        left = self.task(queue) if self.settings.cdma_issue == "streaming" else -1
        sent = self.message(queue, chip, to, size, to_core, left)
        self.edge(reading, sent)
        return reading, sent, left if left >= 0 else sent

    def credit(self, queue: Queue, posted: int, to: int, reading: int) -> None:
        """The message of a RECV, once it is posted, without which data are not read."""
        if self.settings.recv_credit == "on":
            told = self.message(queue, queue[0], to, self.settings.recv_credit_size, -1.0)
            self.edge(posted, told)
            self.edge(told, reading)

    def command(self, queue: Queue, place: int, command: Command) -> None:
        """The nodes of one command, without what it waits for."""
        key = self.owner = queue, place
        if command.op == SEND:
            reading, sent, left = self.transfer(queue, command.remote_chip, command.remote_core, command.amount)
            begin = reading
            if self.settings.recv_credit == "on":
                begin = self.task(queue)
                self.edge(begin, reading)
            self.begins[key], self.readings[key], self.ends[key], self.leaves[key] = begin, reading, sent, left
            return
        begin = self.task(queue, command.measure, command.amount) if command.op < 0 else self.task(queue)
        self.begins[key] = self.ends[key] = self.leaves[key] = begin
        if command.op >= 0:
            self.ends[key] = self.task(queue)
            self.edge(begin, self.ends[key])
            if command.op != RECV or self.settings.recv_issue == "blocking":
                self.leaves[key] = self.ends[key]

    def pair(self, send: tuple[Queue, int], receive: tuple[Queue, int]) -> None:
        """What a SEND and its RECV wait for of each other."""
        self.owner = receive
        self.credit(receive[0], self.begins[receive], send[0][0], self.readings[send])
        self.edge(self.ends[send], self.ends[receive])

    def collective(self, command: Command, members: Sequence[tuple[Queue, int]]) -> None:
        """The messages of a collective of some chips, in the order of their group."""
        n = len(members)
        if n == 1:
            return
        if self.together:
            all_begun = self.task(members[0][0])
            for member in members:
                self.edge(self.begins[member], all_begun)
                self.edge(all_begun, self.ends[member])
            return
        algorithm = algorithm_of(command, self.settings)
        messages, sizes, edges = written(OPS[command.op], algorithm, n, command.amount, self.settings)
        last: dict[int, int] = {}  # of each member the node after which it may read what it sends next
        readings, sents = np.full(len(sizes), -1), np.full(len(sizes), -1)
        for number, (sender, receiver) in enumerate(messages):
            self.owner = members[sender]
            if sender == receiver:
                readings[number] = sents[number] = self.task(members[sender][0])
                continue
            queue = members[sender][0]
            to = members[receiver][0]
            reading, sent, left = self.transfer(queue, to[0], to[1], sizes[number])
            self.edge(last.get(sender, self.begins[members[sender]]), reading)
            self.credit(to, self.begins[members[receiver]], queue[0], reading)
            if algorithm != "tree":
                last[sender] = left
            readings[number], sents[number] = reading, sent
            self.edge(sent, self.ends[members[sender]])
            self.edge(sent, self.ends[members[receiver]])
        for earlier, later in edges:
            self.edge(sents[earlier], readings[later])

    def graph(self) -> Graph:
        """All nodes and edges."""
        # Place by place, so that what happens at about the same time stands together in memory.
        places = [(place, queue) for queue, commands in self.queues.items() for place in range(len(commands))]
        for place, queue in sorted(places):
            self.command(queue, place, self.queues[queue][place])
        for send, receive in sorted(paired(self.queues).items()):
            self.pair(send, receive)
        for command, members in collectives(self.queues):
            self.collective(command, members)
        waits = {
            (queue, place): earlier
            for queue, commands in self.queues.items()
            for place, command in enumerate(commands)
            if (earlier := awaited(self.queues, queue, command)) is not None
        }
        synced = self.synced(waits.values())
        for key, earlier in waits.items():
            self.edge(synced[earlier], self.begins[key])
        for queue, commands in self.queues.items():
            for place in range(1, len(commands)):
                self.edge(self.leaves[queue, place - 1], self.begins[queue, place])
        rows = [
            (*queue, self.begins[queue, place], self.ends[queue, place], command.op, size_of(command))
            for queue in sorted(self.queues)
            for place, command in enumerate(self.queues[queue])
        ]
        return Graph(
            np.array(self.nodes, float).reshape(-1, 8),
            np.array(self.edges, float).reshape(-1, 2),
            np.array(rows, float).reshape(-1, 7),
            self.owners,
        )

    def synced(self, targets: Iterable[tuple[Queue, int]]) -> dict[tuple[Queue, int], int]:
        """For each of some commands the node with which it and all before it in its queue are done."""
        nodes = {key: self.ends[key] for key in targets}
        places: dict[Queue, list[int]] = defaultdict(list)
        for queue, place in nodes:
            if queue[2] == CDMA:  # other engines are done with one before they begin the next
                places[queue].append(place)
        for queue, wanted in places.items():
            before: list[int] = []  # nodes of commands that let the next one begin before they are done
            done = 0
            for target in sorted(wanted):
                before += [
                    self.ends[queue, place]
                    for place in range(done, target)
                    if self.leaves[queue, place] != self.ends[queue, place]
                ]
                done = target
                if before:
                    self.owner = queue, target
                    node = self.task(queue)
                    for earlier in (*before, self.ends[queue, target]):
                        self.edge(earlier, node)
                    nodes[queue, target] = node
                    before = [node]
        return nodes


def awaited(queues: Queues, queue: Queue, command: Command) -> tuple[Queue, int] | None:
    """The command that another one waits for, by its queue and place; None if it waits for none."""
    if command.dep < 0 or command.dep_id <= 0:
        return None
    there = (queue[0], command.dep_core if command.dep_core >= 0 else queue[1], command.dep)
    place = bisect_left(queues.get(there, ()), command.dep_id, key=lambda other: other.cmd_id)
    return (there, place) if place < len(queues.get(there, ())) else None


@lru_cache(maxsize=64)
def written(
    collective: str, algorithm: str, n: int, size: float, settings: Settings
) -> tuple[list[list[int]], list[float], list[list[int]]]:
    """Messages of a collective, their bytes, and which wait for which, as `programs` writes them."""
    steps = float(2 * (n - 1) if collective == "all_reduce" else n - 1)
    most = int(most_messages(algorithm, settings.tree_schedule, settings.tree_pieces, steps, float(n), size, n))
    messages, sizes = np.zeros((most, 2), np.int64), np.zeros(most)
    edges, made = np.zeros((3 * most + 64, 2), np.int64), np.zeros(2, np.int64)
    write_program(
        messages,
        sizes,
        edges,
        made,
        collective,
        algorithm,
        settings.ring_exchange,
        settings.cdma_issue,
        settings.tree_schedule,
        settings.tree_pieces,
        steps,
        settings.chunking,
        float(n),
        size,
        n,
    )
    return messages[: made[0]].tolist(), sizes[: made[0]].tolist(), edges[: made[1]].tolist()


def graph_of(queues: Queues, settings: Settings, together: bool = False) -> Graph:
    """The graph of queues of commands. Raises InputError for SENDs, RECVs and parts of collectives without pairs.

    `together`: without the messages of collectives, each of which is one task for which all its chips wait.
    """
    for _, _, command in cdma_commands(queues):
        if command.group and algorithm_of(command, settings) not in ALGORITHMS[OPS[command.op]]:
            return NO_GRAPH[NO_ALGORITHM]
    return _Writer(queues, settings, together).graph()


NO_GRAPH = {
    fault: Graph(np.zeros((0, 8)), np.zeros((0, 2)), np.zeros((0, 7)), (), fault)
    for fault in (NO_ALGORITHM, TOO_FEW_CHIPS, NO_PROGRAM)
}


def commands_in_a_circle(graph: Graph) -> list[tuple[Queue, int]]:
    """Commands that wait for each other, by their queues and places; none if all can be done."""
    after: list[list[int]] = [[] for _ in graph.nodes]
    for earlier, later in graph.edges.astype(int).tolist():
        after[later].append(earlier)
    for node, leaving in enumerate(graph.nodes[:, LEAVING].astype(int).tolist()):
        if leaving >= 0:
            after[leaving].append(node)
    return list(dict.fromkeys(graph.owners[node] for node in cycle_in(after)))


def size_of(command: Command) -> float:
    """Bytes that a command moves."""
    return command.amount if command.measure == "data_bytes" else 0.0
