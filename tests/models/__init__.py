"""Physics of the shipped models against hand arithmetic, brute force and published numbers.

What the files share: one point of the models with its status, and a message followed frame by frame.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
import yaml

import sweep
from sweep.catalog import default_registry
from sweep.engine.graph import Graph, resolve
from sweep.engine.point import evaluate

BARE = {"min_frame": 0, "line_gap": 0}

Number = int | Fraction


@dataclass(frozen=True)
class Point:
    value: Any
    status: str


def points(outputs: tuple[str, ...], **given: Any) -> dict[str, Point]:
    """Some outputs with their statuses, evaluated in plain Python."""
    if not all(isinstance(value, (int, float, str)) for value in given.values()):  # tables, and what files hold
        graph = resolve(default_registry(), outputs, given, {})
    else:
        graph = _graph(outputs, tuple((name, value if isinstance(value, str) else 0) for name, value in given.items()))
    values, statuses = evaluate(graph, given)
    return {output: Point(values[output], statuses[graph.owner[output]]) for output in outputs}


def point(output: str, **given: Any) -> Point:
    """One output with its status, evaluated in plain Python."""
    return points((output,), **given)[output]


@cache
def _graph(outputs: tuple[str, ...], given: tuple[tuple[str, Any], ...]) -> Graph:
    return resolve(default_registry(), outputs, dict(given), {})


@cache
def preset(name: str) -> Mapping[str, Any]:
    """Parameter values of a shipped preset."""
    text = (Path(sweep.__file__).parent / "presets" / f"{name}.yaml").read_text(encoding="utf-8")
    return MappingProxyType(yaml.safe_load(text)["parameters"])


def close(expected: Any) -> Any:
    """Equal up to the rounding of a few operations."""
    return pytest.approx(float(expected), rel=1e-12, abs=0)


@dataclass(frozen=True)
class Frame:
    """Bytes of one frame with padding, and of the line time it takes."""

    size: int
    pitch: int


def cut(message: int, payload: int, overhead: int, minimum: int = 0, gap: int = 0) -> list[Frame]:
    """The frames of a message, cut off one after the other."""
    frames = []
    while message > 0:
        carried = min(message, payload)
        size = max(carried + overhead, minimum)
        frames.append(Frame(size, size + gap))
        message -= carried
    return frames


def cells(frame: Frame, credit_size: int) -> int:
    """Credits that a frame takes."""
    return -(-frame.size // credit_size)


def starts(
    frames: Sequence[Frame],
    *,
    rate: Number,
    credit_size: int,
    credits: int,
    channels: int,
    latency: Number,
    drain: Number,
    back: Number,
) -> list[Fraction] | None:
    """When each frame starts; None if one needs more credits than exist.

    Frames go on the channels in turn. Going back over the earlier frames of its channel, the first one whose credits
    no longer fit beside those of the new frame must have returned. The receiver drains one frame at a time, in order.
    """
    needs = [cells(frame, credit_size) for frame in frames]
    if max(needs, default=0) > credits:
        return None
    started: list[Fraction] = []
    returned: list[Fraction] = []
    wire_free = drained = Fraction(0)
    for i, frame in enumerate(frames):
        start = wire_free
        held = needs[i]
        for j in range(i - channels, -1, -channels):
            held += needs[j]
            if held > credits:
                start = max(start, returned[j])
                break
        started.append(start)
        wire_free = start + Fraction(frame.pitch) / rate
        drained = max(drained, wire_free + latency) + drain
        returned.append(drained + back)
    return started


def ready_times(
    frames: Sequence[Frame], rates: Sequence[Number], forwarding: str, started: Sequence[Fraction] | None = None
) -> list[Fraction]:
    """When each frame of a message may start on the last of some links in a row; the switches between take no time.

    A switch may send a frame on once it has its first 64 bytes, or all of it, and not so early that it would run out of
    bytes. Frames start on the first link when they are said to have `started`, or back to back, and leave each switch
    in order.
    """
    free = [Fraction(0)] * len(rates)
    ready = []
    for number, frame in enumerate(frames):
        start = free[0] if started is None else started[number]
        for link, rate in enumerate(rates):
            if link > 0:
                rate_in = Fraction(rates[link - 1])
                awaited = min(64, frame.size) if forwarding == "cut_through" else frame.size
                start += max(awaited / rate_in, frame.size / rate_in - Fraction(frame.size) / rate)
            if link == len(rates) - 1:
                ready.append(start)
            start = max(start, free[link])
            free[link] = start + Fraction(frame.pitch) / rate
    return ready


def delivered(
    frames: Sequence[Frame],
    rates: Sequence[Number],
    forwarding: str,
    senders: int = 1,
    started: Sequence[Fraction] | None = None,
) -> Fraction:
    """When the last link is done with a message, or with one each of several senders that share only that link."""
    free = Fraction(0)
    for ready, frame in zip(ready_times(frames, rates, forwarding, started), frames, strict=True):
        for _ in range(senders):
            free = max(free, ready) + Fraction(frame.pitch) / rates[-1]
    return free
