"""Cases for property tests: numbers to try, a grid with them, and its result point by point."""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import xarray as xr

import sweep
from sweep.api import idle_axes
from sweep.engine.plan import make_plan
from sweep.grid.reader import Grid
from sweep.registry import Parameter
from sweep.store.netcdf import with_labels

# Numbers: those where formulas bend, and any others within a range.

WHOLE_CHUNKS = tuple(1344 * frames * chips for frames in (1, 2, 3, 9, 50) for chips in (1, 2, 3, 8))
SIZES = (0, 1, 2, 7, 47, 48, 49, 2**20, 2**50, *(size + more for size in WHOLE_CHUNKS for more in (-1, 0, 1)))
RATES = (1e-6, 0.1, 12.5, 25, 46.57, 50, 400, 1e9)
TIMES = (0, 1e-9, 5, 150, 500, 1e9)

NUMBERS: Mapping[str, tuple[Sequence[float], float, float]] = {
    "message_size": (SIZES, 0, 2**24),
    "chip_count": ((1, 2, 3, 4, 5, 7, 8, 13, 16, 97, 1000, 1024, 2**24), 2, 300),
    "credit_size": ((1, 32, 64, 128, 256, 1024, 2048), 1, 2048),
    "credit_limit": ((1, 5, 6, 11, 12, 13, 512, 32767), 1, 64),
    "max_payload": ((1, 64, 1024, 1344, 65536), 1, 9000),
    "min_frame": ((0, 64, 2000), 0, 2000),
    "line_gap": ((0, 20, 1000), 0, 100),
    "link_bandwidth": (RATES, 1, 1000),
    "port_bandwidth": (RATES, 1, 1000),
    "fec_overhead": ((0, 0.03, 0.999999), 0, 0.9),
    "egress_utilization": ((0, 0.01, 0.5, 0.99, 1, 1.5, 1e6), 0, 1),
    "switch_hops": ((0, 1, 2, 3, 64), 0, 8),
    "residual_ber": ((0, 1e-15, 1e-9, 1e-6, 0.5), 0, 1e-3),
    "small_frame_size": ((1, 64, 84, 1402), 1, 2000),
    "priority_utilization": ((0, 0.05, 0.5, 1), 0, 1),
    "burst_frames": ((1, 2, 25), 1, 100),
    "incast_senders": ((1, 2, 8, 1000), 1, 100),
    "switch_cell": ((1, 64, 256), 1, 2048),
    "tree_pieces": ((1, 2, 16), 1, 1000),
}
FEW_FRAMES = {
    "message_size": ((0, 1, 1343, 1344, 1345, 4032, 2**50), 0, 20_000),
    "max_payload": ((1343, 1344, 65536), 1000, 9000),
    "credit_limit": ((1, 5, 6, 11, 12, 13), 1, 64),
}
"""A message that can be traced without JIT, or one that is beyond the budget of traces."""


def has_trace(outputs: Iterable[str]) -> bool:
    """Whether messages are followed frame by frame, so that they must have few."""
    return any(name in ("traced_link_latency", "frame_delivery", "carried_stall") for name in outputs)


def follows_frames(grid: Mapping[str, Any]) -> bool:
    """Whether a grid follows messages or chunks frame by frame."""
    scopes = (*grid["axes"].get("credit_scope", ()), grid["fixed"].get("credit_scope"))
    return has_trace(grid["outputs"]) or "carried" in scopes


def number(chance: Random, parameter: Parameter, few_frames: bool = False) -> float:
    """A value of a numeric parameter."""
    special = NUMBERS | FEW_FRAMES if few_frames else NUMBERS
    if parameter.name in special:
        bends, low, high = special[parameter.name]
    elif parameter.unit == "ns":
        bends, low, high = [time for time in TIMES if parameter.allows(time)], 0, 2000
    else:
        low = parameter.minimum if parameter.minimum is not None else parameter.above or 0
        high = parameter.maximum if parameter.maximum is not None else parameter.below or 1e6
        bends = [x for x in (low, high) if parameter.allows(x)]
    if chance.random() < 0.6:
        return chance.choice(bends)
    return chance.randint(int(low), int(high)) if parameter.integer else chance.uniform(low, high)


# Cases: a grid that can be computed.


class Row(NamedTuple):
    """One point of a result: values of all parameters, of all outputs, the outputs' statuses, and that of all."""

    given: dict[str, Any]
    values: dict[str, Any]
    statuses: dict[str, str]
    status: str


