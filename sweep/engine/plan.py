"""What is computed where: which values get an array, which loop nests fill them, over which axes.

Every wanted output has an array with the axes that it depends on. So do *staged* values: those that a deeper nest
would compute again and again for indices that they do not depend on. A nest is made for each set of axes.
"""

from __future__ import annotations

import ast
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sweep.axis import Axis
from sweep.engine.embed import source_of
from sweep.engine.graph import Graph, Node, resolve
from sweep.registry import Coordinates, Registry

STAGE_FROM_POINTS = 100_000
"""Nests with fewer iterations stage only what is marked costly: compiling more nests would cost more than it saves."""
STAGE_REUSE = 8
"""A cheap value is staged only where each of its elements is used at least this often."""
STAGE_BYTES = 1 << 22
"""A cheap value is staged only if what is read again between two uses of an element stays in the cache."""
STAGE_COST = 4
"""A cheap value is staged only if computing it costs at least this much; see `cost`."""


@dataclass(frozen=True)
class Nest:
    """One loop nest: its axes from outer to inner, what it computes in order, what it reads and writes.

    `status_reads` and `status_stages` are nodes of which the status alone is read or written.
    """

    name: str
    dims: tuple[str, ...]
    nodes: tuple[str, ...]
    reads: tuple[str, ...]
    status_reads: tuple[str, ...]
    stages: tuple[str, ...]
    status_stages: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """All that is known before computing. `dims` has the axes of every value, extra dimensions excluded."""

    graph: Graph
    axes: Mapping[str, Axis]
    dims: Mapping[str, tuple[str, ...]]
    prepared: tuple[str, ...]
    nests: tuple[Nest, ...]
    fixed: Mapping[str, Any]
    axis_of: Mapping[str, str]

    def __repr__(self) -> str:
        axes = " x ".join(f"{dim} {axis.size}" for dim, axis in self.axes.items()) or "one point"
        return f"Plan({', '.join(self.graph.outputs)} over {axes})"

    def shape(self, name: str) -> tuple[int, ...]:
        """Shape of a value's array, extra dimensions included."""
        extra = self.extra_dims(name)
        return tuple(self.axes[dim].size for dim in self.dims[name]) + tuple(len(points) for points in extra.values())

    def value_of(self, node: str) -> str:
        """The name of a value of a node, the first if it has several; all have the same axes."""
        return next(iter(self.graph.nodes[node].quantity.outputs))

    def extra_dims(self, name: str) -> dict[str, Coordinates]:
        """Extra dimensions of an output with their coordinates."""
        node = self.graph.nodes[self.graph.owner[name]]
        return {dim: node.quantity.dims[dim] for dim in self.graph.output(name).dims}

    def points(self, dims: Sequence[str]) -> int:
        """Iterations of a nest over some axes."""
        return math.prod(self.axes[dim].size for dim in dims)

    @property
    def status_dims(self) -> tuple[str, ...]:
        """Axes of `status`: those of all outputs together, in the order of the grid."""
        used = {dim for name in self.graph.outputs for dim in self.dims[name]}
        return tuple(dim for dim in self.axes if dim in used)

    def output_bytes(self, name: str) -> int:
        """Bytes of an output's array."""
        return math.prod(self.shape(name)) * (1 if self.graph.output(name).categories else 8)

    def result_bytes(self, statuses: Sequence[str] = ()) -> int:
        """Bytes of all result arrays: outputs, `status`, and the statuses that some outputs have apart."""
        arrays = [self.output_bytes(name) for name in self.graph.outputs]
        return sum(arrays) + self.points(self.status_dims) + sum(self.points(self.dims[name]) for name in statuses)

    def needed_bytes(self, statuses: Sequence[str] = ()) -> int:
        """Bytes that computing takes: result arrays, and those that pass values and statuses from nest to nest."""
        values = [name for nest in self.nests for name in nest.stages]
        kept_statuses = [self.value_of(name) for nest in self.nests for name in nest.status_stages]
        kept = sum(map(self.output_bytes, values)) + sum(self.points(self.dims[name]) for name in kept_statuses)
        return self.result_bytes(statuses) + kept


def make_plan(registry: Registry, outputs: Sequence[str], axes: Sequence[Axis], fixed: Mapping[str, Any]) -> Plan:
    """Plan a grid: `axes` from outer to inner, `fixed` values of parameters that are not axes."""
    by_name = {axis.name: axis for axis in axes}
    axis_of = {parameter: axis.name for axis in axes for parameter in axis.members}
    varying = {
        parameter: values if isinstance(values, tuple) else None
        for axis in axes
        for parameter, values in axis.members.items()
    }
    graph = resolve(registry, outputs, fixed, varying)
    values = {**{name: parameter.default for name, parameter in graph.parameters.items()}, **fixed}
    values = {name: value for name, value in values.items() if name not in axis_of}
    dims = _dims(graph, by_name, axis_of)
    stages = _Staging(graph, by_name, dims)
    prepared = tuple(name for name, node in graph.nodes.items() if node.quantity.kind == "prepared")
    return Plan(graph, by_name, dims, prepared, stages.nests(), values, axis_of)


