"""A program of several chips: what each engine of each core does, one command after the other.

A *command* is in the queue of an engine of a core of a chip. It may wait for an engine of the chip, of the same core if
nothing else is said: until that has done the command `cmd_id_dep`, or one with a higher number. Numbers rise along a
queue. CDMA commands are SENDs and RECVs, the n-th SEND from a core to another one pairing with the n-th RECV there, and
collectives, of which the n-th of a group of chips on each member is one. Source: design note, section "CDMA",
CDMACommand.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sweep.errors import Fault, InputError
from sweep.multichip.engines import CDMA, ENGINES

OPS = ("send", "recv", "all_reduce", "all_to_all", "all_gather", "reduce_scatter")
"""What a CDMA command can do."""
SEND = OPS.index("send")
RECV = OPS.index("recv")
COLLECTIVES = OPS[2:]

AMOUNTS = ("time", "cycles", "operations", "data_bytes")
"""In what a command of another engine can say how long it takes."""

Queue = tuple[int, int, int]
"""A chip, a core and an engine, by their numbers."""


@dataclass(frozen=True, slots=True)
class Command:
    """One command: for a CDMA engine `op` is its place among OPS, else -1; `amount` is in the unit `measure`.

    `dep` is the engine that it waits for, -1 if none. `group` are the chips of a collective, in the order of its ring.
    `where` is its place for people.
    """

    cmd_id: int
    amount: float
    measure: str = "time"
    op: int = -1
    dep: int = -1
    dep_id: int = 0
    dep_core: int = -1
    remote_chip: int = -1
    remote_core: int = -1
    group: tuple[int, ...] = ()
    algorithm: str = ""
    source_op_id: str = ""
    where: str = ""


Queues = Mapping[Queue, Sequence[Command]]
Generator = Callable[["Maker", Mapping[str, float | str]], None]


@dataclass(frozen=True, eq=False)
class Program:
    """What a file of a program says: queues of commands, or a `generator` that makes them for any number of chips.

    `values` are those of parameters that come before their defaults; `title` is for people.
    """

    title: str
    values: Mapping[str, Any]
    queues: Queues = field(default_factory=dict)
    generator: str = ""


class Maker:
    """Writes commands, each at the end of its queue; returns their numbers, for others to wait for."""

    def __init__(self, chips: int) -> None:
        self.chips = chips
        self.queues: dict[Queue, list[Command]] = defaultdict(list)

    def add(
        self,
        chip: int,
        engine: str,
        amount: float = 0.0,
        measure: str = "time",
        after: tuple[str, int] | None = None,
        core: int = 0,
        name: str = "",
        **more: Any,
    ) -> int:
        """Add a command that waits for a command of another engine of its core."""
        queue = self.queues[chip, core, ENGINES.index(engine)]
        dep, dep_id = (ENGINES.index(after[0]), after[1]) if after else (-1, 0)
        cmd_id = len(queue) + 1
        queue.append(Command(cmd_id, amount, measure, dep=dep, dep_id=dep_id, source_op_id=name, **more))
        return cmd_id

    def send(
        self, chip: int, to: int, size: float, after: tuple[str, int] | None = None, name: str = "", core: int = 0
    ) -> int:
        """Add a SEND of so many bytes."""
        return self.add(chip, "CDMA", size, "data_bytes", after, core, name, op=SEND, remote_chip=to, remote_core=core)

    def receive(
        self, chip: int, of: int, size: float, after: tuple[str, int] | None = None, name: str = "", core: int = 0
    ) -> int:
        """Add a RECV of so many bytes."""
        return self.add(chip, "CDMA", size, "data_bytes", after, core, name, op=RECV, remote_chip=of, remote_core=core)

    def collective(
        self, chip: int, op: str, size: float, after: tuple[str, int] | None = None, name: str = "", algorithm: str = ""
    ) -> int:
        """Add a chip's part of a collective of all chips."""
        group = tuple(range(self.chips))
        op_number = OPS.index(op)
        return self.add(
            chip, "CDMA", size, "data_bytes", after, 0, name, op=op_number, group=group, algorithm=algorithm
        )

    def wait(self, chip: int, engine: str, after: tuple[str, int], name: str = "") -> int:
        """Add a command that takes no time, after which its engine goes on."""
        return self.add(chip, engine, after=after, name=name)


