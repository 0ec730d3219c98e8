"""Cells of a result as lists of parameter values, for formulas that are evaluated beside the grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sweep.axis import Axis
from sweep.engine.news import Announce
from sweep.engine.plan import Plan
from sweep.engine.points import PointFunction
from sweep.errors import Fault, InputError
from sweep.file import File
from sweep.grid.reader import Grid
from sweep.views.record import record_of


def grid_of(path: Path, with_files: Sequence[str]) -> Grid:
    """The grid of a grid file, or of a result, from its own record."""
    from sweep.api import load_grid
    from sweep.store.netcdf import read

    if path.suffix != ".nc":
        return load_grid(path, with_files)
    with read(path, labels=False) as dataset:
        return load_grid(record_of(dataset)["grid"], with_files)


def planned_again(dataset: xr.Dataset, with_files: Sequence[str]) -> tuple[Grid, Plan, bool]:
    """The grid in a result's own record with the values that the dataset has, which may be some of the grid's; the
    plan of the whole grid; and whether its formulas and files are still those of the result."""
    from sweep import api
    from sweep.engine.loopnest import write_kernel
    from sweep.store.record import model_digest

    record = record_of(dataset)
    grid = api.load_grid(record["grid"], with_files)
    made = api.plan(grid)
    digest = model_digest(made, write_kernel(made, grid.statuses).text)
    is_current = digest == record.get("model_digest") and grid.files == record.get("files")
    return part_of(grid, dataset), made, is_current


def part_of(grid: Grid, dataset: xr.Dataset) -> Grid:
    """A grid with the axes of a dataset that is a part of its result. Raises InputError for one without coordinates."""
    fixed = dict(grid.fixed)
    axes = []
    for axis in grid.axes:
        members = {}
        for name in axis.members:
            if name not in dataset.coords:
                raise InputError([Fault(name, "is no longer a coordinate of this result")])
            files = {str(value): value for value in axis.members[name] if isinstance(value, File)}
            if dataset[name].ndim == 0:
                value = dataset[name].item()
                fixed[name] = files.get(value, value)
            else:
                values = member_of(dataset[name])
                members[name] = tuple(files[value] for value in values) if files else values
        if members:
            labels = tuple(map(str, dataset[axis.name].values)) if axis.labels else ()
            axes.append(Axis(axis.name, members, labels))
    return replace(grid, axes=tuple(axes), fixed=fixed)


def function_of(
    dataset: xr.Dataset,
    output: str,
    along: str,
    with_files: Sequence[str],
    announce: Announce,
    keep: Sequence[str] = (),
) -> PointFunction:
    """An output of a result as a function of numbers, `along` one of them, from the grid in the result's own record.

    Over the axes on which the output depends, with the values that the dataset has, which may be some of the grid's.
    `keep` names dimensions that stay whole. Raises InputError where that cannot be.
    """
    grid, made, is_current = planned_again(dataset, with_files)
    if made.graph.output(output).dims:
        raise InputError([Fault(output, "has a dimension of its own; it cannot be solved for between points")])
    if not is_current:
        announce("the formulas have changed since this result was computed; those of now are solved")
    axes = [axis for axis in grid.axes if axis.name in made.dims[output]]
    fixed = dict(grid.fixed)
    for axis in grid.axes:
        if axis not in axes:
            fixed |= {name: first_of(values) for name, values in axis.members.items()}
    function = PointFunction(grid.registry, axes, fixed, output, tuple(keep), announce)
    if along not in function.moving:
        what = f"{along!r} moves with others, or is chosen from; only an axis of its own can be solved for"
        raise InputError([Fault("--along", what)])
    return function


def first_of(values: NDArray[np.float64] | tuple[str, ...]) -> Any:
    """The first value along an axis that does not matter."""
    return values[0] if isinstance(values, tuple) else float(values[0])


def member_of(coordinate: xr.DataArray) -> NDArray[np.float64] | tuple[str, ...]:
    """Values of a parameter along its dimension."""
    if coordinate.dtype.kind in "iuf":
        return np.asarray(coordinate.values, np.float64)
    return tuple(map(str, coordinate.values))


def is_whole(function: PointFunction, name: str) -> bool:
    """Whether a parameter takes whole numbers only."""
    return function.plan.graph.parameters[name].integer


class Cells:
    """Some cells of a result: `index` has a row of positions along `dims` for each."""

    def __init__(
        self, dataset: xr.Dataset, dims: Sequence[str], index: NDArray[np.intp], function: PointFunction
    ) -> None:
        self.function = function
        self.count = len(index)
        self.columns: dict[str, NDArray[np.float64]] = {}
        for name in function.moving:
            (dim,) = dataset[name].dims
            if dim in dims:
                self.columns[name] = dataset[name].values.astype(float)[index[:, dims.index(str(dim))]]
        self.position = {axis.name: index[:, dims.index(axis.name)] for axis in function.kept if axis.name in dims}

    def values(self, moved: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
        """The function at every cell with some parameters moved; first an axis for each kept one that is not a dim."""
        found = self.function({**self.columns, **moved})
        kept = [axis.name for axis in self.function.kept]
        free = [kept.index(name) for name in kept if name not in self.position]
        found = np.moveaxis(found, free, range(len(free)))
        own: tuple[Any, ...] = tuple(self.position[name] for name in kept if name in self.position)
        return np.asarray(found[(..., *own, np.arange(self.count))])
