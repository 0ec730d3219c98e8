"""The switch of `sweep.events.traffic`, written anew with SimPy: processes for hosts, wires and ports."""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import simpy

from sweep.events.chance import WORDS, unit, words
from sweep.events.shared_switch import BURSTS, INCAST, PERMUTATION, TRACE
from sweep.events.simulation import MARKS, TRAFFIC

CNP, ACK, REQUEST, RESPONSE = range(4)


@dataclass(frozen=True)
class Given:
    """Times in femtoseconds, sizes in bytes, rates in B/ns; `credits` None and `pause` False: frames are dropped."""

    ports: int
    pattern: int
    gap_between: float
    burst: int
    messages: tuple[tuple[float, ...], ...]
    payload: int
    overhead: int
    minimum: int
    response_share: float
    acknowledged: bool
    queue_of: tuple[int, ...]
    sizes: tuple[int, ...]
    gap: int
    rates: tuple[float, float]
    awaited: float
    fixed: int
    flight: int
    base: int
    pause: bool
    pauses_classes: bool
    credits: int | None
    credit_size: int
    back: int
    pause_delay: int
    reserve: float
    ratio: float
    buffer: float
    alpha: float
    marks: tuple[float, float]
    slows: bool
    notice_gap: int
    recovery: int
    increase: float
    gain: float
    request_weight: int
    seed: int


@dataclass
class Frame:
    kind: int
    source: int
    goal: int
    born: int
    size: int
    marked: bool = False
    came: int = 0
    stay: int = 0
    line: Any = None
    reserved: bool = False
    ready: int = 0


@dataclass
class Found:
    """Frames that arrive (when, kind, source, goal, when made, how long in the switch), and how often what happens."""

    frames: list[tuple[int, ...]] = field(default_factory=list)
    counted: int = 0
    drops: int = 0
    marks: int = 0
    pauses: int = 0
    notices: int = 0
    busy: int = 0
    deepest: int = 0
    since: int = 0
    until: int = 0


def fs(time: float) -> int:
    return round(time * 1e6)


