"""Formulas against simulations of the same points: how far off each formula is, where, and where only one has a value.

An output `simulated_x` is the twin of `x`; where that is known within an interval, `simulated_x_interval` is half of
its width. Errors are those of the formula, in percent of the simulation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sweep import api
from sweep.errors import Fault, InputError
from sweep.grid.reader import Grid
from sweep.registry import STATUSES, Registry
from sweep.views.compare import found_value, percent, worst_cells
from sweep.views.cut import Layout
from sweep.views.summary import text, unit_of
from sweep.views.tables import in_columns

PREFIX = "simulated_"
BANDS = (1e-6, 1e-3, 0.1, 1.0, 10.0)
"""Errors, in percent, up to which points are counted; below the first is rounding."""
WORST = 5
"""Cells that are named."""


def validate(grid: Grid | str | Path | Mapping[str, Any], threads: int | None = None) -> xr.Dataset:
    """Compute the formulas of a grid, simulate the same points, and work out the errors of the formulas.

    The result has, for each formula `x`, `simulated_x`, `simulated_x_interval` where there is one, `x_error` in percent
    of the simulation, and the statuses of both. Raises InputError for what is wrong with the grid, and where no formula
    of its outputs has a simulation.
    """
    loaded = grid if isinstance(grid, Grid) else api.load_grid(grid)
    formulas = twins(loaded.outputs, loaded.registry)
    return with_errors(api.run(with_twins(loaded, formulas), threads), formulas)


def twins(outputs: Sequence[str], registry: Registry) -> list[str]:
    """The formulas among some outputs, or with a twin among them, that can be simulated; in order.

    Raises InputError if there are none.
    """
    known = registry.outputs
    pairs = [name for name in known if PREFIX + name in known]
    wanted = [name for name in dict.fromkeys(each.removeprefix(PREFIX) for each in outputs) if name in pairs]
    if not wanted:
        what = f"no formula among {', '.join(outputs)} has a simulation; these have: {', '.join(pairs)}"
        raise InputError([Fault("outputs", what)])
    return wanted


def with_twins(grid: Grid, formulas: Sequence[str]) -> Grid:
    """A grid that computes some formulas, their simulations with intervals, and the statuses of both, beside its own
    outputs."""
    both = [name for formula in formulas for name in (formula, PREFIX + formula)]
    intervals = [interval_of(formula) for formula in formulas if interval_of(formula) in grid.registry.outputs]
    return replace(
        grid,
        outputs=tuple(dict.fromkeys((*grid.outputs, *both, *intervals))),
        statuses=tuple(dict.fromkeys((*grid.statuses, *both))),
    )


def interval_of(formula: str) -> str:
    """The output with half the width of the interval of a formula's simulation."""
    return f"{PREFIX}{formula}_interval"


def outside(found: xr.Dataset, formula: str) -> xr.DataArray:
    """Where a formula and its simulation have values, and that of the formula lies outside the simulation's interval;
    where that has none, where both differ."""
    difference = abs(found[formula] - found[PREFIX + formula]).where(found[f"{formula}_error"].notnull())
    return difference > found[interval_of(formula)] if interval_of(formula) in found else difference > 0


def with_errors(result: xr.Dataset, formulas: Sequence[str]) -> xr.Dataset:
    """A result with `<formula>_error` in percent of the simulation: NaN where one has no value. Takes a dataset with
    codes."""
    errors = {}
    for formula in formulas:
        ok = (result[f"{formula}_status"] == 0) & (result[f"{PREFIX}{formula}_status"] == 0)
        one, other = (each.where(ok) for each in xr.broadcast(result[PREFIX + formula], result[formula]))
        other = other.transpose(*one.dims)
        attributes = {"long_name": f"error of {formula}".replace("_", " "), "units": "%"}
        errors[f"{formula}_error"] = (one.dims, percent(one.values, other.values), attributes)
    return result.assign(errors)


def draw_errors(found: xr.Dataset, formula: str, layout: Layout, picture: Path) -> list[Path]:
    """Draw the errors of a formula; those that are only rounding are 0."""
    from sweep.views.heatmap import draw_heatmap

    name = f"{formula}_error"
    error = found[name]
    drawn = found.assign({name: error.where((abs(error) > BANDS[0]) | error.isnull(), 0.0)})
    return draw_heatmap(drawn, name, layout, picture)


