"""One point in plain Python: `sweep.quantities.collective_latency(chip_count=8, packet_format="afh_lite")`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from sweep.engine.graph import Branch, Graph, Node, resolve
from sweep.errors import Fault, InputError, nearest
from sweep.file import File, content_of
from sweep.registry import NO_VALUE, STATUS_CODE, STATUSES, Registry, argument_names, as_numbers


def evaluate(graph: Graph, given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Values and statuses of all nodes of a graph without axes, with the engine's rules for failures.

    `given` maps parameters to numbers and labels. A function is not called on failed inputs: the value is then NaN
    (for unstable, what its output states), the label of a categorical output NO_VALUE.
    """
    values: dict[str, Any] = dict(given)
    for name, parameter in graph.parameters.items():
        values.setdefault(name, parameter.default)
    statuses: dict[str, str] = {}
    for name, node in graph.nodes.items():
        status, results = _evaluate_node(graph, node, values, statuses)
        statuses[name] = status
        values.update(zip(node.quantity.outputs, results, strict=True))
    for name in graph.outputs:
        output = graph.output(name)
        explained = statuses[graph.owner[name]] != "ok" or output.categories or output.gaps
        if not explained and not np.all(np.isfinite(values[name])):
            statuses[graph.owner[name]] = "error"
    return values, statuses


def _evaluate_node(
    graph: Graph, node: Node, values: Mapping[str, Any], statuses: Mapping[str, str]
) -> tuple[str, tuple[Any, ...]]:
    quantity = node.quantity
    case = tuple(values[name] for name in node.selectors)  # of choices that are computed
    branch = node.branch_of(case)
    if branch is None:
        return "infeasible", tuple(_failed(graph, name, "infeasible") for name in quantity.outputs)
    status = _status(graph, branch, values, statuses)
    if status != "ok":
        return status, tuple(_failed(graph, name, status) for name in quantity.outputs)
    coordinates = {name: np.array(as_numbers(points)) for name, points in quantity.dims.items()}
    result = branch.variant.function(*(_argument(name, {**values, **coordinates}) for name in branch.variant.inputs))
    results = tuple(result) if len(quantity.outputs) > 1 else (result,)
    return status, results


def _argument(name: str, values: Mapping[str, Any]) -> Any:
    value = content_of(values[name])
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _status(graph: Graph, branch: Branch, values: Mapping[str, Any], statuses: Mapping[str, str]) -> str:
    variant = branch.variant
    owners = [graph.owner.get(name, name) for name in (*variant.inputs, *variant.failure_inputs)]
    worst = max([STATUS_CODE[statuses.get(owner, "ok")] for owner in owners], default=0)
    if variant.moot and variant.moot(*(_argument(name, values) for name in argument_names(variant.moot))):
        worst = 0
    for status, predicate in variant.fails.items():
        if worst == 0 and predicate(*(_argument(name, values) for name in argument_names(predicate))):
            return status
    return STATUSES[worst]


def _failed(graph: Graph, name: str, status: str) -> Any:
    if graph.output(name).categories:
        return NO_VALUE
    return graph.output(name).unstable if status == "unstable" else math.nan


def check_given(registry: Registry, given: Mapping[str, Any]) -> None:
    """Raise InputError for a name that is no parameter, and for a value that its parameter does not allow."""
    faults = []
    for name, value in given.items():
        parameter = registry.parameters.get(name)
        if parameter is None:
            faults.append(Fault(name, f"is not a parameter{nearest(name, registry.parameters)}"))
        elif parameter.is_choice:
            labels = registry.labels(parameter, given)
            if value not in labels:
                hint = nearest(str(value), labels)
                faults.append(Fault(name, f"is one of {', '.join(labels)}, not {value!r}{hint}"))
        elif parameter.is_file:
            if isinstance(value, str) and not isinstance(value, File):
                faults.append(Fault(name, f"takes what parameters.{name}.reads makes of a file's text and name"))
        elif not parameter.is_table and (isinstance(value, (str, bool)) or not parameter.allows(float(value))):
            faults.append(Fault(name, f"takes a number {parameter.bounds} in {parameter.unit}, not {value!r}"))
    if faults:
        raise InputError(faults)


class Quantities:
    """Quantities of a registry as functions of parameters: each evaluates what it needs, defaults included."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def __dir__(self) -> list[str]:
        return sorted(self._registry.output_owner)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._registry.output_owner:
            raise AttributeError(f"no quantity is called {name!r}")

        def call(**given: Any) -> Any:
            check_given(self._registry, given)
            graph = resolve(self._registry, [name], given, {})
            values, _ = evaluate(graph, given)
            return values[name]

        call.__name__ = name
        node = self._registry.quantities[self._registry.output_owner[name]]
        call.__doc__ = node.variants[0].function.__doc__
        return call
