"""What is known of a plan before it runs: how many points will fail and why, how many steps its kernels take.

Whether a point fails is decided by predicates, and these need few values, on few axes. Only those values are computed,
in plain Python, each once per combination of its own axes. Where even that is too much, the longest axes are thinned
out evenly, each position stands for those around it, and counts are estimates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sweep.engine.embed import reject
from sweep.engine.graph import Branch, Node
from sweep.engine.plan import Plan
from sweep.file import content_of
from sweep.registry import STATUS_CODE, STATUSES, Predicate, Variant, argument_names, first_line

MAX_CALLS = 100_000
"""Combinations of axis values for which one function is called; more would take seconds."""
MAX_WEIGHED = 4096
"""Combinations of axis values for which the steps of kernels are worked out to put heavy ones first."""
MAX_COMBINATIONS = 1_000_000
"""Combinations of axis values for which statuses are kept apart."""

UNFORESEEN = ("undefined", "error")
"""Statuses that are not counted: they come of values, not of conditions on the hardware."""


@dataclass(frozen=True)
class Failure:
    """A reason why points have no value: their status, the reason in words, how many of the grid's points there are."""

    status: str
    reason: str
    points: int


@dataclass(frozen=True)
class Forecast:
    """What is known before computing.

    `failures`, most points first, are `exact` if every combination was looked at and nothing is `unknown`: a reason to
    fail that only a run can tell. `steps` has, for each kernel that declares them, those of all its calls together.
    """

    failures: tuple[Failure, ...]
    unknown: tuple[str, ...]
    steps: dict[str, float]
    exact: bool


@dataclass(frozen=True)
class _Codes:
    """For each combination of some axes a status and the number of its reason: status * 2**16 + reason, 0 for ok."""

    dims: tuple[str, ...]
    array: NDArray[Any]


NONE = _Codes((), np.zeros((), np.int32))


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