def _dims(graph: Graph, axes: Mapping[str, Axis], axis_of: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Axes that each parameter and value depends on, in the order of the grid."""
    dims: dict[str, tuple[str, ...]] = {}
    for name in graph.parameters:
        dims[name] = (axis_of[name],) if name in axis_of else ()
    for node in graph.nodes.values():
        used = {dim for name in (*node.selectors, *node.inputs) for dim in dims[name]}
        for output in node.quantity.outputs:
            dims[output] = tuple(dim for dim in axes if dim in used)
    return dims


@dataclass
class _Draft:
    """A nest in the making."""

    dims: tuple[str, ...]
    nodes: set[str] = field(default_factory=set)
    reads: set[str] = field(default_factory=set)
    status_reads: set[str] = field(default_factory=set)
    stages: set[str] = field(default_factory=set)
    status_stages: set[str] = field(default_factory=set)
    outputs: set[str] = field(default_factory=set)


class _Staging:
    """Decides which values get an array of their own, and draws up the nests."""

    def __init__(self, graph: Graph, axes: Mapping[str, Axis], dims: Mapping[str, tuple[str, ...]]) -> None:
        self.graph = graph
        self.axes = axes
        self.dims = dims
        self.drafts: dict[tuple[str, ...], _Draft] = {}

    def nests(self) -> tuple[Nest, ...]:
        """The nests, fewest axes first: a nest reads only values with fewer axes than its own."""
        for name in self.graph.outputs:
            self.draft(self.dims[name]).outputs.add(name)
        for name in self.graph.outputs:
            self.need(name, self.draft(self.dims[name]))
        order = list(self.graph.owner)
        position = {dim: index for index, dim in enumerate(self.axes)}
        drafts = sorted(self.drafts.values(), key=lambda draft: (len(draft.dims), [position[x] for x in draft.dims]))
        return tuple(
            Nest(
                f"nest_{index}",
                draft.dims,
                tuple(name for name in self.graph.nodes if name in draft.nodes),
                tuple(sorted(draft.reads, key=order.index)),
                tuple(name for name in self.graph.nodes if name in draft.status_reads),
                tuple(sorted(draft.stages, key=order.index)),
                tuple(name for name in self.graph.nodes if name in draft.status_stages),
                tuple(name for name in self.graph.outputs if name in draft.outputs),
            )
            for index, draft in enumerate(drafts, 1)
        )

    def draft(self, dims: tuple[str, ...]) -> _Draft:
        return self.drafts.setdefault(dims, _Draft(dims))

    def need(self, value: str, nest: _Draft) -> None:
        """Make a value available in a nest: read it from an array, or compute it there."""
        owner = self.graph.owner.get(value)
        if owner is None or owner in nest.nodes or value in nest.reads:
            return
        node = self.graph.nodes[owner]
        if node.quantity.kind == "prepared":
            nest.reads.add(value)
            return
        dims = self.dims[value]
        if dims != nest.dims and self.is_staged(node, nest):
            nest.reads.add(value)
            home = self.draft(dims)
            home.stages.add(value)
            self.need(value, home)
            for source in self.graph.sources[owner]:
                self.need_status(source, nest)
            return
        nest.nodes.add(owner)
        for name in (*node.selectors, *node.inputs):
            self.need(name, nest)

    def need_status(self, source: str, nest: _Draft) -> None:
        """Make the status of a node available in a nest: again in an outer loop where it is known, else by reading."""
        value = next(iter(self.graph.nodes[source].quantity.outputs))
        dims = self.dims[value]
        known_outside = not self.graph.nodes[source].quantity.costly and nest.dims[-1:] != dims[-1:]
        if source in nest.nodes or dims == nest.dims or known_outside:
            self.need(value, nest)
            return
        nest.status_reads.add(source)
        home = self.draft(dims)
        home.status_stages.add(source)
        self.need(value, home)

    def is_staged(self, node: Node, nest: _Draft) -> bool:
        name = next(iter(node.quantity.outputs))
        if node.quantity.costly:
            return True
        dims = self.dims[name]
        points, own_points = self.points(nest.dims), self.points(dims)
        if points < STAGE_FROM_POINTS or nest.dims[-1:] != dims[-1:]:
            return False
        outermost_missing = next(i for i, dim in enumerate(nest.dims) if dim not in dims)
        again = self.points(tuple(dim for dim in nest.dims[outermost_missing:] if dim in dims))
        worthwhile = points >= STAGE_REUSE * own_points and again * 8 <= STAGE_BYTES
        return worthwhile and self.cost(node, dims[-1]) >= STAGE_COST

    def cost(self, node: Node, innermost: str) -> int:
        """What a node and its inputs cost in the innermost loop, in additions, roughly."""
        total, todo, seen = 0, [node], set()
        while todo:
            current = todo.pop()
            name = current.quantity.name
            if name in seen or innermost not in self.dims[next(iter(current.quantity.outputs))]:
                continue
            seen.add(name)
            total += max((cost(branch.variant.function) for branch in current.branches), default=0)
            todo += [self.graph.nodes[self.graph.owner[x]] for x in current.inputs if x in self.graph.owner]
        return total

    def points(self, dims: tuple[str, ...]) -> int:
        return math.prod(self.axes[dim].size for dim in dims)


@functools.cache
def cost(function: Callable[..., Any]) -> int:
    """What a function costs, in additions, roughly: 4 for a division, a call, a branch or a loop; 1 for the rest."""
    tree = ast.parse(source_of(function))
    dear = (ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.Call, ast.For, ast.While)
    cheap = (ast.Add, ast.Sub, ast.Mult, ast.IfExp, ast.Compare)
    return sum(4 if isinstance(x, dear) else 1 if isinstance(x, cheap) else 0 for x in ast.walk(tree))
