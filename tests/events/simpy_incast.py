"""The switches of `sweep.events.incast`, written anew with SimPy: a process for each wire, and for each frame a way."""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import simpy


@dataclass(frozen=True)
class Incast:
    """Times in femtoseconds, sizes in bytes, rates in B/ns; `credits` None and `pause` False: frames are dropped."""

    hops: int
    senders: int
    counts: Sequence[int]  # frames of a message of the incast, and of the victim
    full: int
    last: Sequence[int]
    gap: int
    classes: int
    pauses_classes: bool
    pause: bool
    credits: int | None
    credit_size: int
    rates: Sequence[float]
    awaited: float
    fixed: int
    flight: int
    back: int
    pause_delay: int
    reserves: Sequence[float]
    ratio: float
    buffer: float
    alpha: float


def fs(time: float) -> int:
    return round(time * 1e6)


class Model:
    def __init__(self, incast: Incast) -> None:
        self.given = incast
        self.env = simpy.Environment()
        hosts = [("host", n) for n in range(incast.senders + 1)]
        trunks = [("trunk", n) for n in range(incast.hops - 1)]
        self.wires: list[tuple[str, int]] = [*hosts, *trunks, ("out", 0), ("out", 1)]
        self.news = {wire: self.env.event() for wire in self.wires}
        self.queues: dict[Any, deque[dict[str, Any]]] = defaultdict(deque)
        self.paused: set[Any] = set()
        self.stopped: dict[Any, int] = {}
        self.credits: dict[Any, int] = defaultdict(lambda: incast.credits or 0)
        self.held: dict[Any, int] = defaultdict(int)
        self.reserved: dict[Any, int] = defaultdict(int)
        self.queued: dict[Any, int] = defaultdict(int)
        self.used: dict[int, int] = defaultdict(int)
        self.there: dict[int, int] = defaultdict(int)
        self.finish = [-1 if incast.counts[int(n == incast.senders)] else 0 for n in range(incast.senders + 1)]
        self.dropped = self.stops = self.pause_time = self.peak = self.reserve_peak = 0
        for kind, n in hosts:
            victim = n == incast.senders
            count = incast.counts[int(victim)]
            for frame in range(count):
                size = incast.last[int(victim)] if frame == count - 1 else incast.full
                entry = {"host": n, "size": size, "class": incast.classes - 1 if victim else 0}
                self.queues[(kind, n), entry["class"]].append(entry)
        for wire in self.wires:
            self.env.process(self.send(wire))

    def rate(self, wire: tuple[str, int]) -> float:
        return self.given.rates[("host", "trunk", "out").index(wire[0])]

    def switch_after(self, wire: tuple[str, int]) -> int:
        return 0 if wire[0] == "host" else wire[1] + 1

    def forwarding(self, wire: tuple[str, int], size: int) -> int:
        following = self.given.rates[2 if self.switch_after(wire) == self.given.hops - 1 else 1]
        rate = self.rate(wire)
        return fs(max(min(self.given.awaited, size) / rate, size / rate - size / following))

    def group(self, kind: int) -> int:
        return kind if self.given.pauses_classes else 0

    def limit(self, switch: int) -> float:
        given = self.given
        return (
            given.buffer
            if given.alpha == math.inf
            else min(given.alpha * (given.buffer - self.used[switch]), given.buffer)
        )

    def tell(self, wire: tuple[str, int], delay: int, what: Any) -> Iterator[Any]:
        """A note to the sender at the other end of a wire."""
        yield self.env.timeout(delay)
        what()
        self.wake(wire)

    def wake(self, wire: tuple[str, int]) -> None:
        event, self.news[wire] = self.news[wire], self.env.event()
        event.succeed()

    def send(self, wire: tuple[str, int]) -> Iterator[Any]:
        given = self.given
        turn = 0
        while True:
            for kind in sorted(range(given.classes), key=lambda kind: (kind - turn) % given.classes):
                queue = self.queues[wire, kind]
                if not queue or (given.pause and (wire, self.group(kind)) in self.paused):
                    continue
                needed = math.ceil(queue[0]["size"] / given.credit_size)
                if given.credits is not None and wire[0] != "out":
                    if self.credits[wire, kind] < needed:
                        continue
                    self.credits[wire, kind] -= needed
                break
            else:
                yield self.news[wire]
                continue
            frame = queue.popleft()
            turn = (kind + 1) % given.classes
            duration = fs((frame["size"] + given.gap) / self.rate(wire))
            leaving = dict(frame)
            self.env.process(self.fly(wire, frame, duration))
            yield self.env.timeout(duration)
            if wire[0] != "host":
                self.release(wire, kind, leaving)

    def release(self, wire: tuple[str, int], kind: int, frame: dict[str, Any]) -> None:
        given = self.given
        switch = wire[1] if wire[0] == "trunk" else given.hops - 1
        came_by, line = frame["line"]
        line = (came_by, line)
        self.queued[wire, kind] -= frame["size"]
        if frame["reserved"]:
            self.reserved[line] -= frame["size"]
        else:
            self.used[switch] -= frame["size"]
            self.held[line] -= frame["size"]
        if given.credits is not None:
            returned = math.ceil(frame["size"] / given.credit_size)

            def give() -> None:
                self.credits[came_by, frame["class"]] += returned

            self.env.process(self.tell(came_by, given.back, give))
            return
        go_on = max(given.ratio * self.limit(switch) - 2 * (given.full + given.gap), 0)
        for line in self.lines_into(switch):
            waits = line in self.stopped and not self.reserved[line]
            if waits and self.held[line] <= go_on and self.used[switch] <= self.spare(switch):
                self.pause_time += self.env.now - self.stopped.pop(line)
                self.env.process(self.go_on(line))

    def go_on(self, line: Any) -> Iterator[Any]:
        yield from self.tell(line[0], self.reaction(line[0]), lambda: self.paused.discard(line))

    def lines_into(self, switch: int) -> list[Any]:
        wires = self.wires[: self.given.senders + 1] if switch == 0 else [("trunk", switch - 1)]
        groups = self.given.classes if self.given.pauses_classes else 1
        return [(wire, group) for wire in wires for group in range(groups)]

    def spare(self, switch: int) -> float:
        """What may be used while there is still room for a frame of each line."""
        return max(self.given.buffer - self.given.full * len(self.lines_into(switch)), 0)

    def reaction(self, wire: tuple[str, int]) -> int:
        return max(self.given.pause_delay - self.given.flight - self.forwarding(wire, self.given.full), 0)

    def fly(self, wire: tuple[str, int], frame: dict[str, Any], duration: int) -> Iterator[Any]:
        given = self.given
        if wire[0] == "out":
            yield self.env.timeout(given.flight + duration)
            host = frame["host"]
            self.there[host] += 1
            if self.there[host] == given.counts[int(host == given.senders)]:
                self.finish[host] = self.env.now
            return
        yield self.env.timeout(given.flight + self.forwarding(wire, frame["size"]))
        switch, size = self.switch_after(wire), frame["size"]
        line = (wire, self.group(frame["class"]))
        out = ("out", int(frame["host"] == given.senders)) if switch == given.hops - 1 else ("trunk", switch)
        frame |= {"line": line, "reserved": given.pause and line in self.stopped}
        if frame["reserved"]:
            fits = self.reserved[line] + size <= given.reserves[int(wire[0] == "trunk")]
        elif given.credits is not None:
            fits = True
        else:
            fits = self.used[switch] + size <= given.buffer
            if not given.pause:
                fits = fits and self.queued[out, frame["class"]] + size <= self.limit(switch)
        if not fits:
            self.dropped += 1
            return
        if frame["reserved"]:
            self.reserved[line] += size
            self.reserve_peak = max(self.reserve_peak, self.reserved[line])
        else:
            self.used[switch] += size
            self.held[line] += size
            self.peak = max(self.peak, self.used[switch])
        self.queued[out, frame["class"]] += size
        too_full = self.held[line] > given.ratio * self.limit(switch) or self.used[switch] > self.spare(switch)
        if given.pause and line not in self.stopped and too_full:
            self.stopped[line] = self.env.now
            self.stops += 1
            self.env.process(self.tell(wire, self.reaction(wire), lambda: self.paused.add(line)))
        yield self.env.timeout(given.fixed)
        self.queues[out, frame["class"]].append(frame)
        self.wake(out)


def run(incast: Incast) -> tuple[list[int], list[int]]:
    """When each message is there (-1: never), and frames dropped, pauses, their time, the most bytes in a switch and in
    a reserve."""
    model = Model(incast)
    model.env.run()
    return model.finish, [model.dropped, model.stops, model.pause_time, model.peak, model.reserve_peak]
