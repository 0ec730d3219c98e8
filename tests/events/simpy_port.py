"""The port of `sweep.events.port`, written anew with SimPy: a process for each frame that waits for the port."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import simpy

Arrival = tuple[int, int]
"""When something comes, and how long the service of each of its frames takes."""


def waits(data: Sequence[Arrival], above: Sequence[Arrival], burst: int) -> tuple[list[int], list[int]]:
    """How long the first frames of messages wait, and small frames of the class above them, in order of arrival."""
    env = simpy.Environment()
    port = simpy.PriorityResource(env)
    waited: tuple[dict[int, int], dict[int, int]] = ({}, {})

    def frame(kind: int, number: int, arrival: Arrival, frames: int) -> Iterator[Any]:
        yield env.timeout(arrival[0])
        for each in range(frames):
            # Later frames of a message were there before any message that came after it.
            with port.request(priority=(kind, number, each)) as turn:
                yield turn
                if each == 0:
                    waited[kind][number] = env.now - arrival[0]
                yield env.timeout(arrival[1])

    for kind, arrivals, frames in ((0, above, 1), (1, data, burst)):
        for number, arrival in enumerate(arrivals):
            env.process(frame(kind, number, arrival, frames))
    env.run()
    return [waited[1][n] for n in range(len(data))], [waited[0][n] for n in range(len(above))]