class Model:
    def __init__(self, given: Given, skipped: int, wanted: int) -> None:
        self.given, self.skipped, self.wanted = given, skipped, wanted
        self.env = simpy.Environment()
        self.end = self.env.event()
        self.found = Found()
        self.counting = given.pattern == TRACE
        self.delivered = 0
        hosts = range(given.ports)
        self.own: dict[Any, deque[Frame]] = defaultdict(deque)
        self.waiting: dict[Any, deque[Frame]] = defaultdict(deque)
        self.credits: dict[Any, int] = defaultdict(lambda: given.credits or 0)
        self.paused: set[Any] = set()
        self.stopped: set[Any] = set()
        self.held: dict[Any, int] = defaultdict(int)
        self.reserved: dict[Any, int] = defaultdict(int)
        self.queued: dict[Any, int] = defaultdict(int)
        self.used = self.marking = 0
        self.rate = [given.rates[0] for _ in hosts]
        self.target = list(self.rate)
        self.cut = [1.0 for _ in hosts]
        self.pace = [0 for _ in hosts]
        self.timer: dict[int, Any] = {}
        self.noticed: dict[Any, float] = defaultdict(lambda: -math.inf)
        self.news = {(side, host): self.env.event() for side in ("host", "port") for host in hosts}
        for host in hosts:
            self.env.process(self.make(host))
            self.env.process(self.wire(("host", host)))
            self.env.process(self.wire(("port", host)))

    def wake(self, who: tuple[str, int]) -> None:
        event, self.news[who] = self.news[who], self.env.event()
        event.succeed()

    def after(self, delay: int, what: Callable[[], None]) -> None:
        def process() -> Iterator[Any]:
            yield self.env.timeout(delay)
            what()

        self.env.process(process())

    def make(self, host: int) -> Iterator[Any]:
        """The messages of a host."""
        given = self.given
        if given.pattern == TRACE:
            yield from self.repeat(host)
        if given.pattern == TRACE or (given.pattern == INCAST and host == 0):
            return
        number = 0
        while True:
            a, b, whom, what = words(given.seed, TRAFFIC, number * given.ports + host)
            if number:
                others = (host + 1 + (int(whom) * (given.ports - 1) >> 32)) % given.ports
                goal = {INCAST: 0, PERMUTATION: (host + 1) % given.ports}.get(given.pattern, others)
                kind = RESPONSE if what < given.response_share * WORDS else REQUEST
                for _ in range(given.burst if given.pattern == BURSTS else 1):
                    self.own[host, given.queue_of[kind]].append(
                        Frame(kind, host, goal, self.env.now, given.sizes[kind])
                    )
                self.wake(("host", host))
            yield self.env.timeout(round(-given.gap_between * math.log1p(-unit(a, b))))
            number += 1

    def repeat(self, host: int) -> Iterator[Any]:
        """The messages of a host in a trace."""
        given = self.given
        for source, time, goal, size, response in given.messages:
            if source != host:
                continue
            yield self.env.timeout(fs(time) - self.env.now)
            kind = RESPONSE if response else REQUEST
            for start in range(0, max(int(size), 1), given.payload):
                bytes_of_frame = max(min(int(size) - start, given.payload) + given.overhead, given.minimum)
                self.own[host, given.queue_of[kind]].append(Frame(kind, host, int(goal), self.env.now, bytes_of_frame))
            self.wake(("host", host))

    def wire(self, who: tuple[str, int]) -> Iterator[Any]:
        """What a host, or a port, sends."""
        given, (side, host) = self.given, who
        queues = max(given.queue_of) + 1
        lists = self.own if side == "host" else self.waiting
        requests = 0
        while True:
            order = list(range(queues))
            if queues == 4 and requests >= given.request_weight:
                order[2:] = [3, 2]
            wake = math.inf
            for queue in order:
                if not lists[host, queue]:
                    continue
                frame = lists[host, queue][0]
                if side == "port":
                    if frame.ready <= self.env.now:
                        break
                    wake = min(wake, frame.ready)
                    continue
                line = self.line(host, queue)
                needed = math.ceil(frame.size / given.credit_size)
                if line in self.paused or (given.credits is not None and self.credits[line] < needed):
                    continue
                if frame.kind >= REQUEST and self.pace[host] > self.env.now:
                    wake = min(wake, self.pace[host])
                    continue
                if given.credits is not None:
                    self.credits[line] -= needed
                break
            else:
                waits = [self.news[who]]
                if wake < math.inf:
                    waits.append(self.env.timeout(int(wake) - self.env.now))
                yield self.env.any_of(waits)
                continue
            lists[host, queue].popleft()
            requests = requests + 1 if queue == queues - 2 else 0
            yield from self.send(who, frame, queue)

    def line(self, host: int, queue: int) -> tuple[int, int]:
        apart = self.given.pauses_classes or self.given.credits is not None
        return host, queue if apart else 0

    def send(self, who: tuple[str, int], frame: Frame, queue: int) -> Iterator[Any]:
        given, (side, host) = self.given, who
        size = frame.size
        rate = given.rates[side == "port"]
        duration = fs((size + given.gap) / rate)
        if side == "host":
            if frame.kind >= REQUEST:
                self.pace[host] = self.env.now + fs((size + given.gap) / self.rate[host])
            frame.came = self.env.now + given.flight
            behind = fs(max(min(given.awaited, size) / rate, size / rate - size / given.rates[1]))
            self.after(given.flight + behind, lambda: self.enter(frame))
            yield self.env.timeout(duration)
            return
        frame.stay = self.env.now - frame.came
        if self.counting and (given.pattern != INCAST or host == 0):
            self.found.busy += duration
        self.after(duration + given.flight + given.base, lambda: self.deliver(frame))
        leaving = (size, frame.line, frame.reserved, (host, queue))
        yield self.env.timeout(duration)
        self.leave(*leaving)

    def limit(self) -> float:
        free = self.given.buffer - self.used
        return self.given.buffer if self.given.alpha == math.inf else min(self.given.alpha * free, self.given.buffer)

    def spare(self) -> float:
        apart = self.given.pauses_classes or self.given.credits is not None
        lines = self.given.ports * (max(self.given.queue_of) + 1 if apart else 1)
        return max(self.given.buffer - self.given.sizes[REQUEST] * lines, 0)

    def enter(self, frame: Frame) -> None:
        """A frame comes to the switch."""
        given, size = self.given, frame.size
        queue = frame.goal, given.queue_of[frame.kind]
        frame.line = self.line(frame.source, given.queue_of[frame.kind])
        frame.reserved = given.pause and frame.line in self.stopped
        if frame.reserved:
            fits = self.reserved[frame.line] + size <= given.reserve
        elif given.credits is not None:
            fits = True
        else:
            fits = self.used + size <= given.buffer
            if not given.pause:
                fits = fits and self.queued[queue] + size <= self.limit()
        if not fits:
            self.found.drops += self.counting
            return
        if frame.reserved:
            self.reserved[frame.line] += size
        else:
            self.used += size
            self.held[frame.line] += size
        if self.counting:
            self.found.deepest = max(self.found.deepest, self.used)
        low, high = given.marks
        if frame.kind >= REQUEST and low < math.inf and self.queued[queue] >= low:
            a, b, _, _ = words(given.seed, MARKS, self.marking)
            self.marking += 1
            if unit(a, b) * (high - low) <= self.queued[queue] - low:
                frame.marked = True
                self.found.marks += self.counting
        self.queued[queue] += size
        frame.ready = self.env.now + given.fixed
        self.waiting[queue].append(frame)
        self.wake(("port", frame.goal))
        too_full = self.held[frame.line] > given.ratio * self.limit() or self.used > self.spare()
        if given.pause and frame.line not in self.stopped and too_full:
            self.stopped.add(frame.line)
            self.found.pauses += self.counting
            self.after(self.reaction(), lambda: self.paused.add(frame.line))

    def reaction(self) -> int:
        given, size = self.given, self.given.sizes[REQUEST]
        behind = fs(max(min(given.awaited, size) / given.rates[0], size / given.rates[0] - size / given.rates[1]))
        return max(given.pause_delay - given.flight - behind, 0)

    def leave(self, size: int, line: tuple[int, int], reserved: bool, queue: tuple[int, int]) -> None:
        given = self.given
        self.queued[queue] -= size
        if reserved:
            self.reserved[line] -= size
        else:
            self.used -= size
            self.held[line] -= size
        if given.credits is not None:
            self.after(given.back, lambda: self.give(line, math.ceil(size / given.credit_size)))
            return
        go_on = max(given.ratio * self.limit() - 2 * (given.sizes[REQUEST] + given.gap), 0)
        for other in sorted(self.stopped):
            if not self.reserved[other] and self.held[other] <= go_on and self.used <= self.spare():
                self.stopped.remove(other)
                self.after(self.reaction(), lambda other=other: self.go(other))

    def give(self, line: tuple[int, int], count: int) -> None:
        self.credits[line] += count
        self.wake(("host", line[0]))

    def go(self, line: tuple[int, int]) -> None:
        self.paused.discard(line)
        self.wake(("host", line[0]))

    def deliver(self, frame: Frame) -> None:
        """A frame arrives at its goal."""
        given, host = self.given, frame.goal
        self.found.frames.append((self.env.now, frame.kind, frame.source, host, frame.born, frame.stay))
        if frame.kind == CNP:
            self.slow_down(host)
        if frame.kind < REQUEST:
            return
        self.delivered += 1
        if self.counting:
            self.found.counted += 1
            if self.found.counted == self.wanted:
                self.found.until = self.env.now
                self.end.succeed()
        elif self.delivered >= self.skipped:
            self.counting = True
            self.found.since = self.env.now
        answers = [ACK] if given.acknowledged else []
        if given.slows and frame.marked and self.env.now - self.noticed[host, frame.source] >= given.notice_gap:
            self.noticed[host, frame.source] = self.env.now
            answers.append(CNP)
        for kind in answers:
            self.own[host, given.queue_of[kind]].append(
                Frame(kind, host, frame.source, self.env.now, given.sizes[kind])
            )
        if answers:
            self.wake(("host", host))

    def slow_down(self, host: int) -> None:
        given = self.given
        self.target[host] = self.rate[host]
        self.rate[host] = max(self.rate[host] * (1 - self.cut[host] / 2), 1e-3 * given.rates[0])
        self.cut[host] = (1 - given.gain) * self.cut[host] + given.gain
        self.found.notices += self.counting
        self.timer[host] = token = object()
        self.env.process(self.come_back(host, token))

    def come_back(self, host: int, token: object) -> Iterator[Any]:
        given, step = self.given, 0
        while True:
            yield self.env.timeout(given.recovery)
            if self.timer[host] is not token:
                return
            step += 1
            self.cut[host] *= 1 - given.gain
            if step > 5:
                self.target[host] = min(self.target[host] + given.increase, given.rates[0])
            self.rate[host] = (self.rate[host] + self.target[host]) / 2
            if self.rate[host] > 0.999 * given.rates[0]:
                self.rate[host] = given.rates[0]
                self.wake(("host", host))
                return
            self.wake(("host", host))


def run(given: Given, skipped: int, wanted: int) -> Found:
    """What happens until so many data frames have arrived, after some that are not counted; with a trace until all is
    done."""
    model = Model(given, skipped, wanted)
    model.env.run(until=None if given.pattern == TRACE else model.end)
    return model.found