def bad_points(found: xr.Dataset, formula: str, tolerance: float) -> int:
    """How many points speak against a formula: it is off by more than the tolerance (percent) and outside the interval,
    or has a value where the simulation has none, other than an undefined one."""
    off = (abs(found[f"{formula}_error"]) > tolerance) & outside(found, formula)
    has_value = found[f"{formula}_status"] == 0
    fails = ~found[f"{PREFIX}{formula}_status"].isin([STATUSES.index(name) for name in ("ok", "undefined")])
    return int((off | (has_value & fails)).sum())


def validation_table(found: xr.Dataset, formulas: Sequence[str], by: str | None) -> list[str]:
    """Lines: for each formula how many points are how far off, for each value of a dimension `by`, and the worst."""
    lines = [str(found.attrs["title"])]
    for formula in formulas:
        lines += ["", f"{formula} against {PREFIX}{formula}"]
        lines += counted(found, formula)
        error = found[f"{formula}_error"]
        if by is not None and by in error.dims:
            lines += parts(error, by)
        lines += worst_lines(found, formula, error)
    return lines


def counted(found: xr.Dataset, formula: str) -> list[str]:
    """How many points are compared and within which error, and why others are not."""
    error = found[f"{formula}_error"].values
    known = np.abs(error[~np.isnan(error)])
    lines = [f"  {known.size} of {error.size} points compared"]
    if known.size:
        enough = next((place for place, band in enumerate(BANDS) if known.max() <= band), len(BANDS) - 1)
        shares = [f"{band:g} %: {share(known <= band)}" for band in BANDS[: enough + 1]]
        lines.append(f"  off by at most {', '.join(shares)}; at the most {known.max():.3g} %")
    if known.size and interval_of(formula) in found:
        simulated = found[PREFIX + formula].where(found[f"{formula}_error"].notnull())
        width = float((found[interval_of(formula)] / simulated.where(simulated > 0)).max()) * 100
        inside = known.size - int(outside(found, formula).sum())
        lines.append(f"  {inside} within the 99.9 % intervals of the simulation, which are up to +-{width:.3g} %")
    one, other = (found[f"{name}_status"] for name in (formula, PREFIX + formula))
    codes = xr.broadcast(one, other)
    pairs, counts = np.unique(np.stack([each.values.ravel() for each in codes]), axis=1, return_counts=True)
    for (own, twin), count in zip(pairs.T.tolist(), counts.tolist(), strict=True):
        if own or twin:
            lines.append(f"  {count} not compared: formula {STATUSES[own]}, simulation {STATUSES[twin]}")
    return lines


def parts(error: xr.DataArray, by: str) -> list[str]:
    """Errors for each value of a dimension, in columns."""
    rows = [(by, "compared", "median", "95 of 100 within", "at the most")]
    for place in range(error.sizes[by]):
        part = error.isel({by: place}).values
        known = part[~np.isnan(part)]
        name = found_value(error, by, place)
        if not known.size:
            rows.append((name, "0", "", "", ""))
            continue
        sizes = np.abs(known)
        within = float(np.percentile(sizes, 95, method="higher"))
        worst = float(known[np.argmax(sizes)])
        rows.append((name, str(known.size), f"{np.median(known):+.3g} %", f"{within:.3g} %", f"{worst:+.3g} %"))
    return in_columns(rows)


def worst_lines(found: xr.Dataset, formula: str, error: xr.DataArray) -> list[str]:
    """The cells with the largest errors, above rounding; of those with the same two values only the first."""
    lines: dict[str, str] = {}
    for index, cell in worst_cells(error.where(abs(error) > BANDS[0])):
        values = value_at(found, formula, error, index), value_at(found, PREFIX + formula, error, index)
        what = f"    {error.values[index]:+.4g} %: {values[0]}, simulated {values[1]}"
        lines.setdefault(what, f"{what} ({cell})")
        if len(lines) == WORST:
            break
    return list(lines.values())


def share(where: NDArray[np.bool_]) -> str:
    """How many are true, in percent; never rounded up to all."""
    part = 100 * float(where.mean())
    return "all" if where.all() else f"{min(part, 99.9):.3g} %"


def value_at(found: xr.Dataset, name: str, error: xr.DataArray, index: tuple[np.intp, ...]) -> str:
    """The value of an output where its error stands, with its unit."""
    variable = found[name]
    place = {dim: at for dim, at in zip(error.dims, index, strict=True) if dim in variable.dims}
    return text(variable.isel(place).item()) + unit_of(variable)
