"""Sensitivity over a whole grid: the elasticity of an output to every numeric parameter, cell by cell.

Evaluated by the grid's own compiled kernel, with one parameter moved up and down at a time. The differences are those
of a point (see `sensitivity`), but with steps of a percent: a cell just before a jump, such as one more frame, would
else show nothing but the jump. Parameters that are computed from others where nothing gives them are not moved.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sweep.engine.execute import Execution, Values
from sweep.engine.kernelcache import load_kernel
from sweep.engine.loopnest import write_kernel
from sweep.engine.machine import available_memory, readable
from sweep.engine.news import Announce, ignore
from sweep.engine.plan import Plan, make_plan
from sweep.errors import Fault, InputError, nearest
from sweep.grid.reader import Grid
from sweep.registry import NO_VALUE, Parameter
from sweep.store.dataset import code_type, flags, to_dataset
from sweep.store.record import attributes
from sweep.views.record import made_from
from sweep.views.sensitivity import beside, differences, first_number, named, point_of

PARAMETER = "parameter"
"""The dimension of parameters."""

STEP = 1e-2
"""Share of itself by which a number is moved."""


def elasticities(
    grid: Grid | str | Path | Mapping[str, Any],
    output: str | None = None,
    parameters: Sequence[str] = (),
    at: Mapping[str, Any] | None = None,
    step: float = STEP,
    announce: Announce = ignore,
) -> xr.Dataset:
    """Elasticities of an output (the grid's first number) to numeric parameters in every cell of a grid.

    Gives `elasticity` over `parameter` and the axes on which the output depends, `strongest` (the parameter with the
    largest, whatever its sign), the output itself, and `status`. `parameters` are those of interest, else all that the
    output is computed from. `at` puts axes at one value, and gives values to other parameters. Raises InputError.
    """
    from sweep.api import load_grid

    if not 0 < step < 1:
        raise InputError([Fault("step", f"a share between 0 and 1 is wanted, not {step}")])
    loaded = grid if isinstance(grid, Grid) else load_grid(grid)
    name = first_number(loaded, output)
    cut = at_some_values(loaded, name, at or {})
    taken = sorted({"elasticity", "strongest", PARAMETER} & {name, *(axis.name for axis in cut.axes)})
    if taken:
        raise InputError([Fault("--of", f"{taken[0]!r} is a name of this command's own; call it something else")])
    plan = make_plan(cut.registry, cut.outputs, cut.axes, cut.fixed)
    if plan.graph.output(name).dims:
        raise InputError([Fault("--of", f"{name} has a dimension of its own; its elasticities are not one per cell")])
    moved = moving(plan, parameters)
    needed = (len(moved) + 8) * plan.output_bytes(name) + plan.needed_bytes()
    if needed > available_memory():
        what = f"{readable(needed)} of memory are needed and {readable(available_memory())} are available"
        raise InputError([Fault(cut.name, f"{what}; name fewer parameters, or put axes at one value")])
    source = write_kernel(plan)
    module = load_kernel(source.text, announce)

    def evaluated(there: Plan) -> Values:
        execution = Execution(there, source, module)
        execution.run(os.cpu_count() or 1)
        return execution.values()

    values = evaluated(plan)
    here = values.outputs[name]
    found = np.empty((len(moved), *here.shape))
    effects = []
    for place, parameter in enumerate(moved):
        middle = values_of(plan, parameter.name)
        sides = np.array([beside(parameter, value, step) for value in middle.tolist()])
        below, above = (evaluated(with_values(plan, parameter.name, side)).outputs[name] for side in sides.T)
        shape = shape_beside(plan, name, parameter.name)
        value, low, high = (each.reshape(shape) for each in (middle, *sides.T))
        found[place], slope = differences(value, low, high, here, below, above)
        effects.append((bool(np.nan_to_num(slope).any()), bool(np.nan_to_num(found[place]).any())))
    dims = plan.dims[name]
    names = [parameter.name for parameter in moved]
    result = to_dataset(cut, plan, values, attributes(cut, plan, source.text))
    idle = [name for name, (moves, _) in zip(names, effects, strict=True) if not moves]
    at_zero = [name for name, (moves, elastic) in zip(names, effects, strict=True) if moves and not elastic]
    computed = [name for name in plan.graph.nodes if name in cut.registry.parameters]
    about = {"output": name, "step": step, "idle": idle, "at_zero": at_zero, "left_out": computed}
    where = ", ".join(f"{x.replace('_', ' ')} {named_at(loaded, x, value)}" for x, value in (at or {}).items())
    title = f"Elasticities of {name.replace('_', ' ')}" + (f" at {where}" if where else "")
    result.attrs = made_from(result, title, sensitivity=about)
    attrs = {"long_name": f"elasticity of {name}".replace("_", " "), "units": "1"}
    result["elasticity"] = ((PARAMETER, *dims), found, attrs)
    labels = [*names, NO_VALUE]
    codes = strongest(found).astype(code_type(labels))
    result["strongest"] = (dims, codes, {"long_name": "strongest parameter"} | flags(labels))
    return result.assign_coords({PARAMETER: (PARAMETER, np.array(names, object), {"long_name": PARAMETER})})


def named_at(grid: Grid, name: str, value: Any) -> str:
    """A value that an axis stands at, with its unit, or the position of zipped parameters."""
    parameter = grid.registry.parameters.get(name)
    return named(point_of(grid, {name: value})[name], parameter.unit) if parameter else str(value)


def at_some_values(grid: Grid, output: str, at: Mapping[str, Any]) -> Grid:
    """A grid for one output, with some axes at one value each, and without those that do not matter."""
    given = point_of(grid, at)
    fixed = dict(grid.fixed) | {name: given[name] for name in at if name in given}
    axes = []
    for axis in grid.axes:
        if axis.name in at or any(name in at for name in axis.members):
            fixed |= {name: given[name] for name in axis.members}
        else:
            axes.append(axis)
    plan = make_plan(grid.registry, [output], axes, fixed)
    kept = tuple(axis for axis in axes if axis.name in plan.dims[output])
    return replace(grid, outputs=(output,), statuses=(), axes=kept, fixed=fixed)


def moving(plan: Plan, wanted: Sequence[str]) -> list[Parameter]:
    """The numeric parameters that a plan uses and that can be moved; of them those that are wanted."""
    known = [
        parameter
        for name, parameter in plan.graph.parameters.items()
        if parameter.is_number
        and (name in plan.axis_of or (plan.fixed[name] is not None and math.isfinite(plan.fixed[name])))
    ]
    names = [parameter.name for parameter in known]
    faults = [
        Fault("--parameters", f"{name!r} is no number that is moved here{nearest(name, names)}")
        for name in wanted
        if name not in names
    ]
    if faults:
        raise InputError(faults)
    return [parameter for parameter in known if not wanted or parameter.name in wanted]


def values_of(plan: Plan, name: str) -> NDArray[np.float64]:
    """Values of a parameter, along its axis or one."""
    if name in plan.axis_of:
        return np.asarray(plan.axes[plan.axis_of[name]].members[name], np.float64)
    return np.array([plan.fixed[name]], np.float64)


def with_values(plan: Plan, name: str, values: NDArray[np.float64]) -> Plan:
    """A plan with other values of a parameter; nothing else changes, so that its kernel is the same."""
    if name not in plan.axis_of:
        return replace(plan, fixed={**plan.fixed, name: float(values[0])})
    axis = plan.axes[plan.axis_of[name]]
    moved = replace(axis, members={**axis.members, name: values})
    return replace(plan, axes={**plan.axes, axis.name: moved})


def shape_beside(plan: Plan, output: str, name: str) -> list[int]:
    """The shape of values of a parameter beside those of an output."""
    own = plan.axis_of.get(name)
    return [plan.axes[dim].size if dim == own else 1 for dim in plan.dims[output]]


def strongest(found: NDArray[np.float64]) -> NDArray[np.intp]:
    """Position of the largest elasticity in each cell, the number of parameters where all are 0 or missing."""
    sizes = np.abs(np.nan_to_num(found, nan=0.0))
    if not len(found):
        return np.zeros(found.shape[1:], np.intp)
    return np.where(sizes.max(axis=0) > 0, sizes.argmax(axis=0), len(found))


def elasticity_table(found: xr.Dataset) -> list[str]:
    """Lines: each parameter's range of elasticities, where it is the strongest, and those that do nothing."""
    about = json.loads(found.attrs["sweep"])["sensitivity"]
    rows = []
    cells = found["strongest"].size
    for place, name in enumerate(found["parameter"].values):
        values = found["elasticity"].values[place].ravel()
        known = values[np.isfinite(values)]
        if name in about["idle"] or name in about["at_zero"]:
            continue
        share = 100 * int((found["strongest"].values == place).sum()) / cells
        rows.append((share, np.abs(known).max(), name, np.percentile(known, [0, 50, 100])))
    lines = [*found.attrs["title"].split("\n"), ""]
    if rows:
        lines.append(f"  {'parameter':<24} {'least':>9} {'median':>9} {'most':>9}  strongest in")
    for share, _, name, numbers in sorted(rows, key=lambda row: (-row[0], -row[1])):
        least, middle, most = (f"{x:+.4f}" if abs(x) < 1e4 else f"{x:+.3g}" for x in numbers)
        lines.append(f"  {name:<24} {least:>9} {middle:>9} {most:>9}  {share:.3g} % of {cells} cells")
    if not (found["status"].values == 0).any():
        return [*lines, f"  {about['output']} has no value anywhere"]
    if about["at_zero"]:
        lines += ["", f"  an effect, but no elasticity, as they are 0: {', '.join(about['at_zero'])}"]
    if about["idle"]:
        lines += ["", f"  no effect anywhere: {', '.join(about['idle'])}"]
    if about["left_out"]:
        lines.append(f"  not moved, computed from others here: {', '.join(about['left_out'])}")
    return lines
