"""Programs of several chips, written anew with SimPy: a process for each engine, which waits for numbers of others.

The design note's rules as they stand there: an engine takes a command once it is free and `sync id >= cmd_id_dep`; a
SEND waits for the RECV's credit, reads, sends and writes; a RECV is done when its SEND is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sweep.multichip.program import RECV, SEND, Command, Queue, Queues
from tests.events.simpy_network import Frame, Message, Model, Network


@dataclass(frozen=True)
class Chips:
    """Queues, the time of each command of an engine other than CDMA, and of bytes through a chip's network, in fs."""

    queues: Queues
    times: Mapping[tuple[Queue, int], int]
    noc: Any
    network: Network
    streaming: bool
    blocking_receives: bool
    credit: float | None
    rounds: int = 60
    """More than what can follow from each other at one time."""


class Program(Model):
    def __init__(self, given: Chips) -> None:
        self.chips = given
        self.numbers: dict[tuple[Queue, int], int] = {}
        self.credit_numbers: dict[tuple[Queue, int], int] = {}
        messages = []
        self.receive_of: dict[tuple[Queue, int], tuple[Queue, int]] = {}
        receives: dict[Any, list[tuple[Queue, int]]] = defaultdict(list)
        for queue, commands in sorted(given.queues.items()):
            for place, command in enumerate(commands):
                if command.op == RECV:
                    receives[(command.remote_chip, command.remote_core), queue[:2]].append((queue, place))
        sends = [
            (place, queue)
            for queue, commands in given.queues.items()
            for place, command in enumerate(commands)
            if command.op == SEND
        ]
        for place, queue in sorted(sends):
            command = given.queues[queue][place]
            self.receive_of[queue, place] = receives[queue[:2], (command.remote_chip, command.remote_core)].pop(0)
            self.numbers[queue, place] = len(messages)
            messages.append(Message(queue[0], command.remote_chip, command.amount))
        for send, receive in sorted(self.receive_of.items()):
            self.credit_numbers[receive] = len(messages)
            messages.append(Message(receive[0][0], send[0][0], given.credit or 0))
        super().__init__(replace(given.network, messages=messages))
        self.starts = [self.env.event() for _ in messages]
        self.left = [self.env.event() for _ in messages]
        self.written = {send: self.env.event() for send in self.numbers}
        self.send_of = {receive: send for send, receive in self.receive_of.items()}
        self.begin: dict[tuple[Queue, int], int] = {}
        self.end: dict[tuple[Queue, int], int] = {}
        self.synced: dict[Queue, int] = defaultdict(int)
        self.changed = self.env.event()
        for queue in given.queues:
            self.env.process(self.engine(queue))

    def message(self, number: int) -> Iterator[Any]:
        yield self.env.timeout(0)
        yield self.starts[number]
        first = self.given.way(number)[0][0]
        self.own[first].append(number)
        self.own[first].sort(key=lambda other: (self.sent[other] == 0, other))
        self.wake(first)

    def wake(self, wire: Any) -> None:
        """Let a wire look again, once all that happens at this time has happened: RECVs are posted together."""
        self.env.process(self.wake_last(wire))

    def wake_last(self, wire: Any) -> Iterator[Any]:
        yield from self.settled()
        super().wake(wire)

    def settled(self) -> Iterator[Any]:
        for _ in range(self.chips.rounds):
            yield self.env.timeout(0)

    def fly(self, name: Any, frame: Frame, duration: int) -> Iterator[Any]:
        if frame.place == 0 and frame.number == self.given.frames(frame.message) - 1:
            self.env.process(self.leave(frame.message, duration))
        yield from super().fly(name, frame, duration)

    def leave(self, number: int, duration: int) -> Iterator[Any]:
        yield self.env.timeout(duration)
        self.left[number].succeed()

    def is_synced(self, queue: Queue, command: Command) -> bool:
        if command.dep < 0 or command.dep_id == 0:
            return True
        core = command.dep_core if command.dep_core >= 0 else queue[1]
        return self.synced[queue[0], core, command.dep] >= command.dep_id

    def engine(self, queue: Queue) -> Iterator[Any]:
        for place, command in enumerate(self.chips.queues[queue]):
            while not self.is_synced(queue, command):
                yield self.changed
            key = queue, place
            self.begin[key] = self.env.now
            if command.op == SEND:
                sending = self.env.process(self.send(key, command))
                if self.chips.streaming:
                    yield self.left[self.numbers[key]]
                else:
                    yield sending
            elif command.op == RECV:
                receiving = self.env.process(self.receive(key))
                if self.chips.blocking_receives:
                    yield receiving
            else:
                yield self.env.timeout(self.chips.times[key])
                self.finish(key)

    def send(self, key: tuple[Queue, int], command: Command) -> Iterator[Any]:
        queue, number = key[0], self.numbers[key]
        if self.chips.credit is not None:
            yield self.arrived[self.credit_numbers[self.receive_of[key]]]
        yield self.env.timeout(self.chips.noc(queue[1], command.amount))
        self.starts[number].succeed()
        yield self.arrived[number]
        yield self.env.timeout(self.chips.noc(command.remote_core, command.amount))
        self.finish(key)
        self.written[key].succeed()

    def receive(self, key: tuple[Queue, int]) -> Iterator[Any]:
        if self.chips.credit is not None:
            self.starts[self.credit_numbers[key]].succeed()
        yield self.written[self.send_of[key]]
        self.finish(key)

    def finish(self, key: tuple[Queue, int]) -> None:
        queue = key[0]
        self.end[key] = self.env.now
        for place, command in enumerate(self.chips.queues[queue]):
            if (queue, place) not in self.end:
                break
            self.synced[queue] = command.cmd_id
        event, self.changed = self.changed, self.env.event()
        event.succeed()


def run(given: Chips) -> tuple[dict[tuple[Queue, int], int], dict[tuple[Queue, int], int]]:
    """When commands begin and end, in fs; those that never do are not there."""
    model = Program(given)
    model.env.run()
    return model.begin, model.end
