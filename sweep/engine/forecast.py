"""What is known of a plan before it runs: how many points will fail and why, how many steps its kernels take.

Whether a point fails is decided by predicates, and these need few values, on few axes. Only those values are computed,
in plain Python, each once per combination of its own axes. Where even that is too much, the longest axes are thinned
out evenly and counts are estimates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sweep.engine.embed import reject
from sweep.engine.graph import Branch, Node
from sweep.engine.plan import Plan
from sweep.registry import STATUS_CODE, STATUSES, Predicate, Variant, argument_names

MAX_COMBINATIONS = 100_000
"""Combinations of axis values that are looked at; more would take seconds."""

UNFORESEEN = ("undefined", "error")
"""Statuses that are not looked for: they need values, not conditions on the hardware."""


@dataclass(frozen=True)
class Failure:
    """A reason why points have no value: their status, the reason in words, how many of the grid's points there are."""

    status: str
    reason: str
    points: int


@dataclass(frozen=True)
class Forecast:
    """Failures, most points first; `exact` if every combination was looked at. `steps` has for each kernel node that
    declares them the steps that all its calls take together."""

    failures: tuple[Failure, ...]
    steps: dict[str, float]
    exact: bool


@dataclass(frozen=True)
class _Codes:
    """For each combination of some axes a status and the number of its reason: status * 2**16 + reason, 0 for ok."""

    dims: tuple[str, ...]
    array: NDArray[np.int32]