def paired(queues: Queues) -> dict[tuple[Queue, int], tuple[Queue, int]]:
    """For each SEND, by its queue and place there, the RECV that it pairs with. Raises InputError."""
    sends: dict[Hashable, list[tuple[Queue, int]]] = defaultdict(list)
    receives: dict[Hashable, list[tuple[Queue, int]]] = defaultdict(list)
    for queue, place, command in cdma_commands(queues):
        here, there = queue[:2], (command.remote_chip, command.remote_core)
        if command.op == SEND:
            sends[here, there].append((queue, place))
        elif command.op == RECV:
            receives[there, here].append((queue, place))
    faults, pairs = [], {}
    for pair in dict.fromkeys((*sends, *receives)):
        for nth in range(max(len(sends[pair]), len(receives[pair]))):
            missing = "RECV" if nth >= len(receives[pair]) else "SEND"
            if nth >= min(len(sends[pair]), len(receives[pair])):
                queue, place = (sends if missing == "RECV" else receives)[pair][nth]
                command = queues[queue][place]
                chip, core = command.remote_chip, command.remote_core
                what = f"no {missing} of chip {chip} core {core} pairs with this {OPS[command.op].upper()}"
                faults.append(Fault(command.where, f"{what}, number {nth + 1} between the two"))
                break
            send, receive = sends[pair][nth], receives[pair][nth]
            one, other = queues[send[0]][send[1]], queues[receive[0]][receive[1]]
            if one.amount != other.amount:
                what = f"sends {one.amount:.17g} B, but the RECV that it pairs with gets {other.amount:.17g} B"
                faults.append(Fault(one.where, f"{what} ({other.where})"))
            pairs[send] = receive
    if faults:
        raise InputError(faults)
    return pairs


def collectives(queues: Queues) -> Iterator[tuple[Command, list[tuple[Queue, int]]]]:
    """Each collective: the command of its first member, and the queue and place of all. Raises InputError."""
    parts: dict[tuple[tuple[int, ...], int], dict[int, list[tuple[Queue, int]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for queue, place, command in cdma_commands(queues):
        if command.group:
            parts[command.group, queue[1]][queue[0]].append((queue, place))
    faults = []
    found = []
    for (group, core), members in parts.items():
        for nth in range(max(map(len, members.values()))):
            there = [members[chip][nth] for chip in group if nth < len(members[chip])]
            first = queues[there[0][0]][there[0][1]]
            if len(there) < len(group):
                absent = next(chip for chip in group if nth >= len(members[chip]))
                what = f"chip {absent} core {core} has no such command; all chips of chip_group take part"
                faults.append(Fault(first.where, f"{OPS[first.op]}: {what}"))
                break
            for queue, place in there:
                other = queues[queue][place]
                if (other.op, other.amount, other.algorithm) != (first.op, first.amount, first.algorithm):
                    what = f"{OPS[other.op]} of {other.amount:.17g} B is part of the same collective as {OPS[first.op]}"
                    faults.append(
                        Fault(other.where, f"{what} of {first.amount:.17g} B ({first.where}), from which it differs")
                    )
            found.append((first, there))
    if faults:
        raise InputError(faults)
    yield from found


def place_of(queue: Queue, command: Command) -> str:
    """Where a command is, for people."""
    what = f" {OPS[command.op].upper()}" if command.op >= 0 else ""
    return f"chip {queue[0]} core {queue[1]} {ENGINES[queue[2]]}{what} {command.cmd_id}"


def cdma_commands(queues: Queues) -> Iterator[tuple[Queue, int, Command]]:
    """All CDMA commands, with their queues and places there."""
    for queue, commands in queues.items():
        if queue[2] == CDMA:
            for place, command in enumerate(commands):
                yield queue, place, command


def chips_of(queues: Queues) -> int:
    """One more than the highest chip that has a command."""
    return max((queue[0] for queue in queues), default=-1) + 1


def cycle_in(after: Sequence[Iterable[int]]) -> list[int]:
    """Numbers that wait for each other in a circle, `after[k]` being those that k waits for; none if there is none."""
    waits = [0] * len(after)
    followers: list[list[int]] = [[] for _ in after]
    for later, earlier in enumerate(after):
        for each in earlier:
            waits[later] += 1
            followers[each].append(later)
    ready = [number for number, count in enumerate(waits) if count == 0]
    for number in ready:
        for later in followers[number]:
            waits[later] -= 1
            if waits[later] == 0:
                ready.append(later)
    left = next((number for number, count in enumerate(waits) if count > 0), None)
    if left is None:
        return []
    seen: dict[int, int] = {}
    way: list[int] = []
    while left not in seen:
        seen[left] = len(way)
        way.append(left)
        left = next(each for each in after[left] if waits[each] > 0)
    return way[seen[left] :]