def steps_of_points(plan: Plan, nodes: Sequence[str]) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    """Steps that the kernels among some nodes take at a point: own axes and an array over them.

    0 for all where no kernel declares its steps, and where there are too many combinations to look at.
    """
    nothing = (), np.zeros(())
    positions = {dim: list(range(axis.size)) for dim, axis in plan.axes.items()}
    forecaster = _Forecaster(plan, positions)
    declared = [plan.graph.nodes[name].quantity.steps for name in nodes]
    counted = [steps for steps in declared if steps is not None and forecaster.is_cheap(steps)]
    if not counted:
        return nothing
    try:
        return forecaster.steps_at_points(counted)
    except _TooManyError:
        return nothing


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
        self.unknown: dict[str, dict[str, None]] = {}  # what cannot be told, and for which nodes
        self.values: dict[str, tuple[tuple[str, ...], NDArray[Any]]] = {}
        self.codes: dict[str, _Codes] = {}

    def forecast(self) -> Forecast:
        for node in self.graph.nodes.values():
            self.codes[node.quantity.name] = self.node_codes(node)
        steps = {
            name: self.steps(node, node.quantity.steps)
            for name, node in self.graph.nodes.items()
            if node.quantity.steps and self.is_cheap(node.quantity.steps)
        }
        whole = all(len(self.positions[dim]) == axis.size for dim, axis in self.plan.axes.items())
        unknown = tuple(f"{what} ({', '.join(nodes)})" for what, nodes in self.unknown.items())
        return Forecast(self.failures(), unknown, steps, exact=whole and not unknown)

    def failures(self) -> tuple[Failure, ...]:
        """Each reason with the points that it is the worst for, all outputs together."""
        total = self.worst([self.codes[self.graph.owner[name]] for name in self.graph.outputs])
        others = self.plan.points([dim for dim in self.plan.status_dims if dim not in total.dims])
        weights = self.weights(total.dims)
        failures = []
        for code in np.unique(total.array).tolist():
            status = STATUSES[code >> 16]
            if code and status not in UNFORESEEN:
                points = round(float(weights[total.array == code].sum()) * others)
                failures.append(Failure(status, self.reasons[code & 0xFFFF], points))
        return tuple(sorted(failures, key=lambda failure: -failure.points))

    def weights(self, dims: tuple[str, ...]) -> NDArray[np.float64]:
        """For how many combinations of some axes each one stands that is looked at."""
        result = np.ones((), np.float64)
        for dim in dims:
            spots = np.array(self.positions[dim])
            nearest = np.searchsorted((spots[1:] + spots[:-1]) / 2, np.arange(self.plan.axes[dim].size))
            result = result[..., None] * np.bincount(nearest, minlength=spots.size)
        return result

    # Which conditions matter

    def conditions(self, node: Node, variant: Variant) -> Iterator[tuple[str, Predicate]]:
        """The failures of a variant that are looked at. Undefined values matter where others depend on them: nodes
        that may fail otherwise, or later failures of the same variant."""
        labels = list(variant.fails)
        last = max((index for index, label in enumerate(labels) if label not in UNFORESEEN), default=-1)
        for index, (label, predicate) in enumerate(variant.fails.items()):
            if index > last and node.quantity.name not in self.inner_nodes:
                continue
            if self.is_cheap(predicate):
                yield label, predicate
            elif label not in UNFORESEEN:
                self.unknown.setdefault(f"{label}: {text_of(predicate)}", {})[node.quantity.name] = None

    def is_cheap(self, function: Callable[..., Any]) -> bool:
        """Whether the arguments of a function come without running a kernel."""
        needed = self.needed(argument_names(function))
        return all(self.graph.nodes[name].quantity.kind != "kernel" for name in needed)

    @cached_property
    def inner_nodes(self) -> set[str]:
        """Nodes that others with failures to be counted are made of."""
        inner: set[str] = set()
        for node in reversed(list(self.graph.nodes.values())):
            labels = {label for branch in node.branches for label in branch.variant.fails}
            if node.quantity.name in inner or node.missing or labels.difference(UNFORESEEN):
                inner.update(self.graph.owner[name] for name in node.inputs if name in self.graph.owner)
        return inner

    def axes_of(self, names: Iterable[str], more: Iterable[str] = (), limit: int = MAX_COMBINATIONS) -> tuple[str, ...]:
        """The axes on which some values depend, and some more, in the order of the grid. Raises _TooManyError."""
        used = {dim for name in names for dim in self.plan.dims[name]}.union(more)
        dims = tuple(dim for dim in self.plan.axes if dim in used)
        if math.prod(len(self.positions[dim]) for dim in dims) > limit:
            raise _TooManyError(dims)
        return dims

    # Values

    def value(self, name: str) -> tuple[tuple[str, ...], NDArray[Any]]:
        """Own axes and values of a parameter or quantity, as objects."""
        if name not in self.values:
            dims, values = self.parameter(name) if name not in self.graph.owner else self.quantity(name)
            shape = [len(self.positions[dim]) for dim in dims]
            self.values[name] = dims, np.fromiter(values, object, len(values)).reshape(shape)
        return self.values[name]

    def parameter(self, name: str) -> tuple[tuple[str, ...], list[Any]]:
        if name not in self.plan.axis_of:
            value = content_of(self.plan.fixed[name])
            return (), [np.float64(value) if isinstance(value, (int, float)) else value]
        dim = self.plan.axis_of[name]
        members = self.plan.axes[dim].members[name]
        return (dim,), [content_of(members[position]) for position in self.positions[dim]]

    def quantity(self, name: str) -> tuple[tuple[str, ...], list[Any]]:
        """Values of a quantity, NaN where its node has failed."""
        node = self.graph.nodes[self.graph.owner[name]]
        dims = self.axes_of([name], limit=MAX_CALLS)
        good = self.spread(self.codes[node.quantity.name], dims) == 0
        values = [math.nan] * good.size
        for branch in node.branches:
            wanted = good & self.selected(node, branch, dims)
            for index, value in self.calls(branch.variant.function, dims, wanted):
                values[index] = value
        return dims, values

    def calls(
        self, function: Callable[..., Any], dims: tuple[str, ...], wanted: NDArray[np.bool_]
    ) -> Iterator[tuple[int, Any]]:
        """What a function returns for each wanted combination of some axes, with the combination's number.

        As in compiled code, what has failed comes in as NaN, and a division by zero or an overflow gives infinity.
        """
        columns = [self.objects(name, dims) for name in argument_names(function)]
        known: dict[Any, Any] = {}  # points often have the same values
        with np.errstate(all="ignore"):
            for index in np.flatnonzero(wanted.ravel()).tolist():
                arguments = tuple(column[index] for column in columns)
                key = tuple(x if isinstance(x, (float, int, str)) else id(x) for x in arguments)
                if key not in known:
                    known[key] = self.call(function, arguments)
                yield index, known[key]

    @staticmethod
    def call(function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
        """What a function returns; infinity for an overflow, NaN for what cannot be computed."""
        try:
            return function(*arguments)
        except OverflowError:
            return math.inf
        except (ArithmeticError, ValueError):
            return math.nan
        except Exception as error:
            raise reject(function, 1, f"{type(error).__name__}: {error}") from error

    def objects(self, name: str, dims: tuple[str, ...]) -> list[Any]:
        """The values of a parameter or quantity, one for each combination of some axes that include its own."""
        own, values = self.value(name)
        return self.spread(_Codes(own, values), dims).ravel().tolist()

    def spread(self, codes: _Codes, dims: tuple[str, ...]) -> NDArray[Any]:
        """An array over its own axes as one over more of them, in the same order."""
        own_shape = [len(self.positions[dim]) if dim in codes.dims else 1 for dim in dims]
        return np.broadcast_to(codes.array.reshape(own_shape), [len(self.positions[dim]) for dim in dims])

    def selected(self, node: Node, branch: Branch, dims: tuple[str, ...]) -> NDArray[np.bool_]:
        """Where the labels of choices select a branch."""
        own = self.axes_of(node.selectors, limit=MAX_CALLS)
        cases = set(branch.cases)
        columns = [self.objects(selector, own) for selector in node.selectors]
        chosen = [labels in cases for labels in zip(*columns, strict=True)] if columns else [True]
        shape = [len(self.positions[dim]) for dim in own]
        return self.spread(_Codes(own, np.array(chosen, bool).reshape(shape)), dims)

    def holds(self, predicate: Predicate) -> _Codes:
        """Where a predicate holds, on the axes of its arguments."""
        dims = self.axes_of(argument_names(predicate), limit=MAX_CALLS)
        everywhere = np.ones([len(self.positions[dim]) for dim in dims], bool)
        result = np.zeros(everywhere.shape, np.int32)
        found = self.calls(predicate, dims, everywhere)
        result.flat[[index for index, holds in found if holds and holds == holds]] = 1  # NaN: it could not be told
        return _Codes(dims, result)

    # Statuses

    def codes_of(self, name: str) -> _Codes:
        owner = self.graph.owner.get(name)
        return self.codes[owner] if owner is not None else NONE

    def worst(self, codes: Sequence[_Codes]) -> _Codes:
        """The worst of some statuses for each combination of their axes."""
        dims = self.axes_of((), {dim for each in codes for dim in each.dims})
        result = np.zeros([len(self.positions[dim]) for dim in dims], np.int32)
        for each in codes:
            np.maximum(result, self.spread(each, dims), out=result)
        return _Codes(dims, result)

    def node_codes(self, node: Node) -> _Codes:
        """Status and reason of a node, on the axes that they depend on."""
        branches = [(branch, self.variant_codes(node, branch.variant)) for branch in node.branches]
        dims = self.axes_of(node.selectors, {dim for _, codes in branches for dim in codes.dims})
        result = np.zeros([len(self.positions[dim]) for dim in dims], np.int32)
        served = np.zeros(result.shape, bool)
        for branch, codes in branches:
            here = self.selected(node, branch, dims)
            served |= here
            result[here] = self.spread(codes, dims)[here]
        if not served.all():
            result[~served] = self.code("infeasible", f"{node.quantity.name} has no formula for this choice")
        return _Codes(dims, result) if result.any() else NONE

    def variant_codes(self, node: Node, variant: Variant) -> _Codes:
        """Status and reason where a variant is the one: its inputs' unless moot, then the first failure of its own."""
        codes = self.worst([self.codes_of(name) for name in (*variant.inputs, *variant.failure_inputs)])
        if codes.array.any() and variant.moot:
            codes = self.unless_moot(node, codes, variant.moot)
        for label, predicate in self.conditions(node, variant):
            fails = self.holds(predicate)
            if not fails.array.any():
                continue
            dims = self.axes_of((), (*codes.dims, *fails.dims))
            before = self.spread(codes, dims)
            code = self.code(label, f"{text_of(predicate)} ({node.quantity.name})")
            codes = _Codes(dims, np.where((before == 0) & (self.spread(fails, dims) != 0), code, before))
        return codes

    def unless_moot(self, node: Node, codes: _Codes, moot: Predicate) -> _Codes:
        """Statuses of inputs, but ok where they do not matter."""
        if not self.is_cheap(moot):
            self.unknown.setdefault(f"{text_of(moot)}, so that failures do not matter", {})[node.quantity.name] = None
            return codes
        holds = self.holds(moot)
        dims = self.axes_of((), (*codes.dims, *holds.dims))
        return _Codes(dims, np.where(self.spread(holds, dims), 0, self.spread(codes, dims)))

    def code(self, status: str, reason: str) -> int:
        self.reasons.append(reason)
        return (STATUS_CODE[status] << 16) + len(self.reasons) - 1

    # Work

    def steps_at_points(self, functions: Sequence[Callable[..., float]]) -> tuple[tuple[str, ...], NDArray[np.float64]]:
        """The sum of what some functions give, on the axes of their arguments."""
        names = [name for function in functions for name in argument_names(function)]
        dims = self.axes_of(names, limit=MAX_WEIGHED)
        for node in self.graph.nodes.values():
            if node.quantity.name in self.needed(names):
                self.codes[node.quantity.name] = self.node_codes(node)
        everywhere = np.ones([len(self.positions[dim]) for dim in dims], bool)
        total = np.zeros(everywhere.size)
        for function in functions:
            for index, steps in self.calls(function, dims, everywhere):
                total[index] += steps if math.isfinite(steps) else 0.0
        return dims, total.reshape(everywhere.shape)

    def needed(self, names: Iterable[str]) -> set[str]:
        """Nodes from which some values are computed, their own included."""
        found: set[str] = set()
        todo = list(names)
        while todo:
            owner = self.graph.owner.get(todo.pop())
            if owner is not None and owner not in found:
                found.add(owner)
                node = self.graph.nodes[owner]
                todo += (*node.inputs, *node.selectors)
        return found

    def steps(self, node: Node, function: Callable[..., float]) -> float:
        """Steps of all calls of a kernel together, scaled up to the whole grid."""
        codes = self.codes[node.quantity.name]
        dims = self.axes_of(argument_names(function), codes.dims, limit=MAX_CALLS)
        good = self.spread(codes, dims) == 0
        weights = self.weights(dims).ravel()
        found = math.fsum(steps * weights[i] for i, steps in self.calls(function, dims, good) if math.isfinite(steps))
        others = [dim for dim in self.plan.dims[self.plan.value_of(node.quantity.name)] if dim not in dims]
        return found * self.plan.points(others)


def text_of(predicate: Callable[..., Any]) -> str:
    """The first line of a predicate's docstring, or its name."""
    return first_line(predicate).rstrip(".") or predicate.__name__.replace("_", " ")