def forecast(plan: Plan) -> Forecast:
    """Count the points of a plan that will be infeasible, unstable or over budget."""
    positions = {dim: list(range(axis.size)) for dim, axis in plan.axes.items()}
    while True:
        try:
            return _Forecaster(plan, positions).forecast()
        except _TooManyError as error:
            longest = max(error.dims, key=lambda dim: len(positions[dim]))
            wanted = -(-len(positions[longest]) // 2)
            spots = np.linspace(0, plan.axes[longest].size - 1, wanted).round().astype(int)
            positions = {**positions, longest: spots.tolist()}


class _TooManyError(Exception):
    """More combinations of some axes than are looked at."""

    def __init__(self, dims: tuple[str, ...]) -> None:
        self.dims = dims


class _Forecaster:
    """Looks at some positions along each axis."""

    def __init__(self, plan: Plan, positions: Mapping[str, list[int]]) -> None:
        self.plan = plan
        self.graph = plan.graph
        self.positions = positions
        self.reasons: list[str] = []
        self.values: dict[str, tuple[tuple[str, ...], list[Any]]] = {}
        self.codes: dict[str, _Codes] = {}

    def forecast(self) -> Forecast:
        for node in self.graph.nodes.values():
            self.codes[node.quantity.name] = self.node_codes(node)
        total = self.worst([self.codes[self.graph.owner[name]] for name in self.graph.outputs])
        weight = self.plan.points(self.plan.status_dims) / total.array.size
        found, counts = np.unique(total.array, return_counts=True)
        failures = [
            Failure(STATUSES[code >> 16], self.reasons[code & 0xFFFF], round(count * weight))
            for code, count in zip(found.tolist(), counts.tolist(), strict=True)
            if code
        ]
        steps = {
            name: self.steps(node, node.quantity.steps)
            for name, node in self.graph.nodes.items()
            if node.quantity.steps and self.is_cheap(node.quantity.steps)
        }
        exact = all(len(self.positions[dim]) == axis.size for dim, axis in self.plan.axes.items())
        return Forecast(tuple(sorted(failures, key=lambda failure: -failure.points)), steps, exact)

    # Which conditions matter

    def failures(self, node: Node, variant: Variant) -> Iterable[tuple[str, Predicate]]:
        """The failures of a variant that are looked for: undefined values only where others, which may fail otherwise,
        are made of them."""
        for label, predicate in variant.fails.items():
            counts = label not in UNFORESEEN or node.quantity.name in self.inner_nodes
            if counts and self.is_cheap(predicate):
                yield label, predicate

    def is_cheap(self, function: Callable[..., Any]) -> bool:
        """Whether the arguments of a function come without running a kernel."""
        todo, seen = list(argument_names(function)), set()
        while todo:
            owner = self.graph.owner.get(todo.pop())
            if owner is None or owner in seen:
                continue
            seen.add(owner)
            if self.graph.nodes[owner].quantity.kind == "kernel":
                return False
            todo += self.graph.nodes[owner].inputs
        return True

    @cached_property
    def inner_nodes(self) -> set[str]:
        """Nodes that others with foreseen failures are made of."""
        inner: set[str] = set()
        for node in reversed(list(self.graph.nodes.values())):
            labels = {label for branch in node.branches for label in branch.variant.fails}
            if node.quantity.name in inner or node.missing or labels.difference(UNFORESEEN):
                inner.update(self.graph.owner[name] for name in node.inputs if name in self.graph.owner)
        return inner

    def axes_of(self, names: Iterable[str], more: Iterable[str] = ()) -> tuple[str, ...]:
        """The axes on which some values depend, and some more, in the order of the grid. Raises _TooManyError."""
        used = {dim for name in names for dim in self.plan.dims[name]}.union(more)
        dims = tuple(dim for dim in self.plan.axes if dim in used)
        if math.prod(len(self.positions[dim]) for dim in dims) > MAX_COMBINATIONS:
            raise _TooManyError(dims)
        return dims

    # Values

    def along(self, name: str, dims: tuple[str, ...]) -> list[Any]:
        """The values of a parameter or quantity, one for each combination of some axes that include its own."""
        own, values = self.value(name)
        return self.spread(own, np.fromiter(values, object, len(values)), dims).ravel().tolist()

    def spread(self, own: tuple[str, ...], array: NDArray[Any], dims: tuple[str, ...]) -> NDArray[Any]:
        """An array over its own axes as one over more of them, in the same order."""
        shape = [len(self.positions[dim]) for dim in dims]
        own_shape = [len(self.positions[dim]) if dim in own else 1 for dim in dims]
        return np.broadcast_to(array.reshape(own_shape), shape)

    def value(self, name: str) -> tuple[tuple[str, ...], list[Any]]:
        """Own axes and values of a parameter or quantity."""
        if name not in self.values:
            self.values[name] = self.parameter(name) if name not in self.graph.owner else self.quantity(name)
        return self.values[name]

    def parameter(self, name: str) -> tuple[tuple[str, ...], list[Any]]:
        if name not in self.plan.axis_of:
            value = self.plan.fixed[name]
            return (), [float(value) if isinstance(value, int) else value]
        dim = self.plan.axis_of[name]
        members = self.plan.axes[dim].members[name]
        values = members if isinstance(members, tuple) else members.tolist()
        return (dim,), [values[position] for position in self.positions[dim]]

    def quantity(self, name: str) -> tuple[tuple[str, ...], list[Any]]:
        dims = self.plan.dims[name]
        node = self.graph.nodes[self.graph.owner[name]]
        values = [math.nan] * math.prod(len(self.positions[dim]) for dim in dims)
        for branch in node.branches:
            for index, value in self.calls(branch.variant.function, dims, self.selected(node, branch, dims)):
                values[index] = value
        return dims, values

    def calls(
        self, function: Callable[..., Any], dims: tuple[str, ...], wanted: NDArray[np.bool_]
    ) -> Iterable[tuple[int, Any]]:
        """What a function returns for each wanted combination of some axes, with the combination's number.

        Where one of its arguments has failed it is not called, and where it cannot calculate the value is NaN.
        """
        names = argument_names(function)
        possible = wanted & (self.worst([self.codes_of(name) for name in names], dims).array == 0)
        columns = [self.along(name, dims) for name in names]
        for index in np.flatnonzero(possible.ravel()).tolist():
            try:
                yield index, function(*(column[index] for column in columns))
            except (ArithmeticError, ValueError):
                yield index, math.nan
            except Exception as error:
                raise reject(function, 1, f"{type(error).__name__}: {error}") from error

    def selected(self, node: Node, branch: Branch, dims: tuple[str, ...]) -> NDArray[np.bool_]:
        """Where the labels of choices select a branch."""
        shape = [len(self.positions[dim]) for dim in dims]
        if not node.selectors:
            return np.ones(shape, bool)
        columns = zip(*(self.along(selector, dims) for selector in node.selectors), strict=True)
        cases = set(branch.cases)
        return np.array([labels in cases for labels in columns], bool).reshape(shape)

    # Statuses

    def codes_of(self, name: str) -> _Codes:
        owner = self.graph.owner.get(name)
        return self.codes[owner] if owner is not None else _Codes((), np.zeros((), np.int32))

    def worst(self, codes: Sequence[_Codes], dims: tuple[str, ...] | None = None) -> _Codes:
        """The worst of some statuses for each combination of their axes, or of `dims`."""
        if dims is None:
            dims = self.axes_of((), {dim for code in codes for dim in code.dims})
        result = np.zeros([len(self.positions[dim]) for dim in dims], np.int32)
        for code in codes:
            np.maximum(result, self.spread(code.dims, code.array, dims), out=result)
        return _Codes(dims, result)

    def node_codes(self, node: Node) -> _Codes:
        """Status and reason of a node, on the axes that they depend on."""
        variants = [branch.variant for branch in node.branches]
        inherited = self.worst([self.codes_of(name) for name in node.inputs])
        conditions = [predicate for variant in variants for _, predicate in self.failures(node, variant)]
        if inherited.array.any():
            conditions += [variant.moot for variant in variants if variant.moot and self.is_cheap(variant.moot)]
        names = [name for condition in conditions for name in argument_names(condition)]
        dims = self.axes_of((*names, *node.selectors), inherited.dims)
        codes = np.zeros([len(self.positions[dim]) for dim in dims], np.int32)
        served = np.zeros(codes.shape, bool)
        for branch in node.branches:
            here = self.selected(node, branch, dims)
            served |= here
            codes[here] = self.branch_codes(node, branch.variant, dims, here)[here]
        if not served.all():
            codes[~served] = self.code("infeasible", f"{node.quantity.name} has no formula for this choice")
        return _Codes(dims, codes) if codes.any() else _Codes((), np.zeros((), np.int32))

    def branch_codes(
        self, node: Node, variant: Variant, dims: tuple[str, ...], here: NDArray[np.bool_]
    ) -> NDArray[np.int32]:
        own = [self.codes_of(name) for name in (*variant.inputs, *variant.failure_inputs)]
        codes = self.worst(own, dims).array
        if codes.any() and variant.moot and self.is_cheap(variant.moot):
            codes.flat[[index for index, holds in self.calls(variant.moot, dims, here) if holds]] = 0
        for label, predicate in self.failures(node, variant):
            code = self.code(label, f"{predicate_text(predicate)} ({node.quantity.name})")
            codes.flat[[index for index, fails in self.calls(predicate, dims, here & (codes == 0)) if fails]] = code
        return codes

    def code(self, status: str, reason: str) -> int:
        self.reasons.append(reason)
        return (STATUS_CODE[status] << 16) + len(self.reasons) - 1

    # Work

    def steps(self, node: Node, function: Callable[..., float]) -> float:
        """Steps of all calls of a kernel together, scaled up to the whole grid."""
        codes = self.codes[node.quantity.name]
        own = self.axes_of(argument_names(function), codes.dims)
        wanted = self.worst([codes], own).array == 0
        weight: float = self.plan.points(self.plan.dims[self.plan.value_of(node.quantity.name)]) / wanted.size
        return weight * math.fsum(steps for _, steps in self.calls(function, own, wanted))


def predicate_text(predicate: Callable[..., Any]) -> str:
    """The first line of a predicate's docstring, or its name."""
    return (predicate.__doc__ or predicate.__name__.replace("_", " ")).strip().partition("\n")[0].rstrip(".")
