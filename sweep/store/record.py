"""What a result says of itself: the resolved grid, the model and where values came from, as attributes of the file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import sweep
from sweep.axis import Axis
from sweep.engine.plan import Plan
from sweep.engine.reached import reached_source
from sweep.grid.reader import KEYS, Grid
from sweep.registry import Parameter

CONVENTIONS = "CF-1.11"
RESOLVED_KEYS = [key for key in KEYS if key != "presets"]  # their values stand under fixed


def attributes(grid: Grid, plan: Plan, kernel: str) -> dict[str, str]:
    """The attributes of a result. Equal ones mean equal values: nothing in them depends on when or where they were
    computed. `kernel` is the text of the compiled kernel."""
    return {
        "title": grid.title,
        "Conventions": CONVENTIONS,
        "sweep_version": sweep.__version__,
        "sweep": json.dumps(record(grid, plan, kernel), ensure_ascii=False),
    }


def record(grid: Grid, plan: Plan, kernel: str) -> dict[str, Any]:
    """The resolved grid as `load_grid` takes it, defaults included, digests of its presets and files, and that of the
    model."""
    return {
        "grid": resolved(grid, plan),
        "presets": dict(grid.presets),
        "files": grid.files,
        "model_digest": model_digest(plan, kernel),
    }


def resolved(grid: Grid, plan: Plan) -> dict[str, Any]:
    """A grid of plain values, with every parameter that the outputs use."""
    dimensions: dict[str, dict[str, Any]] = {}
    for axis in grid.axes:
        if axis.name in axis.members:
            dimensions.setdefault("axes", {})[axis.name] = values_along(axis, axis.name, grid)
        else:
            lists = {name: values_along(axis, name, grid) for name in axis.members}
            label = {"label": list(axis.labels)} if axis.labels else {}
            dimensions.setdefault("zip", {})[axis.name] = label | lists
    known = [name for name in sorted(plan.graph.parameters) if name in grid.registry.parameters]  # not those of scopes
    used = {name: plan.fixed[name] for name in known if plan.fixed.get(name) is not None}
    return {
        "title": grid.title,
        "outputs": [*grid.outputs, *(f"{name}_status" for name in grid.statuses)],
        **dimensions,
        "fixed": {name: plain(value, plan.graph.parameters[name]) for name, value in used.items()},
    }


def values_along(axis: Axis, name: str, grid: Grid) -> list[Any]:
    """The values of a parameter along its axis."""
    values = axis.members[name]
    return list(values) if isinstance(values, tuple) else [plain(x, grid.registry.parameters[name]) for x in values]


def plain(value: Any, parameter: Parameter) -> Any:
    """A value as JSON has it; whole numbers as such."""
    if isinstance(value, (str, Mapping)):
        return value
    return int(value) if parameter.integer else float(value)


def model_digest(plan: Plan, kernel: str) -> str:
    """Digest of what decides over values and their attributes: functions, units, labels, extra dimensions, texts."""
    nodes = plan.graph.nodes.values()
    prepared = [branch.variant.function for name in plan.prepared for branch in plan.graph.nodes[name].branches]
    described = [(dict(node.quantity.outputs), dict(node.quantity.dims), node.inputs, node.summary) for node in nodes]
    parameters = [(name, each.unit, each.integer, each.doc) for name, each in plan.graph.parameters.items()]
    text = "\n".join([kernel, *map(reached_source, prepared), repr(described), repr(parameters)])
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def differences(found: Mapping[str, Any], wanted: Mapping[str, str]) -> list[str]:
    """In what the attributes of a file differ from those of a result: words for people; empty if in nothing."""
    try:
        old, new = json.loads(str(found.get("sweep"))), json.loads(wanted["sweep"])
        keys = [key for key in RESOLVED_KEYS if old["grid"].get(key) != new["grid"].get(key)]
        if not keys and dimensions(old["grid"]) != dimensions(new["grid"]):
            keys.append("order of dimensions")
        keys += [key for key in ("presets", "files") if old[key] != new[key]]
        if set(keys) <= {"title"} and old["model_digest"] != new["model_digest"]:  # else the kernel differs anyway
            keys.append("model")
    except (ValueError, KeyError, TypeError, AttributeError):
        return ["record"]
    return keys + ["version of sweep"] * (found.get("sweep_version") != wanted["sweep_version"])


def dimensions(grid: Mapping[str, Any]) -> list[str]:
    """Names of the dimensions of a resolved grid, in their order."""
    return [name for key, section in grid.items() if key in ("axes", "zip") for name in section]
