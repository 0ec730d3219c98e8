"""Cells of a result as lists of parameter values, for formulas that are evaluated beside the grid."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sweep.engine.news import Announce
from sweep.engine.points import PointFunction
from sweep.grid.reader import Grid


def grid_of(path: Path, with_files: Sequence[str]) -> Grid:
    """The grid of a grid file, or of a result, from its own record."""
    from sweep.api import load_grid
    from sweep.store.netcdf import read

    if path.suffix != ".nc":
        return load_grid(path, with_files)
    with read(path, labels=False) as dataset:
        return load_grid(json.loads(dataset.attrs["sweep"])["grid"], with_files)


def function_of(dataset: xr.Dataset, output: str, with_files: Sequence[str], announce: Announce) -> PointFunction:
    """An output of a result as a function of numbers, from the grid in the result's own record."""
    from sweep.api import load_grid

    grid = load_grid(json.loads(dataset.attrs["sweep"])["grid"], with_files)
    return PointFunction(grid.registry, grid.axes, grid.fixed, output, announce)


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
