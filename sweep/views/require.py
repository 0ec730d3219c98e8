"""Requirements on what is chosen: outputs that must have a label, such as the capability `ecn` that must be yes.

Taken from the result where it has the output, else worked out anew from the result's own grid, point by point in plain
Python: capabilities depend on a few choices only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from sweep.catalog import extended_registry
from sweep.engine.graph import resolve
from sweep.engine.point import evaluate
from sweep.errors import Fault, InputError, nearest
from sweep.registry import Registry
from sweep.views.record import record_of

MOST_CELLS = 10_000
"""Cells of an output that are worked out one by one, at the most."""


def requirements(
    dataset: xr.Dataset, require: Sequence[str], with_files: Sequence[str] = ()
) -> dict[str, xr.DataArray]:
    """Where each requirement is met, over the dimensions that it depends on. Raises InputError for unknown names."""
    if not require:
        return {}
    registry = extended_registry(with_files)
    return {item: is_met(dataset, registry, *split(item)) for item in dict.fromkeys(require)}


def split(item: str) -> tuple[str, str]:
    """Name and label of `ecn` or `retry=no`."""
    name, equals, label = item.partition("=")
    return name.strip(), label.strip() if equals else "yes"


def is_met(dataset: xr.Dataset, registry: Registry, name: str, label: str) -> xr.DataArray:
    """Where an output has a label."""
    known = [x for x in registry.outputs if registry.quantities[registry.output_owner[x]].outputs[x].categories]
    known += [str(x) for x, each in dataset.data_vars.items() if "flag_meanings" in each.attrs and x not in known]
    if name not in known:
        what = f"{name!r} is no output with labels; there are {', '.join(known)}{nearest(name, known)}"
        raise InputError([Fault("--require", what + own_quantities(dataset, registry))])
    if name in dataset:
        labels = dataset[name].attrs["flag_meanings"].split()
        check_label(name, label, labels)
        opened = dataset[name].dtype == object  # labels as texts, of a result that was opened
        met: xr.DataArray = dataset[name] == (label if opened else labels.index(label))
        return met
    check_label(name, label, registry.quantities[registry.output_owner[name]].outputs[name].categories)
    return worked_out(dataset, registry, name) == label


def own_quantities(dataset: xr.Dataset, registry: Registry) -> str:
    """A hint where a result has parameters or outputs that the registry does not know."""
    names = [*dataset.data_vars, *dataset.coords]
    statuses = {"status", *(f"{x}_status" for x in registry.outputs)}
    own = [str(x) for x in names if x not in registry.outputs and x not in registry.parameters and x not in statuses]
    own = [x for x in own if x not in dataset.dims]
    return f"; {', '.join(own)} of this result come from a file: give it by --with" if own else ""


def check_label(name: str, label: str, labels: Sequence[str]) -> None:
    """Raise InputError for a label that an output does not have."""
    if label not in labels:
        what = f"{name} is one of {', '.join(labels)}, not {label!r}{nearest(label, labels)}"
        raise InputError([Fault("--require", what)])


def worked_out(dataset: xr.Dataset, registry: Registry, name: str) -> xr.DataArray:
    """Labels of an output that a result has not, over those of its dimensions on which the output depends."""
    fixed = record_of(dataset)["grid"]["fixed"]
    given = {parameter: value for parameter, value in fixed.items() if parameter in registry.parameters}
    moving = {str(x): each for x, each in dataset.coords.items() if x in registry.parameters}
    varying = {x: tuple(map(str, each.values.ravel())) if each.dtype == object else None for x, each in moving.items()}
    needed = resolve(registry, [name], given, varying).parameters
    moving = {x: each for x, each in moving.items() if x in needed}
    unknown = [x for x in needed if x not in moving and x not in given and needed[x].default is not None]
    dims = [dim for dim in dataset.dims if any(dim in each.dims for each in moving.values())]
    labels = np.empty([dataset.sizes[dim] for dim in dims], object)
    if unknown or labels.size > MOST_CELLS:
        why = f"depends on {', '.join(unknown)}, which" if unknown else f"takes {labels.size} cells, more than"
        what = f"{name} {why} this result does not record" if unknown else f"{name} {why} can be worked out here"
        raise InputError([Fault("--require", f"{what}; add {name} to the outputs of the grid")])
    for index in np.ndindex(labels.shape):
        position = dict(zip(dims, index, strict=True))
        here = {x: each.isel(position, missing_dims="ignore").item() for x, each in moving.items()}
        here = {x: value for x, value in (given | here).items() if x in needed}
        labels[index] = evaluate(resolve(registry, [name], here, {}), here)[0][name]
    return xr.DataArray(labels, dims=dims)


def lacking(over: xr.DataArray, allowed: Mapping[str, xr.DataArray]) -> dict[str, list[str]]:
    """For each value along a dimension, the requirements that it meets nowhere."""
    found: dict[str, list[str]] = {}
    for item, mask in allowed.items():
        if over.name not in mask.dims:
            continue
        met = mask.any([dim for dim in mask.dims if dim != over.name]).values
        for value, is_there in zip(over.values, met, strict=True):
            if not is_there:
                found.setdefault(str(value), []).append(item)
    return found
