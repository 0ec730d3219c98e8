"""The link of `sweep.events.link`, written anew with SimPy: a process for the sender, and one for each frame."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

import simpy


@dataclass(frozen=True)
class Link:
    """Times in any whole unit; `credits` None for credits without end."""

    frames: int
    duration: int
    last_duration: int
    need: int
    last_need: int
    credits: int | None
    channels: int
    base: int
    span: int
    drain: int
    back: int


def finish_time(link: Link, broken: Collection[int] = ()) -> tuple[int, int]:
    """When a message is there whole, and how many frames were started; with go-back-N.

    `broken` says which starts break, counted from 0. Channels go in turn.
    """
    env = simpy.Environment()
    many = float("inf")
    stores = [simpy.Container(env, init=link.credits or many, capacity=many) for _ in range(link.channels)]
    drain = simpy.Resource(env)
    starts = 0
    goal = 0  # the frame that the receiver waits for
    arrived_last = link.base
    news: list[int] = []
    heard = env.event()

    def is_last(frame: int) -> bool:
        return frame == link.frames - 1

    def deliver(frame: int, whole: bool) -> Iterator[Any]:
        nonlocal goal, arrived_last
        yield env.timeout(link.span)
        taken = whole and frame == goal
        with drain.request() as turn:
            if taken:
                goal += 1
                arrived_last = env.now - link.span + link.base
            elif frame == goal and not whole:
                env.process(tell(frame))
            yield turn
            if taken:
                yield env.timeout(link.drain)
        yield env.timeout(link.back)
        yield stores[frame % link.channels].put(link.last_need if is_last(frame) else link.need)

    def tell(frame: int) -> Iterator[Any]:
        nonlocal heard
        yield env.timeout(link.back)
        news.append(frame)
        heard.succeed()
        heard = env.event()

    def send() -> Iterator[Any]:
        nonlocal starts
        frame = 0
        while goal < link.frames:
            if news:
                frame = news.pop()
            if frame == link.frames:
                yield heard
                continue
            need = link.last_need if is_last(frame) else link.need
            if link.credits is not None:
                asked = stores[frame % link.channels].get(need)
                yield asked | heard
                if not asked.triggered:
                    asked.cancel()
                    continue
                if news:
                    yield stores[frame % link.channels].put(need)
                    continue
            yield env.timeout(link.last_duration if is_last(frame) else link.duration)
            env.process(deliver(frame, starts not in broken))
            starts += 1
            frame += 1

    env.process(send())
    env.run()
    return arrived_last, starts
