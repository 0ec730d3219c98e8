"""Recorded traffic: which host of a switch sends how much to whom, and when, from a file.

The file is a table of values separated by commas. Its first line names the columns, in any order: `time_ns`, `source`,
`destination`, `size_B`, and if wanted `kind` (request, which is taken where there is none, or response). Each other
line is a message: from a host to another, both counted from 0, made at a time in ns, of so many bytes. Empty lines and
lines that begin with # say nothing.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sweep.errors import Fault, InputError, nearest
from sweep.registry import parameter, prepared

COLUMNS = ("time_ns", "source", "destination", "size_B", "kind")
KINDS = ("request", "response")
MOST_HOSTS = 4096
"""Hosts that a recording may number; a switch has fewer."""
MOST_BYTES = 2.0**50

Messages = NDArray[np.float64]
"""A row for each message: source, time in ns, destination, bytes, kind; by source, then by time."""

NOTHING: Messages = np.zeros((0, len(COLUMNS)))


def read_recording(text: str, name: str) -> Messages:
    """The messages of a file. Raises InputError that says what is wrong with which lines of it."""
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip() and line[0] != "#"]
    if not lines:
        raise InputError([Fault(name, f"has no line that names its columns, such as {','.join(COLUMNS)}")])
    number, line = lines[0]
    columns = [word.strip() for word in line.split(",")]
    faults = [
        Fault(f"{name}:{number}", f"{word!r} is not a column; there are {', '.join(COLUMNS)}{nearest(word, COLUMNS)}")
        for word in columns
        if word not in COLUMNS
    ]
    missing = [word for word in COLUMNS[:-1] if word not in columns]
    if missing and not faults:
        faults.append(Fault(f"{name}:{number}", f"the column {missing[0]} is missing"))
    if len(set(columns)) < len(columns) and not faults:
        faults.append(Fault(f"{name}:{number}", "a column stands here twice"))
    if faults:
        raise InputError(faults)
    order = [columns.index(word) if word in columns else -1 for word in COLUMNS]
    rows = []
    for number, line in lines[1:]:
        try:
            rows.append(message_of(line.split(","), order, len(columns)))
        except ValueError as error:
            faults.append(Fault(f"{name}:{number}", str(error)))
            if len(faults) == 20:
                break
    if faults:
        raise InputError(faults)
    if not rows:
        return NOTHING
    messages = np.array(rows)
    return messages[np.lexsort((messages[:, 1], messages[:, 0]))]


def message_of(words: list[str], order: list[int], columns: int) -> tuple[float, float, float, float, float]:
    """One line as a row of `Messages`; `order` has the place of each column, -1 for one that is not there. Raises
    ValueError."""
    if len(words) != columns:
        raise ValueError(f"has {len(words)} values, not {columns}")
    time, source, goal, size = (as_number(words[place], name) for place, name in zip(order, COLUMNS[:-1], strict=False))
    for name, host in (("source", source), ("destination", goal)):
        if not 0 <= host < MOST_HOSTS or host != math.floor(host):
            raise ValueError(f"{name} is a host, a whole number from 0 to {MOST_HOSTS - 1}, not {host:.17g}")
    if source == goal:
        raise ValueError(f"host {source:.0f} sends to itself, which does not pass the switch")
    if not 0 <= time < math.inf:
        raise ValueError(f"time_ns is a time from 0 on, not {time:g}")
    if not 0 <= size <= MOST_BYTES or size != math.floor(size):
        raise ValueError(f"size_B is a whole number of bytes from 0 to {MOST_BYTES:.0f}, not {size:.17g}")
    kind = words[order[4]].strip() if order[4] >= 0 else KINDS[0]
    if kind not in KINDS:
        raise ValueError(f"kind is one of {', '.join(KINDS)}, not {kind!r}{nearest(kind, KINDS)}")
    return source, time, goal, size, float(KINDS.index(kind))


def as_number(word: str, name: str) -> float:
    """The number that a word means. Raises ValueError."""
    try:
        return float(word)
    except ValueError:
        raise ValueError(f"{name} is a number, not {word.strip()!r}") from None


traffic_trace = parameter(
    reads=read_recording,
    doc="Messages of the hosts of a simulated switch, for switch_traffic trace: a file with the columns time_ns, "
    "source, destination, size_B and, if wanted, kind",
    source="",
)


def messages_of(traffic_trace: Messages | None) -> Messages:
    """The messages of a file, or none without one."""
    return NOTHING if traffic_trace is None else traffic_trace


@prepared(unit="1", dims=("trace_message", "trace_column"), internal=True)
def trace_messages(traffic_trace: Messages | None) -> Messages:
    """Recorded messages, as in `Messages`."""
    return messages_of(traffic_trace)


@prepared(unit="1", internal=True)
def trace_hosts(traffic_trace: Messages | None) -> float:
    """One more than the highest number of a host that recorded messages name."""
    return float(messages_of(traffic_trace)[:, [0, 2]].max(initial=-1.0) + 1)


@prepared(unit="ns", internal=True)
def trace_end(traffic_trace: Messages | None) -> float:
    """When the last of the recorded messages is made."""
    return float(messages_of(traffic_trace)[:, 1].max(initial=0.0))


@prepared(unit="1", internal=True)
def trace_frames(traffic_trace: Messages | None, max_payload: float) -> float:
    """Frames of the recorded messages; one without bytes has one."""
    return float(np.maximum(np.ceil(messages_of(traffic_trace)[:, 3] / max_payload), 1).sum())
