"""Thresholds: the smallest value along an axis that meets a bound, cell by cell.

Read off the grid, so the answer is one of its points; or solved for between the last point that does not meet the bound
and the first that does, on the compiled formulas.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sweep.engine.news import Announce, ignore
from sweep.errors import Fault, InputError, nearest, not_one_of
from sweep.registry import STATUS_CODE, STATUSES
from sweep.store.dataset import flags
from sweep.units import exact
from sweep.views.record import made_from
from sweep.views.summary import text, unit_of

_BOUND = re.compile(r"\s*(\w+)\s*(<=|>=)\s*(.+?)\s*")


@dataclass(frozen=True)
class Bound:
    """An output that must be at most, or at least, a value in the output's unit."""

    output: str
    at_most: bool
    value: float

    def is_met(self, values: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Where values are within the bound; missing and endless ones are not."""
        within = values <= self.value if self.at_most else values >= self.value
        return within & np.isfinite(values)


def read_bound(dataset: xr.Dataset, wanted: str) -> Bound:
    """A bound such as 'collective_latency <= 20 us'. Raises InputError."""
    match = _BOUND.fullmatch(wanted)
    if match is None:
        raise InputError([Fault("--meet", f"{wanted!r} is not of the form OUTPUT <= VALUE or OUTPUT >= VALUE")])
    name, sign, value = match.groups()
    numbers = [str(x) for x, each in dataset.data_vars.items() if each.dtype.kind == "f"]
    if name not in numbers:
        raise InputError([Fault("--meet", not_one_of(name, numbers))])
    try:
        number = float(exact(value, dataset[name].attrs.get("units", "1")))
    except ValueError as error:
        raise InputError([Fault("--meet", str(error))]) from None
    return Bound(name, sign == "<=", number)


def threshold(
    dataset: xr.Dataset,
    meet: str,
    along: str,
    solve: bool = False,
    with_files: Sequence[str] = (),
    announce: Announce = ignore,
) -> xr.Dataset:
    """The smallest value along a numeric axis at which a bound is met, in every cell of a result.

    Gives `threshold` in the unit of the axis, and `status`: infeasible where no value meets the bound. `first` says
    where the first value of the axis does already, so that a smaller one may too. Raises InputError.
    """
    bound = read_bound(dataset, meet)
    values = dataset[bound.output]
    axis = numeric_axis(dataset, values, along)
    if not values.size:
        raise InputError([Fault("result", "has no points")])
    order = np.argsort(axis.values, kind="stable")
    met = np.moveaxis(bound.is_met(values.values), values.get_axis_num(along), 0)
    if (np.diff(order) < 0).any():
        met = met[order]
    found = np.asarray(met.any(axis=0))
    position = met.argmax(axis=0)
    points = axis.values.astype(float)[order]
    result = np.where(found, points[position], np.nan)
    if solve:
        result = solved(dataset, bound, along, points, position, found, result, with_files, announce)
    dims = [dim for dim in values.dims if dim != along]
    status = np.where(found, 0, STATUS_CODE["infeasible"]).astype(np.int8)
    name = along.replace("_", " ")
    unit = {"units": axis.attrs.get("units", "1")}
    return xr.Dataset(
        {
            "threshold": (dims, result, {"long_name": f"smallest {name} with {meet}"} | unit),
            "first": (dims, (found & (position == 0)).astype(np.int8), {"long_name": "first"} | flags(("no", "yes"))),
            "status": (dims, status, {"long_name": "status"} | flags(STATUSES)),
        },
        {x: each for x, each in dataset.coords.items() if set(each.dims) <= set(dims)},
        made_from(dataset, f"Smallest {name} with {meet}", threshold={"meet": meet, "along": along, "solved": solve}),
    )


def numeric_axis(dataset: xr.Dataset, values: xr.DataArray, along: str) -> xr.DataArray:
    """The coordinate along a numeric axis of a variable. Raises InputError."""
    known = [str(dim) for dim in values.dims if dim in dataset.coords and dataset[dim].dtype.kind in "iuf"]
    if along not in known:
        what = f"{along!r} is not a numeric axis of {values.name}; there are {', '.join(known)}{nearest(along, known)}"
        raise InputError([Fault("--along", what)])
    return dataset[along]


def solved(
    dataset: xr.Dataset,
    bound: Bound,
    along: str,
    points: NDArray[np.float64],
    position: NDArray[np.intp],
    found: NDArray[np.bool_],
    result: NDArray[np.float64],
    with_files: Sequence[str],
    announce: Announce,
) -> NDArray[np.float64]:
    """Thresholds between the points of the grid, where there is one before the first that meets the bound."""
    from sweep.engine.points import bisected
    from sweep.views.cells import Cells, function_of, is_whole

    function = function_of(dataset, bound.output, along, with_files, announce)
    values = dataset[bound.output]
    inside = np.flatnonzero(found & (position > 0))
    if not inside.size:
        return result
    index = np.stack(np.unravel_index(inside, found.shape), axis=-1) if found.ndim else np.empty((1, 0), np.intp)
    cells = Cells(dataset, [str(dim) for dim in values.dims if dim != along], index, function)
    at = position.reshape(-1)[inside]

    def is_met(middle: NDArray[np.float64]) -> NDArray[np.bool_]:
        return bound.is_met(cells.values({along: middle}))

    solved_for = result.reshape(-1).copy()
    solved_for[inside] = bisected(points[at - 1], points[at], is_met, is_whole(function, along))
    return solved_for.reshape(result.shape)


def threshold_table(result: xr.Dataset) -> list[str]:
    """What was found, in lines."""
    values, cells = result["threshold"], result["threshold"].size
    none = int((result["status"].values != 0).sum())
    first = int((result["first"].values == 1).sum())
    lines = [*result.attrs["title"].split("\n"), ""]
    known = values.values[np.isfinite(values.values)]
    if known.size:
        low, middle, high = (text(float(x)) + unit_of(values) for x in np.percentile(known, [0, 50, 100]))
        lines.append(f"  {100 * known.size / cells:5.1f} % of {cells} cells: {low} .. {high}, median {middle}")
    if first:
        lines.append(f"  {100 * first / cells:5.1f} % of all cells meet it at the first value already")
    if none:
        lines.append(f"  {100 * none / cells:5.1f} % of all {cells} cells meet it nowhere (none)")
    return lines