@functools.cache
def computed(grid: str, files: tuple[Path, ...]) -> xr.Dataset:
    """The result of a grid in JSON; several promises are tried on each."""
    return sweep.run(sweep.load_grid(json.loads(grid), files))


@functools.cache
def rows(grid: str, files: tuple[Path, ...]) -> tuple[Row, ...]:
    """All points of the result of a grid in JSON, one by one."""
    loaded, result = sweep.load_grid(json.loads(grid), files), computed(grid, files)
    defaults = {name: p.default for name, p in loaded.registry.parameters.items() if not callable(p.default)}
    axes = [axis.name for axis in loaded.axes]
    dims = {name: [dim for dim in variable.dims if dim in axes] for name, variable in result.items()}
    arrays = {name: with_labels(variable).values for name, variable in result.items()}
    found = []
    for index in itertools.product(*(range(axis.size) for axis in loaded.axes)):
        position = dict(zip(axes, index, strict=True))
        given = {**defaults, **loaded.fixed}
        for axis in loaded.axes:
            given |= {name: values[position[axis.name]] for name, values in axis.members.items()}
        cell = {name: array[tuple(position[dim] for dim in dims[name])] for name, array in arrays.items()}
        statuses = {name: cell[f"{name}_status"] for name in loaded.outputs}
        values = {name: cell[name] for name in loaded.outputs}
        found.append(Row(given, values, statuses, cell["status"]))
    return tuple(found)


@dataclass(frozen=True)
class Case:
    """A grid as a dict, the model files that it needs, and chance for what else is to be drawn."""

    grid: Mapping[str, Any]
    files: tuple[Path, ...]
    chance: Random = field(repr=False)

    def load(self) -> Grid:
        """The checked grid."""
        return sweep.load_grid(self.grid, self.files)

    def run(self) -> xr.Dataset:
        """The result."""
        return computed(json.dumps(self.grid), self.files)

    def rows(self) -> tuple[Row, ...]:
        """All points of the result, one by one."""
        return rows(json.dumps(self.grid), self.files)

    def rows_with(self, *outputs: str) -> list[Row]:
        """The points at which some outputs have their values."""
        return [row for row in self.rows() if all(row.statuses[name] == "ok" for name in outputs)]

    def value(self, name: str) -> float:
        """Another value of a numeric parameter."""
        return number(self.chance, self.load().registry.parameters[name], follows_frames(self.grid))

    def along(self, axis: str, values: Sequence[Any]) -> Case:
        """The same grid with an axis of these values, in its place if it is an axis already."""
        return self._without(axis, keep="axes")._with("axes", {axis: list(values)})

    def at(self, name: str, value: Any) -> Case:
        """The same grid with a parameter fixed."""
        return self._without(name)._with("fixed", {name: value})

    def only(self, name: str, value: Any) -> Case:
        """The same structure with one value for a parameter, in an axis if it is one."""
        if name in self.grid["axes"]:
            return self.along(name, [value])
        if name in self.grid.get("zip", {}).get("together", {}):
            length = len(self.grid["zip"]["together"][name])
            together = {**self.grid["zip"]["together"], name: [value] * length}
            return replace(self, grid={**self.grid, "zip": {"together": together}})
        return self.at(name, value)

    def numeric_axes(self) -> list[str]:
        """Axes of numbers, zipped ones left out."""
        return [name for name, values in self.grid["axes"].items() if not isinstance(values[0], str)]

    def _with(self, section: str, values: Mapping[str, Any]) -> Case:
        return replace(self, grid={**self.grid, section: {**self.grid[section], **values}})

    def _without(self, name: str, keep: str = "") -> Case:
        grid = dict(self.grid)
        for section in {"axes", "fixed"} - {keep}:
            grid[section] = {key: value for key, value in grid[section].items() if key != name}
        together = {key: value for key, value in grid["zip"].get("together", {}).items() if key != name}
        grid["zip"] = {"together": together} if together else {}
        return replace(self, grid=grid)

    def without_idle_axes(self) -> Case:
        """The case with one value for the axes on which no output depends; then, another may be idle too."""
        grid = self.load()
        made = make_plan(grid.registry, grid.outputs, grid.axes, grid.fixed)
        idle = idle_axes(grid, made)
        if not idle:
            return self
        case = self
        for axis in grid.axes:
            for name, values in axis.members.items() if axis.name in idle else ():
                case = case.at(name, values[0])
        return case.without_idle_axes()
