"""A program of one point, command by command: what waits for ever, and a file for trace viewers.

The file has the JSON of the Trace Event Format, which Perfetto and chrome://tracing open: a process for each chip, a
thread for each engine of its cores, more where commands overlap, a slice for each command, and an arrow from each SEND
to its RECV. Times there are in us. Source: Google, Trace Event Format, 2016.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from sweep.engine.execute import execute
from sweep.engine.graph import resolve
from sweep.engine.news import Announce, ignore
from sweep.engine.plan import make_plan
from sweep.engine.point import evaluate
from sweep.errors import Fault, InputError
from sweep.events.fabrics import NO_WAY
from sweep.events.simulation import DONE, GIVEN_UP
from sweep.file import content_of
from sweep.grid.reader import Grid
from sweep.multichip.chips import given_up, has_no_program, leads_nowhere
from sweep.multichip.engines import ENGINES
from sweep.multichip.graph import commands_in_a_circle
from sweep.multichip.hardware import has_no_network
from sweep.multichip.prepare import BUILT, WORKLOAD, built, queues_of
from sweep.multichip.program import OPS, Command, paired, place_of
from sweep.registry import Registry, first_line

RECORDS = "program_records"


@dataclass(frozen=True)
class Record:
    """A command, where it is, and when it begins and ends, in ns; NaN where it does not."""

    chip: int
    core: int
    engine: str
    command: Command
    begin: float
    end: float

    @property
    def name(self) -> str:
        """What it does: in its own words, or its operation."""
        return self.command.source_op_id or (OPS[self.command.op] if self.command.op >= 0 else self.engine)

    @property
    def place(self) -> str:
        """Where it is, for people."""
        return place_of((self.chip, self.core, ENGINES.index(self.engine)), self.command)


@dataclass(frozen=True)
class Trace:
    """Records of a program by chip, core, engine and place, and for each SEND the number of its RECV.

    In a deadlock `waiting` has the commands that wait for each other, or the one whose message lacks `lacking` credits.
    """

    title: str
    records: tuple[Record, ...]
    pairs: Mapping[int, int]
    waiting: tuple[Record, ...] = ()
    lacking: float = 0.0

    @property
    def makespan(self) -> float:
        """Time until all is done, in ns; NaN where that is never."""
        return float(np.max([record.end for record in self.records], initial=0.0))


def trace(grid: Grid, announce: Announce = ignore) -> Trace:
    """Follow the program of the first point of a grid. Raises InputError where there is none to follow."""
    fixed = first_point(grid)
    graph = resolve(grid.registry, ["program_fault"], fixed, {})
    values, _ = evaluate(graph, fixed)
    arguments = {name: content_of(values[name]) for name in BUILT}
    if arguments["program"] is None:
        raise InputError([Fault(grid.name, "sets no program; write fixed: {program: FILE}, or --set program=FILE")])
    program = built(*arguments.values())
    if program.fault:
        reason = first_line(has_no_program)
        raise InputError([Fault(grid.name, f"infeasible. {reason}")])
    queues = queues_of(arguments["program"], int(arguments["chip_count"]), tuple(arguments[name] for name in WORKLOAD))
    names = ("record_begin", "record_end", "record_ending", "record_stuck", "record_lacking")
    plan = make_plan(with_commands(grid.registry, len(program.commands)), names, (), fixed)
    found = execute(plan, announce=announce)
    begins, ends, ending, stuck, lacking = (found.outputs[name] for name in names)
    check_ending(grid, int(found.status), float(ending))
    keys = [(queue, place) for queue in sorted(queues) for place in range(len(queues[queue]))]
    records = [
        Record(queue[0], queue[1], ENGINES[queue[2]], queues[queue][place], float(begin), float(end))
        for (queue, place), begin, end in zip(keys, begins, ends, strict=True)
    ]
    number = {key: row for row, key in enumerate(keys)}
    pairs = {number[send]: number[receive] for send, receive in paired(queues).items()}
    made = Trace(grid.title, tuple(records), pairs)
    if ending == DONE:
        return made
    owners = [program.owners[int(stuck)]] if stuck >= 0 else commands_in_a_circle(program)
    return replace(made, waiting=tuple(records[number[key]] for key in owners), lacking=max(float(lacking), 0.0))


def first_point(grid: Grid) -> dict[str, Any]:
    """Values of parameters at the first point of a grid."""
    return {**grid.fixed, **dict(firsts_of(grid))}


def firsts_of(grid: Grid) -> Iterator[tuple[str, Any]]:
    """Parameters along the axes of a grid, and the first value of each."""
    for axis in grid.axes:
        for name, values in axis.members.items():
            yield name, values[0] if isinstance(values, tuple) else float(values[0])


def with_commands(registry: Registry, count: int) -> Registry:
    """A registry in which records have a coordinate for each of so many commands."""
    extended = copy(registry)
    records = replace(registry.quantities[RECORDS], dims={"program_command": tuple(map(float, range(max(count, 1))))})
    extended.quantities = {**registry.quantities, RECORDS: records}
    return extended


def check_ending(grid: Grid, status: int, ending: float) -> None:
    """Raise InputError for a point without a program that could be followed."""
    if status:
        raise InputError([Fault(grid.name, f"infeasible. {first_line(has_no_network)}")])
    if ending == NO_WAY:
        raise InputError([Fault(grid.name, f"infeasible. {first_line(leads_nowhere)}")])
    if ending == GIVEN_UP:
        raise InputError([Fault(grid.name, f"over budget. {first_line(given_up)}")])


def lanes(records: Sequence[Record]) -> list[int]:
    """For each record of a queue the lowest lane in which it overlaps with none before it."""
    ends: list[float] = []
    found = []
    for record in records:
        lane = next((lane for lane, end in enumerate(ends) if end <= record.begin), len(ends))
        ends[lane : lane + 1] = [record.end]
        found.append(lane)
    return found


def queues_in(trace: Trace) -> Iterator[tuple[list[int], list[int]]]:
    """Numbers of the records of each queue that have begun and ended, and their lanes."""
    keys: dict[tuple[int, int, str], list[int]] = {}
    for number, record in enumerate(trace.records):
        if not math.isnan(record.end):
            keys.setdefault((record.chip, record.core, record.engine), []).append(number)
    for numbers in keys.values():
        yield numbers, lanes([trace.records[number] for number in numbers])


def trace_events(trace: Trace) -> str:
    """The text of a file for trace viewers."""
    events: list[dict[str, Any]] = []
    threads: dict[int, dict[str, Any]] = {}
    for chip in dict.fromkeys(record.chip for record in trace.records):
        events.append({"ph": "M", "name": "process_name", "pid": chip, "args": {"name": f"chip {chip}"}})
        events.append({"ph": "M", "name": "process_sort_index", "pid": chip, "args": {"sort_index": chip}})
    for numbers, own_lanes in queues_in(trace):
        first = trace.records[numbers[0]]
        line = (first.core * len(ENGINES) + ENGINES.index(first.engine)) * 1000
        for lane in sorted(set(own_lanes)):
            core = f"core {first.core} " if any(record.core for record in trace.records) else ""
            name = f"{core}{first.engine}" + (f" ({lane + 1})" if lane else "")
            place = {"pid": first.chip, "tid": line + lane}
            events.append({"ph": "M", "name": "thread_name", **place, "args": {"name": name}})
            events.append({"ph": "M", "name": "thread_sort_index", **place, "args": {"sort_index": line + lane}})
        for number, lane in zip(numbers, own_lanes, strict=True):
            threads[number] = {"pid": first.chip, "tid": line + lane}
            events.append(slice_of(trace.records[number], threads[number]))
    for identity, (send, receive) in enumerate(trace.pairs.items()):
        if send in threads and receive in threads:
            arrow = {"cat": "message", "name": "message", "id": identity}
            begin, end = trace.records[send].begin, trace.records[receive].end
            events.append({"ph": "s", **arrow, **threads[send], "ts": begin / 1000})
            events.append({"ph": "f", "bp": "e", **arrow, **threads[receive], "ts": end / 1000})
    return json.dumps({"displayTimeUnit": "ns", "otherData": {"title": trace.title}, "traceEvents": events}) + "\n"


def slice_of(record: Record, thread: Mapping[str, Any]) -> dict[str, Any]:
    """One command as a complete event."""
    command = record.command
    kind = OPS[command.op] if command.op >= 0 else record.engine
    about = {"cmd_id": command.cmd_id, "op_type": kind, command.measure: command.amount}
    if command.dep >= 0:
        about |= {"dep_engine": ENGINES[command.dep], "cmd_id_dep": command.dep_id}
    times = {"ts": record.begin / 1000, "dur": (record.end - record.begin) / 1000}
    return {"ph": "X", "name": record.name, "cat": kind, **thread, **times, "args": about}


def trace_lines(trace: Trace) -> list[str]:
    """What a person should know of a trace: how long it takes, or what waits for ever."""
    chips = len({record.chip for record in trace.records})
    what = f"{len(trace.records)} commands of {chips} {'chips' if chips != 1 else 'chip'}"
    if not trace.waiting:
        return [f"{what} in {trace.makespan:g} ns"]
    ended = sum(not math.isnan(record.end) for record in trace.records)
    lines = [f"deadlock: {what}, of which {ended} are done"]
    if trace.lacking:
        return [*lines, f"  {trace.waiting[0].place} waits for {trace.lacking:g} credits that nobody owes"]
    circle = [*trace.waiting, trace.waiting[0]]
    return lines + [f"  {later.place} waits for {earlier.place}" for later, earlier in pairwise(circle)]
