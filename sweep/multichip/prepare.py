"""From a program's file to the tables that its simulation takes, and what the file says of parameters."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from sweep.multichip import workload
from sweep.multichip.generators import GENERATORS
from sweep.multichip.graph import NO_GRAPH, NO_PROGRAM, TOO_FEW_CHIPS, Graph, Settings, graph_of
from sweep.multichip.program import Maker, Program, Queues, chips_of
from sweep.multichip.program_file import OF_PROGRAM, read_program
from sweep.registry import ARGUMENTS, GIVEN, Choices, Parameter, parameter, prepared

program = parameter(
    reads=read_program,
    doc="Program of several chips, a YAML file with the commands of each engine, or a generator that makes them",
    source="design note, section CDMA",
)
recv_issue = parameter(
    choices=("posted", "blocking"),
    default="posted",
    doc="Whether a RECV lets its engine go on at once, or once its data are there",
    source="design note, SEND and RECV",
)
PROGRAMMED: Choices = {"program": GIVEN}
WORKLOAD = tuple(name for name, value in vars(workload).items() if isinstance(value, Parameter))
SETTINGS = tuple(Settings.__dataclass_fields__)


def value_of_program(name: str) -> Callable[[Program], Any]:
    """The function that reads a parameter from a program."""

    def value(program: Program) -> Any:
        """What the program says, or the default."""
        return program.values.get(name, OF_PROGRAM[name].default)

    return value


def label_of_program(name: str) -> Callable[[Program], set[str]]:
    """The function that says which label of a choice comes out of a program."""

    def labels(program: Program) -> set[str]:
        """The only label."""
        return {value_of_program(name)(program)}

    return labels


# Each parameter that a program may set has a giver of its own, all alike.
globals().update(
    {
        f"{name}_of_program": prepared(
            name, when=PROGRAMMED, among=label_of_program(name) if OF_PROGRAM[name].is_choice else None
        )(value_of_program(name))
        for name in OF_PROGRAM
    }
)


@lru_cache(maxsize=4)
def queues_of(program: Program, chips: int, values: tuple[Any, ...]) -> Queues:
    """The commands of a program for so many chips."""
    if not program.generator:
        return program.queues
    maker = Maker(chips)
    GENERATORS[program.generator](maker, dict(zip(WORKLOAD, values, strict=True)))
    return maker.queues


@lru_cache(maxsize=64)
def built(program: Program | None, chip_count: float, *values: Any) -> Graph:
    """The graph of a program, `values` those of its workload and then of its settings."""
    if program is None:
        return NO_GRAPH[NO_PROGRAM]
    queues = queues_of(program, int(chip_count), values[: len(WORKLOAD)])
    if chips_of(queues) > chip_count:
        return NO_GRAPH[TOO_FEW_CHIPS]
    return graph_of(queues, Settings(*values[len(WORKLOAD) :]))


BUILT = ("program", "chip_count", *WORKLOAD, *SETTINGS)
"""What `built` takes."""


def part_of_graph(name: str) -> Callable[..., Any]:
    """The function that builds a graph and gives a part of it."""

    def value(*arguments: Any) -> Any:
        """Part of the graph of the program."""
        return getattr(built(*arguments), name)

    value.__dict__[ARGUMENTS] = BUILT
    return value


nodes_of_program = prepared("program_nodes", unit="1", dims=("program_node", "node_column"), internal=True)(
    part_of_graph("nodes")
)
edges_of_program = prepared("program_edges", unit="1", dims=("program_edge", "edge_column"), internal=True)(
    part_of_graph("edges")
)
commands_of_program = prepared("program_commands", unit="1", dims=("program_command", "command_column"), internal=True)(
    part_of_graph("commands")
)
fault_of_program = prepared("program_fault", unit="1", internal=True)(part_of_graph("fault"))
bytes_of_program = prepared("program_bytes", unit="B", internal=True)(part_of_graph("bytes"))
length_of_program = prepared("program_length", unit="1", internal=True)(part_of_graph("length"))
