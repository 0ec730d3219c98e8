"""The network of `sweep.events.network`, written anew with SimPy: a process for each wire, and for each frame a way."""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import simpy


@dataclass(frozen=True)
class Message:
    """Bytes from a chip to another, and the messages (by number) that must have arrived before."""

    sender: int
    receiver: int
    size: float
    after: tuple[int, ...] = ()

    @property
    def ends(self) -> tuple[int, int]:
        """Sender and receiver."""
        return self.sender, self.receiver


@dataclass(frozen=True)
class Network:
    """Times in femtoseconds, sizes in bytes, rates in B/ns; a way is names of wires, each with its rate."""

    messages: Sequence[Message]
    ways: dict[tuple[int, int], Sequence[tuple[Hashable, float]]]
    payload: int
    overhead: int
    minimum: int
    gap: int
    awaited: float
    fixed: int
    flight: int
    base: int
    drain: int = 0
    back: int = 0
    channels: int = 1
    credits: int | None = None
    credit_size: int = 256
    by_hop: bool = False

    def way(self, number: int) -> Sequence[tuple[Hashable, float]]:
        """The wires that a message takes."""
        return self.ways[self.messages[number].ends]

    def frames(self, number: int) -> int:
        """Frames of a message; news without bytes is one."""
        return max(math.ceil(self.messages[number].size / self.payload), 1)

    def frame_size(self, number: int, frame: int) -> float:
        """Bytes of a frame on the wire."""
        carried = min(self.messages[number].size - frame * self.payload, self.payload)
        return max(carried + self.overhead, self.minimum) if carried > 0 else 0


def fs(time: float) -> int:
    return round(time * 1e6)


@dataclass
class Frame:
    message: int
    number: int
    size: float
    place: int


class Model:
    def __init__(self, network: Network) -> None:
        self.given = network
        self.env = simpy.Environment()
        self.arrived = [self.env.event() for _ in network.messages]
        self.done = [-1] * len(network.messages)
        self.own: dict[Hashable, list[int]] = defaultdict(list)
        self.sent: dict[int, int] = defaultdict(int)
        self.passing: dict[Hashable, deque[Frame]] = defaultdict(deque)
        self.credits: dict[Hashable, int] = defaultdict(lambda: network.credits or 0)
        self.drained: dict[Hashable, int] = defaultdict(int)
        self.rates = {name: rate for way in network.ways.values() for name, rate in way}
        self.news = {name: self.env.event() for name in self.rates}
        for name in self.rates:
            self.env.process(self.wire(name))
        for number in range(len(network.messages)):
            self.env.process(self.message(number))

    def message(self, number: int) -> Iterator[Any]:
        message = self.given.messages[number]
        for other in message.after:
            yield self.arrived[other]
        if message.sender == message.receiver:
            self.arrive(number)
            return
        first = self.given.way(number)[0][0]
        self.own[first].append(number)
        self.own[first].sort(key=lambda other: (self.sent[other] == 0, other))
        self.wake(first)

    def arrive(self, number: int) -> None:
        self.done[number] = self.env.now
        self.arrived[number].succeed()

    def wake(self, wire: Hashable) -> None:
        event, self.news[wire] = self.news[wire], self.env.event()
        event.succeed()

    def pool(self, frame: Frame) -> Hashable:
        message = self.given.messages[frame.message]
        owner = (
            self.given.way(frame.message)[frame.place][0] if self.given.by_hop else (message.sender, message.receiver)
        )
        return owner, frame.number % self.given.channels

    def needed(self, frame: Frame) -> int:
        return math.ceil(frame.size / self.given.credit_size)

    def may_start(self, frame: Frame) -> bool:
        if self.given.credits is None or (frame.place > 0 and not self.given.by_hop):
            return True
        return self.credits[self.pool(frame)] >= self.needed(frame)

    def wire(self, name: Hashable) -> Iterator[Any]:
        given = self.given
        own_turn = False
        while True:
            heads = []
            if self.passing[name]:
                heads.append((own_turn, False, self.passing[name][0]))
            if self.own[name]:
                number = self.own[name][0]
                sent = self.sent[number]
                heads.append((not own_turn, True, Frame(number, sent, self.given.frame_size(number, sent), 0)))
            ready = [head for head in sorted(heads, key=lambda head: head[0]) if self.may_start(head[2])]
            if not ready:
                yield self.news[name]
                continue
            _, own, frame = ready[0]
            own_turn = not own
            if given.credits is not None and (own or given.by_hop):
                self.credits[self.pool(frame)] -= self.needed(frame)
            if own:
                self.sent[frame.message] += 1
                if self.sent[frame.message] == self.given.frames(frame.message):
                    self.own[name].pop(0)
            else:
                self.passing[name].popleft()
            duration = fs((frame.size + given.gap) / self.rates[name]) if frame.size else 0
            self.env.process(self.fly(name, Frame(frame.message, frame.number, frame.size, frame.place), duration))
            yield self.env.timeout(duration)
            yield from self.settled()

    def settled(self) -> Iterator[Any]:
        """What a wire waits for before it looks what comes next: here nothing."""
        yield from ()

    def give_back(self, delay: int, frame: Frame) -> Iterator[Any]:
        pool, returned = self.pool(frame), self.needed(frame)
        yield self.env.timeout(delay)
        self.credits[pool] += returned
        way = self.given.way(frame.message)
        self.wake(way[frame.place][0] if self.given.by_hop else way[0][0])

    def fly(self, name: Hashable, frame: Frame, duration: int) -> Iterator[Any]:
        given, way = self.given, self.given.way(frame.message)
        if frame.place > 0 and given.by_hop and given.credits is not None:
            before = Frame(frame.message, frame.number, frame.size, frame.place - 1)
            self.env.process(self.give_back(duration + given.back, before))
        rate = self.rates[name]
        if frame.place + 1 < len(way):
            following, next_rate = way[frame.place + 1]
            behind = max(min(given.awaited, frame.size) / rate, frame.size / rate - frame.size / next_rate)
            yield self.env.timeout(given.flight + fs(behind) + given.fixed)
            self.passing[following].append(Frame(frame.message, frame.number, frame.size, frame.place + 1))
            self.wake(following)
            return
        yield self.env.timeout(duration + given.flight + given.base)
        if given.credits is not None:
            pool = self.pool(frame)[0]
            self.drained[pool] = max(self.drained[pool], self.env.now) + given.drain
            self.env.process(self.give_back(self.drained[pool] + given.back - self.env.now, frame))
        if frame.number == self.given.frames(frame.message) - 1:
            self.arrive(frame.message)


def run(network: Network) -> list[int]:
    """When each message has arrived; -1: never."""
    model = Model(network)
    model.env.run()
    return model.done


def ring_all_reduce(n: int, chunk: float) -> list[Message]:
    """Each chip sends 2(n - 1) chunks to the next, each after it has the one before."""
    return [
        Message(chip, (chip + 1) % n, chunk, ((step - 1) * n + (chip - 1) % n,) if step else ())
        for step in range(2 * (n - 1))
        for chip in range(n)
    ]
