"""Arrays become a labelled dataset: coordinates with units, variables with names, flags and a record of the grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from sweep.axis import Axis
from sweep.engine.execute import Values
from sweep.engine.plan import Plan
from sweep.grid.reader import Grid
from sweep.registry import STATUSES


def to_dataset(grid: Grid, plan: Plan, values: Values, attributes: Mapping[str, str]) -> xr.Dataset:
    """The dataset of a computed grid; `attributes` are its own.

    Each output has the dimensions that it depends on, in the order of the axes.
    """
    variables: dict[str, Any] = {}
    for name, array in values.outputs.items():
        dims = (*plan.dims[name], *plan.extra_dims(name))
        variables[name] = (dims, array, output_attributes(plan, name))
    variables["status"] = (plan.status_dims, values.status, status_attributes("the worst over the outputs"))
    for name, array in values.statuses.items():
        variables[f"{name}_status"] = (plan.dims[name], array, status_attributes(f"of {name} alone"))
    coordinates: dict[str, Any] = {}
    for axis in plan.axes.values():
        coordinates.update(axis_coordinates(axis, grid))
    for name in values.outputs:
        for dim, points in plan.extra_dims(name).items():
            labels = isinstance(points[0], str)
            described = {"long_name": dim.replace("_", " ")} | ({} if labels else {"units": "1"})
            coordinates[dim] = ((dim,), np.array(points, dtype=object if labels else None), described)
    return xr.Dataset(variables, coordinates, attributes)


def output_attributes(plan: Plan, name: str) -> dict[str, Any]:
    """Attributes of an output variable."""
    description = plan.graph.output(name)
    node = plan.graph.nodes[plan.graph.owner[name]]
    attributes: dict[str, Any] = {"long_name": name.replace("_", " "), "comment": node.summary}
    if description.categories:
        return attributes | flags(description.labels)
    return attributes | {"units": description.unit}


def status_attributes(of_what: str) -> dict[str, Any]:
    """Attributes of a status variable."""
    return {"long_name": "status", "comment": f"Why a value is missing; {of_what}"} | flags(STATUSES)


def flags(labels: Sequence[str]) -> dict[str, Any]:
    """CF attributes of a variable whose codes stand for labels."""
    return {"flag_values": np.arange(len(labels), dtype=code_type(labels)), "flag_meanings": " ".join(labels)}


def code_type(labels: Sequence[str]) -> type[np.int8] | type[np.int32]:
    """The smallest kind of whole number that has a code for each label."""
    return np.int8 if len(labels) <= 127 else np.int32


def axis_coordinates(axis: Axis, grid: Grid) -> dict[str, Any]:
    """Coordinates of a dimension: its values, or for zipped parameters a position and the values along it."""
    coordinates: dict[str, Any] = {}
    if axis.name not in axis.members:
        positions = np.array(axis.labels, dtype=object) if axis.labels else np.arange(axis.size)
        coordinates[axis.name] = ((axis.name,), positions, {"long_name": axis.name.replace("_", " ")})
    for name, values in axis.members.items():
        parameter = grid.registry.parameters[name]
        attributes = {"long_name": name.replace("_", " "), "comment": parameter.doc}
        if isinstance(values, tuple):
            coordinates[name] = ((axis.name,), np.array(values, dtype=object), attributes)
        else:
            whole = parameter.integer and np.abs(values).max() < 2.0**63
            points = values.astype(np.int64) if whole else values
            coordinates[name] = ((axis.name,), points, attributes | {"units": parameter.unit})
    return coordinates
